#include "ops/cases.h"

namespace wootz::ops {

void loss_cases(CaseList& list) {
  for (const char* reduction : {"none", "sum", "mean"})
    list.add(
        std::string("loss/nll_") + reduction, "NllLoss",
        {list.random(DType::kF32, {3, 5, 2}), list.random(DType::kI64, {3, 2}, 0, 4), list.random(DType::kF32, {5})},
        {{"reduction", std::string(reduction)}, {"ignore_index", int64_t{2}}});
  list.add("loss/nll_many", "NllLoss", {list.random(DType::kF32, {4700, 3}), list.random(DType::kI32, {4700}, 0, 2)},
           {}, 1, {}, 4700);
  list.add("loss/nll_f16", "NllLoss",
           {list.random(DType::kF16, {3, 5, 2, 2}), list.random(DType::kI64, {3, 2, 2}, 0, 4)},
           {{"reduction", std::string("sum")}}, 1, {}, 12);
}

}  // namespace wootz::ops
