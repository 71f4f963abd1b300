// Why so long: one proof, whose parts build on what those before them have shown.
#include "plan/verify.h"

#include <algorithm>
#include <climits>

#include "backend/control.h"
#include "plan/plan_limits.h"
#include "plan/verify_places.h"
#include "plan/verify_problem.h"
#include "plan/verify_refit.h"

namespace wootz {
namespace {

constexpr StepIndex kAlways;          // known before the first step
constexpr StepIndex kNever(INT_MAX);  // no step makes it

Status too_many(std::string_view what, size_t count, size_t limit) {
  if (count <= limit) return {};
  return make_error(Code::kResourceExhausted, "{} {}, the limit is {}", count, what, limit);
}

class Verifier {
 public:
  explicit Verifier(const Program& program, int depth) : p_(program), depth_(depth) {}

  Status run() {
    WOOTZ_RETURN_IF_ERROR(check_texts());
    WOOTZ_RETURN_IF_ERROR(check_bodies());
    WOOTZ_RETURN_IF_ERROR(check_exprs());
    WOOTZ_RETURN_IF_ERROR(check_constants());
    WOOTZ_RETURN_IF_ERROR(check_tensors());
    WOOTZ_RETURN_IF_ERROR(verify_places(p_, shapes_, &root_));
    WOOTZ_RETURN_IF_ERROR(check_io());
    WOOTZ_RETURN_IF_ERROR(check_symbols());
    WOOTZ_RETURN_IF_ERROR(find_writers());
    find_times();
    WOOTZ_RETURN_IF_ERROR(check_times());
    WOOTZ_RETURN_IF_ERROR(check_steps());
    WOOTZ_RETURN_IF_ERROR(check_profiles());
    WOOTZ_RETURN_IF_ERROR(check_checks());
    return check_memory();
  }

 private:
  const PlanTensor& tensor(TensorIndex index) const { return p_.tensors[index]; }
  bool has_tensor(TensorIndex index) const { return p_.tensors.has(index); }
  bool has_expr(ExpressionIndex index) const { return p_.exprs.has(index); }
  // Written by steps: as a whole, or part by part.
  static bool is_made(const PlanTensor& t) {
    return t.kind == TensorKind::kIntermediate || t.kind == TensorKind::kOutput || t.kind == TensorKind::kSubview;
  }
  static std::string place(const Step& step) { return fmt::format("layer '{}'", shown(step.name)); }
  static std::string place(const PlanTensor& tensor) { return fmt::format("tensor '{}'", shown(tensor.name)); }

  Status check_texts() const;
  Status check_bodies() const;
  Status check_exprs();
  Status check_constants() const;
  Status check_tensor(const PlanTensor& tensor) const;
  Status check_tensors() const;
  Status check_io();
  Status check_symbols() const;
  Status find_writers();
  StepIndex find_last_writer(TensorIndex t);
  void find_times();
  StepIndex time_of(std::span<const ExpressionIndex> exprs) const;
  Status check_times() const;
  Status check_steps() const;
  Status check_profiles() const;
  Status check_profile_body(const PlanProfile& profile) const;
  Status check_checks() const;
  Status check_memory() const;

