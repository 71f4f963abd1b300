#include "ops/cases.h"

namespace wootz::ops {

void lrn_cases(CaseList& list) {
  for (const int64_t size : {1, 3, 4, 11})
    list.add("lrn/size_" + std::to_string(size), "LRN", {list.random(DType::kF32, {2, 7, 4, 3})},
             {{"size", size}, {"alpha", 0.5}, {"beta", 0.6}, {"bias", 1.5}});
}

}  // namespace wootz::ops
