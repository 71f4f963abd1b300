// Random programs that pass verify_program, for tests.
#pragma once

#include <algorithm>
#include <random>
#include <string>

#include "backend/control.h"
#include "backend/refit.h"

namespace wootz {

class RandomProgram {
 public:
  explicit RandomProgram(unsigned seed, int depth = 0) : rng_(seed), depth_(depth) {}

  // `scale` bounds the number of layers and the size of weights.
  Program make(int scale = 12) {
    p_ = {};
    ready_.clear();
    p_.name = "net";
    p_.backend = "cpu";
    p_.device = R"({"backend": "cpu"})";
    for (int i = 0, n = pick(1, 3); i < n; ++i) add_input(i);
    for (int i = 0, n = pick(0, 4); i < n; ++i) add_constant(i);
    add_shape_tensor();
    for (int i = 0, n = pick(1, scale); i < n; ++i) add_step(i);
    if (depth_ < 2 && pick(0, 2) == 0) add_branches();
    int outputs = 0;
    for (size_t number = p_.tensors.size(); number-- > 0 && outputs < 2;) {
      const TensorIndex t(number);
      if (p_.tensors[t].kind != TensorKind::kIntermediate || !written(t)) continue;
      p_.tensors[t].kind = TensorKind::kOutput;
      p_.outputs.push_back({t, false});
      ++outputs;
    }
    for (int k = 0, n = pick(1, 3); k < n; ++k) add_profile();
    if (depth_ == 0 && pick(0, 2) == 0) tune_profile(p_.profiles.size() - 1);
    for (int i = 0, n = pick(0, 3); i < n; ++i) {
      const auto bytes = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(pick(0, 200)), std::byte(i));
      p_.native.push_back({word("code", i), *bytes, bytes});
    }
    for (int i = 0, n = pick(0, 2); i < n; ++i)
      p_.checks.push_back({ExpressionIndex(pick(0, static_cast<int>(p_.exprs.size()) - 1)), word("check", i)});
    for (int i = 0, n = pick(0, 3); i < n; ++i) p_.properties[word("property", i)] = word("value", pick(0, 99));
    if (depth_ == 0 && pick(0, 1) == 0) add_recipe();
    return p_;
  }

 private:
  // Some of its constants are those of the program.
  void add_recipe() {
    auto recipe = std::make_shared<RefitRecipe>();
    recipe->graph = "graph";
    recipe->settings = "{}";
    recipe->choices = "[]";
    for (const PlanConstant& c : p_.constants)
      if (c.layout == Layout::kLinear && pick(0, 1) == 0)
        recipe->constants.push_back({c.dtype, c.dims, c.bytes, c.owner, c.data});
    const auto floats = std::make_shared<std::vector<float>>(static_cast<size_t>(pick(1, 9)), 0.5F);
    recipe->constants.push_back(
        {DType::kF32, {static_cast<int64_t>(floats->size())}, floats->size() * sizeof(float), floats, floats->data()});
    for (size_t i = 0; i < recipe->constants.size(); ++i)
      recipe->weights.push_back({word("weight", static_cast<int>(i)), "layer", static_cast<uint8_t>(pick(0, 5)),
                                 static_cast<int32_t>(i), pick(0, 1) == 0});
    p_.refit = std::move(recipe);
  }
  int pick(int low, int high) { return low + static_cast<int>(rng_() % static_cast<unsigned>(high - low + 1)); }
  static std::string word(const char* base, int i) { return base + std::to_string(i); }
  ExpressionIndex constant_expr(int64_t value) {
    for (const ExpressionIndex i : p_.exprs.indices())
      if (p_.exprs[i].op == ShapeOp::kConst && p_.exprs[i].value == value) return i;
    return expr({ShapeOp::kConst, value, {}});
  }
  ExpressionIndex expr(ShapeExpr e) { return p_.exprs.add(std::move(e)); }
  ExpressionIndex symbol(SymbolSource source, TensorIndex tensor, int32_t axis) {
    p_.symbols.push_back({word("s", static_cast<int>(p_.symbols.size())), source, tensor, axis});
    return expr({ShapeOp::kSymbol, static_cast<int64_t>(p_.symbols.size() - 1), {}});
  }
  TensorIndex next() const { return p_.tensors.next(); }
  bool written(TensorIndex tensor) const {
    for (const Step& step : p_.steps)
      for (const TensorIndex t : step.outputs)
        if (t == tensor) return true;
    return false;
  }

