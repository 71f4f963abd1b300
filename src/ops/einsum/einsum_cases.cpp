#include "ops/cases.h"

namespace wootz::ops {

void einsum_cases(CaseList& list) {
  const auto add = [&](const char* name, const char* equation, std::vector<HostTensor> inputs, int64_t sum) {
    list.add(std::string("einsum/") + name, "Einsum", std::move(inputs), {{"equation", std::string(equation)}}, 1, {},
             sum);
  };
  add("matmul_f32", "ij,jk->ik", {list.random(DType::kF32, {3, 4}), list.random(DType::kF32, {4, 5})}, 4);
  add("diagonal_f32", "...ii->...i", {list.random(DType::kF32, {2, 4, 4})}, 1);
  add("trace_i32", "ii", {list.random(DType::kI32, {4, 4})}, 4);
  add("three_f32", "ab,bc,cd->ad",
      {list.random(DType::kF32, {2, 3}), list.random(DType::kF32, {3, 4}), list.random(DType::kF32, {4, 5})}, 12);
  add("broadcast_f16", "...ij,...jk->...ik",
      {list.random(DType::kF16, {2, 1, 3, 4}), list.random(DType::kF16, {3, 4, 2})}, 4);
}

}  // namespace wootz::ops
