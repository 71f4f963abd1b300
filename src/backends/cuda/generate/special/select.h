// Ops whose results are as many as they find: kernels that count, the host, which learns how many, and kernels that
// write.
#pragma once

#include "backend/op_kernels.h"
#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/kernel_source.h"

namespace wootz::cuda {

struct Selection {
  std::vector<Launch> find;                   // leaves the number found, an s64, at the beginning of the scratch memory
  std::vector<Launch> write;                  // the outputs then have their extents
  std::vector<std::vector<int64_t>> results;  // extents of each output; -1: the number found
  int64_t most = 0;                           // that can be found; 0: nothing needs to run
};

using Select = Status (*)(const Problem& problem, const BindArgs& args, Selection* selection);
// Null: no such op here.
Select find_select(const Problem& problem);
// Of a problem at its optimum, everything checked.
Status select_at_optimum(const Problem& problem, Selection* selection);

Status select_non_zero(const Problem& problem, const BindArgs& args, Selection* selection);
Status select_compress(const Problem& problem, const BindArgs& args, Selection* selection);
Status select_unique(const Problem& problem, const BindArgs& args, Selection* selection);
Status select_boxes(const Problem& problem, const BindArgs& args, Selection* selection);

// Where the counts of the parts begin in scratch memory; behind the launch of add_scan the sums of those before each.
constexpr size_t kCountsAt = 64;
constexpr Pointer kTotal = kWorkspacePointer, kSums{false, -1, kCountsAt};
// One block: running sums over `count` counts, and the sum of all to the front.
Status add_scan(int64_t count, bool arguments, size_t workspace, std::vector<Launch>* launches);

// Elements of which some count: those that are not 0.
struct Counted {
  const char* type;
  Pointer x;
  int64_t count;
  size_t workspace;
  bool arguments;  // as of a KernelSource
};
int64_t part_blocks(int64_t count);
// How many count before each part, and in all.
Status add_count(const Counted& counted, std::vector<Launch>* launches);
// A kernel over the same parts (select/parts.cuh), with the operands x and sums.
KernelSource source_of_parts(std::string_view file, const Counted& counted);
Status finish_parts(const Counted& counted, KernelSource* source, std::vector<Launch>* launches);

}  // namespace wootz::cuda
