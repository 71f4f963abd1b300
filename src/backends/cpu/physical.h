// Logical dimensions as they lie in memory, for kernels that work on plain strided memory.
#pragma once

#include "backend/relayout.h"

namespace wootz::cpu {

// Position in memory order (outermost 0) of a logical axis. Linear and channels-last only.
inline int physical_axis(Layout layout, int rank, int axis) {
  if (layout != Layout::kChannelsLast) return axis;
  return axis == 0 ? 0 : axis == 1 ? rank - 1 : axis - 1;
}
inline Dims physical_dims(Layout layout, const Dims& dims) {
  Dims out = dims;
  for (int d = 0; d < dims.rank(); ++d)
    out[static_cast<size_t>(physical_axis(layout, dims.rank(), d))] = dims[static_cast<size_t>(d)];
  return out;
}

}  // namespace wootz::cpu
