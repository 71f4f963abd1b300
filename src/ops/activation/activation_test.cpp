#include "ops/op_testing.h"

namespace wootz {
namespace {
using namespace optest;

TEST(Activation, KnownValues) {
  const HostTensor x = f32({3}, {-1, 0, 2});
  expect_tensor(run_op("Relu", {x}), f32({3}, {0, 0, 2}));
  expect_tensor(run_op("LeakyRelu", {x}), f32({3}, {-0.01, 0, 2}), 1e-6);
  expect_tensor(run_op("LeakyRelu", {x}, {{"alpha", 0.1}}), f32({3}, {-0.1, 0, 2}), 1e-6);
  expect_tensor(run_op("Elu", {x}, {{"alpha", 2.0}}), f32({3}, {-1.264241118, 0, 2}), 1e-6);
  expect_tensor(run_op("Celu", {x}, {{"alpha", 2.0}}), f32({3}, {-0.786938681, 0, 2}), 1e-6);
  expect_tensor(run_op("Selu", {x}), f32({3}, {-1.111330743, 0, 2.101402044}), 1e-6);
  expect_tensor(run_op("Sigmoid", {x}), f32({3}, {0.268941421, 0.5, 0.880797078}), 1e-6);
  expect_tensor(run_op("Tanh", {x}), f32({3}, {-0.761594156, 0, 0.964027580}), 1e-6);
  expect_tensor(run_op("Gelu", {x}), f32({3}, {-0.158655254, 0, 1.954499736}), 1e-6);
  expect_tensor(run_op("Gelu", {x}, {{"approximate", std::string("tanh")}}), f32({3}, {-0.158808009, 0, 1.954597694}),
                1e-6);
  expect_tensor(run_op("Swish", {x}), f32({3}, {-0.268941421, 0, 1.761594156}), 1e-6);
  expect_tensor(run_op("Swish", {x}, {{"alpha", 0.5}}), f32({3}, {-0.377540669, 0, 1.462117157}), 1e-6);
  expect_tensor(run_op("HardSigmoid", {x}), f32({3}, {0.3, 0.5, 0.9}), 1e-6);
  expect_tensor(run_op("HardSwish", {x}), f32({3}, {-0.333333333, 0, 1.666666667}), 1e-6);
  expect_tensor(run_op("Mish", {x}), f32({3}, {-0.303401461, 0, 1.943958959}), 1e-6);
  expect_tensor(run_op("Softplus", {x}), f32({3}, {0.313261688, 0.693147181, 2.126928011}), 1e-6);
  expect_tensor(run_op("Softsign", {x}), f32({3}, {-0.5, 0, 0.666666667}), 1e-6);
  expect_tensor(run_op("ThresholdedRelu", {x}), f32({3}, {0, 0, 2}));
  expect_tensor(run_op("Shrink", {x}, {{"lambd", 1.5}, {"bias", 1.5}}), f32({3}, {0, 0, 0.5}));
}

TEST(Activation, LargeArgumentsStayFinite) {
  const HostTensor x = f32({2}, {-200, 200});
  expect_tensor(run_op("Softplus", {x}), f32({2}, {0, 200}), 1e-6);
  expect_tensor(run_op("Sigmoid", {x}), f32({2}, {0, 1}), 1e-6);
  expect_tensor(run_op("Mish", {x}), f32({2}, {0, 200}), 1e-6);
  expect_tensor(run_op("Swish", {x}), f32({2}, {0, 200}), 1e-6);
}

TEST(Activation, IntegersAndRefusals) {
  expect_tensor(run_op("Relu", {i32({3}, {-4, 0, 4})}), i32({3}, {0, 0, 4}));
  expect_tensor(run_op("Shrink", {i32({4}, {-4, -1, 1, 4})}, {{"lambd", 1.5}, {"bias", 1.5}}), i32({4}, {-2, 0, 0, 2}));
  EXPECT_FALSE(try_op("Sigmoid", {i32({1}, {4})}).ok());
  EXPECT_FALSE(try_op("Gelu", {f32({1}, {4})}, {{"approximate", std::string("fast")}}).ok());
}

}  // namespace
}  // namespace wootz
