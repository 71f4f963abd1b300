// Libraries ask for scratch memory at multiples of 256 bytes; a context's lies at multiples of 64, an application's
// anywhere.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wootz::cuda {

constexpr size_t kWorkspaceAlignment = 256;

// What a step asks for, so that aligned_workspace() leaves `bytes`.
inline size_t workspace_room(size_t bytes) { return bytes == 0 ? 0 : bytes + kWorkspaceAlignment - 1; }

inline void* aligned_workspace(void* given) {
  constexpr uintptr_t kRest = kWorkspaceAlignment - 1;
  return reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(given) + kRest) & ~kRest);
}

}  // namespace wootz::cuda
