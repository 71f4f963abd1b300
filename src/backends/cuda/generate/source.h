// What generated kernels are made of: element types, launches, and the axes along which they walk operands.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backend/kernel.h"
#include "backend/relayout.h"
#include "backends/cuda/generate/kernel_files.h"
#include "backends/cuda/generate/tensor_view.h"
#include "backends/cuda/jit/module.h"

namespace wootz::cuda {

// The element as it lies in memory ("f16"), and as it is computed with ("float"). Null: not a type of these kernels.
const char* storage_type(DType type);
const char* register_type(DType type);
Status check_type(DType type);
// An unsigned type of so many bytes, for what is only moved; null: none.
const char* bits_type(int bits);

// What a launch hands to its kernel: pointers to inputs and outputs of the step and to its scratch memory, in this
// order.
struct Pointer {
  bool output = false;
  int index = 0;      // -1: scratch memory
  size_t offset = 0;  // in scratch memory, bytes
};
constexpr Pointer kWorkspacePointer{false, -1};
struct Launch {
  std::string source;
  LaunchSize size;
  std::vector<Pointer> pointers;
  std::vector<TensorView> views;  // of some of them, which the kernel gets as maps
  std::vector<int64_t> numbers;   // that it takes behind them, each an s64
  size_t workspace = 0;           // bytes of scratch memory that it writes or reads
};

// A part of a step, which is a problem of its own: where its operands and results are among the step's, or in the
// step's scratch memory, behind whose first `scratch` bytes the part has its own.
struct PartPlaces {
  std::vector<Pointer> inputs, outputs;
  size_t scratch = 0;
};
// Of the part's launches, which are those from `first` on.
void place_part(const PartPlaces& places, size_t first, std::vector<Launch>* launches);

// A dimension of a loop: its extent and the stride of each operand along it, in elements.
struct Axis {
  int64_t extent = 1;
  std::vector<int64_t> strides;
};
// Drops axes of extent 1 and joins neighbours (outermost first) that every operand walks as one.
std::vector<Axis> merge_axes(std::vector<Axis> axes);
int64_t volume(const std::vector<Axis>& axes);
// Strides of an operand of these extents, broadcast over `out`; per logical axis of `out`.
Result<std::vector<int64_t>> strides_over(Layout layout, const Dims& dims, const Dims& out);
// The same of a row-major operand's batch of matrices; 0 along the last two axes, whatever their extents.
Result<std::vector<int64_t>> batch_strides(const Dims& dims, const Dims& out);
// Of axes [first, end).
int64_t volume_of(const Dims& dims, size_t first, size_t end);
// Logical axes in the order in which they lie in memory, outermost first.
std::vector<int> memory_order(Layout layout, int rank);

// Whether a thread may take n neighbours at once: every operand walks the innermost axis by 1 or not at all, and what
// it reads begins at a multiple of n.
bool walks_vectors(const std::vector<Axis>& axes, int n);
// The most of 16 bytes of elements of `largest_bytes` at which as many threads are left as a GPU needs.
int vector_length(const std::vector<Axis>& axes, int largest_bytes);
// The same axes counted in vectors of n.
void count_in_vectors(int n, std::vector<Axis>* axes);

// Whether offsets of `operands` along the axes, or their count, need s64.
bool walks_wide(const std::vector<Axis>& axes, size_t operands);

unsigned blocks_for(int64_t count, int64_t per_block);
Status check_count(int64_t count);  // of threads or elements that one launch may have

}  // namespace wootz::cuda
