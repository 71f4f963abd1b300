// What kernels that keep rows in packs of neighbours share (kernels/norm/kept.cuh).
#pragma once

#include "backends/cuda/generate/kernel_source.h"

namespace wootz::cuda {

// How threads share the rows [rows, length] of a result.
struct RowPlan {
  std::vector<Axis> axes;          // of the result, with strides of what the expression reads
  std::vector<std::string> names;  // of these
  int64_t rows = 1, length = 1, packs = 1;
  int vector = 1, threads = 1, kept = 1, rows_of_block = 1;  // threads of a row; packs that each has
  bool empty() const { return rows * length == 0; }
};

// `rows` and `length` are given. The expression reads the inputs from `input` on, which are called e and their number,
// from `number` on; `largest`: bytes of the widest element that is read or written. Errors: rows too long, as `what`.
Status plan_packs(const char* what, const Problem& problem, const BindArgs& args, size_t input, size_t number,
                  int largest, RowPlan* plan);

// Types and constants of kept.cuh but for the normalization's kind, and what walks the rows.
void add_row_packs(const RowPlan& plan, KernelSource* source);
// Parameters, parameters() and scaled(). `scale`, `bias`: inputs of a row's length; -1: none.
void add_row_parameters(const Problem& problem, int scale, int bias, KernelSource* source);

}  // namespace wootz::cuda
