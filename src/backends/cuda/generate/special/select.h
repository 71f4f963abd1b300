// Ops whose results are as many as they find: kernels that count, the host, which learns how many, and kernels that
// write.
#pragma once

#include "backends/cuda/generate/families.h"

namespace wootz::cuda {

struct Selection {
  std::vector<Launch> find;      // leaves the number found, an s64, at the beginning of the scratch memory
  std::vector<Launch> write;     // output 0 then has its extents
  std::vector<int64_t> results;  // extents of output 0; -1: the number found
  int64_t most = 0;              // that can be found; 0: nothing needs to run
};

using Select = Status (*)(const Problem& problem, const BindArgs& args, Selection* selection);
// Null: no such op here.
Select find_select(std::string_view op);
// Of a problem at its optimum, everything checked.
Status select_at_optimum(const Problem& problem, Selection* selection);

Status select_non_zero(const Problem& problem, const BindArgs& args, Selection* selection);
Status select_compress(const Problem& problem, const BindArgs& args, Selection* selection);
Status select_boxes(const Problem& problem, const BindArgs& args, Selection* selection);

// Where the counts of the parts begin in scratch memory; behind the launch of add_scan the sums of those before each.
constexpr size_t kCountsAt = 64;
// One block: running sums over `count` counts (s64), and the sum of all to the front.
void add_scan(int64_t count, size_t workspace, std::vector<Launch>* launches);

}  // namespace wootz::cuda
