// Ops whose results are as many as they find: kernels that count, the host, which learns how many, and kernels that
// write.
#pragma once

#include "backend/op_kernels.h"
#include "backends/cuda/generate/families.h"

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
// One block: running sums over `count` counts (s64), and the sum of all to the front.
void add_scan(int64_t count, size_t workspace, std::vector<Launch>* launches);

// Counting in parts: a kernel whose blocks leave how many of their elements count. `flag` is source that says of
// element i of "x", of type `storage`, whether it does.
int64_t part_blocks(int64_t count);
void add_count(const char* storage, Pointer x, const std::string& flag, int64_t count, size_t workspace,
               std::vector<Launch>* launches);
// Behind add_count and add_scan, opens a kernel of as many blocks, whose threads see elements [first, last): `at` is
// the number of the next that counts. "ws" is among the parameters.
void begin_write(const std::string& parameters, const std::string& flag, int64_t count, Writer* to);
void add_part_launch(Writer* source, std::vector<Pointer> pointers, int64_t blocks, size_t workspace,
                     std::vector<Launch>* launches);

}  // namespace wootz::cuda
