#include "ops/cases.h"

namespace wootz::ops {

void random_cases(CaseList& list) {
  using Ints = std::vector<int64_t>;
  list.add("random/normal", "Random", {},
           {{"distribution", std::string("normal")}, {"shape", Ints{3, 5}}, {"seed", 7.0}, {"mean", 2.0}});
  list.add("random/uniform_like", "Random", {list.random(DType::kF16, {3, 5})},
           {{"distribution", std::string("uniform")}, {"seed", 7.0}, {"low", -1.0}});
  list.add("random/bernoulli", "Bernoulli", {list.random(DType::kF32, {3, 5})}, {{"seed", 7.0}});
  list.add("random/multinomial", "Multinomial", {list.random(DType::kF32, {3, 5})},
           {{"seed", 7.0}, {"sample_size", int64_t{4}}});
}

}  // namespace wootz::ops
