#include <string>

#include "ops/cases.h"
#include "ops/fused/chain.h"

namespace wootz::ops {

void fused_cases(CaseList& list) {
  chain_cases(list);
  for (DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    const std::string suffix = std::string("_") + dtype_name(dtype);
    // relu(x * scale + shift), scale and shift per channel
    PointwiseExpr chain;
    chain.num_inputs = 3;
    const uint16_t x = chain.input(0, dtype), scale = chain.input(1, dtype), shift = chain.input(2, dtype);
    const uint16_t product = chain.push(PwOp::kMul, dtype, x, scale);
    const uint16_t sum = chain.push(PwOp::kAdd, dtype, product, shift);
    chain.outputs = {chain.push(PwOp::kRelu, dtype, sum)};
    list.add("fused/scale_relu" + suffix, "Pointwise",
             {list.random(dtype, {2, 3, 4, 5}), list.random(dtype, {3, 1, 1}), list.random(dtype, {3, 1, 1})},
             {{"expr", chain}});
    // two results of one walk: the sum in f32, and whether it is positive
    PointwiseExpr pair;
    pair.num_inputs = 2;
    const uint16_t a = pair.push(PwOp::kCast, DType::kF32, pair.input(0, dtype));
    const uint16_t b = pair.push(PwOp::kCast, DType::kF32, pair.input(1, dtype));
    const uint16_t total = pair.push(PwOp::kAdd, DType::kF32, a, b);
    const uint16_t positive = pair.push(PwOp::kGreater, DType::kBool, total, pair.constant(0, DType::kF32));
    pair.outputs = {total, positive};
    list.add("fused/two_results" + suffix, "Pointwise", {list.random(dtype, {7, 33}), list.random(dtype, {33})},
             {{"expr", pair}}, 2);
  }
}

}  // namespace wootz::ops
