#include "backend/work.h"

#include <gtest/gtest.h>

namespace wootz {
namespace {

TensorDesc desc(Dims dims, DType dtype = DType::kF32) {
  TensorDesc d;
  d.dtype = dtype;
  d.dims = d.max_dims = dims;
  return d;
}

Problem problem(Family family, std::vector<TensorDesc> inputs, std::vector<TensorDesc> outputs) {
  Problem p;
  p.set_family(family);
  p.num_main = static_cast<int>(inputs.size());
  p.inputs = std::move(inputs);
  p.outputs = std::move(outputs);
  return p;
}

TEST(Work, Convolutions) {
  Problem p = problem(Family::kConv, {desc({1, 64, 56, 56}), desc({64, 64, 3, 3})}, {desc({1, 64, 56, 56})});
  EXPECT_DOUBLE_EQ(work_of(p).flops, 2.0 * 64 * 56 * 56 * 64 * 9);
  EXPECT_DOUBLE_EQ(work_of(p).bytes_read, 4.0 * (64 * 56 * 56 + 64 * 64 * 9));
  EXPECT_DOUBLE_EQ(work_of(p).bytes_written, 4.0 * 64 * 56 * 56);
  // Depthwise: a window of one channel each.
  p = problem(Family::kConv, {desc({1, 64, 56, 56}), desc({64, 1, 3, 3})}, {desc({1, 64, 56, 56})});
  EXPECT_DOUBLE_EQ(work_of(p).flops, 2.0 * 64 * 56 * 56 * 9);
  // Transposed: [C, M, k, k], each input element goes into M windows.
  p = problem(Family::kConv, {desc({1, 8, 4, 4}), desc({8, 16, 2, 2})}, {desc({1, 16, 8, 8})});
  p.as<ConvParams>().transposed = true;
  EXPECT_DOUBLE_EQ(work_of(p).flops, 2.0 * 8 * 4 * 4 * 16 * 4);
}

TEST(Work, ProductsAndAttention) {
  Problem p = problem(Family::kGemm, {desc({2, 10, 20}), desc({20, 30})}, {desc({2, 10, 30})});
  EXPECT_DOUBLE_EQ(work_of(p).flops, 2.0 * 2 * 10 * 30 * 20);
  p.inputs[0].dims = {2, 20, 10};
  p.as<GemmParams>().trans_a = true;
  EXPECT_DOUBLE_EQ(work_of(p).flops, 2.0 * 2 * 10 * 30 * 20);
  p = problem(Family::kAttention, {desc({1, 12, 128, 64}), desc({1, 12, 128, 64}), desc({1, 12, 128, 64})},
              {desc({1, 12, 128, 64})});
  const double flops = work_of(p).flops;
  EXPECT_GE(flops, 4.0 * 12 * 128 * 128 * 64);
  // The same as columns of one matrix, with the heads' results beside each other.
  p = problem(Family::kAttention, {desc({1, 128, 2304}), desc({1, 128, 2304}), desc({1, 128, 2304})},
              {desc({1, 128, 768})});
  auto& attention = p.as<AttentionParams>();
  attention.merged = 1;
  attention.q_view = {0, 12, 64, 64, 0}, attention.k_view = {768, 12, 64, 64, 0};
  attention.v_view = {1536, 12, 64, 64, 0};
  EXPECT_DOUBLE_EQ(work_of(p).flops, flops);
  // Five steps of two sequences; 7 inputs and 3 units, four gates, both directions.
  p = problem(Family::kRnn, {desc({5, 2, 7}), desc({2, 12, 7}), desc({2, 12, 3})}, {desc({5, 2, 2, 3})});
  EXPECT_DOUBLE_EQ(work_of(p).flops, 2.0 * 5 * 2 * 2 * 12 * (7 + 3));
}

TEST(Work, EpiloguesCountAndOperandsDoNot) {
  Problem p = problem(Family::kPointwise, {desc({4, 5}), desc({5})}, {desc({4, 5})});
  p.epilogue.num_inputs = 2;
  p.epilogue.code = {{PwOp::kInput, DType::kF32, 0},
                     {PwOp::kInput, DType::kF32, 1},
                     {PwOp::kAdd, DType::kF32, 0, 1},
                     {PwOp::kTanh, DType::kF32, 2}};
  p.epilogue.outputs = {3};
  EXPECT_DOUBLE_EQ(work_of(p).flops, 2 * 20);
  EXPECT_DOUBLE_EQ(work_of(p).bytes_read, 4 * 25);
}

TEST(Work, PartsAndTheUnknown) {
  Problem p = problem(Family::kGather, {desc({1000, 8}), desc({3}, DType::kI64)}, {desc({3, 8})});
  EXPECT_DOUBLE_EQ(work_of(p).bytes_read, 3 * 8 * 4 + 3 * 8) << "of a table, the rows taken";
  const TensorDesc ids = desc({3}, DType::kI64);
  Problem e = problem(Family::kEmbedding, {desc({1000, 8}), ids, desc({2, 8}), ids, desc({8})}, {desc({3, 8})});
  e.params = EmbeddingParams{.tables = 2, .has_scale = true};
  EXPECT_DOUBLE_EQ(work_of(e).bytes_read, 3 * 8 * 4 + 2 * 8 * 4 + 2 * 3 * 8 + 8 * 4) << "of a small one, all";
  EXPECT_DOUBLE_EQ(work_of(problem(Family::kOp, {desc({3})}, {desc({3})})).flops, -1);
  EXPECT_DOUBLE_EQ(work_of(problem(Family::kConv, {}, {})).flops, -1);
  EXPECT_DOUBLE_EQ(work_of(problem(Family::kReduce, {desc({0, 7})}, {desc({7})})).flops, 0);
  const Problem i4 = problem(Family::kMove, {desc({8}, DType::kI4)}, {desc({8}, DType::kI4)});
  EXPECT_DOUBLE_EQ(work_of(i4).bytes_read, 4);
}

}  // namespace
}  // namespace wootz
