// A normalization and a product one after the other, and convolutions whose results are added up: what is offered, and
// what a plan may not ask for. That the results are right is tested with all libraries' (tests/kernels).
#include <gtest/gtest.h>

#include <algorithm>

#include "backend/chain_sum.h"
#include "backends/cuda/providers.h"

namespace wootz::cuda {
namespace {

TensorDesc tensor(const Dims& dims, bool constant = false) {
  return {DType::kF16, Layout::kLinear, dims, dims, constant};
}

Problem chain(int64_t rows, bool kept) {
  Problem norm, product;
  norm.params = NormParams{.axis = 2, .has_scale = true};
  norm.inputs = {tensor({1, rows, 384}), tensor({384}, true)};
  norm.outputs = {tensor({1, rows, 384})};
  norm.num_main = 2;
  norm.acc_dtype = product.acc_dtype = DType::kF16;
  product.params = GemmParams{};
  product.inputs = {norm.outputs[0], tensor({384, 1152}, true)};
  product.outputs = {tensor({1, rows, 1152})};
  product.num_main = 2;
  Problem both = make_chain(norm, product);
  if (kept) both.outputs.push_back(norm.outputs[0]);
  return both;
}

// Convolutions by single pixels of so many images, one of them at steps of two.
Problem sum(int64_t images) {
  Problem first, second;
  first.params = ConvParams{.strides = {2, 2}, .dilations = {1, 1}, .pads = {0, 0, 0, 0}};
  first.inputs = {tensor({images, 256, 56, 56}), tensor({512, 256, 1, 1}, true)};
  second.params = ConvParams{.strides = {1, 1}, .dilations = {1, 1}, .pads = {0, 0, 0, 0}};
  second.inputs = {tensor({images, 128, 28, 28}), tensor({512, 128, 1, 1}, true)};
  for (Problem* p : {&first, &second}) {
    p->outputs = {tensor({images, 512, 28, 28})};
    p->num_main = 2;
    p->acc_dtype = DType::kF16;
  }
  second.inputs.push_back(first.outputs[0]);
  PointwiseExpr& e = second.epilogue;
  e.outputs = {e.push(PwOp::kAdd, DType::kF16, e.input(0, DType::kF16), e.input(1, DType::kF16))};
  e.num_inputs = 2;
  return *make_sum(first, second, 1);
}

std::vector<Candidate> offers_for(const Problem& p, const Limits& limits = {}) {
  std::vector<Candidate> offers;
  std::vector<Refusal> refusals;
  apart_provider().tactics(p, limits, &offers, &refusals);
  return offers;
}

TEST(Apart, IsOfferedBesideKernelsOfBoth) {
  for (const bool kept : {false, true}) {
    const std::vector<Candidate> offers = offers_for(chain(128, kept));
    ASSERT_GE(offers.size(), 2U);
    for (const Candidate& c : offers) {
      EXPECT_EQ(c.tactic.kernel, "chain_apart");
      EXPECT_GT(c.estimate_us, 0);
      EXPECT_GE(c.workspace, kept ? 0U : 128U * 384 * 2);  // for the rows in between
    }
  }
  EXPECT_TRUE(offers_for(chain(1 << 15, true)).empty());  // two steps
}

TEST(Apart, AddsUpResults) {
  const std::vector<Candidate> offers = offers_for(sum(32));
  ASSERT_FALSE(offers.empty());
  Problem p = sum(32);
  for (TensorDesc* t : {p.inputs.data(), p.inputs.data() + 2, p.outputs.data()}) t->layout = Layout::kChannelsLast;
  for (const Candidate& c : offers) {
    EXPECT_EQ(c.input_layouts[2], Layout::kChannelsLast);
    EXPECT_GE(c.workspace, 32U * 512 * 28 * 28 * 2);  // for what is added
    if (c.tactic.config.find("cudnn") != std::string::npos) continue;
    const Result<std::unique_ptr<Kernel>> kernel = apart_provider().create(c.tactic, p, {});
    EXPECT_TRUE(kernel.ok()) << kernel.status().to_string();
  }
  p.as<ChainParams>().adds = false;
  EXPECT_FALSE(apart_provider().create(offers[0].tactic, p, {}).ok());
  EXPECT_TRUE(offers_for(sum(1)).empty());  // of too few tiles: two steps
}

TEST(Apart, AsksNobodyWhoIsLeftOut) {
  Limits limits;
  limits.left_out = {"cublaslt"};
  const std::vector<Candidate> offers = offers_for(chain(128, true), limits);
  ASSERT_FALSE(offers.empty());
  for (const Candidate& c : offers) EXPECT_EQ(c.tactic.config.find("cublaslt"), std::string::npos) << c.tactic.config;
}

// A plan may say anything.
TEST(Apart, RefusesTacticsThatItDoesNotKnow) {
  const Problem p = chain(128, true);
  const Tactic good = offers_for(p).back().tactic;
  const auto refuses = [](const Tactic& t, const Problem& problem) {
    return !apart_provider().create(t, problem, {}).ok();
  };
  EXPECT_FALSE(refuses(good, p));
  const std::string norm = good.config.substr(0, good.config.find('|'));
  for (const std::string& config :
       {std::string(), norm, norm + "|", norm + "|generated", norm + "|?:", norm + "|elsewhere:gemm", norm + "|" + norm,
        norm + "|generated:none", "|" + good.config})
    EXPECT_TRUE(refuses({"apart", "chain_apart", config}, p)) << config;
  EXPECT_TRUE(refuses({"apart", "chain", good.config}, p));
  Problem other = p;
  other.as<ChainParams>().first = box_params(PoolParams{});
  EXPECT_TRUE(refuses(good, other));
  other = p;
  other.outputs[1].layout = Layout::kChannelsLast;
  EXPECT_TRUE(refuses(good, other));
  other = p;
  other.outputs.push_back(p.outputs[1]);
  EXPECT_TRUE(refuses(good, other));
}

}  // namespace
}  // namespace wootz::cuda
