#include <cmath>
#include <limits>
#include <string>

#include "ops/cases.h"

namespace wootz::ops {

void unique_cases(CaseList& list) {
  for (int64_t sorted : {0, 1}) {
    const std::string suffix = sorted ? "_sorted" : "_first_seen";
    list.add("unique/flat" + suffix, "Unique", {list.random(DType::kI64, {3, 7})}, {{"sorted", sorted}}, 4);
    list.add("unique/slices" + suffix, "Unique", {list.random(DType::kI32, {9, 2}, -1, 1)},
             {{"sorted", sorted}, {"axis", int64_t{0}}}, 4);
  }
  list.add("unique/values_f32", "Unique", {list.random(DType::kF32, {17})});
  // NaN is one value, after all others.
  HostTensor gaps = list.random(DType::kF16, {4, 6});
  for (int64_t i = 0; i < gaps.volume(); ++i)
    gaps.set_f64(i, i % 5 == 0 ? std::numeric_limits<double>::quiet_NaN() : std::round(gaps.get_f64(i)));
  list.add("unique/nan", "Unique", {gaps}, {}, 4);
  list.add("unique/columns", "Unique", {list.random(DType::kU8, {3, 40, 2}, 0, 1)}, {{"axis", int64_t{-2}}}, 4);
  list.add("unique/bool", "Unique", {list.random(DType::kBool, {9})}, {{"sorted", int64_t{0}}}, 3);
  list.add("unique/many", "Unique", {list.random(DType::kI32, {9000}, 0, 3000)}, {{"sorted", int64_t{0}}}, 4);
  list.add("unique/none", "Unique", {list.random(DType::kF32, {0})}, {}, 4);
}

}  // namespace wootz::ops
