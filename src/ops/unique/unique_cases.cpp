#include <string>

#include "ops/room_table.h"

namespace wootz::ops {

void unique_cases(CaseList& list) {
  for (int64_t sorted : {0, 1}) {
    const std::string suffix = sorted ? "_sorted" : "_first_seen";
    list.add("unique/flat" + suffix, "Unique", {list.random(DType::kI64, {3, 7})}, {{"sorted", sorted}}, 4);
    list.add("unique/slices" + suffix, "Unique", {list.random(DType::kI32, {9, 2}, -1, 1)},
             {{"sorted", sorted}, {"axis", int64_t{0}}}, 4);
  }
  list.add("unique/values_f32", "Unique", {list.random(DType::kF32, {17})});
}

}  // namespace wootz::ops
