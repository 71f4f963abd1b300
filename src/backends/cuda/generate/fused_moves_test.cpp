// What goes on in the step of a gather or concatenation.
#include <gtest/gtest.h>

#include <functional>

#include "backends/cuda/generate/families.h"

namespace wootz::cuda {
namespace {

void add(std::vector<TensorDesc>* to, DType type, const Dims& dims, Layout layout = Layout::kLinear) {
  to->push_back({type, layout, dims, dims, false});
}

bool is_refused(Problem p, const std::function<void(Problem*)>& spoil) {
  std::vector<Launch> launches;
  const bool good = generate_at_optimum(p, &launches).ok();
  spoil(&p);
  return good && !generate_at_optimum(p, &launches).ok();
}

std::function<void(Problem*)> sized(size_t input, const Dims& dims) {
  return [=](Problem* p) { p->inputs[input].dims = p->inputs[input].max_dims = dims; };
}

bool says(const Problem& p, const char* text) {
  std::vector<Launch> launches;
  EXPECT_TRUE(generate_at_optimum(p, &launches).ok());
  return launches.size() == 1 && launches[0].source.find(text) != std::string::npos;
}

Problem embedding_of(int64_t rows, int64_t length, DType type) {
  Problem p;
  EmbeddingParams params{.tables = 2, .has_scale = true, .has_bias = true};
  params.sum.num_inputs = 3;
  const uint16_t both = params.sum.push(PwOp::kAdd, type, params.sum.input(0, type), params.sum.input(1, type));
  params.sum.outputs = {params.sum.push(PwOp::kAdd, type, both, params.sum.input(2, type))};
  p.params = params;
  for (const int64_t extent : {500, 2}) {
    add(&p.inputs, type, {extent, length});
    add(&p.inputs, DType::kI64, {1, rows});
  }
  for (const Dims& dims : {Dims{1, rows, length}, Dims{length}, Dims{length}}) add(&p.inputs, type, dims);
  add(&p.outputs, type, {1, rows, length});
  p.num_main = 7;
  return p;
}

TEST(Embedding, ReadsSixteenBytesWhereRowsAllow) {
  EXPECT_TRUE(says(embedding_of(128, 768, DType::kF16), "constexpr int kVector = 8;"));
  EXPECT_TRUE(says(embedding_of(128, 768, DType::kF32), "constexpr int kVector = 4;"));
  EXPECT_TRUE(says(embedding_of(128, 770, DType::kF16), "constexpr int kVector = 2;"));
  EXPECT_TRUE(says(embedding_of(128, 768, DType::kF16), "constexpr int kRowThreads = 128;"));
}

// A plan may say anything.
TEST(Embedding, RefusesOperandsThatDoNotGoTogether) {
  const auto refused = [](const std::function<void(Problem*)>& spoil) {
    return is_refused(embedding_of(16, 64, DType::kF16), spoil);
  };
  EXPECT_TRUE(refused(sized(0, {500, 56})));
  EXPECT_TRUE(refused(sized(0, {500, 8, 8})));
  EXPECT_TRUE(refused(sized(1, {1, 15})));
  EXPECT_TRUE(refused(sized(3, {16})));
  EXPECT_TRUE(refused(sized(4, {1, 16, 60})));
  EXPECT_TRUE(refused(sized(5, {63})));
  EXPECT_TRUE(refused([](Problem* p) { p->inputs[1].dtype = DType::kF32; }));
  EXPECT_TRUE(refused([](Problem* p) { p->inputs[2].dtype = DType::kF32; }));
  EXPECT_TRUE(refused([](Problem* p) { p->as<EmbeddingParams>().tables = 4; }));
  EXPECT_TRUE(refused([](Problem* p) { p->as<EmbeddingParams>().sum = {}; }));
  EXPECT_TRUE(refused([](Problem* p) { p->as<EmbeddingParams>().has_scale = false; }));
  EXPECT_TRUE(refused([](Problem* p) { p->as<EmbeddingParams>().sum.num_inputs = 60000; }));
  EXPECT_TRUE(refused([](Problem* p) { p->inputs.pop_back(); }));
  EXPECT_TRUE(refused([](Problem* p) { p->outputs[0].dtype = DType::kI8; }));
}

// Channels last, scaled by channel.
Problem concat_of(const std::vector<int64_t>& channels) {
  Problem p;
  p.params = MoveParams{.kind = MoveKind::kConcat, .axis = 1};
  int64_t all = 0;
  for (const int64_t each : channels) {
    add(&p.inputs, DType::kF16, {1, each, 28, 28}, Layout::kChannelsLast);
    all += each;
  }
  p.num_main = static_cast<int>(channels.size());
  add(&p.inputs, DType::kF16, {all, 1, 1});
  add(&p.outputs, DType::kF16, {1, all, 28, 28}, Layout::kChannelsLast);
  p.acc_dtype = DType::kF16;
  p.epilogue.num_inputs = 2;
  const uint16_t x = p.epilogue.input(0, DType::kF16);
  p.epilogue.outputs = {p.epilogue.push(PwOp::kMul, DType::kF16, x, p.epilogue.input(1, DType::kF16))};
  return p;
}

TEST(ConcatWithExpression, ReadsWhatAllPartsAllow) {
  EXPECT_TRUE(says(concat_of({64, 32, 32}), "constexpr int kVector = 8;"));
  EXPECT_TRUE(says(concat_of({64, 36}), "constexpr int kVector = 4;"));
  EXPECT_TRUE(says(concat_of({63, 65}), "constexpr int kVector = 1;"));
}

// A plan may say anything.
TEST(ConcatWithExpression, RefusesOperandsThatDoNotGoTogether) {
  const auto refused = [](const std::function<void(Problem*)>& spoil) {
    return is_refused(concat_of({64, 32}), spoil);
  };
  EXPECT_TRUE(refused(sized(0, {1, 56, 28, 28})));
  EXPECT_TRUE(refused(sized(1, {1, 32, 28, 27})));
  EXPECT_TRUE(refused(sized(1, {32, 28, 28})));
  EXPECT_TRUE(refused(sized(2, {95, 1, 1})));
  EXPECT_TRUE(refused([](Problem* p) { p->as<MoveParams>().axis = 4; }));
  EXPECT_TRUE(refused([](Problem* p) { p->as<MoveParams>().axis = -1; }));
  EXPECT_TRUE(refused([](Problem* p) { p->as<MoveParams>().kind = MoveKind::kSplit; }));
  EXPECT_TRUE(refused([](Problem* p) { p->inputs[1].dtype = DType::kF32; }));
  EXPECT_TRUE(refused([](Problem* p) { p->inputs[1].layout = Layout::kBlocked8; }));
  EXPECT_TRUE(refused([](Problem* p) { p->num_main = 0; }));
  EXPECT_TRUE(refused([](Problem* p) { p->num_main = 3; }));
  EXPECT_TRUE(refused([](Problem* p) { p->inputs.pop_back(); }));
}

}  // namespace
}  // namespace wootz::cuda
