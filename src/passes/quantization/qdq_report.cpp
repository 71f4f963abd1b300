#include "passes/quantization/qdq_report.h"

#include <algorithm>

#include "ir/op_def.h"
#include "passes/quantization/qdq.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

// What users know a node by.
std::vector<std::string> names_of(const Node& node) {
  return node.provenance().empty() ? std::vector<std::string>{node.name()} : node.provenance();
}

std::set<std::string> neighbours_of(const Node& node) {
  std::set<std::string> names;
  const auto add = [&](const Node* other) {
    if (other == nullptr) return;
    for (const std::string& name : names_of(*other)) names.insert(name);
  };
  if (node.is("Quantize")) {
    add(node.input(0) == nullptr ? nullptr : node.input(0)->producer());
  } else {
    for (const Use& use : node.output()->uses()) add(use.node);
  }
  return names;
}

std::string label(const Node& node) { return fmt::format("'{}' ({})", names_of(node).front(), node.op().name); }

std::string why_kept(const Node& node) {
  std::string why;
  const bool fp8 = is_fp8_qdq(node);
  if (!fp8 && !read_grid(node, &why)) return why;
  const Graph& graph = *node.graph();
  if (node.is("Quantize")) {
    if (graph.is_output(node.output())) return "its result is an output of the network";
    const Node* producer = node.input(0)->producer();
    if (producer == nullptr) return "it quantizes an input of the network";
    if (only_user(node.input(0)) == nullptr)
      return fmt::format("the result of {} is read in float, too", label(*producer));
    return fmt::format("{} does not take it in", label(*producer));
  }
  if (graph.is_output(node.output())) return "its result is an output of the network";
  for (const Use& use : node.output()->uses()) {
    const Node& reader = *use.node;
    const Status status = fp8 ? computes_in_fp8(reader) : computes_in_8_bits(reader);
    const bool product = reader.is("Conv") || reader.is("ConvTranspose") || reader.is("MatMul");
    if (!status.ok() && product) return fmt::format("{} computes in float: {}", label(reader), status.message());
    if (!product && reader.op().lowering != Lowering::kPointwise)
      return fmt::format("{} computes in float", label(reader));
  }
  return "its readers compute in float";
}

bool is_quantized(const Node& node) {
  if (node.has_attr("x_scale") || node.has_attr("k_scale") || node.has_attr("v_scale")) return true;
  const std::shared_ptr<Graph> body = node.attr_graph("body");
  for (const Node* n = body == nullptr ? nullptr : body->first(); n != nullptr; n = n->next())
    if (is_quantized(*n)) return true;
  return false;
}

// Of 8 bits, with queries in float.
bool reads_only(const Node& node) { return node.is("Attention") && !node.has_attr("q_scale"); }

std::set<std::string> qdq_names(const Graph& graph) {
  std::set<std::string> all;
  for (const Node* node = graph.first(); node != nullptr; node = node->next())
    if (is_qdq(*node))
      for (const std::string& name : names_of(*node)) all.insert(name);
  return all;
}

// A step of nothing but Quantize and Dequantize.
bool only_qdq(const Node& node, const std::map<std::string, std::vector<size_t>>& qdq) {
  if (is_qdq(node)) return true;
  if (!node.is("Pointwise")) return false;
  const std::vector<std::string> names = names_of(node);
  return std::all_of(names.begin(), names.end(), [&](const std::string& n) { return qdq.count(n) != 0; });
}

}  // namespace

QdqRecorder::QdqRecorder(const Graph& graph) {
  for (const Node* node = graph.first(); node != nullptr; node = node->next()) {
    if (!is_qdq(*node)) continue;
    Entry entry;
    entry.line.node = names_of(*node).front();
    entry.line.kind = node->is("Quantize") ? "Quantize" : "Dequantize";
    entry.of_constant = node->input(0)->is_constant();
    entry.neighbours = neighbours_of(*node);
    by_name_[entry.line.node].push_back(entries_.size());
    entries_.push_back(std::move(entry));
  }
}

