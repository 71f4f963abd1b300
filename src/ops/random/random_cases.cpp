#include "ops/cases.h"

namespace wootz::ops {

namespace {
// A key and a count that pass 32 bits.
HostTensor state() {
  const int64_t values[] = {0x5eed5eed5eed5eed, 0x300000007};
  return HostTensor::from<int64_t>(values, {2});
}
}  // namespace

void random_cases(CaseList& list) {
  using Ints = std::vector<int64_t>;
  list.add("random/state", "RandomState", {}, {{"key", int64_t{-77}}});
  for (const DType type : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16}) {
    const std::string name(dtype_name(type));
    list.add("random/normal_" + name, "Random", {state()},
             {{"distribution", std::string("normal")}, {"shape", Ints{3, 5}}, {"dtype", name}, {"mean", 2.0}});
    list.add("random/uniform_like_" + name, "Random", {state(), list.random(type, {3, 5})},
             {{"distribution", std::string("uniform")}, {"low", -1.0}});
    list.add("random/bernoulli_" + name, "Bernoulli", {state(), list.random(type, {30, 5})});
    list.add("random/multinomial_" + name, "Multinomial", {state(), list.random(type, {3, 5})},
             {{"sample_size", int64_t{40}}});
  }
  for (const char* type : {"bool", "u8", "i8", "i32", "i64", "f16"})
    list.add(std::string("random/bernoulli_to_") + type, "Bernoulli", {state(), list.random(DType::kF32, {3, 50})},
             {{"dtype", std::string(type)}});
  list.add("random/multinomial_i64", "Multinomial", {state(), list.random(DType::kF32, {2, 70})},
           {{"sample_size", int64_t{9}}, {"dtype", std::string("i64")}});
  list.add("random/nothing", "Random", {state()}, {{"distribution", std::string("normal")}, {"shape", Ints{3, 0}}});
}

}  // namespace wootz::ops
