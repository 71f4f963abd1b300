// A line for each Quantize and Dequantize of the model: whether it went into a step in 8 bits, and if not, what became
// of it.
#include <algorithm>
#include <map>

#include "api/report/record.h"

namespace wootz::api {
namespace {

NodeNote note_for(const ModelNode& node, const std::vector<const Step*>& steps) {
  NodeNote note;
  note.node = node.name;
  note.kind = node.op;
  if (steps.empty()) {
    const PassInfo* pass = find_pass(node.removed_by);
    note.fate = node.removed_by.empty() ? "no step" : "removed";
    note.reason = pass != nullptr ? fmt::format("{}: {}", pass->name, pass->why) : "its result is known while building";
    return note;
  }
  const auto integer = std::find_if(steps.begin(), steps.end(), [](const Step* s) { return computes_in_8_bits(*s); });
  const Step& step = integer != steps.end() ? **integer : *steps[0];
  note.step = step.name;
  if (integer != steps.end()) {
    note.fate = "fused";
    note.reason = "the step computes in 8 bits";
  } else if (step.provenance.size() > 1) {
    note.fate = "fused";
    note.reason = fmt::format("part of a step that computes in {}", dtype_name(step.problem.acc_dtype));
  } else {
    note.fate = "kept";
    note.reason = "a step of its own: what is around it takes no 8-bit values, or several readers want its result";
  }
  return note;
}

}  // namespace

bool computes_in_8_bits(const Step& step) {
  const Problem& p = step.problem;
  return (p.family == Family::kConv || p.family == Family::kGemm) && !p.inputs.empty() &&
         (p.inputs[0].dtype == DType::kI8 || p.inputs[0].dtype == DType::kU8);
}

std::vector<NodeNote> quantization_notes(const std::vector<ModelNode>& nodes, const Program& program) {
  std::map<std::string, std::vector<const Step*>, std::less<>> steps;
  for (const Step& step : program.steps)
    for (const std::string& name : step.provenance) steps[name].push_back(&step);
  std::vector<NodeNote> notes;
  for (const ModelNode& node : nodes)
    if (node.op == "Quantize" || node.op == "Dequantize") notes.push_back(note_for(node, steps[node.name]));
  return notes;
}

}  // namespace wootz::api
