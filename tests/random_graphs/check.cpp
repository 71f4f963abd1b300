#include "random_graphs/check.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <sstream>

#include "base/tolerance.h"
#include "conformance/run_graph_on.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "ops/infer.h"
#include "ops/interpreter.h"
#include "ops/registry.h"
#include "passes/pass.h"

namespace wootz::random_graphs {
namespace {

constexpr double kTolerance = 2e-5;  // of the scale of an element's place, beside what the network makes of rounding
constexpr double kSmall = 1e-6;      // what is left where values of about 1 cancel, and no norm makes it larger
constexpr double kNudge = 1e-6;      // how far inputs are moved to see that
constexpr double kAmplified = 10;    // how much of it is granted: every operation rounds, not only the inputs

std::shared_ptr<Graph> clone(const Graph& graph) {
  Result<std::unique_ptr<Graph>> copy = parse_graph(print_graph(graph), find_op);
  if (!copy.ok() || !infer_graph(**copy).ok()) return nullptr;
  return std::shared_ptr<Graph>(std::move(copy).value());
}

// How much each place of the outputs moves when float inputs move a little: what rounding may do to it. Empty for an
// output that a small movement takes to infinity: nothing is granted there.
std::vector<std::vector<double>> sensitivity(const Graph& graph, const std::vector<HostTensor>& inputs,
                                             const std::vector<HostTensor>& expected) {
  std::vector<std::vector<double>> moved(expected.size());
  std::mt19937 rng(1);
  std::vector<HostTensor> nudged;
  for (const HostTensor& t : inputs) {
    HostTensor copy = std::move(HostTensor::allocate(t.dtype(), t.dims())).value();
    for (int64_t i = 0; i < t.volume(); ++i) {
      if (is_float(t.dtype()))
        copy.set_f64(i, t.get_f64(i) * (1 + (rng() % 2 ? kNudge : -kNudge)));
      else
        copy.set_i64(i, t.get_i64(i));
    }
    nudged.push_back(std::move(copy));
  }
  const auto other = run_graph(graph, nudged);
  for (size_t o = 0; other.ok() && o < expected.size(); ++o) {
    const Difference d = compare((*other)[o], expected[o]);
    if (d.non_finite_mismatch || d.shape_mismatch || !is_float(expected[o].dtype())) continue;
    HostTensor distance = std::move(HostTensor::allocate(DType::kF64, expected[o].dims())).value();
    for (int64_t i = 0; i < distance.volume(); ++i)
      distance.set_f64(i, std::fabs((*other)[o].get_f64(i) - expected[o].get_f64(i)));
    moved[o] = place_scales(distance);
  }
  return moved;
}

// What is left where values of about 1 cancel: where all values of a row are equal, no movement of the inputs shows
// what rounding of their mean leaves, and a norm divides it by the root of its epsilon.
double left_over(const Graph& graph) {
  double factor = 1;
  for (const Node* node : graph.nodes())
    if (node->has_attr("epsilon")) factor = std::max(factor, 1 / std::sqrt(node->attr_float("epsilon", 1)));
  return kSmall * factor;
}

// What may differ in a graph's outputs.
struct Allowance {
  std::vector<std::vector<double>> moved;  // by output and place: see sensitivity
  double small = kSmall;                   // see left_over
};

// Empty, or the element that is furthest out.
std::string compare_one(const HostTensor& actual, const HostTensor& expected, const std::vector<double>& moved,
                        double small) {
  const Difference d = compare(actual, expected);
  if (d.shape_mismatch || d.non_finite_mismatch) return to_string(d);
  if (!is_float(expected.dtype())) return d.max_abs == 0 ? "" : to_string(d);
  const std::vector<double> scales = place_scales(expected);
  const double relative = kTolerance + tolerance_for(expected.dtype(), 64);
  double worst = 1;
  std::string found;
  for (int64_t i = 0; i < expected.volume(); ++i) {
    const auto at = static_cast<size_t>(i);
    const double distance = std::fabs(actual.get_f64(i) - expected.get_f64(i));
    const double granted = moved.empty() ? 0 : kAmplified * moved[at];
    const double allowed = relative * scales[at] + granted + small;
    if (!(distance > worst * allowed)) continue;
    worst = distance / allowed;
    found = fmt::format("element {}: {} instead of {} (allowed {:.1e}, of it {:.1e} for rounding); {}", i,
                        actual.get_f64(i), expected.get_f64(i), allowed, granted, to_string(d));
  }
  return found;
}

std::string compare_all(const char* kind, const std::vector<HostTensor>& actual,
                        const std::vector<HostTensor>& expected, const Allowance& allowance) {
  if (actual.size() != expected.size())
    return fmt::format("{}: {} outputs instead of {}", kind, actual.size(), expected.size());
  for (size_t o = 0; o < expected.size(); ++o)
    if (const std::string trouble = compare_one(actual[o], expected[o], allowance.moved[o], allowance.small);
        !trouble.empty())
      return fmt::format("{}: output {} {}: {}", kind, o, expected[o].dims().to_string(), trouble);
  return "";
}

std::string kind_of(const std::string& trouble) { return trouble.substr(0, trouble.find(':')); }

void drop_unread(Graph& graph, std::vector<HostTensor>* inputs) {
  for (bool changed = true; changed;) {
    changed = false;
    for (Node* node : graph.nodes()) {
      bool read = false;
      for (const Value* v : node->outputs()) read = read || !v->uses().empty() || graph.is_output(v);
      if (read) continue;
      graph.erase(node);
      changed = true;
    }
  }
  for (Value* c : graph.constants())
    if (c->uses().empty() && !graph.is_output(c)) graph.erase_value(c);
  for (size_t i = graph.inputs().size(); i-- > 0;) {
    Value* v = graph.inputs()[i];
    bool owns = false;
    for (const Symbol& s : graph.symbols()) owns = owns || s.value_id == v->id();
    if (owns || !v->uses().empty() || graph.is_output(v)) continue;
    graph.erase_value(v);
    inputs->erase(inputs->begin() + static_cast<ptrdiff_t>(i));
  }
}

// Lines of each text that the other has not.
std::string differing_lines(const std::string& before, const std::string& after) {
  const auto lines_of = [](const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  };
  const auto missing = [](const std::vector<std::string>& from, const std::vector<std::string>& lines) {
    std::string found;
    for (const std::string& line : lines)
      if (std::find(from.begin(), from.end(), line) == from.end()) found += line + "\n";
    return found;
  };
  const auto a = lines_of(before), b = lines_of(after);
  return missing(b, a) + "becomes\n" + missing(a, b);
}

}  // namespace

std::string check(const Sample& sample, const CheckOptions& options) {
  const auto expected = run_graph(*sample.graph, sample.inputs);
  if (!expected.ok()) return "error: before any pass: " + expected.status().to_string();
  const Allowance allowance{sensitivity(*sample.graph, sample.inputs, *expected), left_over(*sample.graph)};
  const std::shared_ptr<Graph> graph = clone(*sample.graph);
  if (graph == nullptr) return "error: the text form does not give the graph back";
  PipelineOptions pipeline;
  pipeline.verify = true;
  if (const auto run = run_pipeline(*graph, pipeline); !run.ok()) return "verifier: " + run.status().to_string();
  const auto actual = run_graph(*graph, sample.inputs);
  if (!actual.ok()) return "results: after the passes: " + actual.status().to_string();
  if (std::string trouble = compare_all("results", *actual, *expected, allowance); !trouble.empty()) return trouble;
  for (size_t o = 0; o < graph->outputs().size(); ++o)
    if (graph->outputs()[o]->name() != sample.graph->outputs()[o]->name())
      return fmt::format("results: output {} is called '{}' after the passes, '{}' before", o,
                         graph->outputs()[o]->name(), sample.graph->outputs()[o]->name());
  const std::string once = print_graph(*graph);
  if (const auto again = run_pipeline(*graph, pipeline); !again.ok())
    return "verifier: second time: " + again.status().to_string();
  if (print_graph(*graph) != once)
    return "idempotence: the passes change their own result:\n" + differing_lines(once, print_graph(*graph));
  if (!options.kernels) return "";
  const std::shared_ptr<Graph> other = clone(*sample.graph);
  const auto result = conformance::run_graph_on(*other, sample.inputs, {});
  if (!result.ok()) return "kernels: " + result.status().to_string();
  return compare_all("kernels", result->outputs, *expected, allowance);
}

Sample reduce(Sample sample, const CheckOptions& options, const std::string& trouble) {
  const auto still = [&](const Sample& s) { return kind_of(check(s, options)) == kind_of(trouble); };
  const auto attempt = [&](const std::function<bool(Sample*)>& change) {
    Sample smaller = sample;
    smaller.graph = clone(*sample.graph);
    if (smaller.graph == nullptr || !change(&smaller)) return false;
    drop_unread(*smaller.graph, &smaller.inputs);
    if (smaller.graph->outputs().empty() || !infer_graph(*smaller.graph).ok() || !verify_graph(*smaller.graph).ok())
      return false;
    if (!still(smaller)) return false;
    sample = std::move(smaller);
    return true;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t o = sample.graph->outputs().size(); o-- > 0 && sample.graph->outputs().size() > 1;)
      changed |= attempt([&](Sample* s) {
        s->graph->unmark_output(s->graph->outputs()[o]);
        return !s->graph->outputs().empty();
      });
    // From the front, where a cut drops most.
    for (int at = sample.graph->num_nodes() - 1; at >= 0; --at) {
      if (at >= sample.graph->num_nodes()) continue;
      changed |= attempt([&](Sample* s) {
        Node* node = s->graph->nodes()[static_cast<size_t>(at)];
        std::vector<int> ids;
        for (const Value* v : node->outputs()) ids.push_back(v->id());
        std::vector<HostTensor> data;
        if (!run_graph_taps(*s->graph, s->inputs, ids, &data).ok()) return false;
        for (size_t o = 0; o < ids.size(); ++o) {
          Value* v = node->output(static_cast<int>(o));
          if (s->graph->is_output(v)) return false;
          if (v->uses().empty()) continue;
          Value* input = s->graph->add_input("", v->dtype(), v->shape());
          input->set_shape_values(v->shape_values());
          s->graph->replace_all_uses(v, input);
          s->inputs.push_back(data[o]);
        }
        return true;
      });
    }
  }
  return sample;
}

}  // namespace wootz::random_graphs
