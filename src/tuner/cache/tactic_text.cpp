#include "tuner/cache/tactic_text.h"

namespace wootz {
namespace {

// "NCHW,OIHW" into as many layouts as there are tensors.
bool take_layouts(std::string_view text, size_t count, std::vector<Layout>* layouts) {
  while (layouts->size() < count) {
    const size_t end = std::min(text.find(','), text.size());
    const std::string_view name = text.substr(0, end);
    Layout found;
    if (!layout_from_name(name, &found)) return false;
    layouts->push_back(found);
    if (end == text.size()) return layouts->size() == count;
    text.remove_prefix(end + 1);
  }
  return false;
}

}  // namespace

Problem without_layouts(const Problem& problem) {
  Problem plain = problem;
  for (TensorDesc& t : plain.inputs) t.layout = Layout::kLinear;
  for (TensorDesc& t : plain.outputs) t.layout = Layout::kLinear;
  return plain;
}

std::string tactic_text(const Problem& problem, const Tactic& tactic) {
  std::string text = tactic.config.empty() ? tactic.kernel : tactic.kernel + "?" + tactic.config;
  const auto add = [&](const std::vector<TensorDesc>& tensors, char before) {
    for (const TensorDesc& t : tensors) {
      text += fmt::format("{}{}", before, layout_name(t.layout));
      before = ',';
    }
  };
  add(problem.inputs, '@');
  add(problem.outputs, '>');
  return text;
}

std::optional<Candidate> tactic_from_text(const Problem& problem, const std::string& provider, std::string_view text) {
  Candidate c;
  const auto cut = [&](char before, size_t count, std::vector<Layout>* layouts) {
    if (count == 0) return true;
    const size_t at = text.rfind(before);
    if (at == std::string_view::npos || !take_layouts(text.substr(at + 1), count, layouts)) return false;
    text = text.substr(0, at);
    return true;
  };
  if (!cut('>', problem.outputs.size(), &c.output_layouts) || !cut('@', problem.inputs.size(), &c.input_layouts))
    return std::nullopt;
  const size_t config = text.find('?');
  c.tactic.provider = provider;
  c.tactic.kernel = text.substr(0, config);
  if (config != std::string_view::npos) c.tactic.config = text.substr(config + 1);
  return c;
}

}  // namespace wootz
