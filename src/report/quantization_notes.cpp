// A line for each Quantize and Dequantize of the model, as passes/quantization/qdq_report.h tells it.
#include "report/record.h"

namespace wootz {

bool computes_in_8_bits(const Step& step) {
  const Problem& p = step.problem;
  return (p.family() == Family::kConv || p.family() == Family::kGemm) && !p.inputs.empty() &&
         (p.inputs[0].dtype == DType::kI8 || p.inputs[0].dtype == DType::kU8);
}

std::vector<NodeNote> quantization_notes(const std::vector<QdqLine>& lines) {
  std::vector<NodeNote> notes;
  for (const QdqLine& line : lines) notes.push_back({line.node, line.kind, line.fate, line.step, line.reason});
  return notes;
}

}  // namespace wootz
