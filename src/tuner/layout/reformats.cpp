#include "tuner/layout/reformats.h"

#include <algorithm>
#include <map>

#include "backend/even_layout.h"
#include "backend/relayout.h"

namespace wootz {

Step reformat_step(const std::string& name, TensorDesc desc, Layout from, Layout to) {
  Step step;
  step.name = fmt::format("{}{} ({} to {})", kReformatName, name, layout_name(from), layout_name(to));
  step.problem.set_family(Family::kReformat);
  step.problem.num_main = 1;
  step.problem.acc_dtype = desc.dtype;
  desc.constant = false;
  desc.layout = from;
  step.problem.inputs = {desc};
  desc.layout = to;
  step.problem.outputs = {desc};
  return step;
}

// The layouts are given: only an offer for exactly these will do.
const Candidate* ReformatOffers::find(const Problem& reformat) {
  const auto [known, fresh] = offers_.try_emplace(reformat.key());
  std::vector<Refusal> refusals;
  for (const Provider* p : providers_)
    if (fresh) p->tactics(reformat, limits_, &known->second, &refusals);
  const auto fits = [&](const Candidate& c) {
    return c.input_layouts[0] == reformat.inputs[0].layout && c.output_layouts[0] == reformat.outputs[0].layout;
  };
  const auto it = std::find_if(known->second.begin(), known->second.end(), fits);
  return it == known->second.end() ? nullptr : &*it;
}

bool same_memory(const Program& program, TensorIndex index, const TensorDesc& desc, Layout a, Layout b) {
  a = even_layout(program, program.tensors[index], a);
  b = even_layout(program, program.tensors[index], b);
  if (a == b) return true;
  if (desc.constant) return true;  // converted while building
  if (desc.dims.rank() < 3) return a != Layout::kOpaque && b != Layout::kOpaque;
  if (!is_plain(a) || !is_plain(b)) return false;
  // The problem knows the extents of one profile; that an extent is always 1, the program says.
  const std::vector<ExpressionIndex>& dims = program.tensors[index].dims;
  const auto is_one = [&](size_t axis) {
    const ShapeExpr& e = program.exprs[dims[axis]];
    return e.op == ShapeOp::kConst && e.value == 1;
  };
  if (is_one(1)) return true;
  for (size_t i = 2; i < dims.size(); ++i)
    if (!is_one(i)) return false;
  return true;
}

TensorDesc desc_of(const Program& program, TensorIndex tensor) {
  const PlanTensor& t = program.tensors[tensor];
  TensorDesc desc;
  desc.dtype = t.dtype;
  desc.layout = t.layout;
  const auto extents = [&](int64_t SymbolRange::*end) {
    std::vector<int64_t> symbols(program.symbols.size(), -1);
    if (!program.profiles.empty())
      for (const SymbolIndex s : program.symbols.indices()) symbols[s.position()] = program.profiles[0].symbols[s].*end;
    ShapeValues shapes;
    return evaluate_shapes(program, symbols, &shapes).ok() ? tensor_dims(t, shapes) : std::nullopt;
  };
  desc.dims = extents(&SymbolRange::opt).value_or(Dims::filled(static_cast<int>(t.dims.size()), 1));
  desc.max_dims = extents(&SymbolRange::max).value_or(desc.dims);
  return desc;
}

namespace {

// Copies the steps of a program in order and puts reformats between those that disagree on a tensor's layout.
class Inserter {
 public:
  Inserter(Program* program, const std::vector<const Provider*>& providers, const Limits& limits)
      : program_(*program), offers_(providers, limits), viewed_(program->tensors.size(), 0) {
    for (const PlanTensor& t : program_.tensors)
      if (t.kind == TensorKind::kView) viewed_[t.view_of] = 1;
  }

  Result<size_t> run() {
    WOOTZ_RETURN_IF_ERROR(relay_viewed_inputs());
    for (Step& original : program_.steps) {
      Step step = std::move(original);
      WOOTZ_RETURN_IF_ERROR(convert_inputs(&step));
      const std::vector<Relaid> relaid = redirect_outputs(&step);
      const std::vector<TensorIndex> written = step.outputs;
      const std::vector<TensorDesc> descs = step.problem.outputs;
      steps_.push_back(std::move(step));
      for (const auto& [tensor, o] : relaid) WOOTZ_RETURN_IF_ERROR(add(written[o], tensor, descs[o]));
    }
    program_.steps = std::move(steps_);
    return count_;
  }

