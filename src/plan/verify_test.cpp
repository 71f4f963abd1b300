#include "plan/verify.h"

#include <gtest/gtest.h>

#include <functional>

#include "backend/index_literals.h"
#include "base/testing.h"
#include "plan/plan_limits.h"
#include "plan/program_testing.h"
#include "plan/use_testing.h"

namespace wootz {
namespace {

TensorDesc describe(const Program& p, TensorIndex index) {
  const PlanTensor& t = p.tensors[index];
  TensorDesc d;
  d.dtype = t.dtype;
  d.layout = t.layout;
  for (const ExpressionIndex e : t.dims) {
    const ShapeExpr& x = p.exprs[e];
    d.dims.push_back(x.op == ShapeOp::kConst ? x.value : 2);
    d.max_dims.push_back(x.op == ShapeOp::kConst ? x.value : 8);
  }
  d.constant = t.kind == TensorKind::kConstant;
  return d;
}

TensorIndex add(Program* p, const char* name, TensorKind kind, std::vector<ExpressionIndex> dims,
                DType dtype = DType::kF32) {
  PlanTensor t;
  t.name = name;
  t.dtype = dtype;
  t.kind = kind;
  t.dims = std::move(dims);
  return p->tensors.add(std::move(t));
}

// Tensors: 0 x [N,8], 1 w [8,8], 2 h [N,8], 3 view of h [8,N], 4 shape [2], 5 found [F] (size known after layer 1),
// 6 y [F]. Layers: 0 gemm with bias epilogue (x, w, x) -> h; 1 op (view, shape) -> found; 2 pointwise found -> y.
// Expressions: 0 N, 1 8, 2 F, 3 N*8, 4 2.
Program sample() {
  Program p;
  p.name = "sample";
  p.backend = "cpu";
  p.symbols = {{"N", SymbolSource::kInputDim, 0_tensor, 0}, {"F", SymbolSource::kDataDependent, 5_tensor, 0}};
  p.exprs = {{ShapeOp::kSymbol, 0, {}},
             {ShapeOp::kConst, 8, {}},
             {ShapeOp::kSymbol, 1, {}},
             {ShapeOp::kMul, 0, {0_expr, 1_expr}},
             {ShapeOp::kConst, 2, {}}};
  static const std::vector<float> kWeights(64, 1.0f);
  p.constants = {{"w", DType::kF32, Dims{8, 8}, Layout::kLinear, 0, 256, nullptr, kWeights.data()}};
  add(&p, "x", TensorKind::kInput, {0_expr, 1_expr});
  add(&p, "w", TensorKind::kConstant, {1_expr, 1_expr});
  p.tensors[1_tensor].constant = 0_constant;
  add(&p, "h", TensorKind::kIntermediate, {0_expr, 1_expr});
  add(&p, "hv", TensorKind::kView, {1_expr, 0_expr});
  p.tensors[3_tensor].view_of = 2_tensor;
  add(&p, "shape", TensorKind::kShape, {4_expr}, DType::kI64);
  p.tensors[4_tensor].values = {3_expr, 0_expr};
  add(&p, "found", TensorKind::kIntermediate, {2_expr}, DType::kI64);
  add(&p, "y", TensorKind::kOutput, {2_expr}, DType::kI64);
  p.inputs = {{0_tensor, false}};
  p.outputs = {{6_tensor, false}};
  p.profiles = {{{{1, 2, 8}, {}}}};
  const auto step = [&](const char* name, Family family, std::vector<TensorIndex> in, TensorIndex out) -> Problem& {
    Step s;
    s.name = name;
    s.tactic = {"native", "k", ""};
    s.problem.set_family(family);
    for (const TensorIndex t : in) s.problem.inputs.push_back(describe(p, t));
    s.problem.outputs = {describe(p, out)};
    s.problem.num_main = static_cast<int>(in.size());
    s.inputs = std::move(in);
    s.outputs = {out};
    p.steps.push_back(std::move(s));
    return p.steps.back().problem;
  };
  Problem& gemm = step("gemm", Family::kGemm, {0_tensor, 1_tensor, 0_tensor}, 2_tensor);
  gemm.num_main = 2;
  gemm.as<GemmParams>().alpha = 1.0;
  PointwiseExpr& e = gemm.epilogue;
  e.outputs = {e.push(PwOp::kAdd, DType::kF32, e.input(0, DType::kF32), e.input(1, DType::kF32))};
  step("find", Family::kOp, {3_tensor, 4_tensor}, 5_tensor);
  Problem& copy = step("copy", Family::kPointwise, {5_tensor}, 6_tensor);
  copy.num_main = 0;
  copy.acc_dtype = DType::kI64;
  copy.epilogue.outputs = {copy.epilogue.input(0, DType::kI64)};
  return p;
}

struct Mutation {
  const char* what;
  std::function<void(Program&)> apply;
  const char* message;  // part of it
};

const Mutation kMutations[] = {
    {"expression number", [](Program& p) { p.tensors[2_tensor].dims[0] = 99_expr; },
     "tensor 'h': shape expression 99 of 5"},
    {"expression forward", [](Program& p) { p.exprs[3_expr].operands[0] = 3_expr; }, "not defined before"},
    {"expression arity", [](Program& p) { p.exprs[3_expr].operands.pop_back(); }, "1 operands"},
    {"division arity",
     [](Program& p) {
       p.exprs[3_expr] = {ShapeOp::kMod, 0, {0_expr, 1_expr, 1_expr}};
     },
     "3 operands"},
    {"leaf with operands", [](Program& p) { p.exprs[4_expr].operands = {0_expr}; }, "1 operands"},
    {"expression operation", [](Program& p) { p.exprs[3_expr].op = static_cast<ShapeOp>(9); }, "operation number 9"},
    {"symbol number", [](Program& p) { p.exprs[0_expr].value = 2; }, "uses symbol 2 of 2"},
    {"symbol source", [](Program& p) { p.symbols[0_symbol].source = static_cast<SymbolSource>(3); }, "source number 3"},
    {"symbol tensor", [](Program& p) { p.symbols[0_symbol].tensor = TensorIndex(-1); }, "belongs to tensor -1"},
    {"symbol axis", [](Program& p) { p.symbols[0_symbol].axis = 2; }, "dimension 2 of tensor 'x'"},
    {"symbol of no input", [](Program& p) { p.symbols[0_symbol].tensor = 2_tensor; }, "no network input"},
    {"value of no shape tensor", [](Program& p) { p.symbols[0_symbol].source = SymbolSource::kInputValue; },
     "no integer input"},
    {"symbol that no step makes", [](Program& p) { p.symbols[1_symbol].tensor = 3_tensor; },
     "whose shape is known only later"},
    {"static overflow",
     [](Program& p) {
       p.exprs[4_expr] = {ShapeOp::kMul, 0, {1_expr, 1_expr}}, p.exprs[1_expr].value = INT64_MAX / 2;
     },
     "overflow"},
    {"division by zero",
     [](Program& p) {
       p.exprs[1_expr].value = 0, p.exprs[4_expr] = {ShapeOp::kFloorDiv, 0, {1_expr, 1_expr}};
     },
     "zero"},
    {"negative extent", [](Program& p) { p.exprs[1_expr].value = -8; }, "negative"},
    {"element type", [](Program& p) { p.tensors[2_tensor].dtype = DType::kInvalid; }, "element type"},
    {"string tensor", [](Program& p) { p.tensors[2_tensor].dtype = DType::kString; }, "element type"},
    {"type beyond the table", [](Program& p) { p.tensors[2_tensor].dtype = static_cast<DType>(200); }, "element type"},
    {"layout", [](Program& p) { p.tensors[2_tensor].layout = static_cast<Layout>(70); }, "layout number 70"},
    {"layout of the border",
     [](Program& p) { p.tensors[6_tensor].layout = p.steps[2_step].problem.outputs[0].layout = Layout::kBlocked4; },
     "a step of family 'pointwise' in layout blocked4"},
    {"kind", [](Program& p) { p.tensors[2_tensor].kind = static_cast<TensorKind>(7); }, "kind number 7"},
    {"opaque intermediate", [](Program& p) { p.tensors[2_tensor].layout = Layout::kOpaque; }, "only constants"},
    {"rank", [](Program& p) { p.tensors[2_tensor].dims.assign(9, 1_expr); }, "rank 9, the limit is 8"},
    {"values of no shape tensor", [](Program& p) { p.tensors[2_tensor].values = {0_expr}; }, "1 values"},
    {"shape values", [](Program& p) { p.tensors[4_tensor].values.pop_back(); },
     "1 values for a shape tensor of shape [2]"},
    {"shape of unknown size", [](Program& p) { p.tensors[4_tensor].dims[0] = 0_expr; }, "shape unknown"},
    {"constant number", [](Program& p) { p.tensors[1_tensor].constant = 1_constant; }, "constant 1 of 1"},
    {"constant bytes", [](Program& p) { p.constants[0_constant].bytes = 255; }, "255 bytes"},
    {"constant data", [](Program& p) { p.constants[0_constant].data = nullptr; }, "no data"},
    {"constant shape",
     [](Program& p) {
       p.constants[0_constant].dims = Dims{4, 16};
     },
     "its constant 'w'"},
    {"constant type", [](Program& p) { p.constants[0_constant].dtype = DType::kI32; }, "its constant 'w'"},
    {"view of itself", [](Program& p) { p.tensors[3_tensor].view_of = 3_tensor; }, "cycle"},
    {"view of nothing", [](Program& p) { p.tensors[3_tensor].view_of = 70_tensor; }, "views tensor 70"},
    {"view of another type", [](Program& p) { p.tensors[3_tensor].dtype = DType::kI64; }, "cannot view"},
    {"view of another layout", [](Program& p) { p.tensors[2_tensor].layout = Layout::kBlocked8; }, "cannot view"},
    {"larger view",
     [](Program& p) {
       p.tensors[2_tensor].dims = {1_expr, 1_expr}, p.tensors[3_tensor].dims = {1_expr, 1_expr, 1_expr};
     },
     "cannot view"},
    {"unlisted input", [](Program& p) { p.inputs.clear(); }, "not listed"},
    {"unlisted output", [](Program& p) { p.outputs.clear(); }, "not listed"},
    {"input twice", [](Program& p) { p.inputs.push_back(p.inputs[0]); }, "listed twice"},
    {"input that is none", [](Program& p) { p.inputs[0].tensor = 2_tensor; }, "tensor 'h' is none"},
    {"input number", [](Program& p) { p.inputs[0].tensor = TensorIndex(-1); }, "tensor -1"},
    {"operand number", [](Program& p) { p.steps[0_step].inputs[0] = 7_tensor; }, "layer 'gemm': operand is tensor 7"},
    {"operand below omitted", [](Program& p) { p.steps[0_step].inputs[2] = TensorIndex(-2); }, "tensor -2"},
    {"writes a constant", [](Program& p) { p.steps[0_step].outputs[0] = 1_tensor; }, "writes tensor 'w'"},
    {"writes a view", [](Program& p) { p.steps[1_step].outputs[0] = 3_tensor; }, "writes tensor 'hv'"},
    {"written twice", [](Program& p) { p.steps[1_step].outputs[0] = 2_tensor; }, "which layer 'gemm' has written"},
    {"read before written", [](Program& p) { std::swap(p.steps[1_step], p.steps[2_step]); }, "only later"},
    {"read through a view before written", [](Program& p) { std::swap(p.steps[0_step], p.steps[1_step]); },
     "only later"},
    {"never written", [](Program& p) { p.steps.items().erase(p.steps.begin()); }, "nothing writes"},
    {"output never written", [](Program& p) { p.steps.pop_back(); }, "no layer writes"},
    {"shape value too early", [](Program& p) { p.tensors[4_tensor].values[0] = 2_expr; }, "only later"},
    {"input of dependent shape", [](Program& p) { p.tensors[0_tensor].dims[1] = 2_expr; },
     "depends on a layer's result"},
    {"no tactic", [](Program& p) { p.steps[0_step].tactic = {}; }, "has no tactic"},
    {"workspace", [](Program& p) { p.steps[0_step].workspace = SIZE_MAX; }, "workspace"},
    {"stream", [](Program& p) { p.steps[0_step].stream = kMostStreams; }, "stream"},
    {"problem operands", [](Program& p) { p.steps[0_step].problem.inputs.pop_back(); }, "2 inputs"},
    {"main inputs", [](Program& p) { p.steps[0_step].problem.num_main = 4; }, "4 main inputs of 3"},
    {"negative main inputs", [](Program& p) { p.steps[0_step].problem.num_main = -1; }, "-1 main inputs"},
    {"accumulator", [](Program& p) { p.steps[0_step].problem.acc_dtype = static_cast<DType>(77); }, "type number 77"},
    {"described type", [](Program& p) { p.steps[0_step].problem.inputs[0].dtype = DType::kF64; },
     "input 0: is described as f64"},
    {"described rank", [](Program& p) { p.steps[0_step].problem.inputs[0].dims = Dims{4}; }, "has rank 2"},
    {"described maximum", [](Program& p) { p.steps[0_step].problem.outputs[0].max_dims = Dims{}; }, "output 0"},
    {"described extent", [](Program& p) { p.steps[0_step].problem.inputs[0].dims[1] = 9; }, "is 8"},
    {"described negative", [](Program& p) { p.steps[0_step].problem.inputs[0].dims[0] = -1; }, "tensor 'x'"},
    {"described huge", [](Program& p) { p.steps[0_step].problem.inputs[0].max_dims[0] = INT64_MAX; }, "tensor 'x'"},
    {"described constant", [](Program& p) { p.steps[0_step].problem.inputs[0].constant = true; },
     "described as a constant"},
    {"not described constant", [](Program& p) { p.steps[0_step].problem.inputs[1].constant = false; }, "not described"},
    {"described opaque", [](Program& p) { p.steps[0_step].problem.inputs[0].layout = Layout::kOpaque; },
     "lies in linear"},
    {"omitted and described", [](Program& p) { p.steps[0_step].inputs[0] = TensorIndex(-1); }, "omitted but described"},
    {"epilogue operand", [](Program& p) { p.steps[0_step].problem.epilogue.input(2, DType::kF32); }, "3 operands of 2"},
    {"epilogue type", [](Program& p) { p.steps[0_step].problem.acc_dtype = DType::kF16; }, "reads operand 0 as f32"},
    {"epilogue itself", [](Program& p) { p.steps[0_step].problem.epilogue.code[2].b = 2; }, "not defined before it"},
    {"epilogue result",
     [](Program& p) {
       p.steps[0_step].problem.epilogue.outputs = {0, 2};
     },
     "stores 2 values"},
    {"no body", [](Program& p) { p.steps[2_step].problem.epilogue = {}; }, "without a body"},
    {"body with main inputs", [](Program& p) { p.steps[2_step].problem.num_main = 1; }, "main inputs"},
    {"op with expression", [](Program& p) { p.steps[1_step].problem.epilogue = p.steps[2_step].problem.epilogue; },
     "carries no"},
    {"no profile", [](Program& p) { p.profiles.clear(); }, "no optimization profile"},
    {"profile too short", [](Program& p) { p.profiles[0].symbols.pop_back(); }, "1 ranges for 2 symbols"},
    {"profile order",
     [](Program& p) {
       p.profiles[0].symbols[0_symbol] = {3, 2, 8};
     },
     "3 <= 2 <= 8"},
    {"profile below zero",
     [](Program& p) {
       p.profiles[0].symbols[0_symbol] = {-1, 2, 8};
     },
     "-1 <= 2"},
    {"profile beyond the limit", [](Program& p) { p.profiles[0].symbols[0_symbol].max = INT64_MAX; }, "range"},
    {"profile of a result",
     [](Program& p) {
       p.profiles[0].symbols[1_symbol] = {1, 1, 1};
     },
     "range"},
    {"too many profiles", [](Program& p) { p.profiles.resize(257, p.profiles[0]); }, "limit is 256"},
    {"name too long", [](Program& p) { p.steps[0_step].name.assign(70'000, 'x'); }, "70000 bytes, the limit is 65536"},
    {"parameter out of range",
     [](Program& p) {
       p.steps[0_step].problem.params = ConvParams{.strides = {1, 0}};
     },
     "conv: parameter 'strides' is [1,0]; allowed: Ints, at least 1, at most 2147483647"},
    {"parameter that is no choice",
     [](Program& p) { p.steps[0_step].problem.params = PoolParams{.kind = static_cast<PoolKind>(9)}; },
     "pool: parameter 'kind' is ; allowed: one of max, avg, lp"},
    {"check of no expression",
     [](Program& p) {
       p.checks = {{7_expr, "why"}};
     },
     "a check of shapes is of expression 7 of 5"},
    {"check of a negative one",
     [](Program& p) {
       p.checks = {{ExpressionIndex(-1), "why"}};
     },
     "a check of shapes is of expression -1"},
    {"too many elements", [](Program& p) { p.exprs[1_expr].value = int64_t{1} << 39; }, "'w'"},
};

TEST(VerifyProgram, AcceptsTheSample) {
  const Status status = verify_program(sample());
  EXPECT_TRUE(status.ok()) << status.to_string();
}

TEST(VerifyProgram, RefusesEachMutationAndSaysWhere) {
  for (const Mutation& m : kMutations) {
    Program p = sample();
    m.apply(p);
    const Status status = verify_program(p);
    EXPECT_FALSE(status.ok()) << m.what;
    EXPECT_NE(status.message().find(m.message), std::string::npos) << m.what << ": " << status.message();
    EXPECT_TRUE(status.code() == Code::kCorrupt || status.code() == Code::kResourceExhausted ||
                status.code() == Code::kInvalidArgument)
        << status.to_string();
  }
}

TEST(VerifyProgram, AcceptsWhatIsHarmless) {
  Program p = sample();
  p.checks = {{1_expr, "never said"}};
  add(&p, "untouched", TensorKind::kIntermediate, {2_expr});  // left over by packing
  p.tensors.back().layout = Layout::kBlocked16;
  add(&p, "unused view", TensorKind::kView, {2_expr}, DType::kI64);
  p.tensors.back().view_of = 5_tensor;
  add(&p, "early shape", TensorKind::kShape, {4_expr}, DType::kI32);  // never read
  p.tensors.back().values = {2_expr, 2_expr};
  p.steps[0_step].problem.inputs[1].layout = Layout::kOpaque;         // offered to pack, took it as it is
  p.steps[0_step].problem.outputs[0].layout = Layout::kChannelsLast;  // rank 2: all orders are one
  const Status status = verify_program(p);
  EXPECT_TRUE(status.ok()) << status.to_string();
}

TEST(VerifyProgram, ViewsNestOnlySoDeep) {
  Program p = sample();
  for (size_t i = 0; i < plan_limits::kMaxViewDepth + 1; ++i) {
    add(&p, "v", TensorKind::kView, {0_expr, 1_expr});
    p.tensors.back().view_of = i == 0 ? 2_tensor : TensorIndex(p.tensors.size() - 2);
  }
  EXPECT_FALSE(verify_program(p).ok());
  p.tensors.pop_back();
  EXPECT_TRUE(verify_program(p).ok());
}

// Any number of any part changed to anything: refused, or nothing that the runtime does with it goes wrong.
TEST(VerifyProgram, RandomNumbersAreRefusedOrHarmless) {
  const auto seed = static_cast<unsigned>(test_seed());
  std::mt19937 rng(seed);
  RandomProgram random(seed);
  const auto number = [&]() -> int64_t {
    constexpr int64_t kOdd[] = {
        -1, 0, 1, 2, 3, 7, 8, 255, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, int64_t{1} << 41};
    return rng() % 2 ? kOdd[rng() % std::size(kOdd)] : static_cast<int64_t>(rng() % 40);
  };
  const auto any = [&](auto& list) -> decltype(&list.front()) {
    return list.empty() ? nullptr : &*(list.begin() + static_cast<ptrdiff_t>(rng() % list.size()));
  };
  const auto set = [&](auto* to) {
    if (to != nullptr) *to = static_cast<std::remove_pointer_t<decltype(to)>>(number());
  };
  int passed = 0;
  for (int round = 0; round < 4000; ++round) {
    Program p = random.make(6);
    ShapeExpr* e = any(p.exprs);
    PlanSymbol* y = any(p.symbols);
    PlanTensor* t = any(p.tensors);
    PlanConstant* c = any(p.constants);
    Step* s = any(p.steps);
    TensorDesc* d = any(s->problem.inputs);
    switch (rng() % 27) {
      case 0: set(&e->value); break;
      case 1: e->op = static_cast<ShapeOp>(rng() % 12); break;
      case 2: e->operands.push_back(ExpressionIndex(number())); break;
      case 3:
        if (y != nullptr) set(&y->tensor);
        break;
      case 4:
        if (y != nullptr) set(&y->axis);
        break;
      case 5:
        if (y != nullptr) y->source = static_cast<SymbolSource>(rng() % 5);
        break;
      case 6: set(any(t->dims)); break;
      case 7: t->dims.push_back(ExpressionIndex(number())); break;
      case 8: set(&t->view_of); break;
      case 9: set(&t->constant); break;
      case 10: t->kind = static_cast<TensorKind>(rng() % 9); break;
      case 11: t->layout = static_cast<Layout>(rng() % 7); break;
      case 12: t->dtype = static_cast<DType>(rng() % 30); break;
      case 13: set(any(t->values)); break;
      case 14:
        if (c != nullptr) c->layout = static_cast<Layout>(rng() % 7);
        break;
      case 15:
        if (c != nullptr) c->dims.push_back(number());
        break;
      case 16: set(any(s->inputs)); break;
      case 17: set(any(s->outputs)); break;
      case 18: set(&s->problem.num_main); break;
      case 19: d->dims = Dims{number()}; break;
      case 20: d->dtype = static_cast<DType>(rng() % 30); break;
      case 21: set(&p.inputs[0].tensor); break;
      case 22: std::swap(p.steps[0_step], *s); break;
      case 23: set(&t->offset); break;
      case 24: set(any(t->subviews)); break;
      case 25: t->subviews.push_back(TensorIndex(number())); break;
      default:
        if (auto* r = any(p.profiles[0].symbols)) set(&r->max);
        break;
    }
    if (!verify_program(p).ok()) continue;
    ++passed;
    use_program(p);
  }
  EXPECT_GT(passed, 0);
}

}  // namespace
}  // namespace wootz
