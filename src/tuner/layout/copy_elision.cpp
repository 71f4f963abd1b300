#include "tuner/layout/copy_elision.h"

#include <algorithm>
#include <map>

#include "backend/relayout.h"
#include "tuner/layout/reformats.h"

namespace wootz {
namespace {

constexpr double kStepUs = 1.5, kBytesPerUs = 8e3;  // what a step costs at least, and what memory gives: rough
constexpr int kMaxNesting = 64;  // of concatenations in concatenations, well below plan_limits::kMaxViewDepth

class Placer {
 public:
  Placer(Program* program, const std::vector<const Provider*>& providers, const Limits& limits, bool parts)
      : p_(*program), parts_(parts), offers_(providers, limits) {
    data_dependent_.resize(p_.exprs.size());
    for (const ExpressionIndex e : p_.exprs.indices()) data_dependent_[e] = depends_on_results(p_.exprs[e]);
    writer_.resize(p_.tensors.size());
    for (const StepIndex s : p_.steps.indices())
      for (const TensorIndex t : p_.steps[s].outputs)
        if (t.exists()) writer_[t] = s;
    nesting_.assign(p_.tensors.size(), 0);
  }

  Result<ElidedCopies> run() {
    IndexedVector<StepIndex, uint8_t> gone(p_.steps.size(), 0);
    std::map<StepIndex, std::vector<Step>> copies;  // by the step they take the place of
    for (const StepIndex s : p_.steps.indices()) {
      if (p_.steps[s].problem.family() != Family::kMove || !p_.steps[s].problem.epilogue.empty()) continue;
      const MoveKind kind = p_.steps[s].problem.as<MoveParams>().kind;
      if (kind == MoveKind::kTranspose)
        gone[s] = place_transpose(p_.steps[s]);
      else if (kind == MoveKind::kConcat && parts_)
        gone[s] = place_concat(s, &copies[s]);
      else if (kind == MoveKind::kSplit && parts_)
        gone[s] = place_split(p_.steps[s]);
      else if (kind == MoveKind::kSlice && parts_)
        gone[s] = place_slice(p_.steps[s]);
      if (gone[s]) done_.steps.push_back(p_.steps[s].name);
    }
    IndexedVector<StepIndex, Step> kept;
    for (const StepIndex s : p_.steps.indices()) {
      if (!gone[s]) kept.push_back(std::move(p_.steps[s]));
      if (gone[s])
        for (Step& copy : copies[s]) kept.push_back(std::move(copy));
    }
    p_.steps = std::move(kept);
    return std::move(done_);
  }

 private:
  PlanTensor& tensor(TensorIndex index) { return p_.tensors[index]; }
  const ShapeExpr& expr(ExpressionIndex index) const { return p_.exprs[index]; }
  bool is_const(ExpressionIndex e) const { return expr(e).op == ShapeOp::kConst; }
  bool is_one(ExpressionIndex e) const { return is_const(e) && expr(e).value == 1; }

  uint8_t depends_on_results(const ShapeExpr& e) const {
    if (e.op == ShapeOp::kSymbol) return p_.symbols[e.symbol()].source == SymbolSource::kDataDependent;
    return std::any_of(e.operands.begin(), e.operands.end(), [&](ExpressionIndex o) { return data_dependent_[o]; });
  }
  bool data_dependent(const PlanTensor& t) const {
    return std::any_of(t.dims.begin(), t.dims.end(), [&](ExpressionIndex e) { return data_dependent_[e]; });
  }

  // The axes in the order of memory, outermost first.
  static std::vector<size_t> memory_order(const PlanTensor& t) {
    std::vector<size_t> order;
    const bool last = t.layout == Layout::kChannelsLast && t.dims.size() >= 3;
    for (size_t a = 0; a < t.dims.size(); ++a)
      if (!last || a != 1) order.push_back(a);
    if (last) order.push_back(1);
    return order;
  }

