// Data-dependent extents, and plans that lie about them.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "backend/index_literals.h"
#include "plan/verify.h"
#include "runtime/create_engine.h"
#include "runtime/executor.h"
#include "runtime/fake_engine.h"

namespace wootz {
namespace {

// "find" makes 1, 2, 3, ... of the extents that the test sets; "copy" copies.
class FindingProvider final : public Provider {
 public:
  const char* name() const override { return "fake"; }
  std::string version() const override { return "1"; }
  void tactics(const Problem&, const Limits&, std::vector<Candidate>*, std::vector<Refusal>*) const override {}
  Result<std::unique_ptr<Kernel>> create(const Tactic& tactic, const Problem&, const Limits&) const override {
    return std::unique_ptr<Kernel>(std::make_unique<FakeKernel>(tactic.kernel == "find" ? &found : nullptr));
  }
  Dims found;

 private:
  struct FakeCall final : Call {
    FakeCall(const Dims* found, const BindArgs& args) : found(found), in(args.inputs[0]) {}
    bool outputs_known() const override { return found == nullptr; }
    Status run(const RunArgs& args) const override {
      if (found == nullptr) {
        std::memcpy(args.outputs[0], args.inputs[0], static_cast<size_t>(in.volume()) * 4);
        return {};
      }
      auto* to = static_cast<int32_t*>(args.allocator->allocate(0, *found));
      if (to == nullptr) return make_error(Code::kResourceExhausted, "refused");
      std::iota(to, to + found->volume(), 1);
      return {};
    }
    const Dims* found;
    Dims in;
  };
  struct FakeKernel final : Kernel {
    explicit FakeKernel(const Dims* found) : found(found) {}
    Result<std::unique_ptr<Call>> bind(const BindArgs& args) const override {
      return std::unique_ptr<Call>(std::make_unique<FakeCall>(found, args));
    }
    const Dims* found;
  };
};

// find(x) -> f [F, 2]; copy(view of f as [4]) -> y [4].
std::shared_ptr<Program> sample() {
  auto p = std::make_shared<Program>();
  p->exprs = {{ShapeOp::kSymbol, 0, {}}, {ShapeOp::kConst, 2, {}}, {ShapeOp::kConst, 4, {}}};
  p->symbols = {{"F", SymbolSource::kDataDependent, 1_tensor, 0}};
  p->tensors.resize(4);
  const char* names[] = {"x", "f", "v", "y"};
  const TensorKind kinds[] = {TensorKind::kInput, TensorKind::kIntermediate, TensorKind::kView, TensorKind::kOutput};
  for (const TensorIndex t : p->tensors.indices()) {
    p->tensors[t].name = names[t.position()];
    p->tensors[t].kind = kinds[t.position()];
    p->tensors[t].dtype = DType::kI32;
    p->tensors[t].dims = {2_expr};
  }
  p->tensors[1_tensor].dims = {0_expr, 1_expr};
  p->tensors[2_tensor].view_of = 1_tensor;
  p->inputs = {{0_tensor, false}};
  p->outputs = {{3_tensor, false}};
  p->profiles = {{{SymbolRange{}}}};
  p->steps.resize(2);
  const std::vector<TensorIndex> in[] = {{0_tensor}, {2_tensor}}, out[] = {{1_tensor}, {3_tensor}};
  for (size_t s = 0; s < 2; ++s) {
    Step& step = p->steps[StepIndex(s)];
    step.name = s == 0 ? "find" : "copy";
    step.tactic = {"fake", step.name, ""};
    step.inputs = in[s];
    step.outputs = out[s];
    step.problem.num_main = 1;
    const auto describe = [&](TensorIndex t) {
      TensorDesc d;
      d.dtype = DType::kI32;
      for (const ExpressionIndex e : p->tensors[t].dims) d.dims.push_back(e == 0_expr ? 16 : e == 1_expr ? 2 : 4);
      d.max_dims = d.dims;
      return d;
    };
    step.problem.inputs = {describe(in[s][0])};
    step.problem.outputs = {describe(out[s][0])};
  }
  return p;
}

Status run(const Dims& found, int32_t* y) {
  FindingProvider provider;
  provider.found = found;
  const std::shared_ptr<Program> program = sample();
  WOOTZ_RETURN_IF_ERROR(verify_program(*program));
  WOOTZ_ASSIGN_OR_RETURN(const std::shared_ptr<EngineCore> engine,
                         create_engine(program, std::make_shared<fake::FakeDevice>(), {&provider}, {}));
  Bindings bindings(engine);
  Executor executor(engine);
  const int32_t x[4] = {};
  bindings.set_input_address(0, x);
  bindings.set_output_address(0, y);
  WOOTZ_RETURN_IF_ERROR(executor.run(bindings));
  return executor.run(bindings);  // and again, with what the first run left
}

TEST(DynamicSteps, AViewOfFixedShapeSeesWhatTheRunMade) {
  int32_t y[4] = {};
  const Status status = run(Dims{2, 2}, y);
  ASSERT_TRUE(status.ok()) << status.to_string();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(y[i], i + 1);
}

TEST(DynamicSteps, AViewLargerThanWhatTheRunMadeIsRefused) {
  int32_t y[4] = {};
  const Status status = run(Dims{1, 2}, y);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find("'f' of shape [1x2] cannot be seen as 'v' of shape [4]"), std::string::npos)
      << status.message();
}

TEST(DynamicSteps, ALaterStepReadsTheMemoryThatAnOutputGot) {
  struct Sink final : OutputSink {
    void* reallocate(int, void*, size_t bytes, const Dims&) override {
      memory.resize(bytes);
      return memory.data();
    }
    std::vector<std::byte> memory;
  };
  FindingProvider provider;
  provider.found = Dims{2, 2};
  const std::shared_ptr<Program> program = sample();
  program->tensors[1_tensor].kind = TensorKind::kOutput;
  program->outputs = {{1_tensor, false}, {3_tensor, false}};
  ASSERT_TRUE(verify_program(*program).ok());
  const auto engine = create_engine(program, std::make_shared<fake::FakeDevice>(), {&provider}, {});
  ASSERT_TRUE(engine.ok());
  Bindings bindings(*engine);
  Executor executor(*engine);
  const int32_t x[4] = {};
  int32_t y[4] = {};
  bindings.set_input_address(0, x);
  bindings.set_output_sink(0, std::make_shared<Sink>());
  bindings.set_output_address(1, y);
  const Status status = executor.run(bindings);
  ASSERT_TRUE(status.ok()) << status.to_string();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(y[i], i + 1);
}

TEST(DynamicSteps, OtherExtentsThanThePlansAreRefused) {
  int32_t y[4] = {};
  const Status status = run(Dims{4, 1}, y);  // as many elements, but the plan says [F, 2]
  EXPECT_NE(status.message().find("came out as [4x1], the plan makes it [4x2]"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace wootz
