// Bodies within plans: what verify_program must not let pass, and what it says.
#include <gtest/gtest.h>

#include <functional>

#include "backend/index_literals.h"
#include "plan/plan_limits.h"
#include "plan/program_dump_testing.h"
#include "plan/program_testing.h"
#include "plan/read.h"
#include "plan/use_testing.h"
#include "plan/verify.h"
#include "plan/write.h"

namespace wootz {
namespace {

// A random program that has bodies; its control step is the last one.
Program with_bodies() {
  for (unsigned seed = 1;; ++seed) {
    Program p = RandomProgram(seed).make(3);
    if (!p.bodies.empty() && p.steps.back().inputs.size() > 1 && is_control(p.steps.back())) return p;
  }
}

std::string refusal(const std::function<void(Program*, Step*)>& change) {
  Program p = with_bodies();
  EXPECT_TRUE(verify_program(p).ok()) << verify_program(p).to_string();
  change(&p, &p.steps.back());
  return verify_program(p).to_string();
}
void expect_refused(const char* what, const std::function<void(Program*, Step*)>& change) {
  const std::string why = refusal(change);
  EXPECT_NE(why.find(what), std::string::npos) << what << ": " << why;
}
ControlParams& params(Step* step) { return step->problem.as<ControlParams>(); }

TEST(VerifyControl, RoundTrip) {
  const Program p = with_bodies();
  const auto bytes = write_plan(p);
  ASSERT_TRUE(bytes.ok()) << bytes.status().to_string();
  const auto read = read_plan(*bytes);
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(dump(**read), dump(p));
  EXPECT_EQ((*read)->bodies.size(), p.bodies.size());
  use_program(**read);
}

TEST(VerifyControl, StepsThatDoNotFitTheirBodies) {
  expect_refused("body 7", [](Program*, Step* s) { params(s).bodies[1] = 7; });
  expect_refused("bodies", [](Program*, Step* s) { params(s).bodies.pop_back(); });
  expect_refused("reads no operand", [](Program*, Step* s) { params(s).operands[0][0] = 999; });
  expect_refused("a body of", [](Program*, Step* s) { params(s).operands[1].pop_back(); });
  expect_refused("parameter 'op'", [](Program*, Step* s) { params(s).op = static_cast<ControlOp>(3); });
  expect_refused("control by the tactic", [](Program*, Step* s) { s->tactic.kernel = "other"; });
  expect_refused("operand that is not there", [](Program*, Step* s) {
    s->inputs[1] = TensorIndex(-1);
    s->problem.inputs[1] = {};
  });
  expect_refused("condition is", [](Program* p, Step* s) {
    p->tensors[s->inputs[0]].dtype = s->problem.inputs[0].dtype = DType::kI32;
  });
  expect_refused("of a body is", [](Program* p, Step* s) {
    p->tensors[s->inputs[1]].dtype = s->problem.inputs[1].dtype = DType::kBF16;
  });
  expect_refused("Loop with", [](Program*, Step* s) {
    params(s).op = ControlOp::kLoop;
    params(s).bodies = {0};
    params(s).operands.resize(1);
    params(s).states = 65536;
  });
  expect_refused("Scan", [](Program*, Step* s) {
    params(s).op = ControlOp::kScan;
    params(s).bodies = {0};
    params(s).operands.resize(1);
    params(s).states = 0;
    params(s).scans = 1;
    params(s).input_axes = {1, 1};
  });
}

TEST(VerifyControl, BodiesAreProvenToo) {
  expect_refused("body 0", [](Program* p, Step*) { p->bodies[0].steps[0_step].inputs[0] = 999_tensor; });
  expect_refused("machine code or properties", [](Program* p, Step*) { p->bodies[0].properties["a"] = "b"; });
  expect_refused("no optimization profile", [](Program* p, Step*) { p->bodies[0].profiles.clear(); });
}

TEST(VerifyControl, DepthIsBounded) {
  Program p = with_bodies();
  for (int i = 0; i <= plan_limits::kMaxBodyDepth; ++i) {
    Program outer = RandomProgram(3, 2).make(2);
    outer.bodies.push_back(p);
    outer.bodies[0].native.clear();
    outer.bodies[0].properties.clear();
    outer.native.clear();
    p = std::move(outer);
  }
  const Status status = verify_program(p);
  EXPECT_EQ(status.code(), Code::kResourceExhausted) << status.to_string();
  EXPECT_NE(status.message().find("nested"), std::string::npos) << status.to_string();
  EXPECT_FALSE(write_plan(p).ok());
}

}  // namespace
}  // namespace wootz
