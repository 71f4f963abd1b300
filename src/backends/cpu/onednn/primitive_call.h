// A oneDNN primitive as a Call.
#pragma once

#include <memory>
#include <vector>

#include "backends/cpu/onednn/dense.h"

namespace wootz::cpu::dnn {

// Generates the plan's primitive (under the calling thread's limit of threads, which runs must share: oneDNN sizes its
// scratch memory by it). What the plan leaves to the pointwise engine runs after it.
//
// Threads: a oneDNN memory object holds the address that a run reads, so two runs must not share one. The call keeps a
// few sets of memory objects; a run claims a free one by an atomic flag. Only when more runs than kSlots overlap does a
// run make (and allocate) a set of its own. What oneDNN itself takes in every execution comes from blocks that
// the thread keeps (shims/omp/block_cache.h).
Result<std::unique_ptr<Call>> make_primitive_call(const Problem& problem, const DenseTraits& traits, DensePlan plan,
                                                  const Extents& extents);
// A call that does nothing, for results without elements.
std::unique_ptr<Call> make_empty_call();

}  // namespace wootz::cpu::dnn
