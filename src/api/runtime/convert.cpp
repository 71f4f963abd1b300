#include "api/runtime/convert.h"

namespace wootz::api {
namespace {

// By nvinfer1::DataType.
constexpr DType kTypes[] = {DType::kF32,    DType::kF16,  DType::kI8,  DType::kI32, DType::kBool,   DType::kU8,
                            DType::kF8E4M3, DType::kBF16, DType::kI64, DType::kI4,  DType::kF4E2M1, DType::kF8E8M0};
static_assert(static_cast<int32_t>(std::size(kTypes)) == nvinfer1::EnumMax<nvinfer1::DataType>());

}  // namespace

nvinfer1::DataType to_api(DType dtype) {
  for (size_t i = 0; i < std::size(kTypes); ++i)
    if (kTypes[i] == dtype) return static_cast<nvinfer1::DataType>(i);
  return static_cast<nvinfer1::DataType>(kExtendedTypeBase + static_cast<int32_t>(dtype));
}

DType from_api(nvinfer1::DataType type) {
  const auto number = static_cast<int32_t>(type);
  if (number >= 0 && number < static_cast<int32_t>(std::size(kTypes))) return kTypes[number];
  const int32_t extended = number - kExtendedTypeBase;
  if (extended > 0 && extended < kDTypeCount) return static_cast<DType>(extended);
  return DType::kInvalid;
}

DType nearest_api_type(DType dtype) {
  switch (dtype) {
    case DType::kF64: return DType::kF32;
    case DType::kI16:
    case DType::kU16: return DType::kI32;
    case DType::kU32:
    case DType::kU64: return DType::kI64;
    case DType::kF8E4M3Fnuz:
    case DType::kF8E5M2:
    case DType::kF8E5M2Fnuz: return DType::kF16;
    case DType::kU4:
    case DType::kU2: return DType::kU8;
    case DType::kI2: return DType::kI8;
    default: return dtype;
  }
}

nvinfer1::ErrorCode to_api(Code code) {
  using nvinfer1::ErrorCode;
  switch (code) {
    case Code::kOk: return ErrorCode::kSUCCESS;
    case Code::kInvalidArgument:
    case Code::kCorrupt: return ErrorCode::kINVALID_ARGUMENT;
    case Code::kUnsupported: return ErrorCode::kUNSUPPORTED_STATE;
    case Code::kInvalidState: return ErrorCode::kINVALID_STATE;
    case Code::kResourceExhausted: return ErrorCode::kFAILED_ALLOCATION;
    case Code::kIo:
    case Code::kCancelled: return ErrorCode::kUNSPECIFIED_ERROR;
    case Code::kInternal: return ErrorCode::kINTERNAL_ERROR;
  }
  return ErrorCode::kUNSPECIFIED_ERROR;
}

nvinfer1::Dims to_api(const Dims& dims) {
  nvinfer1::Dims d{};
  for (int64_t v : dims) d.d[d.nbDims++] = v;
  return d;
}

Result<Dims> from_api(const nvinfer1::Dims& dims, int64_t lowest) {
  if (dims.nbDims < 0 || dims.nbDims > nvinfer1::Dims::MAX_DIMS)
    return invalid_argument("a shape of {} dimensions; 0 to {} are possible", dims.nbDims,
                            static_cast<int>(nvinfer1::Dims::MAX_DIMS));
  Dims out;
  for (int32_t i = 0; i < dims.nbDims; ++i) {
    if (dims.d[i] < lowest)
      return invalid_argument("shape {}: extent {} is {}, the smallest possible is {}", to_string(dims), i, dims.d[i],
                              lowest);
    out.push_back(dims.d[i]);
  }
  return out;
}

std::string to_string(const nvinfer1::Dims& dims) {
  std::string text = "[";
  for (int32_t i = 0; i < dims.nbDims && i < nvinfer1::Dims::MAX_DIMS; ++i)
    text += (i == 0 ? "" : "x") + std::to_string(dims.d[i]);
  return text + "]";
}

}  // namespace wootz::api