  // Pieces along the axis are one after the other in memory.
  bool outermost(const PlanTensor& t, size_t axis) const {
    if (t.layout == Layout::kOpaque || dtype_bits(t.dtype) < 8 || data_dependent(t)) return false;
    for (const size_t a : memory_order(t)) {
      if (a == axis) return true;
      if (!is_one(t.dims[a])) return false;
    }
    return false;
  }

  // In blocks of channels, only whole blocks have a place of their own.
  bool fills_blocks(const PlanTensor& t, size_t axis, bool last) const {
    const int64_t block = t.layout == Layout::kBlocked8 ? 8 : t.layout == Layout::kBlocked16 ? 16 : 1;
    if (block == 1 || t.dims.size() < 3 || axis != 1 || last) return true;
    return is_const(t.dims[1]) && expr(t.dims[1]).value % block == 0;
  }

  // What an operand is the whole of, when steps write that and it may be moved: otherwise none.
  TensorIndex movable(TensorIndex operand, const PlanTensor& whole) {
    TensorIndex t = operand;
    while (t.exists() && tensor(t).kind == TensorKind::kView && !tensor(t).offset.exists()) {
      if (tensor(t).layout != tensor(tensor(t).view_of).layout) return {};  // transposed in place
      t = tensor(t).view_of;
    }
    if (!t.exists()) return {};
    const PlanTensor& source = tensor(t);
    const bool made = writer_[t].exists() || !source.subviews.empty();
    if (source.kind != TensorKind::kIntermediate || !made || data_dependent(source)) return {};
    if (source.dtype != whole.dtype || source.layout != whole.layout) return {};
    return nesting_[t] < kMaxNesting ? t : TensorIndex();
  }

  bool place_concat(StepIndex s, std::vector<Step>* copies) {
    const Step& step = p_.steps[s];
    const TensorIndex out = step.outputs[0];
    if (!out.exists() || step.inputs.size() < 2) return false;
    const auto axis = static_cast<size_t>(step.problem.as<MoveParams>().axis);
    if (!outermost(tensor(out), axis) || !tensor(out).subviews.empty()) return false;
    const TensorKind kind = tensor(out).kind;
    if (kind != TensorKind::kIntermediate && kind != TensorKind::kOutput) return false;
    std::vector<TensorIndex> subviews;
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      const TensorIndex in = step.inputs[i];
      if (!in.exists() || tensor(in).dims.size() != tensor(out).dims.size() || data_dependent(tensor(in))) return false;
      const bool last = i + 1 == step.inputs.size();
      TensorIndex part = movable(in, tensor(out));
      if (part.exists() && std::find(subviews.begin(), subviews.end(), part) != subviews.end()) part = {};
      if (!fills_blocks(tensor(in), axis, last)) return false;
      if (!part.exists() && (tensor(in).layout != tensor(out).layout || !offers_.copy(step.problem.inputs[i])))
        return false;
      subviews.push_back(part);
    }
    if (!pays(step, subviews)) return false;
    int nesting = 0;
    StepIndex last_writer;
    for (size_t i = 0; i < subviews.size(); ++i) {
      if (!subviews[i].exists()) {
        subviews[i] = add_copy(step, i, copies);
        ++done_.copies;
      } else {
        ++done_.subviews;
        last_writer = std::max(last_writer, writer_[subviews[i]]);
      }
      tensor(subviews[i]).kind = TensorKind::kSubview;
      tensor(subviews[i]).view_of = out;
      nesting = std::max(nesting, nesting_[subviews[i]]);
    }
    nesting_[out] = nesting + 1;
    writer_[out] = last_writer;
    tensor(out).subviews = subviews;
    if (copies->empty() && last_writer.exists()) inherit(step, last_writer);
    return true;
  }