  void add_input(int i) {
    PlanTensor t;
    t.name = word("in", i);
    t.dtype = i == 0 ? DType::kF32 : DType::kI64;
    t.kind = TensorKind::kInput;
    const TensorIndex index = next();
    for (int a = 0, rank = pick(0, 4); a < rank; ++a)
      t.dims.push_back(pick(0, 1) ? constant_expr(pick(1, 9)) : symbol(SymbolSource::kInputDim, index, a));
    p_.tensors.push_back(std::move(t));
    const bool values = i > 0 && pick(0, 1);
    if (values) symbol(SymbolSource::kInputValue, index, 0);
    p_.inputs.push_back({index, values});
    ready_.push_back(index);
  }

  void add_constant(int i) {
    constexpr DType kTypes[] = {DType::kF32, DType::kI8, DType::kU4, DType::kBool, DType::kF16};
    PlanConstant c;
    c.name = word("w", i);
    c.dtype = kTypes[pick(0, 4)];
    for (int a = 0, rank = pick(0, 4); a < rank; ++a) c.dims.push_back(pick(1, 20));
    c.layout = static_cast<Layout>(pick(0, 4));
    c.bytes =
        c.layout == Layout::kOpaque ? static_cast<size_t>(pick(0, 3000)) : layout_bytes(c.layout, c.dtype, c.dims);
    if (c.layout == Layout::kOpaque) c.form_version = static_cast<uint32_t>(pick(0, 3));
    const auto bytes = std::make_shared<std::vector<uint8_t>>(c.bytes + 1);
    for (uint8_t& b : *bytes) b = static_cast<uint8_t>(rng_());
    c.owner = bytes;
    c.data = bytes->data();
    PlanTensor t;
    t.name = c.name;
    t.dtype = c.dtype;
    t.layout = c.layout;
    t.kind = TensorKind::kConstant;
    t.constant = p_.constants.next();
    for (const int64_t d : c.dims) t.dims.push_back(constant_expr(d));
    p_.constants.push_back(std::move(c));
    ready_.push_back(next());
    p_.tensors.push_back(std::move(t));
  }

  void add_shape_tensor() {
    PlanTensor t;
    t.name = "shape";
    t.dtype = DType::kI64;
    t.kind = TensorKind::kShape;
    const int count = pick(0, 5);
    t.dims = {constant_expr(count)};
    for (int i = 0; i < count; ++i) t.values.push_back(ExpressionIndex(pick(0, static_cast<int>(p_.exprs.size()) - 1)));
    ready_.push_back(next());
    p_.tensors.push_back(std::move(t));
  }

  TensorDesc describe(TensorIndex index) const {
    const PlanTensor& t = p_.tensors[index];
    TensorDesc d;
    d.dtype = t.dtype;
    d.layout = t.layout;
    for (const ExpressionIndex e : t.dims) {
      const ShapeExpr& x = p_.exprs[e];
      d.dims.push_back(x.op == ShapeOp::kConst ? x.value : 4);
      d.max_dims.push_back(x.op == ShapeOp::kConst ? x.value : 16);
    }
    d.constant = t.kind == TensorKind::kConstant;
    return d;
  }

  void add_step(int i) {
    Step step;
    step.name = word("layer", i);
    step.provenance = {word("node", i), word("node", i + 100)};
    step.tactic = {"native", word("kernel", pick(0, 5)), pick(0, 1) ? "config" : ""};
    step.workspace = static_cast<size_t>(pick(0, 1000));
    step.stream = static_cast<uint8_t>(pick(0, kMostStreams - 1));
    step.measured_us = pick(0, 1) ? -1.0f : 0.5f * static_cast<float>(pick(0, 99));
    const int form = pick(0, 3);
    if (form == 3) {
      add_data_dependent(std::move(step));
    } else {
      add_static(std::move(step), form);
    }
  }

