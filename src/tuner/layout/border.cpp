#include "tuner/layout/border.h"

#include <algorithm>

#include "tuner/layout/reformats.h"

namespace wootz {
namespace {

std::string list_of(const std::vector<Layout>& layouts) {
  std::string text;
  for (const Layout layout : layouts) text += fmt::format("{}{}", text.empty() ? "" : ", ", layout_name(layout));
  return text;
}

// The tensor of an input or output by its name; none: bodies and networks may lack it.
TensorIndex find(const Program& program, const std::string& name) {
  for (const std::vector<IoTensor>* list : {&program.inputs, &program.outputs})
    for (const IoTensor& io : *list)
      if (program.tensors[io.tensor].name == name) return io.tensor;
  return {};
}

bool is_viewed(const Program& program, TensorIndex tensor) {
  return std::any_of(program.tensors.begin(), program.tensors.end(),
                     [&](const PlanTensor& t) { return t.kind == TensorKind::kView && t.view_of == tensor; });
}

// Why a tensor cannot be in a layout; empty: it can.
std::string refusal(const Program& program, TensorIndex tensor, Layout layout, ReformatOffers* reformats) {
  const PlanTensor& t = program.tensors[tensor];
  if (layout == Layout::kLinear) return "";
  if (t.dims.size() < 3) return fmt::format("it has rank {}", t.dims.size());
  if (t.kind == TensorKind::kOutput && is_viewed(program, tensor)) return "others read it under another shape";
  const TensorDesc desc = desc_of(program, tensor);
  const bool there = reformats->find(reformat_step("", desc, Layout::kLinear, layout).problem) != nullptr;
  const bool back = reformats->find(reformat_step("", desc, layout, Layout::kLinear).problem) != nullptr;
  return there && back ? "" : "no kernel brings it there and back";
}

bool usable(const StepReport& report, bool input, size_t operand, Layout layout) {
  return std::any_of(report.evaluated.begin(), report.evaluated.end(), [&](const EvaluatedCandidate& e) {
    const std::vector<Layout>& layouts = input ? e.candidate.input_layouts : e.candidate.output_layouts;
    return e.refusal.empty() && operand < layouts.size() && layouts[operand] == layout;
  });
}

bool fits_all_layers(const Program& program, const Choice& choice, TensorIndex tensor, Layout layout) {
  for (const StepIndex s : program.steps.indices()) {
    if (!choice.steps.has(s)) break;
    const Step& step = program.steps[s];
    for (size_t i = 0; i < step.inputs.size(); ++i)
      if (step.inputs[i] == tensor && !usable(choice.steps[s], true, i, layout)) return false;
    for (size_t o = 0; o < step.outputs.size(); ++o)
      if (step.outputs[o] == tensor && !usable(choice.steps[s], false, o, layout)) return false;
  }
  return true;
}

}  // namespace

Status set_border_layouts(Program* program, const std::vector<BorderWish>& wishes,
                          const std::vector<const Provider*>& providers, const Limits& limits) {
  ReformatOffers reformats(providers, limits);
  for (const BorderWish& wish : wishes) {
    const TensorIndex tensor = find(*program, wish.tensor);
    if (!tensor.exists() || program->tensors[tensor].kind == TensorKind::kShape) continue;
    std::string why;
    const auto chosen = std::find_if(wish.allowed.begin(), wish.allowed.end(), [&](Layout layout) {
      const std::string refused = refusal(*program, tensor, layout, &reformats);
      if (!refused.empty()) why += fmt::format("; {}: {}", layout_name(layout), refused);
      return refused.empty();
    });
    if (chosen == wish.allowed.end())
      return unsupported(
          "'{}' cannot be had in any of the formats that are allowed for it ({}){}: allow the linear one", wish.tensor,
          list_of(wish.allowed), why);
    program->tensors[tensor].layout = *chosen;
  }
  return Status();
}

void settle_direct_layouts(Program* program, const std::vector<BorderWish>& wishes, const Choice& choice) {
  for (const BorderWish& wish : wishes) {
    const TensorIndex tensor = find(*program, wish.tensor);
    if (!wish.direct || !tensor.exists()) continue;
    const auto fits = std::find_if(wish.allowed.begin(), wish.allowed.end(), [&](Layout layout) {
      const bool possible =
          layout == Layout::kLinear || (program->tensors[tensor].dims.size() >= 3 && !is_viewed(*program, tensor));
      return possible && fits_all_layers(*program, choice, tensor, layout);
    });
    if (fits != wish.allowed.end()) program->tensors[tensor].layout = *fits;
  }
}

Status check_direct(const Program& program, const std::vector<BorderWish>& wishes) {
  for (const BorderWish& wish : wishes) {
    const TensorIndex tensor = find(program, wish.tensor);
    if (!wish.direct || !tensor.exists()) continue;
    for (const Step& step : program.steps) {
      const bool reformat =
          step.problem.is(Family::kReformat) && step.provenance.empty() && step.name.starts_with(kReformatName);
      const auto touches = [&](const std::vector<TensorIndex>& list) {
        return std::find(list.begin(), list.end(), tensor) != list.end();
      };
      if (reformat && (touches(step.inputs) || touches(step.outputs)))
        return unsupported(
            "'{}' is to be read and written without a reformat, and the layers beside it take it in no format that is "
            "allowed for it ({}): '{}' would be needed",
            wish.tensor, list_of(wish.allowed), step.name);
    }
  }
  return Status();
}

}  // namespace wootz
