// Problems of plans: what no build makes is refused, and neither the library nor a GPU is asked for that.
#include <gmock/gmock.h>

#include "backend/collective.h"
#include "backend/op_kernels.h"
#include "backends/cuda/providers.h"
#include "backends/reference/reference_provider.h"

namespace wootz {
namespace {

using testing::HasSubstr;

struct Step {
  Step() {
    params.operation = CollectiveOperation::kReduceScatter;
    params.reduction = RankReduction::kSum;
    params.ranks = 2;
    x.dtype = y.dtype = DType::kF32;
    x.dims = x.max_dims = {4, 3};
    y.dims = y.max_dims = {2, 3};
  }
  Problem problem() const {
    Problem p;
    OpParams op;
    op.op = "Collective";
    op.kernel = box_params(params);
    p.params = op;
    p.inputs = {x};
    p.outputs = {y};
    p.num_main = 1;
    return p;
  }
  CollectiveOpParams params;
  TensorDesc x, y;
};

std::string refusal(const Problem& problem) {
  const Status status = cuda::nccl_provider().create({"nccl", "op_nccl_collective", ""}, problem, {}).status();
  std::vector<Candidate> offers;
  std::vector<Refusal> refusals;
  cuda::nccl_provider().tactics(problem, {}, &offers, &refusals);
  if (!status.ok()) EXPECT_TRUE(offers.empty() || status.message().find("in rows") != std::string::npos);
  return status.ok() ? "" : std::string(status.message());
}
template <typename Change>
std::string refusal_with(Change change) {
  Step step;
  change(step);
  return refusal(step.problem());
}

TEST(NcclProvider, RefusesWhatNoBuildMakes) {
  EXPECT_EQ(refusal(Step().problem()), "");
  EXPECT_THAT(refusal_with([](Step& s) { s.params.reduction = RankReduction::kNone; }), HasSubstr("needs a reduction"));
  EXPECT_THAT(refusal_with([](Step& s) { s.params.ranks = int64_t{1} << 40; }), HasSubstr("ranks"));
  EXPECT_THAT(refusal_with([](Step& s) { s.params.ranks = 0; }), HasSubstr("0 ranks"));
  EXPECT_THAT(refusal_with([](Step& s) { s.params.groups = {0, 0}; }), HasSubstr("twice"));
  EXPECT_THAT(refusal_with([](Step& s) { s.params.groups = {0, 7}; }), HasSubstr("rank 7"));
  EXPECT_THAT(refusal_with([](Step& s) { s.params.groups = {-3}; }), HasSubstr("rank -3"));
  EXPECT_THAT(refusal_with([](Step& s) {
                s.params.operation = CollectiveOperation::kReduce;
                s.params.root = 5;
              }),
              HasSubstr("rank 5"));
  EXPECT_THAT(refusal_with([](Step& s) { s.x.dtype = s.y.dtype = DType::kBool; }), HasSubstr("bool"));
  EXPECT_THAT(refusal_with([](Step& s) { s.x.dtype = s.y.dtype = DType::kI4; }), HasSubstr("i4"));
  EXPECT_THAT(refusal_with([](Step& s) { s.y.dtype = DType::kF16; }), HasSubstr("no collective operation"));
  EXPECT_THAT(refusal_with([](Step& s) { s.x.layout = Layout::kChannelsLast; }), HasSubstr("not in rows"));
  Problem two = Step().problem(), bare = Step().problem();
  two.inputs.push_back(two.inputs[0]);
  EXPECT_THAT(refusal(two), HasSubstr("no collective operation"));
  bare.as<OpParams>().kernel = {};
  EXPECT_THAT(refusal(bare), HasSubstr("no collective operation"));
  EXPECT_THAT(cuda::nccl_provider().create({"nccl", "other", ""}, Step().problem(), {}).status().message(),
              HasSubstr("no kernel 'other'"));
}

TEST(NcclProvider, ExtentsOfARunFitTheOperation) {
  const Result<Collective> c = read_collective(Step().problem());
  ASSERT_TRUE(c.ok()) << c.status().to_string();
  EXPECT_TRUE(check_collective_extents(*c, {4, 3}, {2, 3}).ok());
  EXPECT_THAT(check_collective_extents(*c, {4, 3}, {4, 3}).message(), HasSubstr("makes [2x3] of [4x3], not [4x3]"));
  EXPECT_THAT(check_collective_extents(*c, {5, 3}, {2, 3}).message(),
              HasSubstr("[5x3], is no multiple of the 2 ranks"));
  EXPECT_THAT(check_collective_extents(*c, {}, {}).message(), HasSubstr("scalar"));
  Collective gather = *c;
  gather.kind = find_collective("all_gather");
  EXPECT_THAT(check_collective_extents(gather, {int64_t{1} << 40}, {0}).message(), HasSubstr("too large"));
}

TEST(NcclProvider, NothingStandsInForOtherRanks) {
  const Problem problem = Step().problem();
  EXPECT_TRUE(spans_devices(problem));
  std::vector<Candidate> offers;
  std::vector<Refusal> refusals;
  reference_provider()->tactics(problem, {}, &offers, &refusals);
  EXPECT_TRUE(offers.empty());
  EXPECT_FALSE(reference_provider()->create({"reference", "op_any_reference", ""}, problem, {}).ok());
  Step alone;
  alone.params.groups = {1};
  EXPECT_FALSE(spans_devices(alone.problem()));
}

}  // namespace
}  // namespace wootz
