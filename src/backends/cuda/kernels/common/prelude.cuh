// What every kernel's source begins with.
#pragma once
#include "backends/cuda/kernels/common/groups.cuh"
#include "backends/cuda/kernels/common/near.cuh"
#include "backends/cuda/kernels/common/scalar.cuh"
#include "backends/cuda/kernels/common/small_types.cuh"
#include "backends/cuda/kernels/common/types.cuh"
