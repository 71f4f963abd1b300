#include "ops/cases.h"

namespace wootz::ops {

void shape_of_cases(CaseList& list) {
  list.add("shape_of/shape", "Shape", {list.random(DType::kF32, {2, 3, 5})});
  list.add("shape_of/scalar", "Shape", {list.random(DType::kF32, {})});
  list.add("shape_of/part", "Shape", {list.random(DType::kF32, {2, 3, 5, 7})},
           {{"start", int64_t{1}}, {"end", int64_t{-1}}});
  list.add("shape_of/size", "Size", {list.random(DType::kF16, {2, 3, 5})});
}

}  // namespace wootz::ops