 private:
  // A tensor that others read as plain memory, and the number of the output that is another layout of it.
  using Relaid = std::pair<TensorIndex, size_t>;

  PlanTensor& tensor(TensorIndex t) { return program_.tensors[t]; }

  // A tensor like `t` in another layout, of its own memory.
  TensorIndex add_tensor(TensorIndex t, Layout layout) {
    PlanTensor copy = tensor(t);
    copy.name += fmt::format("@{}", layout_name(layout));
    copy.kind = TensorKind::kIntermediate;
    copy.layout = layout;
    const TensorIndex index = program_.tensors.add(std::move(copy));
    converted_[{t, layout}] = index;
    return index;
  }

  Status add(TensorIndex from, TensorIndex to, const TensorDesc& desc) {
    Step step = reformat_step(tensor(from).name, desc, tensor(from).layout, tensor(to).layout);
    step.inputs = {from};
    step.outputs = {to};
    const Candidate* offer = offers_.find(step.problem);
    if (offer == nullptr)
      return unsupported("no kernel can {} for {} {}", step.name, dtype_name(desc.dtype), desc.dims.to_string());
    step.tactic = offer->tactic;
    step.workspace = offer->workspace;
    ++count_;
    steps_.push_back(std::move(step));
    return Status();
  }

  // What is seen under other shapes is to be row-major: an input in another layout gets a copy that is.
  Status relay_viewed_inputs() {
    for (const IoTensor& input : program_.inputs) {
      const TensorIndex t = input.tensor;
      if (!viewed_[t] || tensor(t).layout == Layout::kLinear) continue;
      const TensorDesc desc = desc_of(program_, t);
      const TensorIndex copy = add_tensor(t, Layout::kLinear);
      for (PlanTensor& view : program_.tensors)
        if (view.kind == TensorKind::kView && view.view_of == t) view.view_of = copy;
      WOOTZ_RETURN_IF_ERROR(add(t, copy, desc));
    }
    return Status();
  }

  Status convert_inputs(Step* step) {
    for (size_t i = 0; i < step->inputs.size(); ++i) {
      const TensorIndex t = step->inputs[i];
      if (!t.exists() || step->problem.inputs[i].constant) continue;
      const Layout have = tensor(t).layout, want = even_layout(program_, tensor(t), step->problem.inputs[i].layout);
      if (same_memory(program_, t, step->problem.inputs[i], have, want)) continue;
      const auto found = converted_.find({t, want});
      if (found != converted_.end()) {
        step->inputs[i] = found->second;
        continue;
      }
      const TensorIndex copy = add_tensor(t, want);
      tensor(copy).view_of = {};
      tensor(copy).constant = {};
      tensor(copy).values.clear();
      WOOTZ_RETURN_IF_ERROR(add(t, copy, step->problem.inputs[i]));
      step->inputs[i] = copy;
    }
    return Status();
  }

  // Where a tensor is read as plain memory but made in another layout, the step writes a tensor of its own.
  std::vector<Relaid> redirect_outputs(Step* step) {
    std::vector<Relaid> relaid;
    for (size_t o = 0; o < step->outputs.size(); ++o) {
      const TensorIndex t = step->outputs[o];
      if (!t.exists()) continue;
      const Layout made = even_layout(program_, tensor(t), step->problem.outputs[o].layout);
      const bool outside = tensor(t).kind == TensorKind::kOutput || viewed_[t];
      // An output of the network has the layout that it was given.
      const Layout wanted = tensor(t).kind == TensorKind::kOutput ? tensor(t).layout : Layout::kLinear;
      if (!outside) {
        tensor(t).layout = made;
      } else if (!same_memory(program_, t, step->problem.outputs[o], wanted, made)) {
        step->outputs[o] = add_tensor(t, made);
        relaid.emplace_back(t, o);
      }
    }
    return relaid;
  }

  Program& program_;
  ReformatOffers offers_;
  IndexedVector<TensorIndex, uint8_t> viewed_;  // as they were before: views read it
  IndexedVector<StepIndex, Step> steps_;
  std::map<std::pair<TensorIndex, Layout>, TensorIndex> converted_;  // the tensor that is another in this layout
  size_t count_ = 0;
};

}  // namespace

Result<size_t> insert_reformats(Program* program, const std::vector<const Provider*>& providers, const Limits& limits) {
  return Inserter(program, providers, limits).run();
}

}  // namespace wootz
