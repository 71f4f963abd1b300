// Public types to ours and back.
#pragma once

#include "api/runtime/public.h"
#include "base/dims.h"
#include "base/dtype.h"
#include "base/status.h"

namespace wootz::api {

// Types that nvinfer1::DataType has no number for are shown as kExtendedTypeBase + our number (wootz/extensions.h).
inline constexpr int32_t kExtendedTypeBase = 256;
nvinfer1::DataType to_api(DType dtype);
inline bool has_api_type(DType dtype) { return static_cast<int32_t>(to_api(dtype)) < kExtendedTypeBase; }
// kInvalid for a number that is no type.
DType from_api(nvinfer1::DataType type);
// The type itself when the API has a number for it, otherwise the API's type that it widens (or narrows) to.
DType nearest_api_type(DType dtype);

nvinfer1::ErrorCode to_api(Code code);

nvinfer1::Dims to_api(const Dims& dims);
inline nvinfer1::Dims bad_dims() {
  nvinfer1::Dims d{};
  d.nbDims = -1;
  return d;
}
// Refuses ranks outside [0, 8] and extents below `lowest`.
Result<Dims> from_api(const nvinfer1::Dims& dims, int64_t lowest);
std::string to_string(const nvinfer1::Dims& dims);

}  // namespace wootz::api
