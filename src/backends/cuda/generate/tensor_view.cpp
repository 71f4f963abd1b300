#include "backends/cuda/generate/tensor_view.h"

#include <cstddef>

namespace wootz::cuda {
namespace {

constexpr int64_t kLineBytes = 128, kPieceBytes = 16;

int64_t size_of(DType type) { return static_cast<int64_t>(dtype_bytes(type, 1)); }

CUtensorMapDataType data_type(DType type) {
  if (size_of(type) == 1) return CU_TENSOR_MAP_DATA_TYPE_UINT8;
  return type == DType::kBF16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
}

// Of the last window's begin beyond the last pixel: what the driver calls the upper corner.
int64_t upper(const TensorView& v, size_t axis) {
  return v.lower[axis] + (v.places[axis] - 1) * v.steps[axis] - (v.extents[axis + 1] - 1);
}

}  // namespace

Status check_view(const TensorView& v) {
  constexpr int64_t kMostExtent = int64_t{1} << 31, kMostStride = int64_t{1} << 39, kMostLines = 256, kMostStep = 8,
                    kMostCorner = 127;
  const int64_t piece = kPieceBytes / size_of(v.type);
  for (const int64_t extent : v.extents)
    if (extent < 1 || extent >= kMostExtent) return unsupported("an extent of {}", extent);
  for (const int64_t stride : v.strides)
    if (v.viewed == Viewed::kHeads && (stride < 1 || stride >= kMostStride || stride % piece != 0))
      return unsupported("rows or heads at distances of {} elements", stride);
  if (v.offset < 0 || v.offset % piece != 0) return unsupported("rows from element {} on", v.offset);
  if (v.extents[0] % piece != 0) return unsupported("{} channels, which are not rows of 16 bytes", v.extents[0]);
  if (v.lines < 1 || v.lines > kMostLines) return unsupported("{} lines at once", v.lines);
  if (v.viewed != Viewed::kWindows) return Status();
  for (size_t axis = 0; axis < 2; ++axis)
    if (v.steps[axis] < 1 || v.steps[axis] > kMostStep || std::abs(v.lower[axis]) > kMostCorner ||
        std::abs(upper(v, axis)) > kMostCorner)
      return unsupported("windows from {} on at steps of {}", v.lower[axis], v.steps[axis]);
  return Status();
}

Result<CUtensorMap> tensor_map(const Driver& driver, const TensorView& v, const void* address) {
  const bool heads = v.viewed == Viewed::kHeads;
  unsigned long long extents[4], strides[3];
  const int64_t size = size_of(v.type);
  const auto places = static_cast<unsigned>(kLineBytes / size);
  auto bytes = static_cast<unsigned long long>(size);
  for (size_t i = 0; i < 4; ++i) {
    extents[i] = static_cast<unsigned long long>(v.extents[i]);
    bytes *= extents[i];
    if (i < 3) strides[i] = heads ? static_cast<unsigned long long>(v.strides[i] * size) : bytes;
  }
  CUtensorMap map{};
  if (v.viewed != Viewed::kWindows) {
    const void* const first = static_cast<const std::byte*>(address) + v.offset * size;
    const unsigned box[] = {places, static_cast<unsigned>(v.lines), 1, 1}, steps[] = {1, 1, 1, 1};
    WOOTZ_CUDA_RETURN_IF_ERROR(driver, cuTensorMapEncodeTiled, &map, data_type(v.type), heads ? 4U : 2U,
                               const_cast<void*>(first), extents, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                               CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    return map;
  }
  const int lower[] = {static_cast<int>(v.lower[0]), static_cast<int>(v.lower[1])};
  const int last[] = {static_cast<int>(upper(v, 0)), static_cast<int>(upper(v, 1))};
  const unsigned steps[] = {1, static_cast<unsigned>(v.steps[0]), static_cast<unsigned>(v.steps[1]), 1};
  WOOTZ_CUDA_RETURN_IF_ERROR(driver, cuTensorMapEncodeIm2col, &map, data_type(v.type), 4, const_cast<void*>(address),
                             extents, strides, lower, last, places, static_cast<unsigned>(v.lines), steps,
                             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return map;
}

}  // namespace wootz::cuda
