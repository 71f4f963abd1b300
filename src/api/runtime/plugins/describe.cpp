#include "api/runtime/plugins/describe.h"

#include <algorithm>
#include <cstring>

#include "api/runtime/convert.h"
#include "wootz/legacy_dims.h"

namespace wootz::api {

using nvinfer1::DynamicPluginTensorDesc;
using nvinfer1::PluginField;
using nvinfer1::PluginFieldCollection;
using nvinfer1::PluginFieldType;
using nvinfer1::PluginTensorDesc;
using nvinfer1::TensorFormat;

std::string text_of(const nvinfer1::AsciiChar* s) { return s == nullptr ? std::string() : std::string(s); }

namespace {

struct PluginFormat {
  FormatOfLayout is;
  int rank;                  // 0: any
  std::vector<DType> types;  // none: all
};

// No two of one rank are the same layout, not even where channels fill their vectors: a plugin is given the format that
// it asked for.
const std::vector<PluginFormat>& plugin_formats() {
  constexpr DType kF16 = DType::kF16, kBF16 = DType::kBF16, kI8 = DType::kI8, kF8 = DType::kF8E4M3;
  static const std::vector<PluginFormat> formats = {
      {{TensorFormat::kLINEAR, Layout::kLinear}, 0, {}},
      {{TensorFormat::kHWC, Layout::kChannelsLast}, 4, {}},
      {{TensorFormat::kDHWC, Layout::kChannelsLast}, 5, {}},
      {{TensorFormat::kCHW32, Layout::kBlocked32}, 4, {DType::kF32, kF16, kI8, kF8}},
      {{TensorFormat::kCHW4, Layout::kBlocked4}, 4, {kF16, kI8}},
      {{TensorFormat::kHWC8, Layout::kChannelsLast8}, 4, {kF16, kBF16}},
      {{TensorFormat::kHWC16, Layout::kChannelsLast16}, 4, {kF16, kI8, kF8}},
      {{TensorFormat::kCHW2, Layout::kBlocked2}, 4, {kF16, kBF16}},
      {{TensorFormat::kCHW16, Layout::kBlocked16Border}, 4, {kF16}},
      {{TensorFormat::kDHWC8, Layout::kChannelsLast8}, 5, {kF16, kBF16}},
      {{TensorFormat::kCDHW32, Layout::kBlocked32}, 5, {kF16, kI8}},
  };
  return formats;
}

}  // namespace

std::vector<FormatOfLayout> formats_for(int rank, DType type) {
  std::vector<FormatOfLayout> formats;
  for (const PluginFormat& f : plugin_formats()) {
    const bool of_type = f.types.empty() || std::find(f.types.begin(), f.types.end(), type) != f.types.end();
    if (of_type && (f.rank == 0 || f.rank == rank)) formats.push_back(f.is);
  }
  return formats;
}

TensorFormat format_of(Layout layout, int rank) {
  for (const PluginFormat& f : plugin_formats())
    if (f.is.layout == layout && (f.rank == 0 || f.rank == rank)) return f.is.format;
  return TensorFormat::kLINEAR;
}

const char* format_name(TensorFormat format) {
  constexpr const char* kNames[] = {"kLINEAR", "kCHW2", "kHWC8",       "kCHW4",     "kCHW16", "kCHW32", "kDHWC8",
                                    "kCDHW32", "kHWC",  "kDLA_LINEAR", "kDLA_HWC4", "kHWC16", "kDHWC"};
  static_assert(static_cast<int32_t>(std::size(kNames)) == nvinfer1::EnumMax<TensorFormat>());
  const auto number = static_cast<size_t>(format);
  return number < std::size(kNames) ? kNames[number] : "unknown";
}

PluginTensorDesc to_desc(const PluginTensor& t) {
  PluginTensorDesc desc{};
  if (t.dtype == DType::kInvalid) {
    desc.dims.nbDims = 0;
    return desc;
  }
  desc.dims = to_api(t.dims);
  desc.type = to_api(t.dtype);
  desc.format = format_of(t.layout, t.dims.rank());
  desc.scale = 1.0F;
  return desc;
}

DynamicPluginTensorDesc to_dynamic_desc(const PluginTensor& t) {
  DynamicPluginTensorDesc desc{};
  desc.desc = to_desc(t);
  const bool ranged = t.most.rank() == t.dims.rank();
  desc.min = to_api(ranged ? t.least : t.dims);
  desc.opt = to_api(ranged ? t.opt : t.dims);
  desc.max = to_api(ranged ? t.most : t.dims);
  return desc;
}

PluginDescs::PluginDescs(const PluginTensors& tensors) {
  for (const PluginTensor& t : tensors.inputs) inputs.push_back(to_desc(t));
  for (const PluginTensor& t : tensors.outputs) outputs.push_back(to_desc(t));
}

DynamicPluginDescs::DynamicPluginDescs(const PluginTensors& tensors) {
  for (const PluginTensor& t : tensors.inputs) inputs.push_back(to_dynamic_desc(t));
  for (const PluginTensor& t : tensors.outputs) outputs.push_back(to_dynamic_desc(t));
}

Status answer(const char* callback, int32_t code) {
  return code == 0 ? Status() : make_error(Code::kInvalidState, "{} answered {}", callback, code);
}

size_t field_bytes(PluginFieldType type, int32_t length) {
  constexpr size_t kBits[] = {16, 32, 64, 8, 16, 32, 8, 8 * sizeof(nvinfer1::Dims), 8, 16, 64, 8, 4, 4};
  static_assert(static_cast<int32_t>(std::size(kBits)) == nvinfer1::EnumMax<PluginFieldType>());
  const auto number = static_cast<size_t>(type);
  if (number >= std::size(kBits) || length < 0) return 0;
  return (kBits[number] * static_cast<size_t>(length) + 7) / 8;
}

namespace {

template <typename T>
void put(T value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), sizeof value);
}
template <typename T>
bool take(std::string_view* from, T* value) {
  if (from->size() < sizeof *value) return false;
  std::memcpy(value, from->data(), sizeof *value);
  from->remove_prefix(sizeof *value);
  return true;
}

}  // namespace

