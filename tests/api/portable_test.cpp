// Plans for other processors than the one that they were built on: kernels that are not there are chosen anew at load.
#include <algorithm>

#include "api/refit_net.h"
#include "base/testing.h"
#include "plan/read.h"
#include "plan/write.h"

namespace wootz_test {
namespace {

using Bytes = wootz::RawBytes;

Bytes plan_of(Cnn& net, bool portable) {
  EXPECT_EQ(wootz_config_set_option(net.config.get(), "portable", portable ? "1" : "0"), 0);
  const Owned<IHostMemory> plan(net.builder->buildSerializedNetwork(*net.network, *net.config));
  if (plan == nullptr) return {};
  const auto* data = static_cast<const std::byte*>(plan->data());
  return Bytes(data, data + plan->size());
}

// The plan as if it came from a processor with other instructions: none of its kernels is there.
Bytes from_elsewhere(const Bytes& plan) {
  const auto read = wootz::read_plan(plan);
  EXPECT_TRUE(read.ok()) << read.status().to_string();
  wootz::Program program = **read;
  program.device.replace(program.device.find("avx"), 3, "qvx");
  for (wootz::Step& step : program.steps)
    if (step.tactic.provider == "native" || step.tactic.provider == "onednn") step.tactic.kernel += "_qvx";
  auto bytes = wootz::write_plan(program);
  EXPECT_TRUE(bytes.ok()) << bytes.status().to_string();
  return std::move(*bytes);
}

Owned<ICudaEngine> load(Logger& logger, const Bytes& plan) {
  const Owned<IRuntime> runtime(createInferRuntime(logger));
  return Owned<ICudaEngine>(runtime->deserializeCudaEngine(plan.data(), plan.size()));
}

Floats results(Logger& logger, const Bytes& plan) {
  const Owned<ICudaEngine> engine = load(logger, plan);
  EXPECT_NE(engine, nullptr) << logger.errors();
  return engine == nullptr ? Floats{} : infer(*engine);
}

class Portable : public ::testing::Test {
 protected:
  const unsigned seed_ = static_cast<unsigned>(wootz::test_seed());
  Logger logger_;
};

TEST_F(Portable, HasTheWeightsOfTheModelAndComputesTheSame) {
  Cnn usual(seed_, false), portable(seed_, false);
  const Bytes plain = plan_of(usual, false), plan = plan_of(portable, true);
  ASSERT_FALSE(plan.empty()) << portable.logger.errors();
  const auto read = wootz::read_plan(plan);
  ASSERT_TRUE(read.ok());
  for (const wootz::PlanConstant& constant : (*read)->constants)
    EXPECT_EQ(constant.layout, wootz::Layout::kLinear) << constant.name;
  expect_near(results(logger_, plan), results(logger_, plain));
  EXPECT_EQ(logger_.warnings(), "") << "nothing is chosen anew where it was built";
}

TEST_F(Portable, KernelsThatAreNotHereAreChosenAnewAndSaidInOneLine) {
  Cnn net(seed_, false);
  const Bytes plan = plan_of(net, true);
  ASSERT_FALSE(plan.empty()) << net.logger.errors();
  const Owned<ICudaEngine> engine = load(logger_, from_elsewhere(plan));
  ASSERT_NE(engine, nullptr) << logger_.errors();
  const std::string said = logger_.warnings();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  EXPECT_NE(said.find("the plan was built for qvx"), std::string::npos) << said;
  EXPECT_NE(said.find("have other kernels here, chosen by estimate"), std::string::npos) << said;
  const Floats wanted = results(logger_, plan);
  expect_near(infer(*engine), wanted);
  // What the engine writes is for the processor that it runs on.
  const Owned<IHostMemory> written(engine->serialize());
  const auto* data = static_cast<const std::byte*>(written->data());
  expect_near(results(logger_, Bytes(data, data + written->size())), wanted);
}

TEST_F(Portable, OtherPlansAreRefusedWithoutTheirKernels) {
  Cnn net(seed_, false);
  EXPECT_EQ(load(logger_, from_elsewhere(plan_of(net, false))), nullptr);
  EXPECT_NE(logger_.errors().find("_qvx"), std::string::npos) << logger_.errors();
}

TEST_F(Portable, ALayerWithoutAnyKernelIsNamed) {
  Cnn net(seed_, false);
  const auto read = wootz::read_plan(plan_of(net, true));
  ASSERT_TRUE(read.ok());
  wootz::Program program = **read;
  for (wootz::Step& step : program.steps) step.tactic.provider = "elsewhere";
  for (wootz::PlanTensor& tensor : program.tensors)
    if (tensor.kind == wootz::TensorKind::kIntermediate) tensor.layout = wootz::Layout::kBlocked16;
  for (wootz::Step& step : program.steps) {
    for (size_t i = 0; i < step.inputs.size(); ++i)
      if (step.inputs[i].exists()) step.problem.inputs[i].layout = program.tensors[step.inputs[i]].layout;
    for (size_t o = 0; o < step.outputs.size(); ++o)
      step.problem.outputs[o].layout = program.tensors[step.outputs[o]].layout;
  }
  const auto bytes = wootz::write_plan(program);
  ASSERT_TRUE(bytes.ok()) << bytes.status().to_string();
  EXPECT_EQ(load(logger_, *bytes), nullptr);
  EXPECT_NE(logger_.errors().find("no other kernel takes its place"), std::string::npos) << logger_.errors();
}

TEST_F(Portable, WhatKeepsWeightsInAFormOfItsOwnIsRefused) {
  Cnn refittable(seed_, true);
  EXPECT_TRUE(plan_of(refittable, true).empty());
  EXPECT_NE(refittable.logger.errors().find("option 'portable'"), std::string::npos) << refittable.logger.errors();
}

}  // namespace
}  // namespace wootz_test