  // An op whose result's size is data-dependent.
  void add_data_dependent(Step step) {
    step.inputs = {ready_[static_cast<size_t>(pick(0, static_cast<int>(ready_.size()) - 1))], {}};
    PlanTensor out;
    out.name = step.name + ".found";
    out.dtype = DType::kI64;
    out.dims = {symbol(SymbolSource::kDataDependent, next(), 0)};
    step.problem.params = OpParams{.op = "Find", .node = std::string("text\0with a zero", 16)};
    step.problem.num_main = 2;
    finish(std::move(step), std::move(out));
  }

  void add_static(Step step, int form) {
    const TensorIndex in = ready_[static_cast<size_t>(pick(0, static_cast<int>(ready_.size()) - 1))];
    const PlanTensor source = p_.tensors[in];
    step.inputs = {in};
    PlanTensor out = source;
    out.kind = TensorKind::kIntermediate;
    out.name = step.name + ".out";
    out.layout = source.layout == Layout::kOpaque ? Layout::kLinear : source.layout;
    out.constant = {};
    out.view_of = {};
    out.offset = {};
    out.subviews.clear();
    out.values.clear();
    Problem& problem = step.problem;
    problem.acc_dtype = source.dtype;
    if (form == 0) {
      problem.set_family(Family::kPointwise);
      problem.epilogue.outputs = {problem.epilogue.input(0, source.dtype)};
    } else {
      problem.num_main = 1;
      if (form == 1)
        problem.params = MoveParams{
            .kind = MoveKind::kSlice, .starts = {1, -2, INT64_MAX}, .axis = pick(0, 5), .value = -0.0, .block = 2};
      else
        problem.params = ResizeParams{.mode = ResizeMode::kLinear, .scales = {0.5, -0.0}, .antialias = true};
      if (pick(0, 1) && is_float(source.dtype)) {
        PointwiseExpr& e = problem.epilogue;
        e.outputs = {e.push(PwOp::kLeakyRelu, source.dtype, e.input(0, source.dtype), 0, 0, 0.25, -0.0)};
      }
    }
    finish(std::move(step), std::move(out));
  }

  void finish(Step step, PlanTensor out) {
    const TensorIndex index = next();
    step.outputs = {index};
    p_.tensors.push_back(std::move(out));
    for (const TensorIndex t : step.inputs) step.problem.inputs.push_back(!t.exists() ? TensorDesc{} : describe(t));
    step.problem.outputs = {describe(index)};
    p_.steps.push_back(std::move(step));
    ready_.push_back(index);
    if (p_.tensors.back().layout == Layout::kLinear && pick(0, 2) == 0) {
      PlanTensor view = p_.tensors.back();
      view.name += ".view";
      view.kind = TensorKind::kView;
      view.view_of = index;
      ready_.push_back(next());
      p_.tensors.push_back(std::move(view));
    }
    if (pick(0, 3) == 0) add_range(index);
    if (pick(0, 3) == 0) join(index);
  }

  bool divides(const PlanTensor& t) const {
    if (t.layout != Layout::kLinear || t.dims.empty() || dtype_bits(t.dtype) < 8) return false;
    for (const ExpressionIndex e : t.dims)
      if (p_.exprs[e].op != ShapeOp::kConst) return false;
    return true;
  }
  int64_t extent(const PlanTensor& t, size_t axis) const { return p_.exprs[t.dims[axis]].value; }

  // A view of some rows.
  void add_range(TensorIndex index) {
    PlanTensor view = p_.tensors[index];
    if (!divides(view)) return;
    const int64_t rows = extent(view, 0), first = pick(0, static_cast<int>(rows));
    int64_t row = 1;
    for (size_t a = 1; a < view.dims.size(); ++a) row *= extent(view, a);
    view.name += ".range";
    view.kind = TensorKind::kView;
    view.view_of = index;
    view.offset = constant_expr(first * row);
    view.dims[0] = constant_expr(pick(0, static_cast<int>(rows - first)));
    ready_.push_back(next());
    p_.tensors.push_back(std::move(view));
  }

