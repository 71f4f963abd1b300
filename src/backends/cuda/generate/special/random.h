// The kernel that gives what random numbers are drawn from: it keeps that in device memory, so that recorded runs count
// further as well.
#pragma once

#include <memory>

#include "backends/cuda/generate/source.h"

namespace wootz::cuda {

// Of the launch that generate_random_state() gives: behind the problem's operands, of which there are none.
constexpr Pointer kRandomStatePointer{false, 0};

Result<std::unique_ptr<Kernel>> make_random_state_kernel(const Problem& problem, const Limits& limits);

}  // namespace wootz::cuda