Result<std::string> write_fields(const PluginFieldCollection& fields) {
  std::string out;
  if (fields.nbFields < 0 || (fields.nbFields > 0 && fields.fields == nullptr))
    return invalid_argument("{} fields, and no list of them", fields.nbFields);
  put(static_cast<uint32_t>(fields.nbFields), &out);
  for (int32_t i = 0; i < fields.nbFields; ++i) {
    const PluginField& f = fields.fields[i];
    const std::string name = text_of(f.name);
    const size_t bytes = field_bytes(f.type, f.length);
    if (f.length < 0 || (bytes == 0 && f.length > 0))
      return invalid_argument("field '{}' has type {} and length {}", name, static_cast<int>(f.type), f.length);
    if (bytes > 0 && f.data == nullptr) return invalid_argument("field '{}' of {} values has no data", name, f.length);
    put(static_cast<uint32_t>(name.size()), &out);
    out += name;
    put(static_cast<int32_t>(f.type), &out);
    put(f.length, &out);
    if (bytes > 0) out.append(static_cast<const char*>(f.data), bytes);
  }
  return out;
}

void OwnedFields::add(std::string name, PluginFieldType type, int32_t length, const void* data, size_t bytes) {
  Entry entry{std::move(name), type, length, std::vector<uint64_t>(bytes / sizeof(uint64_t) + 1)};
  if (bytes > 0) std::memcpy(entry.data.data(), data, bytes);
  entries_.push_back(std::move(entry));
}

Result<OwnedFields> OwnedFields::read(std::string_view bytes) {
  const auto broken = [] { return corrupt("the fields of a plugin end too early, or make no sense"); };
  OwnedFields fields;
  uint32_t count = 0;
  if (!take(&bytes, &count)) return broken();
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t name_size = 0;
    int32_t type = 0, length = 0;
    if (!take(&bytes, &name_size) || bytes.size() < name_size) return broken();
    std::string name(bytes.substr(0, name_size));
    bytes.remove_prefix(name_size);
    if (!take(&bytes, &type) || !take(&bytes, &length) || length < 0 || type < 0 ||
        type >= nvinfer1::EnumMax<PluginFieldType>())
      return broken();
    const size_t size = field_bytes(static_cast<PluginFieldType>(type), length);
    if (bytes.size() < size) return broken();
    fields.add(std::move(name), static_cast<PluginFieldType>(type), length, bytes.data(), size);
    bytes.remove_prefix(size);
  }
  return bytes.empty() ? Result<OwnedFields>(std::move(fields)) : Result<OwnedFields>(broken());
}

const PluginFieldCollection& OwnedFields::collection() {
  fields_.clear();
  for (const Entry& e : entries_)
    fields_.emplace_back(e.name.c_str(), e.length == 0 ? nullptr : e.data.data(), e.type, e.length);
  collection_ = {static_cast<int32_t>(fields_.size()), fields_.data()};
  return collection_;
}

}  // namespace wootz::api
