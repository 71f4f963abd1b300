#include "backends/cuda/emulator/maps.h"

#include <cstdint>
#include <cstring>

namespace wootz::cuda {
namespace {

// As gemm/feed.cuh has it.
struct View {
  void* base;
  int64_t strides[3];
  int extents[4], lower[2], places[2], steps[2], lines, reserved;
};
static_assert(sizeof(View) <= sizeof(CUtensorMap));

unsigned places_of(CUtensorMapDataType type) { return type == CU_TENSOR_MAP_DATA_TYPE_UINT8 ? 128 : 64; }

// What the driver refuses.
bool is_valid(unsigned rank, const void* address, const unsigned long long* extents,
              const unsigned long long* strides) {
  constexpr unsigned long long kMostExtent = 1ULL << 32, kMostStride = 1ULL << 40;
  bool valid = address != nullptr && reinterpret_cast<uintptr_t>(address) % 16 == 0;
  for (unsigned i = 0; i < rank; ++i) valid = valid && extents[i] > 0 && extents[i] <= kMostExtent;
  for (unsigned i = 0; i + 1 < rank; ++i) valid = valid && strides[i] % 16 == 0 && strides[i] < kMostStride;
  return valid;
}

View view_of(unsigned rank, void* address, const unsigned long long* extents, const unsigned long long* strides) {
  View view{};
  view.base = address;
  for (unsigned i = 0; i < rank; ++i) view.extents[i] = static_cast<int>(extents[i]);
  for (unsigned i = 0; i + 1 < rank; ++i) view.strides[i] = static_cast<int64_t>(strides[i]);
  return view;
}

}  // namespace

CUresult encode_matrix(CUtensorMap* map, CUtensorMapDataType type, unsigned rank, void* address,
                       const unsigned long long* extents, const unsigned long long* strides, const unsigned* box,
                       const unsigned* steps, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                       CUtensorMapFloatOOBfill) {
  bool valid = (rank == 2 || rank == 4) && is_valid(rank, address, extents, strides) && box[0] == places_of(type) &&
               box[1] >= 1 && box[1] <= 256;
  for (unsigned i = 0; i < rank && valid; ++i) valid = steps[i] == 1 && (i < 2 || box[i] == 1);
  if (!valid) return CUDA_ERROR_INVALID_VALUE;
  View view = view_of(rank, address, extents, strides);
  view.lines = static_cast<int>(box[1]);
  std::memcpy(map, &view, sizeof view);
  return CUDA_SUCCESS;
}

CUresult encode_windows(CUtensorMap* map, CUtensorMapDataType type, unsigned rank, void* address,
                        const unsigned long long* extents, const unsigned long long* strides, const int* lower,
                        const int* upper, unsigned channels, unsigned lines, const unsigned* steps,
                        CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  if (rank != 4 || !is_valid(rank, address, extents, strides) || channels != places_of(type) || lines < 1 ||
      lines > 1024 || steps[0] != 1 || steps[3] != 1)
    return CUDA_ERROR_INVALID_VALUE;
  View view = view_of(rank, address, extents, strides);
  view.lines = static_cast<int>(lines);
  for (int axis = 0; axis < 2; ++axis) {
    const int last = view.extents[axis + 1] - 1 + upper[axis];
    view.lower[axis] = lower[axis];
    view.steps[axis] = static_cast<int>(steps[axis + 1]);
    if (lower[axis] < -128 || lower[axis] > 127 || upper[axis] < -128 || upper[axis] > 127 || last < lower[axis] ||
        view.steps[axis] < 1 || view.steps[axis] > 8)
      return CUDA_ERROR_INVALID_VALUE;
    view.places[axis] = (last - lower[axis]) / view.steps[axis] + 1;
  }
  std::memcpy(map, &view, sizeof view);
  return CUDA_SUCCESS;
}

}  // namespace wootz::cuda
