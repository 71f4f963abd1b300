#include "plan/encode.h"

#include "backend/refit.h"
#include "plan/codes.h"
#include "plan/plan_generated.h"
#include "plan/plan_limits.h"

namespace wootz {
namespace {

using flatbuffers::Offset;
using flatbuffers::Vector;

// An upper bound of what the builder will need, so that it never has to fail (it cannot report).
class SizeBound {
 public:
  void table() { add(64); }
  void text(std::string_view s) { add(s.size() + 16); }
  void list(size_t count, size_t each) { add(count * each + 16); }
  size_t total() const { return total_; }

 private:
  void add(size_t n) { total_ += n; }
  size_t total_ = 64 * 1024;  // name lists, root
};

size_t bound_of(const Problem& problem) {
  SizeBound b;
  b.table();
  b.table();
  std::string text;
  append_params(problem.params, &text);
  b.text(text);
  for (const auto* descs : {&problem.inputs, &problem.outputs})
    for (size_t i = 0; i < descs->size(); ++i) {
      b.table();
      b.list(2 * limits::kMaxRank, 8);
      b.list(0, 0);
    }
  b.list(problem.epilogue.code.size(), sizeof(fb::PwInstr));
  b.list(problem.epilogue.outputs.size(), 2);
  return b.total() - SizeBound().total();
}

void bound_tensors(const Program& p, SizeBound* b) {
  for (const PlanTensor& t : p.tensors) {
    b->table();
    b->text(t.name);
    b->list(t.dims.size(), 4);
    b->list(t.values.size(), 4);
  }
  for (const PlanConstant& c : p.constants) {
    b->table();
    b->text(c.name);
    b->list(c.dims.size(), 8);
  }
}

// Without its problem.
void bound_step(const Step& s, SizeBound* b) {
  b->table();
  b->table();
  b->text(s.name);
  for (const std::string& name : s.provenance) b->text(name);
  b->list(s.provenance.size(), 4);
  b->text(s.tactic.provider);
  b->text(s.tactic.kernel);
  b->text(s.tactic.config);
  b->list(s.inputs.size() + s.outputs.size(), 4);
  b->table();
}

void bound_refit(const RefitRecipe& recipe, SizeBound* b) {
  b->table();
  for (const std::string* text : {&recipe.graph, &recipe.settings, &recipe.choices}) b->text(*text);
  for (const RefitConstant& c : recipe.constants) {
    b->table();
    b->list(c.dims.size(), 8);
    b->list(c.digest.size(), 1);
  }
  for (const RefitWeight& w : recipe.weights) {
    b->table();
    b->text(w.name);
    b->text(w.layer);
  }
}

size_t bound_of(const Program& p) {
  SizeBound b;
  for (const std::string* text : {&p.name, &p.backend, &p.device}) b.text(*text);
  for (const ShapeExpr& e : p.exprs) {
    b.table();
    b.list(e.operands.size(), 4);
  }
  for (const PlanSymbol& s : p.symbols) {
    b.table();
    b.text(s.name);
  }
  bound_tensors(p, &b);
  size_t problems = 0;
  for (const Step& s : p.steps) {
    bound_step(s, &b);
    problems += bound_of(s.problem);
  }
  b.list(p.inputs.size() + p.outputs.size(), 64);
  for (const PlanProfile& profile : p.profiles) {
    b.table();
    b.list(profile.symbols.size(), sizeof(fb::Range));
  }
  for (const NativeCode& code : p.native) {
    b.table();
    b.text(code.key);
  }
  for (const Program& body : p.bodies) {
    b.table();
    problems += bound_of(body);
  }
  for (const ShapeCheck& check : p.checks) {
    b.table();
    b.text(check.message);
  }
  for (const auto& [name, value] : p.properties) {
    b.table();
    b.text(name);
    b.text(value);
  }
  if (p.refit != nullptr) bound_refit(*p.refit, &b);
  return b.total() + problems;
}

class Encoder {
 public:
  Encoder(const Program& program, const WeightsMap& weights) : p_(program), weights_(weights) {}

  // Parts are made one after the other in named order: the order of a call's arguments is the compiler's own.
  std::vector<std::byte> run() {
    const auto dtypes = names<DType>(kDTypeCount, dtype_name);
    const auto layouts = names<Layout>(kLayoutCount, layout_name);
    const auto ops = names<PwOp>(plan_codes::kPwOpCount, pw_op_name);
    fb::FinishPlanBuffer(b_, encode(p_, weights_, {dtypes, layouts, ops}));
    const auto* bytes = reinterpret_cast<const std::byte*>(b_.GetBufferPointer());
    return {bytes, bytes + b_.GetSize()};
  }

 private:
  using Names = Offset<Vector<Offset<flatbuffers::String>>>;
  struct NameLists {
    Names dtypes = 0, layouts = 0, ops = 0;
  };

