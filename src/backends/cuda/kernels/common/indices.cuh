// Indices of elements: negative ones count from the end, what lies outside of its axis is no element.
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

struct Index {
  s64 at;
  bool inside;
};

W_FN Index index_along(s64 at, s64 extent) {
  if (at < 0) at += extent;
  return {at, at >= 0 && at < extent};
}