  // One concatenation against the copies of the operands that must be elsewhere too.
  static bool pays(const Step& concat, const std::vector<TensorIndex>& subviews) {
    double copies = 0, all = kStepUs;
    for (size_t i = 0; i < subviews.size(); ++i) {
      const TensorDesc& desc = concat.problem.inputs[i];
      const double us = 2.0 * static_cast<double>(layout_bytes(desc.layout, desc.dtype, desc.dims)) / kBytesPerUs;
      all += us;
      if (!subviews[i].exists()) copies += kStepUs + us;
    }
    return copies < all;
  }

  // A step still answers for the model's node.
  void inherit(const Step& step, StepIndex writer) {
    std::vector<std::string>& names = p_.steps[writer].provenance;
    for (const std::string& name : step.provenance)
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }

  TensorIndex add_copy(const Step& concat, size_t input, std::vector<Step>* copies) {
    const TensorIndex from = concat.inputs[input];
    PlanTensor part = tensor(from);
    part.name = fmt::format("{} in {}", part.name, tensor(concat.outputs[0]).name);
    part.view_of = {};
    part.offset = {};
    part.constant = {};
    part.values.clear();
    part.subviews.clear();
    const TensorIndex index = p_.tensors.add(std::move(part));
    writer_.push_back({});
    nesting_.push_back(0);
    Step step =
        reformat_step(tensor(from).name, concat.problem.inputs[input], tensor(from).layout, tensor(from).layout);
    step.name = fmt::format("copy of {} into {}", tensor(from).name, tensor(concat.outputs[0]).name);
    step.provenance = concat.provenance;
    const Candidate* offer = offers_.copy(concat.problem.inputs[input]);
    step.problem.inputs[0].constant = concat.problem.inputs[input].constant;
    step.tactic = offer->tactic;
    step.workspace = offer->workspace;
    step.inputs = {from};
    step.outputs = {index};
    copies->push_back(std::move(step));
    return index;
  }

  bool may_be_range(TensorIndex from, TensorIndex to) {
    if (!from.exists() || !to.exists() || tensor(to).kind != TensorKind::kIntermediate || !tensor(to).subviews.empty())
      return false;
    const TensorKind kind = tensor(from).kind;
    return kind != TensorKind::kConstant && kind != TensorKind::kShape && tensor(from).dtype == tensor(to).dtype &&
           tensor(from).layout == tensor(to).layout && tensor(from).dims.size() == tensor(to).dims.size() &&
           !data_dependent(tensor(to));
  }

  void make_range(TensorIndex from, TensorIndex to, ExpressionIndex offset) {
    PlanTensor& view = tensor(to);
    view.kind = TensorKind::kView;
    view.view_of = from;
    view.offset = offset;
    writer_[to] = {};
    ++done_.ranges;
  }

  bool place_split(const Step& step) {
    const TensorIndex in = step.inputs[0];
    const auto axis = static_cast<size_t>(step.problem.as<MoveParams>().axis);
    if (!in.exists() || !outermost(tensor(in), axis)) return false;
    for (size_t o = 0; o < step.outputs.size(); ++o)
      if (!may_be_range(in, step.outputs[o]) ||
          !fills_blocks(tensor(step.outputs[o]), axis, o + 1 == step.outputs.size()))
        return false;
    ExpressionIndex before = constant(0);
    for (const TensorIndex out : step.outputs) {
      make_range(in, out, elements(tensor(in), axis, before));
      before = binary(ShapeOp::kAdd, before, tensor(out).dims[axis]);
    }
    return true;
  }

