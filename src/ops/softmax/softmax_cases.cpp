#include "ops/cases.h"

namespace wootz::ops {

void softmax_cases(CaseList& list) {
  struct Case {
    const char* name;
    Dims dims;
    int64_t axis;
    DType dtype = DType::kF32;
  };
  const Case cases[] = {
      {"last", {4, 100}, -1},
      {"tokens", {2, 3, 17, 33}, 3},
      {"channels", {2, 19, 5, 7}, 1},
      {"first", {12, 5}, 0},
      {"single", {7, 1}, 1},
      {"vector", {1000}, 0},
      {"vocabulary", {65, 4100}, 1},  // more than the registers of a row's threads hold
      {"empty", {0, 4}, 1},
      {"f16", {3, 65}, -1, DType::kF16},
      {"bf16", {3, 65}, -1, DType::kBF16},
      {"f64", {3, 9}, -1, DType::kF64},
  };
  for (const char* op : {"Softmax", "LogSoftmax", "Hardmax"}) {
    for (const Case& c : cases) {
      const int64_t length = c.dims[static_cast<size_t>(c.axis < 0 ? c.axis + c.dims.rank() : c.axis)];
      list.add(std::string("softmax/") + op + "_" + c.name, op, {list.random(c.dtype, c.dims)}, {{"axis", c.axis}}, 1,
               {}, length);
    }
  }
}

}  // namespace wootz::ops
