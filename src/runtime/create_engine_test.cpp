#include "runtime/create_engine.h"

#include <gtest/gtest.h>

#include "runtime/fake_engine.h"

namespace wootz {
namespace {

// The fake kernels read their operands as they are; the plan has one packed.
TEST(CreateEngine, RefusesWeightsInAFormThatTheKernelDoesNotRead) {
  static const int32_t kValues[8] = {};
  const std::shared_ptr<Program> program = fake::chain(1, "copy");
  PlanConstant w;
  w.name = "w";
  w.dtype = DType::kI32;
  w.dims = {8};
  w.layout = Layout::kOpaque;
  w.bytes = sizeof(kValues);
  w.data = kValues;
  program->constants.push_back(w);
  PlanTensor tensor;
  tensor.dtype = DType::kI32;
  tensor.kind = TensorKind::kConstant;
  tensor.layout = Layout::kOpaque;
  tensor.constant = 0_constant;
  Step& step = program->steps[0_step];
  step.inputs.push_back(program->tensors.add(tensor));
  TensorDesc desc = step.problem.inputs[0];
  desc.dims = desc.max_dims = {8};
  desc.constant = true;
  desc.layout = Layout::kOpaque;
  step.problem.inputs.push_back(desc);
  const auto device = std::make_shared<fake::FakeDevice>();
  const auto refused = fake::engine(program, device);
  EXPECT_EQ(refused.status().code(), Code::kUnsupported);
  EXPECT_NE(refused.status().to_string().find("step1"), std::string::npos) << refused.status().to_string();
  EXPECT_NE(refused.status().message().find("weights 'w'"), std::string::npos) << refused.status().to_string();
  program->stripped = true;  // a refit is to bring the bytes, in the form of this library
  EXPECT_TRUE(fake::engine(program, device).ok());
}

}  // namespace
}  // namespace wootz