  Offset<fb::Plan> encode(const Program& p, const WeightsMap& map, const NameLists& lists) {
    const auto name = text(p.name), backend = text(p.backend), device = text(p.device);
    const auto exprs = each<fb::Expr>(p.exprs);
    const auto symbols = each<fb::Symbol>(p.symbols);
    const auto tensors = each<fb::Tensor>(p.tensors);
    const auto weights = constants(p, map);
    const auto steps = each<fb::Step>(p.steps);
    const auto inputs = each<fb::Io>(p.inputs), outputs = each<fb::Io>(p.outputs);
    const auto profiles = each<fb::Profile>(p.profiles);
    const auto props = properties(p);
    const auto machine_code = native(p, map);
    const auto inner = bodies(p, map);
    const auto conditions = checks(p);
    const auto recipe = refit(p, map);
    return fb::CreatePlan(b_, lists.dtypes, lists.layouts, lists.ops, name, backend, device, exprs, symbols, tensors,
                          weights, steps, inputs, outputs, profiles, props, machine_code, inner, conditions, recipe,
                          p.stripped);
  }
  // No list at all where there is none, as of machine code.
  Offset<Vector<Offset<fb::Plan>>> bodies(const Program& p, const WeightsMap& map) {
    if (p.bodies.empty()) return 0;
    std::vector<Offset<fb::Plan>> made;
    for (size_t b = 0; b < p.bodies.size(); ++b) made.push_back(encode(p.bodies[b], map.bodies[b], {}));
    return b_.CreateVector(made);
  }

  template <typename E>
  static uint8_t code(E value) {
    return static_cast<uint8_t>(value);
  }
  Offset<flatbuffers::String> text(std::string_view s) { return b_.CreateString(s.data(), s.size()); }
  template <typename T>
  Offset<Vector<T>> list(const std::vector<T>& v) {
    return b_.CreateVector(v.data(), v.size());
  }
  template <typename Tag>
  Offset<Vector<int32_t>> list(const std::vector<Index<Tag>>& v) {
    std::vector<int32_t> numbers;
    for (const Index<Tag> index : v) numbers.push_back(index.number());
    return list(numbers);
  }
  Offset<Vector<int64_t>> extents(const Dims& dims) { return b_.CreateVector(dims.begin(), dims.size()); }
  template <typename E>
  Offset<Vector<Offset<flatbuffers::String>>> names(int count, const char* (*name)(E)) {
    std::vector<Offset<flatbuffers::String>> made;
    for (int i = 0; i < count; ++i) made.push_back(b_.CreateString(name(static_cast<E>(i))));
    return b_.CreateVector(made);
  }
  template <typename F, typename T>
  Offset<Vector<Offset<F>>> each(const std::vector<T>& things) {
    std::vector<Offset<F>> made;
    made.reserve(things.size());
    for (const T& thing : things) made.push_back(encode(thing));
    return b_.CreateVector(made);
  }

  template <typename F, typename I, typename T>
  Offset<Vector<Offset<F>>> each(const IndexedVector<I, T>& things) {
    return each<F>(things.items());
  }

