#include "tuner/reformats.h"

#include <algorithm>
#include <map>

#include "tuner/choose.h"

namespace wootz {

Step reformat_step(const std::string& name, TensorDesc desc, Layout from, Layout to) {
  Step step;
  step.name = fmt::format("{}{} ({} to {})", kReformatName, name, layout_name(from), layout_name(to));
  step.problem.family = Family::kReformat;
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

Result<size_t> insert_reformats(Program* program, const std::vector<const Provider*>& providers, const Limits& limits) {
  std::vector<Step> steps;
  std::map<std::pair<int32_t, Layout>, int32_t> converted;
  ReformatOffers offers(providers, limits);
  std::vector<uint8_t> viewed(program->tensors.size(), 0);
  for (const PlanTensor& t : program->tensors)
    if (t.kind == TensorKind::kView) viewed[static_cast<size_t>(t.view_of)] = 1;
  size_t count = 0;
  const auto add_reformat = [&](int32_t from, int32_t to, const TensorDesc& desc) -> Status {
    const PlanTensor& source = program->tensors[static_cast<size_t>(from)];
    const PlanTensor& target = program->tensors[static_cast<size_t>(to)];
    Step step = reformat_step(source.name, desc, source.layout, target.layout);
    step.inputs = {from};
    step.outputs = {to};
    const Candidate* offer = offers.find(step.problem);
    if (offer == nullptr)
      return unsupported("nobody can {} for {} {}", step.name, dtype_name(desc.dtype), desc.dims.to_string());
    step.tactic = offer->tactic;
    step.workspace = offer->workspace;
    ++count;
    steps.push_back(std::move(step));
    return Status();
  };
  const size_t original = program->steps.size();
  for (size_t s = 0; s < original; ++s) {
    Step step = std::move(program->steps[s]);
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      const int32_t t = step.inputs[i];
      if (t < 0 || step.problem.inputs[i].constant) continue;
      const Layout have = program->tensors[static_cast<size_t>(t)].layout, want = step.problem.inputs[i].layout;
      if (same_memory(*program, t, step.problem.inputs[i], have, want)) continue;
      const auto found = converted.find({t, want});
      if (found != converted.end()) {
        step.inputs[i] = found->second;
        continue;
      }
      PlanTensor copy = program->tensors[static_cast<size_t>(t)];
      copy.name += fmt::format("@{}", layout_name(want));
      copy.kind = TensorKind::kIntermediate;
      copy.view_of = -1;
      copy.constant = -1;
      copy.values.clear();
      copy.layout = want;
      const auto index = static_cast<int32_t>(program->tensors.size());
      program->tensors.push_back(std::move(copy));
      WOOTZ_RETURN_IF_ERROR(add_reformat(t, index, step.problem.inputs[i]));
      converted[{t, want}] = index;
      step.inputs[i] = index;
    }
    std::vector<std::pair<int32_t, size_t>> back;  // (linear tensor wanted outside, output number)
    for (size_t o = 0; o < step.outputs.size(); ++o) {
      const int32_t t = step.outputs[o];
      if (t < 0) continue;
      const Layout made = step.problem.outputs[o].layout;
      const bool outside =
          program->tensors[static_cast<size_t>(t)].kind == TensorKind::kOutput || viewed[static_cast<size_t>(t)];
      if (!outside || same_memory(*program, t, step.problem.outputs[o], Layout::kLinear, made)) {
        if (!outside) program->tensors[static_cast<size_t>(t)].layout = made;
        continue;
      }
      // The step writes a tensor of its own layout; the one that others see as plain memory is made from it.
      PlanTensor inner = program->tensors[static_cast<size_t>(t)];
      inner.name += fmt::format("@{}", layout_name(made));
      inner.kind = TensorKind::kIntermediate;
      inner.layout = made;
      const auto index = static_cast<int32_t>(program->tensors.size());
      program->tensors.push_back(std::move(inner));
      converted[{t, made}] = index;
      step.outputs[o] = index;
      back.emplace_back(t, o);
    }
    const std::vector<int32_t> written = step.outputs;
    const std::vector<TensorDesc> descs = step.problem.outputs;
    steps.push_back(std::move(step));
    for (const auto& [t, o] : back) WOOTZ_RETURN_IF_ERROR(add_reformat(written[o], t, descs[o]));
  }
  program->steps = std::move(steps);
  return count;
}

}  // namespace wootz