  const Program& p_;
  const int depth_;                                      // of bodies around it
  ShapeValues shapes_;                                   // what is known without inputs
  IndexedVector<TensorIndex, TensorIndex> root_;         // the tensor whose bytes it is
  IndexedVector<TensorIndex, StepIndex> writer_;         // the step that writes it
  IndexedVector<ExpressionIndex, StepIndex> expr_time_;  // the step after which its value is known
};

Status Verifier::check_texts() const {
  WOOTZ_RETURN_IF_ERROR(check_name("network name", p_.name, limits::kMaxNameBytes));
  WOOTZ_RETURN_IF_ERROR(check_name("backend", p_.backend, limits::kMaxNameBytes));
  WOOTZ_RETURN_IF_ERROR(check_name("device description", p_.device, limits::kMaxNameBytes));
  WOOTZ_RETURN_IF_ERROR(too_many("properties", p_.properties.size(), plan_limits::kMaxProperties));
  WOOTZ_RETURN_IF_ERROR(too_many("pieces of machine code", p_.native.size(), plan_limits::kMaxNative));
  for (const NativeCode& code : p_.native)
    WOOTZ_RETURN_IF_ERROR(check_name("machine code", code.key, plan_limits::kMaxTextBytes));
  for (const auto& [name, value] : p_.properties) {
    WOOTZ_RETURN_IF_ERROR(check_name("property name", name, limits::kMaxNameBytes));
    WOOTZ_RETURN_IF_ERROR(check_name("property", value, plan_limits::kMaxTextBytes));
  }
  if (p_.stripped && depth_ == 0 && p_.refit == nullptr) return corrupt("a plan without weights and without a recipe");
  if (p_.refit == nullptr) return {};
  return depth_ > 0 ? corrupt("a body with a recipe for refits") : verify_refit(*p_.refit, p_.stripped);
}

// Before everything else: what a step says of a body is compared with a body that holds together.
Status Verifier::check_bodies() const {
  WOOTZ_RETURN_IF_ERROR(too_many("bodies", p_.bodies.size(), plan_limits::kMaxBodies));
  if (p_.bodies.empty()) return {};
  if (depth_ >= plan_limits::kMaxBodyDepth)
    return make_error(Code::kResourceExhausted, "bodies are nested more than {} deep", plan_limits::kMaxBodyDepth);
  for (size_t b = 0; b < p_.bodies.size(); ++b) {
    const Program& body = p_.bodies[b];
    if (body.stripped != p_.stripped) return corrupt("body {} has weights and the whole has none, or the reverse", b);
    if (!body.native.empty() || !body.properties.empty()) return corrupt("body {} has machine code or properties", b);
    if (Status status = Verifier(body, depth_ + 1).run(); !status.ok())
      return status.with_prefix(fmt::format("body {} '{}'", b, shown(body.name)));
  }
  return {};
}

Status Verifier::check_exprs() {
  WOOTZ_RETURN_IF_ERROR(too_many("shape expressions", p_.exprs.size(), plan_limits::kMaxExprs));
  WOOTZ_RETURN_IF_ERROR(too_many("symbols", p_.symbols.size(), plan_limits::kMaxSymbols));
  for (const ExpressionIndex i : p_.exprs.indices()) {
    const ShapeExpr& e = p_.exprs[i];
    if (e.op > ShapeOp::kMax) return corrupt("shape expression {}: operation number {}", i, static_cast<int>(e.op));
    if (e.op == ShapeOp::kSymbol && (e.value < 0 || static_cast<size_t>(e.value) >= p_.symbols.size()))
      return corrupt("shape expression {} uses symbol {} of {}", i, e.value, p_.symbols.size());
    WOOTZ_RETURN_IF_ERROR(too_many("operands of a shape expression", e.operands.size(), plan_limits::kMaxExprOperands));
    const bool leaf = e.op == ShapeOp::kConst || e.op == ShapeOp::kSymbol;
    const bool chain = e.op == ShapeOp::kAdd || e.op == ShapeOp::kMul || e.op == ShapeOp::kMin || e.op == ShapeOp::kMax;
    if (leaf ? !e.operands.empty() : chain ? e.operands.size() < 2 : e.operands.size() != 2)
      return corrupt("shape expression {} has {} operands", i, e.operands.size());
    for (const ExpressionIndex operand : e.operands)
      if (!operand.exists() || operand >= i)
        return corrupt("shape expression {} uses expression {}, which is not defined before it", i, operand);
  }
  const std::vector<int64_t> none(p_.symbols.size(), -1);
  if (Status status = evaluate_shapes(p_, none, &shapes_); !status.ok())
    return corrupt("the shapes of the program: {}", status.message());
  return {};
}

Status Verifier::check_constants() const {
  WOOTZ_RETURN_IF_ERROR(too_many("constants", p_.constants.size(), plan_limits::kMaxConstants));
  for (const PlanConstant& c : p_.constants) {
    WOOTZ_RETURN_IF_ERROR(check_name("constant name", c.name, limits::kMaxNameBytes));
    const std::string where = fmt::format("constant '{}'", shown(c.name));
    if (dtype_bits(c.dtype) == 0)
      return corrupt("{}: no element type has the number {}", where, static_cast<int>(c.dtype));
    if (static_cast<int>(c.layout) >= kLayoutCount) return corrupt("{}: layout number {}", where, static_cast<int>(c.layout));
    if (Result<int64_t> volume = checked_volume(c.dims.span()); !volume.ok()) return volume.status().with_prefix(where);
    if (c.layout == Layout::kOpaque) {
      WOOTZ_RETURN_IF_ERROR(too_many("bytes of a packed constant", c.bytes, plan_limits::kMaxBlobBytes));
    } else if (const size_t want = layout_bytes(c.layout, c.dtype, c.dims); c.bytes != want) {
      return corrupt("{} has {} bytes, {} {} in layout {} takes {}", where, c.bytes, dtype_name(c.dtype),
                     c.dims.to_string(), layout_name(c.layout), want);
    }
    if (!c.has_bytes() && !p_.stripped) return corrupt("{} has no data", where);
  }
  return {};
}

Status Verifier::check_tensor(const PlanTensor& t) const {
  if (dtype_bits(t.dtype) == 0) return corrupt("no element type has the number {}", static_cast<int>(t.dtype));
  if (static_cast<int>(t.layout) >= kLayoutCount) return corrupt("layout number {}", static_cast<int>(t.layout));
  if (t.kind > TensorKind::kSubview) return corrupt("tensor kind number {}", static_cast<int>(t.kind));
  if (t.layout == Layout::kOpaque && t.kind != TensorKind::kConstant)
    return corrupt("only constants can be packed by a kernel");
  if (t.dims.size() > static_cast<size_t>(limits::kMaxRank))
    return make_error(Code::kResourceExhausted, "rank {}, the limit is {}", t.dims.size(), limits::kMaxRank);
  for (const ExpressionIndex e : t.dims) {
    if (!has_expr(e)) return corrupt("shape expression {} of {}", e, p_.exprs.size());
    if (shapes_.known[e] && shapes_.values[e] < 0) return corrupt("extent {} is negative", shapes_.values[e]);
  }
  if (t.kind != TensorKind::kShape && !t.values.empty())
    return corrupt("{} values of no shape tensor", t.values.size());
  const std::optional<Dims> dims = tensor_dims(t, shapes_);
  if (dims) {
    if (Result<int64_t> volume = checked_volume(dims->span()); !volume.ok()) return volume.status();
    if (layout_bytes(t.layout, t.dtype, *dims) == SIZE_MAX)
      return corrupt("{} {} in layout {}: the size overflows", dtype_name(t.dtype), dims->to_string(),
                     layout_name(t.layout));
  }
  if (t.kind == TensorKind::kShape) {
    if (t.layout != Layout::kLinear) return corrupt("a shape tensor in layout {}", layout_name(t.layout));
    WOOTZ_RETURN_IF_ERROR(
        too_many("values of a shape tensor", t.values.size(), static_cast<size_t>(limits::kMaxShapeValues)));
    for (const ExpressionIndex e : t.values)
      if (!has_expr(e)) return corrupt("shape expression {} of {}", e, p_.exprs.size());
    if (!dims || static_cast<size_t>(dims->volume()) != t.values.size())
      return corrupt("{} values for a shape tensor of shape {}", t.values.size(), dims ? dims->to_string() : "unknown");
  }
  if (t.kind == TensorKind::kConstant) {
    if (!p_.constants.has(t.constant)) return corrupt("constant {} of {}", t.constant, p_.constants.size());
    const PlanConstant& c = p_.constants[t.constant];
    if (t.dtype != c.dtype || t.layout != c.layout || !dims || !(*dims == c.dims))
      return corrupt("is {} {} {}, its constant '{}' is {} {} {}", dtype_name(t.dtype),
                     dims ? dims->to_string() : "of unknown shape", layout_name(t.layout), shown(c.name),
                     dtype_name(c.dtype), c.dims.to_string(), layout_name(c.layout));
  }
  return {};
}

Status Verifier::check_tensors() const {
  WOOTZ_RETURN_IF_ERROR(too_many("tensors", p_.tensors.size(), plan_limits::kMaxTensors));
  for (const PlanTensor& t : p_.tensors) {
    WOOTZ_RETURN_IF_ERROR(check_name("tensor name", t.name, limits::kMaxNameBytes));
    if (Status status = check_tensor(t); !status.ok()) return status.with_prefix(place(t));
  }
  return {};
}

// Every tensor the user binds is in the lists exactly once, and the lists hold nothing else.
Status Verifier::check_io() {
  IndexedVector<TensorIndex, uint8_t> listed(p_.tensors.size(), 0);
  const auto check = [&](const std::vector<IoTensor>& list, TensorKind kind, const char* what) -> Status {
    WOOTZ_RETURN_IF_ERROR(too_many("network inputs or outputs", list.size(), p_.tensors.size()));
    for (size_t i = 0; i < list.size(); ++i) {
      if (!has_tensor(list[i].tensor))
        return corrupt("network {} {} is tensor {} of {}", what, i, list[i].tensor, p_.tensors.size());
      const PlanTensor& t = tensor(list[i].tensor);
      if (t.kind != kind) return corrupt("network {} {}: {} is none", what, i, place(t));
      if (std::exchange(listed[list[i].tensor], 1))
        return corrupt("network {} {}: {} is listed twice", what, i, place(t));
    }
    return {};
  };
  WOOTZ_RETURN_IF_ERROR(check(p_.inputs, TensorKind::kInput, "input"));
  WOOTZ_RETURN_IF_ERROR(check(p_.outputs, TensorKind::kOutput, "output"));
  for (const TensorIndex t : p_.tensors.indices()) {
    const TensorKind kind = p_.tensors[t].kind;
    if ((kind == TensorKind::kInput || kind == TensorKind::kOutput) && !listed[t])
      return corrupt("{} is an input or output of the network, but not listed", place(p_.tensors[t]));
  }
  return {};
}

Status Verifier::check_symbols() const {
  IndexedVector<TensorIndex, uint8_t> holds_values(p_.tensors.size(), 0);
  for (const IoTensor& io : p_.inputs)
    if (io.is_shape_tensor) holds_values[io.tensor] = 1;
  for (const PlanSymbol& symbol : p_.symbols) {
    WOOTZ_RETURN_IF_ERROR(check_name("symbol name", symbol.name, limits::kMaxNameBytes));
    const std::string where = fmt::format("symbol '{}'", shown(symbol.name));
    if (symbol.source > SymbolSource::kDataDependent)
      return corrupt("{}: source number {}", where, static_cast<int>(symbol.source));
    if (!has_tensor(symbol.tensor))
      return corrupt("{} belongs to tensor {} of {}", where, symbol.tensor, p_.tensors.size());
    const PlanTensor& t = tensor(symbol.tensor);
    const bool value = symbol.source == SymbolSource::kInputValue;
    const int64_t bound = value ? limits::kMaxShapeValues : static_cast<int64_t>(t.dims.size());
    if (symbol.axis < 0 || symbol.axis >= bound)
      return corrupt("{} is {} {} of {}, beyond {}", where, value ? "element" : "dimension", symbol.axis, place(t),
                     bound);
    if (symbol.source != SymbolSource::kDataDependent && t.kind != TensorKind::kInput)
      return corrupt("{} comes from {}, which is no network input", where, place(t));
    if (value && (!holds_values[symbol.tensor] || !is_integer(t.dtype)))
      return corrupt("{} is a value of {}, which is no integer input shape tensor", where, place(t));
  }
  return {};
}

Status Verifier::find_writers() {
  WOOTZ_RETURN_IF_ERROR(too_many("layers", p_.steps.size(), plan_limits::kMaxSteps));
  writer_.assign(p_.tensors.size(), kNever);
  for (const StepIndex s : p_.steps.indices()) {
    const Step& step = p_.steps[s];
    WOOTZ_RETURN_IF_ERROR(check_name("layer name", step.name, limits::kMaxNameBytes));
    for (const auto* list : {&step.inputs, &step.outputs}) {
      if (list->size() > static_cast<size_t>(limits::kMaxInputsPerNode))
        return make_error(Code::kResourceExhausted, "{}: {} operands, the limit is {}", place(step), list->size(),
                          limits::kMaxInputsPerNode);
      for (const TensorIndex t : *list)
        if (t != TensorIndex() && !has_tensor(t))
          return corrupt("{}: operand is tensor {} of {}", place(step), t, p_.tensors.size());
    }
    for (const TensorIndex t : step.outputs) {
      if (!t.exists()) continue;
      if (!is_made(tensor(t)) || !tensor(t).subviews.empty())
        return corrupt("{} writes {}, which no layer may write", place(step), place(tensor(t)));
      StepIndex& writer = writer_[t];
      if (writer != kNever)
        return corrupt("{} writes {}, which {} has written", place(step), place(tensor(t)), place(p_.steps[writer]));
      writer = s;
    }
  }
  for (const TensorIndex t : p_.tensors.indices()) find_last_writer(t);
  return {};
}

// What is put together from subviews is there when the last of them is. verify_places() has bounded the depth.
StepIndex Verifier::find_last_writer(TensorIndex t) {
  const std::vector<TensorIndex>& subviews = p_.tensors[t].subviews;
  if (subviews.empty() || writer_[t] != kNever) return writer_[t];
  StepIndex last = kAlways;
  for (const TensorIndex p : subviews) last = std::max(last, find_last_writer(p));
  return writer_[t] = last;
}

void Verifier::find_times() {
  expr_time_.assign(p_.exprs.size(), kAlways);
  for (const ExpressionIndex i : p_.exprs.indices()) {
    const ShapeExpr& e = p_.exprs[i];
    if (e.op == ShapeOp::kSymbol) {
      const PlanSymbol& symbol = p_.symbols[e.symbol()];
      if (symbol.source == SymbolSource::kDataDependent) expr_time_[i] = writer_[symbol.tensor];
    }
    for (const ExpressionIndex operand : e.operands) expr_time_[i] = std::max(expr_time_[i], expr_time_[operand]);
  }
}

StepIndex Verifier::time_of(std::span<const ExpressionIndex> exprs) const {
  StepIndex time = kAlways;
  for (const ExpressionIndex e : exprs) time = std::max(time, expr_time_[e]);
  return time;
}

// Bytes and extents of everything that a step reads are there before it; extents of what it writes, with it.
Status Verifier::check_times() const {
  for (const IoTensor& io : p_.inputs)
    if (time_of(tensor(io.tensor).dims) != kAlways)
      return corrupt("{}: the shape of an input depends on a layer's result", place(tensor(io.tensor)));
  for (const IoTensor& io : p_.outputs)
    if (writer_[io.tensor] == kNever) return corrupt("{} is an output that no layer writes", place(tensor(io.tensor)));
  // Where a tensor is in another one is decided before the first step.
  for (const PlanTensor& t : p_.tensors) {
    const bool ranged = t.kind == TensorKind::kSubview || t.offset.exists();
    if (!ranged) continue;
    const StepIndex time = std::max(time_of(t.dims), t.offset.exists() ? time_of({&t.offset, 1}) : kAlways);
    for (TensorIndex at = t.view_of; time == kAlways; at = tensor(at).view_of) {
      if (time_of(tensor(at).dims) != kAlways)
        return corrupt("{} is in {}, whose shape depends on a layer's result", place(t), place(tensor(at)));
      if (tensor(at).kind != TensorKind::kView && tensor(at).kind != TensorKind::kSubview) break;
    }
    if (time != kAlways) return corrupt("{}: its place depends on a layer's result", place(t));
  }
  for (const StepIndex now : p_.steps.indices()) {
    const Step& step = p_.steps[now];
    for (const TensorIndex t : step.inputs) {
      if (!t.exists()) continue;
      const TensorIndex root = root_[t];
      const PlanTensor& bytes = p_.tensors[root];
      const StepIndex time = is_made(bytes)                     ? writer_[root]
                             : bytes.kind == TensorKind::kShape ? time_of(bytes.values)
                                                                : kAlways;
      if (time >= now)
        return corrupt("{} reads {}, which {}", place(step), place(tensor(t)),
                       time == kNever ? "nothing writes" : "is made only later");
      if (time_of(tensor(t).dims) >= now || time_of(bytes.dims) >= now)
        return corrupt("{} reads {}, whose shape is known only later", place(step), place(tensor(t)));
    }
    for (const TensorIndex t : step.outputs)
      if (t.exists() && time_of(tensor(t).dims) > now)
        return corrupt("{} writes {}, whose shape is known only later", place(step), place(tensor(t)));
  }
  return {};
}

Status Verifier::check_steps() const {
  for (const Step& step : p_.steps) {
    WOOTZ_RETURN_IF_ERROR(too_many("origins of a layer", step.provenance.size(), plan_limits::kMaxProvenance));
    for (const std::string& name : step.provenance)
      WOOTZ_RETURN_IF_ERROR(check_name("provenance", name, limits::kMaxNameBytes));
    if (step.tactic.provider.empty() || step.tactic.kernel.empty()) return corrupt("{} has no tactic", place(step));
    WOOTZ_RETURN_IF_ERROR(check_name("tactic source", step.tactic.provider, limits::kMaxNameBytes));
    WOOTZ_RETURN_IF_ERROR(check_name("kernel", step.tactic.kernel, limits::kMaxNameBytes));
    WOOTZ_RETURN_IF_ERROR(check_name("tactic configuration", step.tactic.config, plan_limits::kMaxTextBytes));
    if (step.workspace > plan_limits::kMaxBlobBytes)
      return make_error(Code::kResourceExhausted, "{}: {} bytes of workspace, the limit is {}", place(step),
                        step.workspace, plan_limits::kMaxBlobBytes);
    if (step.stream >= kMostStreams)
      return corrupt("{} is on stream {}, the last is {}", place(step), step.stream, kMostStreams - 1);
    if (Status status = verify_problem(p_, step, shapes_); !status.ok()) return status.with_prefix(place(step));
    if (!is_control(step)) continue;
    if (Status status = check_control(p_, step); !status.ok()) return status.with_prefix(place(step));
  }
  return {};
}

Status Verifier::check_profiles() const {
  WOOTZ_RETURN_IF_ERROR(
      too_many("optimization profiles", p_.profiles.size(), static_cast<size_t>(limits::kMaxProfiles)));
  if (p_.profiles.empty()) return corrupt("no optimization profile");
  for (size_t k = 0; k < p_.profiles.size(); ++k) {
    if (Status status = check_profile_body(p_.profiles[k]); !status.ok())
      return status.with_prefix(fmt::format("profile {}", k));
    const IndexedVector<SymbolIndex, SymbolRange>& ranges = p_.profiles[k].symbols;
    if (ranges.size() != p_.symbols.size())
      return corrupt("profile {} has {} ranges for {} symbols", k, ranges.size(), p_.symbols.size());
    for (const SymbolIndex s : ranges.indices()) {
      const SymbolRange& r = ranges[s];
      const SymbolSource source = p_.symbols[s].source;
      const bool extent = source == SymbolSource::kInputDim;
      const bool good =
          source == SymbolSource::kDataDependent
              ? r.min == -1 && r.opt == -1 && r.max == -1
              : r.min <= r.opt && r.opt <= r.max && !(extent && (r.min < 0 || r.max > limits::kMaxElements));
      if (!good)
        return corrupt("profile {}: symbol '{}' has the range {} <= {} <= {}", k, shown(p_.symbols[s].name), r.min,
                       r.opt, r.max);
    }
  }
  return {};
}

// Who binds inputs and outputs of the whole binds them to the body.
Status Verifier::check_profile_body(const PlanProfile& profile) const {
  if (profile.body < 0) return {};
  if (depth_ > 0) return corrupt("a body's profile has a body of its own");
  if (static_cast<size_t>(profile.body) >= p_.bodies.size())
    return corrupt("body {} of {}", profile.body, p_.bodies.size());
  const Program& body = p_.bodies[static_cast<size_t>(profile.body)];
  if (body.profiles.size() != 1) return corrupt("body {} has {} profiles", profile.body, body.profiles.size());
  const auto alike = [&](const IoTensor& a, const IoTensor& b) {
    const PlanTensor &ours = p_.tensors[a.tensor], &its = body.tensors[b.tensor];
    return ours.name == its.name && ours.dtype == its.dtype && ours.layout == its.layout &&
           ours.dims.size() == its.dims.size() && a.is_shape_tensor == b.is_shape_tensor;
  };
  const auto compare = [&](const std::vector<IoTensor>& ours, const std::vector<IoTensor>& its) {
    return std::equal(ours.begin(), ours.end(), its.begin(), its.end(), alike);
  };
  return compare(p_.inputs, body.inputs) && compare(p_.outputs, body.outputs)
             ? Status()
             : corrupt("body {} has other inputs or outputs", profile.body);
}

Status Verifier::check_checks() const {
  WOOTZ_RETURN_IF_ERROR(too_many("checks of shapes", p_.checks.size(), plan_limits::kMaxSteps));
  for (const ShapeCheck& check : p_.checks) {
    WOOTZ_RETURN_IF_ERROR(check_name("message of a check", check.message, plan_limits::kMaxTextBytes));
    if (!has_expr(check.expr))
      return corrupt("a check of shapes is of expression {} of {}", check.expr, p_.exprs.size());
  }
  return {};
}

// The sizes of static tensors were proven one by one; all of them together fit the address arithmetic of the planner.
Status Verifier::check_memory() const {
  size_t total = 0;
  for (const PlanTensor& t : p_.tensors) {
    const std::optional<Dims> dims = tensor_dims(t, shapes_);
    if (!dims || t.kind != TensorKind::kIntermediate) continue;
    if (__builtin_add_overflow(total, layout_bytes(t.layout, t.dtype, *dims), &total) ||
        total > plan_limits::kMaxArenaBytes)
      return make_error(Code::kResourceExhausted, "{}: activations of more than {} bytes", place(t),
                        plan_limits::kMaxArenaBytes);
  }
  return {};
}

}  // namespace

Status verify_program(const Program& program) {
  Status status = Verifier(program, 0).run();
  return status.ok() ? status : status.with_prefix("plan");
}

}  // namespace wootz
