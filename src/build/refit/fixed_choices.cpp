#include "build/refit/fixed_choices.h"

#include "backend/sparsity.h"
#include "base/json.h"
#include "tuner/layout/reformats.h"

namespace wootz {
namespace {

SortedJson layouts_json(const std::vector<Layout>& layouts) {
  SortedJson list = SortedJson::array();
  for (const Layout layout : layouts) list.push_back(layout_name(layout));
  return list;
}

Result<std::vector<Layout>> layouts_from(const SortedJson& json) {
  std::vector<Layout> layouts;
  for (const SortedJson& name : json) {
    Layout layout;
    if (!name.is_string() || !layout_from_name(name.get_ref<const std::string&>(), &layout))
      return corrupt("refit: a layout that is none");
    layouts.push_back(layout);
  }
  return layouts;
}

Result<Candidate> candidate_from(const SortedJson& json) {
  constexpr size_t kFields = 6;
  if (!json.is_array() || json.size() != kFields || !json[3].is_array() || !json[4].is_array() ||
      !json[5].is_number_unsigned())
    return corrupt("refit: a choice that is none");
  Candidate c;
  std::string* const texts[] = {&c.tactic.provider, &c.tactic.kernel, &c.tactic.config};
  for (size_t i = 0; i < std::size(texts); ++i) {
    if (!json[i].is_string()) return corrupt("refit: a choice without a tactic");
    *texts[i] = json[i].get<std::string>();
  }
  WOOTZ_ASSIGN_OR_RETURN(c.input_layouts, layouts_from(json[3]));
  WOOTZ_ASSIGN_OR_RETURN(c.output_layouts, layouts_from(json[4]));
  c.workspace = json[5].get<size_t>();
  return c;
}

}  // namespace

UnitChoices choices_of(const Choice& choice, size_t steps) {
  UnitChoices choices;
  for (const StepReport& step : choice.steps) {
    if (choices.size() == steps) break;
    choices.push_back(step.evaluated[static_cast<size_t>(step.chosen)].candidate);
  }
  return choices;
}

std::string choices_to_json(const FixedChoices& choices) {
  SortedJson json = SortedJson::array();
  for (const UnitChoices& unit : choices) {
    SortedJson& list = json.emplace_back(SortedJson::array());
    for (const Candidate& c : unit)
      list.push_back(SortedJson::array({c.tactic.provider, c.tactic.kernel, c.tactic.config,
                                        layouts_json(c.input_layouts), layouts_json(c.output_layouts), c.workspace}));
  }
  return json.dump(-1, ' ', false, SortedJson::error_handler_t::replace);
}

Result<FixedChoices> choices_from_json(std::string_view text) {
  const SortedJson json = SortedJson::parse(text, nullptr, false);
  if (!json.is_array()) return corrupt("refit: the choices of the build are no list");
  FixedChoices choices;
  for (const SortedJson& list : json) {
    if (!list.is_array()) return corrupt("refit: the choices of a program are no list");
    UnitChoices& unit = choices.emplace_back();
    for (const SortedJson& one : list) {
      WOOTZ_ASSIGN_OR_RETURN(unit.emplace_back(), candidate_from(one));
    }
  }
  return choices;
}

namespace {

// The first constant of the step whose products a kernel for 2:4 zeros would have summed; "": there is none.
std::string dense_weights(const Program& program, const Step& step) {
  for (const SummedWeights& w : summed_weights(step.problem))
    if (const TensorIndex t = step.inputs[w.input]; !w.sparse && t.exists()) return program.tensors[t].name;
  return "";
}

}  // namespace

Status check_sparsity(const UnitChoices& choices, const Program& program) {
  if (choices.size() != program.steps.size()) return Status();
  for (const StepIndex s : choices.indices()) {
    const Step& step = program.steps[s];
    if (!uses_sparsity(choices[s].tactic) || has_sparse_weights(step.problem)) continue;
    return make_error(Code::kInvalidState,
                      "weights '{}' are to have two zeros in each four along the sum (2:4), since the build has chosen "
                      "tactic {} for them, and the new values have not: prune them ('wootz quantize --sparse 2:4'), or "
                      "build the network anew with these weights; the engine keeps those that it has",
                      dense_weights(program, step), choices[s].tactic.to_string())
        .at(PlaceKind::kLayer, step.name);
  }
  return Status();
}

Status apply_choices(const UnitChoices& choices, const std::vector<const Provider*>& providers, const Limits& limits,
                     Program* program) {
  if (choices.size() != program->steps.size())
    return make_error(Code::kInvalidState, "the network becomes {} steps, it was {}", program->steps.size(),
                      choices.size());
  for (const StepIndex s : choices.indices()) {
    const Candidate& c = choices[s];
    Step& step = program->steps[s];
    if (c.input_layouts.size() != step.problem.inputs.size() || c.output_layouts.size() != step.problem.outputs.size())
      return make_error(Code::kInvalidState, "it has other operands").at(PlaceKind::kLayer, step.name);
    step.tactic = c.tactic;
    step.workspace = c.workspace;
    step.problem = with_layouts(step.problem, c);
  }
  return insert_reformats(program, providers, limits).status();
}

}  // namespace wootz