  bool place_slice(const Step& step) {
    const TensorIndex in = step.inputs[0], out = step.outputs[0];
    if (step.inputs.size() != 1 || !may_be_range(in, out)) return false;
    const Ints &starts = step.problem.as<MoveParams>().starts, steps = step.problem.as<MoveParams>().steps;
    const size_t rank = tensor(in).dims.size();
    if (starts.size() != rank || steps.size() != rank) return false;
    size_t axis = rank, count = 0;
    for (size_t a = 0; a < rank; ++a) {
      if (tensor(in).dims[a] == tensor(out).dims[a] && starts[a] == 0) continue;
      axis = a;
      ++count;
    }
    // Beyond a start that the extent decides (it may be too short) nothing is said of where an empty result begins.
    if (count != 1 || steps[axis] != 1 || !outermost(tensor(in), axis) || !is_const(tensor(in).dims[axis]))
      return false;
    if (tensor(in).layout == Layout::kBlocked8 || tensor(in).layout == Layout::kBlocked16) return false;
    make_range(in, out, elements(tensor(in), axis, constant(starts[axis])));
    return true;
  }

  // Images whose channels are last already, or are to be so: the same bytes under another shape.
  bool place_transpose(const Step& step) {
    const TensorIndex in = step.inputs[0], out = step.outputs[0];
    if (!in.exists() || !out.exists() || in == out) return false;
    const PlanTensor &x = tensor(in), &y = tensor(out);
    const bool made =
        x.kind == TensorKind::kIntermediate || x.kind == TensorKind::kSubview || x.kind == TensorKind::kView;
    if (!made || y.kind != TensorKind::kIntermediate || !y.subviews.empty() || x.dtype != y.dtype) return false;
    if (dtype_bits(x.dtype) < 8 || data_dependent(x) || data_dependent(y) || x.dims.size() != y.dims.size())
      return false;
    const auto is_unit = [&](size_t axis) { return is_one(x.dims[axis]); };
    if (!stays_in_place(step.problem.as<MoveParams>().perm, x.layout, y.layout, is_unit)) return false;
    make_range(in, out, ExpressionIndex());
    return true;
  }

  // `rows` along the axis, in elements.
  ExpressionIndex elements(const PlanTensor& t, size_t axis, ExpressionIndex rows) {
    ExpressionIndex count = rows;
    bool inside = false;
    for (const size_t a : memory_order(t)) {
      if (inside) count = binary(ShapeOp::kMul, count, t.dims[a]);
      inside = inside || a == axis;
    }
    return count;
  }

  ExpressionIndex constant(int64_t value) {
    const auto [it, fresh] = constants_.try_emplace(value, p_.exprs.next());
    if (fresh) add_expr({ShapeOp::kConst, value, {}});
    return it->second;
  }
  ExpressionIndex binary(ShapeOp op, ExpressionIndex a, ExpressionIndex b) {
    if (is_const(a) && is_const(b)) {
      int64_t value = 0;
      const int64_t x = expr(a).value, y = expr(b).value;
      const bool overflow =
          op == ShapeOp::kMul ? __builtin_mul_overflow(x, y, &value) : __builtin_add_overflow(x, y, &value);
      if (!overflow) return constant(value);
    }
    if (op == ShapeOp::kAdd && is_const(a) && expr(a).value == 0) return b;
    if (op == ShapeOp::kMul && is_one(a)) return b;
    if (op == ShapeOp::kMul && is_one(b)) return a;
    return add_expr({op, 0, {a, b}});
  }
  ExpressionIndex add_expr(ShapeExpr e) {
    data_dependent_.push_back(0);
    return p_.exprs.add(std::move(e));
  }

  Program& p_;
  const bool parts_;
  ReformatOffers offers_;
  IndexedVector<ExpressionIndex, uint8_t> data_dependent_;
  IndexedVector<TensorIndex, StepIndex> writer_;  // the step
  IndexedVector<TensorIndex, int> nesting_;       // how deep the concatenations in it go
  std::map<int64_t, ExpressionIndex> constants_;
  ElidedCopies done_;
};

}  // namespace

Result<ElidedCopies> elide_copies(Program* program, const std::vector<const Provider*>& providers, const Limits& limits,
                                  bool parts) {
  return Placer(program, providers, limits, parts).run();
}

}  // namespace wootz