  Offset<fb::Expr> encode(const ShapeExpr& e) { return fb::CreateExpr(b_, code(e.op), e.value, list(e.operands)); }
  Offset<fb::Symbol> encode(const PlanSymbol& s) {
    return fb::CreateSymbol(b_, text(s.name), code(s.source), s.tensor.number(), s.axis);
  }
  Offset<fb::Tensor> encode(const PlanTensor& t) {
    const auto name = text(t.name);
    const auto dims = list(t.dims), values = list(t.values), subviews = list(t.subviews);
    return fb::CreateTensor(b_, name, code(t.dtype), code(t.layout), code(t.kind), dims, t.view_of.number(), values,
                            t.constant.number(), t.offset.number(), subviews);
  }
  Offset<fb::TensorDesc> encode(const TensorDesc& t) {
    const auto dims = extents(t.dims), max_dims = extents(t.max_dims);
    return fb::CreateTensorDesc(b_, code(t.dtype), code(t.layout), dims, max_dims, t.constant);
  }
  Offset<fb::Pointwise> encode(const PointwiseExpr& e) {
    if (e.empty()) return 0;
    std::vector<fb::PwInstr> instrs;
    for (const PwInstr& i : e.code) instrs.emplace_back(i.imm0, i.imm1, i.a, i.b, i.c, code(i.op), code(i.type));
    const auto body = b_.CreateVectorOfStructs(instrs);
    return fb::CreatePointwise(b_, body, list(e.outputs), e.num_inputs);
  }
  Offset<fb::Problem> encode(const Problem& p) {
    std::string params;
    append_params(p.params, &params);
    const auto params_text = text(params);
    const auto inputs = each<fb::TensorDesc>(p.inputs), outputs = each<fb::TensorDesc>(p.outputs);
    return fb::CreateProblem(b_, params_text, inputs, outputs, p.num_main, encode(p.epilogue), code(p.acc_dtype),
                             p.passing);
  }
  Offset<fb::Step> encode(const Step& s) {
    std::vector<Offset<flatbuffers::String>> provenance;
    for (const std::string& name : s.provenance) provenance.push_back(text(name));
    const auto name = text(s.name);
    const auto provenance_list = b_.CreateVector(provenance);
    const auto problem = encode(s.problem);
    const auto provider = text(s.tactic.provider), kernel = text(s.tactic.kernel), config = text(s.tactic.config);
    const auto inputs = list(s.inputs), outputs = list(s.outputs);
    return fb::CreateStep(b_, name, provenance_list, problem, provider, kernel, config, inputs, outputs, s.workspace,
                          s.measured_us, s.stream);
  }
  Offset<fb::Io> encode(const IoTensor& io) { return fb::CreateIo(b_, io.tensor.number(), io.is_shape_tensor); }
  Offset<fb::Profile> encode(const PlanProfile& profile) {
    std::vector<fb::Range> ranges;
    for (const SymbolRange& r : profile.symbols) ranges.emplace_back(r.min, r.opt, r.max);
    return fb::CreateProfile(b_, b_.CreateVectorOfStructs(ranges), profile.body);
  }
  Offset<Vector<Offset<fb::Constant>>> constants(const Program& p, const WeightsMap& map) {
    std::vector<Offset<fb::Constant>> made;
    for (size_t i = 0; i < p.constants.size(); ++i) {
      const PlanConstant& c = p.constants.items()[i];
      const auto name = text(c.name);
      made.push_back(fb::CreateConstant(b_, name, code(c.dtype), code(c.layout), extents(c.dims), map.offsets[i],
                                        c.bytes, c.form_version));
    }
    return b_.CreateVector(made);
  }
  Offset<Vector<Offset<fb::Property>>> properties(const Program& p) {
    std::vector<Offset<fb::Property>> made;
    for (const auto& [name, value] : p.properties) {
      const auto key = text(name), words = text(value);
      made.push_back(fb::CreateProperty(b_, key, words));
    }
    return b_.CreateVector(made);
  }

  // No list at all where there is none: plans without machine code are what they always were.
  Offset<Vector<Offset<fb::Native>>> native(const Program& p, const WeightsMap& map) {
    if (p.native.empty()) return 0;
    std::vector<Offset<fb::Native>> made;
    for (size_t i = 0; i < p.native.size(); ++i) {
      const auto key = text(p.native[i].key);
      made.push_back(fb::CreateNative(b_, key, map.native[i], p.native[i].bytes.size()));
    }
    return b_.CreateVector(made);
  }

  Offset<Vector<Offset<fb::Check>>> checks(const Program& p) {
    if (p.checks.empty()) return 0;  // as with machine code
    std::vector<Offset<fb::Check>> made;
    for (const ShapeCheck& check : p.checks) {
      const auto message = text(check.message);
      made.push_back(fb::CreateCheck(b_, check.expr.number(), message));
    }
    return b_.CreateVector(made);
  }

  Offset<fb::Refit> refit(const Program& p, const WeightsMap& map) {
    if (p.refit == nullptr) return 0;
    const auto graph = text(p.refit->graph), settings = text(p.refit->settings), choices = text(p.refit->choices);
    std::vector<Offset<fb::RefitConstant>> constants;
    for (size_t i = 0; i < p.refit->constants.size(); ++i) {
      const RefitConstant& c = p.refit->constants[i];
      const auto dims = extents(c.dims);
      const auto digest = p.refit->identical && c.stripped ? digest_of(c) : 0;
      constants.push_back(fb::CreateRefitConstant(b_, code(c.dtype), dims, map.refit[i], c.bytes, c.stripped, digest));
    }
    std::vector<Offset<fb::RefitWeight>> weights;
    for (const RefitWeight& w : p.refit->weights) {
      const auto name = text(w.name), layer = text(w.layer);
      weights.push_back(fb::CreateRefitWeight(b_, name, layer, w.role, w.constant, w.refittable));
    }
    const auto constant_list = b_.CreateVector(constants);
    const auto weight_list = b_.CreateVector(weights);
    return fb::CreateRefit(b_, graph, settings, choices, constant_list, weight_list, p.refit->identical);
  }
  Offset<Vector<uint8_t>> digest_of(const RefitConstant& c) {
    return b_.CreateVector(reinterpret_cast<const uint8_t*>(c.digest.data()), c.digest.size());
  }

  const Program& p_;
  const WeightsMap& weights_;
  flatbuffers::FlatBufferBuilder b_;
};

}  // namespace

Result<std::vector<std::byte>> encode_program(const Program& program, const WeightsMap& weights) {
  const size_t bound = bound_of(program);
  if (bound > plan_limits::kMaxMetadataBytes)
    return make_error(Code::kResourceExhausted,
                      "plan: the layers take up to {} bytes beside the weights, the limit is {}", bound,
                      plan_limits::kMaxMetadataBytes);
  return Encoder(program, weights).run();
}

}  // namespace wootz
