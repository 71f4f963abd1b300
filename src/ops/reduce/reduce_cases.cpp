#include <cmath>
#include <string>

#include "ops/cases.h"

namespace wootz::ops {

void reduce_cases(CaseList& list) {
  using Ints = std::vector<int64_t>;
  const auto attrs = [](const char* kind, Ints axes, int64_t keep) {
    return AttrMap{{"kind", std::string(kind)}, {"axes", std::move(axes)}, {"keepdims", keep}};
  };
  for (DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}) {
    for (const char* kind : {"sum", "mean", "max", "min", "prod", "l1", "l2", "sumsq", "logsum", "logsumexp"}) {
      HostTensor x = list.random(dtype, {3, 5, 7, 9});
      if (std::string(kind) == "logsum" || std::string(kind) == "prod")
        for (int64_t i = 0; i < x.volume(); ++i) x.set_f64(i, 0.75 + 0.25 * std::abs(x.get_f64(i)));
      const std::string name = std::string("reduce/") + kind + "_" + dtype_name(dtype);
      list.add(name + "_last", "Reduce", {x}, attrs(kind, {3}, 1), 1, {}, 9);
      list.add(name + "_spatial", "Reduce", {x}, attrs(kind, {2, 3}, 0), 1, {}, 63);
      list.add(name + "_first", "Reduce", {x}, attrs(kind, {0}, 0), 1, {}, 3);
      list.add(name + "_outer_inner", "Reduce", {x}, attrs(kind, {1, -1}, 1), 1, {}, 45);
    }
    list.add(std::string("reduce/all_") + dtype_name(dtype), "Reduce", {list.random(dtype, {4, 65})},
             attrs("sum", {0, 1}, 0), 1, {}, 260);
    list.add(std::string("reduce/long_") + dtype_name(dtype), "Reduce", {list.random(dtype, {2, 1031})},
             attrs("mean", {1}, 1), 1, {}, 1031);
    list.add(std::string("reduce/axes_input_") + dtype_name(dtype), "Reduce",
             {list.random(dtype, {3, 4, 5}), HostTensor::from<int64_t>(Ints{1}, Dims{1})},
             {{"kind", std::string("sum")}}, 1, {}, 4);
  }
  for (DType dtype : {DType::kI8, DType::kU8, DType::kI32, DType::kI64})
    for (const char* kind : {"sum", "mean", "max", "min", "prod", "l1", "sumsq"})
      list.add(std::string("reduce/") + kind + "_" + dtype_name(dtype), "Reduce",
               {list.random(dtype, {3, 4, 5}, -3, 3)}, attrs(kind, {1}, 1), 1, {}, 4);
  for (const char* kind : {"max", "min"})
    list.add(std::string("reduce/") + kind + "_bool", "Reduce", {list.random(DType::kBool, {3, 4})},
             attrs(kind, {1}, 0));
  // Far more rows than columns: where blocks share the rows.
  for (DType dtype : {DType::kF32, DType::kF16})
    list.add(std::string("reduce/tall_") + dtype_name(dtype), "Reduce", {list.random(dtype, {2600, 32})},
             attrs("mean", {0}, 1), 1, {}, 2600);
}

}  // namespace wootz::ops
