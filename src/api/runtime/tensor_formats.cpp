#include "api/runtime/tensor_formats.h"

#include <array>
#include <iterator>
#include <string>
#include <vector>

namespace wootz::api {

using nvinfer1::TensorFormat;

namespace {

constexpr Layout kNone = Layout::kOpaque;
constexpr TensorFormatInfo kFormats[] = {
    {TensorFormat::kLINEAR, "kLINEAR", "Row-major linear", Layout::kLinear, 0, 1, kNone},
    {TensorFormat::kCHW2, "kCHW2", "Channels in groups of 2", Layout::kBlocked2, 4, 2, kNone},
    {TensorFormat::kHWC8, "kHWC8", "Channels innermost in groups of 8", Layout::kChannelsLast8, 4, 8,
     Layout::kChannelsLast},
    {TensorFormat::kCHW4, "kCHW4", "Channels in groups of 4", Layout::kBlocked4, 4, 4, kNone},
    {TensorFormat::kCHW16, "kCHW16", "Channels in groups of 16", Layout::kBlocked16Border, 4, 16, Layout::kBlocked16},
    {TensorFormat::kCHW32, "kCHW32", "Channels in groups of 32", Layout::kBlocked32, 4, 32, kNone},
    {TensorFormat::kDHWC8, "kDHWC8", "Channels innermost in groups of 8", Layout::kChannelsLast8, 5, 8,
     Layout::kChannelsLast},
    {TensorFormat::kCDHW32, "kCDHW32", "Channels in groups of 32", Layout::kBlocked32, 5, 32, kNone},
    {TensorFormat::kHWC, "kHWC", "Channels innermost", Layout::kChannelsLast, 4, 1, kNone},
    {TensorFormat::kDLA_LINEAR, "kDLA_LINEAR", "DLA planar", kNone, 4, 1, kNone},
    {TensorFormat::kDLA_HWC4, "kDLA_HWC4", "DLA image", kNone, 4, 4, kNone},
    {TensorFormat::kHWC16, "kHWC16", "Channels innermost in groups of 16", Layout::kChannelsLast16, 4, 16,
     Layout::kChannelsLast},
    {TensorFormat::kDHWC, "kDHWC", "Channels innermost", Layout::kChannelsLast, 5, 1, kNone},
};
static_assert(std::size(kFormats) == static_cast<size_t>(nvinfer1::EnumMax<TensorFormat>()));

}  // namespace

std::span<const TensorFormatInfo> tensor_formats() { return kFormats; }

const TensorFormatInfo& format_info(TensorFormat format) {
  const auto number = static_cast<size_t>(format);
  return kFormats[number < std::size(kFormats) ? number : 0];
}

Layout layout_of(const TensorFormatInfo& format, int64_t channels) {
  const bool even = format.even != kNone && channels >= 0 && channels % format.together == 0;
  return even ? format.even : format.layout;
}

Layout layout_of(const TensorFormatInfo& format, const Program& program, const PlanTensor& tensor) {
  if (tensor.dims.size() < 2) return format.layout;
  const ShapeExpr& channels = program.exprs[tensor.dims[1]];
  return layout_of(format, channels.op == ShapeOp::kConst ? channels.value : -1);
}

namespace {

// The format of a tensor in that layout; null: none tells it. `kept`: number of the one to prefer.
const TensorFormatInfo* format_of(const Program& program, const PlanTensor& tensor, int32_t kept) {
  const int rank = static_cast<int>(tensor.dims.size());
  const auto fits = [&](const TensorFormatInfo& f) { return f.rank == 0 || f.rank == rank; };
  const bool known = kept >= 0 && static_cast<size_t>(kept) < std::size(kFormats) && fits(kFormats[kept]);
  if (known && layout_of(kFormats[kept], program, tensor) == tensor.layout) return &kFormats[kept];
  for (const TensorFormatInfo& f : kFormats) {
    const bool same = f.even == tensor.layout && f.even != kNone && channel_multiple(f.even) == f.together;
    if ((f.layout == tensor.layout || same) && fits(f)) return &f;
  }
  return nullptr;
}

}  // namespace

const TensorFormatInfo& format_of(const EngineInfo& info, const IoInfo& io) {
  const Program& program = info.program();
  const TensorFormatInfo* format = format_of(program, program.tensors[io.tensor], info.format_number(io));
  return format == nullptr ? kFormats[0] : *format;
}

Status check_formats(const EngineInfo& info) {
  for (const IoInfo& io : info.ios()) {
    const PlanTensor& tensor = info.program().tensors[io.tensor];
    if (tensor.dims.size() >= 3 && format_of(info.program(), tensor, -1) == nullptr)
      return corrupt("{} '{}' of rank {} lies in layout {}, which is no format", io.is_input ? "input" : "output",
                     io.name, tensor.dims.size(), layout_name(tensor.layout));
  }
  return Status();
}

const char* describe_format(const TensorFormatInfo& format, DType type) {
  struct Text {
    DType type;
    const char* name;
  };
  constexpr Text kTypes[] = {{DType::kF32, "FP32"},  {DType::kF16, "FP16"},  {DType::kBF16, "BF16"},
                             {DType::kI8, "INT8"},   {DType::kI32, "INT32"}, {DType::kI64, "INT64"},
                             {DType::kBool, "BOOL"}, {DType::kU8, "UINT8"}};
  // Texts live as long as the process: callers are handed addresses.
  static const auto texts = [&] {
    std::vector<std::array<std::string, std::size(kTypes) + 1>> made;
    for (const TensorFormatInfo& f : kFormats) {
      auto& row = made.emplace_back();
      for (size_t t = 0; t < std::size(kTypes); ++t) row[t] = fmt::format("{} {} format", f.order, kTypes[t].name);
      row.back() = fmt::format("{} format", f.order);
    }
    return made;
  }();
  size_t t = 0;
  while (t < std::size(kTypes) && kTypes[t].type != type) ++t;
  return texts[static_cast<size_t>(format.format)][t].c_str();
}

nvinfer1::Dims format_strides(const TensorFormatInfo& format, const nvinfer1::Dims& dims) {
  nvinfer1::Dims strides = dims;
  const bool innermost = format.layout == Layout::kChannelsLast || format.even == Layout::kChannelsLast;
  const bool last = innermost && dims.nbDims >= 3;
  int64_t step = 1;
  const auto place = [&](int32_t axis) {
    strides.d[axis] = step;
    int64_t extent = dims.d[axis];
    if (axis == 1 && format.together > 1) extent = (extent + format.together - 1) / format.together;
    step = step < 0 || dims.d[axis] < 0 ? -1 : step * extent;
  };
  if (last) place(1);
  for (int32_t axis = dims.nbDims - 1; axis >= 0; --axis)
    if (!last || axis != 1) place(axis);
  return strides;
}

}  // namespace wootz::api
