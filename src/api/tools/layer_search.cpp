// Which layers stay in float: those that gain nothing, and as many of those that cost the most as a budget asks for.
#include <algorithm>

#include "api/tools/quantizer.h"
#include "build/calibration_run.h"

namespace wootz::api {
namespace {

// Of the steps that hold a layer, by the layer's name. A step with several layers counts for each of them alike.
std::map<std::string, double> times_of(const Json& report) {
  std::map<std::string, double> times;
  for (const Json& step : report["layers"]) {
    if (!step.contains("TimeUs") || !step.contains("Nodes")) continue;
    for (const Json& node : step["Nodes"]) {
      const auto [found, fresh] = times.emplace(node.get<std::string>(), 0);
      found->second += step["TimeUs"].get<double>();
    }
  }
  return times;
}

}  // namespace

// By the times that the builds of both measured.
Status Quantizer::keep_slow_layers() {
  BuildSettings settings = settings_;
  settings.measure = true;
  settings.level = 3;
  const std::shared_ptr<Graph> graph = copy_of_network(*graph_);
  WOOTZ_ASSIGN_OR_RETURN(const ToolEngine in_float, make_engine(*graph, settings, services_, reporter_));
  WOOTZ_ASSIGN_OR_RETURN(const ToolEngine narrow, convert(options_.rules.keep, settings));
  const std::map<std::string, double> before = times_of(in_float.report), after = times_of(narrow.report);
  bool any = false;
  for (size_t i = 0; i < layers_.size(); ++i) {
    const auto a = before.find(layers_[i].name), b = after.find(layers_[i].name);
    if (!layers_[i].why_not.empty() || a == before.end() || b == after.end()) continue;
    report_.layers[i].us[0] = a->second;
    report_.layers[i].us[1] = b->second;
    if (b->second >= a->second)
      options_.rules.keep.insert(layers_[i].name);
    else
      any = true;
  }
  if (any) return Status();
  return invalid_argument("no layer is faster in {} on this device: nothing is quantized",
                          number_format_name(options_.rules.format));
}

// Each layer alone in the format, the others in float.
Status Quantizer::measure_sensitivity() {
  std::set<std::string, std::less<>> all;
  std::vector<size_t> narrow;
  for (size_t i = 0; i < layers_.size(); ++i) {
    all.insert(layers_[i].name);
    if (layers_[i].why_not.empty() && !options_.rules.keep.contains(layers_[i].name)) narrow.push_back(i);
  }
  ProgressPhase phase(services_.progress, "Sensitivity", "Quantize", static_cast<int>(narrow.size()));
  BuildServices quiet = services_;
  quiet.progress = nullptr;  // of builds that take part in this one
  std::swap(quiet, services_);
  Status status;
  for (size_t n = 0; n < narrow.size() && status.ok(); ++n) {
    const std::string name = report_.layers[narrow[n]].name;
    std::set<std::string, std::less<>> others = all;
    others.erase(name);
    if (const Result<double> error = error_with(others); error.ok())
      report_.layers[narrow[n]].sensitivity = *error;
    else
      status = error.status().with_prefix(fmt::format("layer '{}' alone", name));
    if (!phase.step(static_cast<int>(n))) status = phase.status();
  }
  std::swap(quiet, services_);
  return status;
}

// The least number of layers in float, the most sensitive first, with which the outputs keep the budget.
Status Quantizer::meet_budget() {
  std::vector<const QuantizedLayer*> order;
  for (const QuantizedLayer& layer : report_.layers)
    if (layer.sensitivity) order.push_back(&layer);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return *a->sensitivity > *b->sensitivity; });
  const auto with = [&](size_t count) {
    std::set<std::string, std::less<>> keep = options_.rules.keep;
    for (size_t i = 0; i < count; ++i) keep.insert(order[i]->name);
    return keep;
  };
  const auto fits = [&](size_t count) -> Result<bool> {
    WOOTZ_ASSIGN_OR_RETURN(const double error, error_with(with(count)));
    report_.curve.push_back({count, error});
    return error <= options_.budget;
  };
  size_t low = 0, high = order.size();
  WOOTZ_ASSIGN_OR_RETURN(const bool all, fits(0));
  if (all) high = 0;
  while (low + 1 < high) {
    const size_t middle = low + (high - low) / 2;
    WOOTZ_ASSIGN_OR_RETURN(const bool enough, fits(middle));
    (enough ? high : low) = middle;
  }
  if (high == order.size() && !all)
    return invalid_argument(
        "no layer can be in {} within an error of {:g}: the least sensitive alone, '{}', costs {:.3g}",
        number_format_name(options_.rules.format), options_.budget, order.back()->name, *order.back()->sensitivity);
  options_.rules.keep = with(high);
  std::sort(report_.curve.begin(), report_.curve.end(),
            [](const auto& a, const auto& b) { return a.in_float < b.in_float; });
  return Status();
}

}  // namespace wootz::api