void QdqRecorder::note_relaxed(const std::set<std::string>& left) {
  for (const std::string& name : left_) {
    const auto found = by_name_.find(name);
    if (found == by_name_.end() || left.count(name) != 0) continue;
    for (const size_t i : found->second) entries_[i].relaxed = true;
  }
}

void QdqRecorder::after_pass(std::string_view pass, const Graph& graph) {
  if (!entries_.empty() && (pass == "propagate_qdq" || pass == "propagate_fp8" || pass == "relax_sums")) {
    std::set<std::string> left = qdq_names(graph);
    if (pass == "relax_sums") note_relaxed(left);
    left_ = std::move(left);
  }
  if (entries_.empty() || (pass != "propagate_qdq" && pass != "propagate_fp8" && pass != "fuse_qdq" &&
                           pass != "fuse_fp8" && pass != "fuse_qdq_attention"))
    return;
  for (const Node* node = graph.first(); node != nullptr; node = node->next()) {
    if (!is_qdq(*node)) continue;
    const char* kind = node->is("Quantize") ? "Quantize" : "Dequantize";
    for (const std::string& name : names_of(*node)) {
      const auto found = by_name_.find(name);
      if (found == by_name_.end()) continue;
      for (const size_t i : found->second) {
        Entry& entry = entries_[i];
        if (entry.line.kind != kind) continue;
        entry.why_kept = why_kept(*node);
        const std::set<std::string> now = neighbours_of(*node);
        if ((pass != "propagate_qdq" && pass != "propagate_fp8") || entry.neighbours.empty() || now.empty()) continue;
        const bool same =
            std::any_of(now.begin(), now.end(), [&](const std::string& n) { return entry.neighbours.count(n) != 0; });
        if (!same) entry.moved_past = *entry.neighbours.begin();
      }
    }
  }
}

std::vector<QdqLine> QdqRecorder::lines(const Graph& graph) const {
  std::map<std::string, std::vector<const Node*>> holders;
  for (const Node* node = graph.first(); node != nullptr; node = node->next())
    for (const std::string& name : names_of(*node))
      if (by_name_.count(name) != 0) holders[name].push_back(node);
  std::vector<QdqLine> lines;
  for (const Entry& entry : entries_) {
    QdqLine line = entry.line;
    const auto found = holders.find(line.node);
    if (found == holders.end()) {
      line.fate = entry.of_constant ? "folded" : "removed";
      line.reason = entry.of_constant ? "its result is a constant in float"
                    : entry.relaxed   ? "an addition takes the convolution's result as it is (pass relax_sums)"
                                      : "it met its inverse, or nothing reads it";
    } else {
      const auto taken = std::find_if(found->second.begin(), found->second.end(),
                                      [&](const Node* n) { return !only_qdq(*n, by_name_); });
      const Node* holder = taken != found->second.end() ? *taken : found->second.front();
      line.fate = taken != found->second.end() ? "fused" : "kept";
      line.step = holder->name();
      if (line.fate == "kept")
        line.reason = entry.why_kept;
      else if (holder->is("WeightOnlyMatMul"))
        line.reason = fmt::format("the product reads {} as they are", dtype_name(holder->input(1)->dtype()));
      else if (holder->is("QuantizeRows"))
        line.reason = "each row is rounded by a scale of its own";
      else if (is_quantized(*holder))
        line.reason = fmt::format("{} {} in 8 bits", holder->op().name,
                                  reads_only(*holder) ? "reads keys and values" : "computes");
      else
        line.reason = fmt::format("part of the expression of {}", holder->op().name);
    }
    if (!entry.moved_past.empty()) line.reason = fmt::format("moved past '{}'; {}", entry.moved_past, line.reason);
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string to_string(const QdqLine& line) {
  std::string text = fmt::format("{} '{}': {}", line.kind, line.node, line.fate);
  if (!line.step.empty()) text += fmt::format(", layer '{}'", line.step);
  if (line.us > 0) text += fmt::format(", {:.2f} us", line.us);
  return text + (line.reason.empty() ? "" : " (" + line.reason + ")");
}

}  // namespace wootz
