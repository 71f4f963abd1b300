#include "onnx/tensor_reader.h"

#include <bit>
#include <cstring>
#include <limits>

#include "base/limits.h"
#include "onnx/onnx.pb.h"
#include "onnx/text.h"

namespace wootz::importer {
namespace {

static_assert(std::endian::native == std::endian::little, "raw_data is little-endian and is used as it is");

using ::onnx::TensorProto;

struct TypeRow {
  int onnx;
  DType dtype;
};
constexpr TypeRow kTypes[] = {
    {TensorProto::FLOAT, DType::kF32},
    {TensorProto::UINT8, DType::kU8},
    {TensorProto::INT8, DType::kI8},
    {TensorProto::UINT16, DType::kU16},
    {TensorProto::INT16, DType::kI16},
    {TensorProto::INT32, DType::kI32},
    {TensorProto::INT64, DType::kI64},
    {TensorProto::STRING, DType::kString},
    {TensorProto::BOOL, DType::kBool},
    {TensorProto::FLOAT16, DType::kF16},
    {TensorProto::DOUBLE, DType::kF64},
    {TensorProto::UINT32, DType::kU32},
    {TensorProto::UINT64, DType::kU64},
    {TensorProto::BFLOAT16, DType::kBF16},
    {TensorProto::FLOAT8E4M3FN, DType::kF8E4M3},
    {TensorProto::FLOAT8E4M3FNUZ, DType::kF8E4M3Fnuz},
    {TensorProto::FLOAT8E5M2, DType::kF8E5M2},
    {TensorProto::FLOAT8E5M2FNUZ, DType::kF8E5M2Fnuz},
    {TensorProto::UINT4, DType::kU4},
    {TensorProto::INT4, DType::kI4},
    {TensorProto::FLOAT4E2M1, DType::kF4E2M1},
    {TensorProto::FLOAT8E8M0, DType::kF8E8M0},
    {TensorProto::UINT2, DType::kU2},
    {TensorProto::INT2, DType::kI2},
};

// Values that arrive one to a field element, narrower in memory: their bits, when they fit as signed or as unsigned.
template <typename Narrow, typename Field>
Status narrow(const Field& field, HostTensor& out) {
  using Unsigned = std::make_unsigned_t<Narrow>;
  constexpr int64_t low = std::numeric_limits<std::make_signed_t<Narrow>>::min();
  constexpr int64_t high = std::numeric_limits<Unsigned>::max();
  auto* to = static_cast<Unsigned*>(out.mutable_data());
  for (int i = 0; i < field.size(); ++i) {
    const auto value = static_cast<int64_t>(field.Get(i));
    if (value < low || value > high)
      return corrupt("element {} is {}, which does not fit in {}", i, value, dtype_name(out.dtype()));
    to[i] = static_cast<Unsigned>(value);
  }
  return Status();
}

template <typename T, typename Field>
Status same(const Field& field, HostTensor& out) {
  if (field.size() > 0) std::memcpy(out.mutable_data(), field.data(), static_cast<size_t>(field.size()) * sizeof(T));
  return Status();
}

struct TypedField {
  const char* name;
  int size;
};

TypedField typed_field(const TensorProto& t, DType dtype) {
  switch (dtype) {
    case DType::kF32: return {"float_data", t.float_data_size()};
    case DType::kF64: return {"double_data", t.double_data_size()};
    case DType::kI64: return {"int64_data", t.int64_data_size()};
    case DType::kU64:
    case DType::kU32: return {"uint64_data", t.uint64_data_size()};
    default: return {"int32_data", t.int32_data_size()};
  }
}

// The field of the type, whose size was checked, into the tensor.
Status read_typed(const TensorProto& t, HostTensor& out) {
  switch (out.dtype()) {
    case DType::kF32: return same<float>(t.float_data(), out);
    case DType::kF64: return same<double>(t.double_data(), out);
    case DType::kI64: return same<int64_t>(t.int64_data(), out);
    case DType::kU64: return same<uint64_t>(t.uint64_data(), out);
    case DType::kI32: return same<int32_t>(t.int32_data(), out);
    case DType::kU32:
      for (int i = 0; i < t.uint64_data_size(); ++i) {
        if (t.uint64_data(i) > std::numeric_limits<uint32_t>::max())
          return corrupt("element {} is {}, which does not fit in u32", i, t.uint64_data(i));
        out.as_mutable<uint32_t>()[static_cast<size_t>(i)] = static_cast<uint32_t>(t.uint64_data(i));
      }
      return Status();
    default:
      return dtype_bits(out.dtype()) == 16 ? narrow<int16_t>(t.int32_data(), out) : narrow<int8_t>(t.int32_data(), out);
  }
}

int data_fields(const TensorProto& t) {
  const bool raw = t.has_raw_data() && !t.raw_data().empty();
  return int{raw} + int{t.float_data_size() > 0} + int{t.int32_data_size() > 0} + int{t.int64_data_size() > 0} +
         int{t.double_data_size() > 0} + int{t.uint64_data_size() > 0} + int{t.string_data_size() > 0};
}

Result<Dims> read_dims(const TensorProto& t) {
  if (t.dims_size() > limits::kMaxRank)
    return unsupported("it has rank {}, the limit is {}", t.dims_size(), limits::kMaxRank);
  const std::span<const int64_t> extents(t.dims().data(), static_cast<size_t>(t.dims_size()));
  WOOTZ_ASSIGN_OR_RETURN([[maybe_unused]] const int64_t volume, checked_volume(extents));
  return Dims(extents);
}

ExternalLocation read_location(const TensorProto& t, Status* status) {
  ExternalLocation where;
  for (const auto& entry : t.external_data()) {
    std::optional<std::string>* slot = entry.key() == "location" ? &where.location
                                       : entry.key() == "offset" ? &where.offset
                                       : entry.key() == "length" ? &where.length
                                                                 : nullptr;  // other keys mean nothing to us
    if (slot == nullptr) continue;
    if (slot->has_value()) *status = invalid_argument("external data with two values for '{}'", entry.key());
    *slot = entry.value();
  }
  return where;
}

// Memory that a kernel may read by its element type: aligned for it, and bools of 0 and 1 only.
Result<HostTensor> fit(HostTensor tensor) {
  const size_t align = static_cast<size_t>(std::max(dtype_bits(tensor.dtype()) / 8, 1));
  const size_t bytes = tensor.bytes();
  bool copy = bytes == 0 || reinterpret_cast<uintptr_t>(tensor.data()) % align != 0;
  const bool is_bool = tensor.dtype() == DType::kBool;
  const auto* from = static_cast<const uint8_t*>(tensor.data());
  for (size_t i = 0; is_bool && !copy && i < bytes; ++i) copy = from[i] > 1;
  if (!copy) return tensor;
  WOOTZ_ASSIGN_OR_RETURN(HostTensor made, HostTensor::allocate(tensor.dtype(), tensor.dims()));
  auto* to = static_cast<uint8_t*>(made.mutable_data());
  if (bytes > 0) std::memcpy(to, from, bytes);
  for (size_t i = 0; is_bool && i < bytes; ++i) to[i] = to[i] != 0;
  return made;
}

}  // namespace

DType dtype_from_onnx(int type) {
  for (const TypeRow& row : kTypes)
    if (row.onnx == type) return row.dtype;
  return DType::kInvalid;
}

int dtype_to_onnx(DType dtype) {
  for (const TypeRow& row : kTypes)
    if (row.dtype == dtype) return row.onnx;
  return TensorProto::UNDEFINED;
}

std::string onnx_type_name(int type) {
  if (type == TensorProto::UNDEFINED || !::onnx::TensorProto_DataType_IsValid(type))
    return "element type " + std::to_string(type);
  return ::onnx::TensorProto_DataType_Name(static_cast<::onnx::TensorProto_DataType>(type));
}

Result<HostTensor> TensorReader::read(const TensorProto& tensor) {
  const auto it = done_.find(&tensor);
  if (it != done_.end()) return it->second;
  // The whole message belongs to the import that this reader serves.
  Result<HostTensor> made = read_new(const_cast<TensorProto&>(tensor));
  if (!made.ok()) made = made.status().with_prefix(fmt::format("tensor '{}'", printable(tensor.name())));
  return done_.emplace(&tensor, std::move(made)).first->second;
}

Result<HostTensor> TensorReader::read_new(TensorProto& t) {
  const DType dtype = dtype_from_onnx(t.data_type());
  if (dtype == DType::kInvalid || dtype == DType::kString)
    return unsupported("{} is not supported", onnx_type_name(t.data_type()));
  if (t.has_segment()) return unsupported("stored in segments, which is not supported");
  WOOTZ_ASSIGN_OR_RETURN(const Dims dims, read_dims(t));
  const int64_t bytes = static_cast<int64_t>(dtype_bytes(dtype, dims.volume()));
  const int fields = data_fields(t);
  if (t.data_location() == TensorProto::EXTERNAL) {
    if (fields > 0) return corrupt("it has external data and data in the model");
    Status status;
    const ExternalLocation where = read_location(t, &status);
    WOOTZ_RETURN_IF_ERROR(status);
    WOOTZ_ASSIGN_OR_RETURN(ExternalBytes found, files_.read(where, bytes));
    return fit(HostTensor::wrap(dtype, dims, found.data, std::move(found.owner)));
  }
  if (fields > 1) return corrupt("it has data in {} fields, one is allowed", fields);
  if (fields == 0 && bytes > 0)
    return corrupt("no data, type {} and shape {} want {} bytes", dtype_name(dtype), dims.to_string(), bytes);
  if (t.has_raw_data()) {
    if (fields == 1 && t.raw_data().empty()) t.clear_raw_data();
  }
  if (t.has_raw_data()) {
    if (static_cast<int64_t>(t.raw_data().size()) != bytes)
      return corrupt("raw_data has {} bytes, type {} and shape {} want {}", t.raw_data().size(), dtype_name(dtype),
                     dims.to_string(), bytes);
    const std::shared_ptr<const std::string> owner(t.release_raw_data());
    return fit(HostTensor::wrap(dtype, dims, owner->data(), owner));
  }
  // Sub-byte types are packed here as well: one byte to a field element.
  const int64_t count = dtype_bits(dtype) < 8 ? bytes : dims.volume();
  const TypedField field = typed_field(t, dtype);
  if (field.size != count)
    return corrupt("{} has {} elements, type {} and shape {} want {}", field.name, field.size, dtype_name(dtype),
                   dims.to_string(), count);
  WOOTZ_ASSIGN_OR_RETURN(HostTensor made, HostTensor::allocate(dtype, dims));
  WOOTZ_RETURN_IF_ERROR(read_typed(t, made));
  return fit(std::move(made));
}

}  // namespace wootz::importer