  // The last result and another one like it become two halves of one tensor.
  void join(TensorIndex index) {
    if (!divides(p_.tensors[index]) || p_.steps.back().outputs[0] != index) return;
    Step again = p_.steps.back();
    again.name += ".again";
    PlanTensor other = p_.tensors[index], whole = other;
    const TensorIndex second = next();
    again.outputs = {second};
    whole.name += ".both";
    whole.dims[0] = constant_expr(2 * extent(other, 0));
    whole.subviews = {index, second};
    other.name += ".again";
    p_.tensors.push_back(std::move(other));
    const TensorIndex both = next();
    p_.tensors.push_back(std::move(whole));
    for (const TensorIndex part : {index, second}) {
      p_.tensors[part].kind = TensorKind::kSubview;
      p_.tensors[part].view_of = both;
    }
    p_.steps.push_back(std::move(again));
    ready_.push_back(both);
  }

  // Both ways the same body, on inputs of its own.
  void add_branches() {
    Program body = RandomProgram(static_cast<unsigned>(rng_()), depth_ + 1).make(4);
    body.native.clear();
    body.properties.clear();
    const auto linear = [&](const IoTensor& io) { return body.tensors[io.tensor].layout == Layout::kLinear; };
    if (!std::all_of(body.outputs.begin(), body.outputs.end(), linear)) return;
    const auto like = [&](const IoTensor& io, TensorKind kind) {
      PlanTensor t;
      t.name = fmt::format("around {}", body.tensors[io.tensor].name);
      t.dtype = body.tensors[io.tensor].dtype;
      t.kind = kind;
      t.dims.assign(body.tensors[io.tensor].dims.size(), constant_expr(4));
      const TensorIndex index = next();
      p_.tensors.push_back(std::move(t));
      if (kind == TensorKind::kInput) p_.inputs.push_back({index, false});
      return index;
    };
    Step step;
    step.name = "branches";
    step.tactic = control_tactic();
    PlanTensor condition;
    condition.name = "condition";
    condition.dtype = DType::kBool;
    condition.kind = TensorKind::kInput;
    step.inputs = {next()};
    p_.inputs.push_back({next(), false});
    p_.tensors.push_back(std::move(condition));
    ControlBody one;
    for (const IoTensor& io : body.inputs) {
      one.operands.push_back(static_cast<int32_t>(step.inputs.size()));
      step.inputs.push_back(like(io, TensorKind::kInput));
    }
    for (const IoTensor& io : body.outputs) step.outputs.push_back(like(io, TensorKind::kIntermediate));
    ControlForm form;
    form.bodies = {one, one};
    write_control(form, &step.problem);
    step.problem.num_main = static_cast<int>(step.inputs.size());
    for (const TensorIndex t : step.inputs) step.problem.inputs.push_back(describe(t));
    for (const TensorIndex t : step.outputs) step.problem.outputs.push_back(describe(t));
    p_.bodies.push_back(std::move(body));
    p_.steps.push_back(std::move(step));
  }

  void add_profile() {
    PlanProfile profile;
    for (const PlanSymbol& s : p_.symbols) {
      const int64_t low = pick(0, 3), mid = low + pick(0, 3);
      profile.symbols.push_back(s.source == SymbolSource::kDataDependent ? SymbolRange{}
                                                                         : SymbolRange{low, mid, mid + pick(0, 9)});
    }
    p_.profiles.push_back(std::move(profile));
  }

  // The same program as the body that runs a profile.
  void tune_profile(size_t profile) {
    Program body = p_;
    body.name = word("profile", static_cast<int>(profile));
    body.device.clear();
    body.profiles = {p_.profiles[profile]};
    p_.profiles[profile].body = static_cast<int32_t>(p_.bodies.size());
    p_.bodies.push_back(std::move(body));
  }

  std::mt19937 rng_;
  int depth_;
  Program p_;
  std::vector<TensorIndex> ready_;
};

}  // namespace wootz
