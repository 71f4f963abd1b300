#include "ops/op_testing.h"

namespace wootz {
namespace {

using namespace optest;

// One head, two queries, two keys of size 1; scores are q * k.
const HostTensor kQ = f32({1, 1, 2, 1}, {0, 1}), kK = f32({1, 1, 2, 1}, {0, std::log(3.0)}),
                 kV = f32({1, 1, 2, 1}, {4, 8});
const AttrMap kPlain{{"scale", 1.0}};

TEST(Attention, SoftmaxOfScoresTimesValues) {
  expect_tensor(run_op("Attention", {kQ, kK, kV}, kPlain), f32({1, 1, 2, 1}, {6, 7}), 1e-6);
  const AttrMap causal{{"scale", 1.0}, {"causal", int64_t{1}}};
  expect_tensor(run_op("Attention", {kQ, kK, kV}, causal), f32({1, 1, 2, 1}, {4, 7}), 1e-6);
}

TEST(Attention, Masks) {
  expect_tensor(run_op("Attention", {kQ, kK, kV, boolean({2, 2}, {1, 0, 0, 1})}, kPlain), f32({1, 1, 2, 1}, {4, 8}),
                1e-6);
  expect_tensor(run_op("Attention", {kQ, kK, kV, f32({1, 2}, {std::log(3.0), 0})}, kPlain), f32({1, 1, 2, 1}, {5, 6}),
                1e-6);
  // A row that may attend to nothing gives zeros, not NaN.
  expect_tensor(run_op("Attention", {kQ, kK, kV, boolean({2, 2}, {0, 0, 1, 1})}, kPlain), f32({1, 1, 2, 1}, {0, 7}),
                1e-6);
}

TEST(Attention, GroupsOfHeadsShareKeys) {
  const HostTensor q = f32({1, 2, 1, 1}, {0, 1});
  expect_tensor(run_op("Attention", {q, kK, kV}, kPlain), f32({1, 2, 1, 1}, {6, 7}), 1e-6);
  EXPECT_FALSE(
      try_op("Attention", {f32({1, 3, 1, 1}, {0, 1, 2}), f32({1, 2, 1, 1}, {1, 1}), f32({1, 2, 1, 1}, {1, 1})}).ok());
}

TEST(Attention, ScoresAtEachStage) {
  for (const auto& [stage, second] :
       {std::pair<int64_t, double>{0, std::log(3.0)}, {1, std::tanh(std::log(3.0))}, {2, -INFINITY}, {3, 0}}) {
    const AttrMap attrs{{"scale", 1.0}, {"softcap", 1.0}, {"qk_output", stage}};
    const double first = stage == 3 ? 1 : 0;
    expect_tensor(run_op("Attention", {f32({1, 1, 1, 1}, {1}), kK, kV, boolean({2}, {1, 0})}, attrs, 1),
                  f32({1, 1, 1, 2}, {first, second}), 1e-6);
  }
}

TEST(Attention, TransposedKey) {
  const HostTensor q = f32({1, 1, 1, 2}, {1, 1}), k = f32({1, 1, 2, 2}, {1, 2, 3, 4}),
                   kt = f32({1, 1, 2, 2}, {1, 3, 2, 4});
  expect_tensor(run_op("Attention", {q, kt, k}, {{"scale", 0.1}, {"k_transposed", int64_t{1}}}),
                run_op("Attention", {q, k, k}, {{"scale", 0.1}}), 0);
}

TEST(LinearAttention, StateAddsUp) {
  const HostTensor q = f32({1, 2, 1}, {1, 1}), k = f32({1, 2, 1}, {1, 2}), v = f32({1, 2, 1}, {3, 5});
  const AttrMap attrs{
      {"q_heads", int64_t{1}}, {"kv_heads", int64_t{1}}, {"rule", std::string("linear")}, {"scale", 1.0}};
  expect_tensor(run_op("LinearAttention", {q, k, v}, attrs), f32({1, 2, 1}, {3, 13}));
  expect_tensor(run_op("LinearAttention", {q, k, v}, attrs, 1), f32({1, 1, 1, 1}, {13}));
}

}  // namespace
}  // namespace wootz
