// Which format each layer has: the fastest one, and as many as a budget asks for of those that cost the most in a
// slower one that costs less, which in the end is float.
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

std::string names_of(const std::vector<NumberFormat>& formats) {
  std::string names;
  for (const NumberFormat format : formats)
    names += fmt::format("{}{}", names.empty() ? "" : " or ", number_format_name(format));
  return names;
}

}  // namespace

void Quantizer::settle(const std::vector<size_t>& at) {
  FormatRules& rules = options_.rules;
  rules.formats.clear();
  rules.keep = asked_to_keep_;
  for (size_t i = 0; i < at.size(); ++i) {
    const std::string& name = report_.layers[i].name;
    if (!in_float(at, i))
      rules.formats[name] = choices_[i][at[i]].format;
    else if (at[i] > 0 || !report_.layers[i].times.empty())  // others have their reason in the model
      rules.keep.insert(name);
  }
}

// By the times that a build in float and one in each format measured. A layer without a time keeps its choices.
Status Quantizer::time_formats() {
  BuildSettings settings = settings_;
  settings.measure = true;
  settings.level = 3;
  const std::shared_ptr<Graph> graph = copy_of_network(*graph_);
  WOOTZ_ASSIGN_OR_RETURN(const ToolEngine wide, make_engine(*graph, settings, services_, reporter_));
  const std::map<std::string, double> before = times_of(wide.report);
  std::map<NumberFormat, std::map<std::string, double>> after;
  options_.rules.formats.clear();
  for (const NumberFormat format : options_.formats) {
    options_.rules.format = format;
    WOOTZ_ASSIGN_OR_RETURN(const ToolEngine narrow, convert(options_.rules.keep, settings));
    after[format] = times_of(narrow.report);
  }
  options_.rules.format = options_.formats.front();
  for (size_t i = 0; i < choices_.size(); ++i) {
    QuantizedLayer& layer = report_.layers[i];
    const auto plain = before.find(layer.name);
    const auto timed = [&](const Choice& c) { return after[c.format].contains(layer.name); };
    if (plain == before.end() || !std::all_of(choices_[i].begin(), choices_[i].end(), timed)) continue;
    for (Choice& choice : choices_[i]) {
      choice.us = after[choice.format][layer.name];
      layer.times.push_back({number_format_name(choice.format), choice.us});
    }
    if (!layer.times.empty()) layer.times.push_back({"float", plain->second});
    std::stable_sort(choices_[i].begin(), choices_[i].end(), [](const auto& a, const auto& b) { return a.us < b.us; });
    std::erase_if(choices_[i], [&](const Choice& choice) { return choice.us >= plain->second; });
  }
  if (std::all_of(choices_.begin(), choices_.end(), [](const auto& of) { return of.empty(); }))
    return invalid_argument("no layer is faster in {} on this device: nothing is quantized",
                            names_of(options_.formats));
  settle(at_);
  return Status();
}

// Each layer alone in each of its choices, the others in float. A slower choice that costs no less is none.
Status Quantizer::measure_sensitivity() {
  std::set<std::string, std::less<>> all;
  size_t count = 0;
  for (size_t i = 0; i < choices_.size(); ++i) {
    all.insert(report_.layers[i].name);
    count += choices_[i].size();
  }
  ProgressPhase phase(services_.progress, "Sensitivity", "Quantize", static_cast<int>(count));
  BuildServices quiet = services_;
  quiet.progress = nullptr;  // of builds that take part in this one
  std::swap(quiet, services_);
  Status status;
  int done = 0;
  for (size_t i = 0; i < choices_.size(); ++i) {
    const std::string name = report_.layers[i].name;
    std::set<std::string, std::less<>> others = all;
    others.erase(name);
    for (size_t c = 0; c < choices_[i].size() && status.ok(); ++c) {
      options_.rules.formats = {{name, choices_[i][c].format}};
      const Result<double> error = error_with(others);
      if (error.ok())
        choices_[i][c].sensitivity = *error;
      else
        status = error.status().with_prefix(fmt::format("layer '{}' alone", name));
      if (!phase.step(done++)) status = phase.status();
    }
    if (!choices_[i].empty()) report_.layers[i].sensitivity = choices_[i].front().sensitivity;
    std::vector<Choice> kept;
    for (const Choice& choice : choices_[i])
      if (kept.empty() || choice.sensitivity < kept.back().sensitivity) kept.push_back(choice);
    choices_[i] = std::move(kept);
  }
  std::swap(quiet, services_);
  settle(at_);
  return status;
}

std::vector<size_t> Quantizer::moved(const std::vector<size_t>& order, size_t moves) const {
  std::vector<size_t> at = at_;
  for (size_t n = 0; n < moves; ++n) ++at[order[n]];
  return at;
}

Result<bool> Quantizer::keeps_budget(const std::vector<size_t>& at) {
  settle(at);
  WOOTZ_ASSIGN_OR_RETURN(const double error, error_with(options_.rules.keep));
  QuantizationReport::Point& point = report_.curve.emplace_back();
  point.error = error;
  for (size_t i = 0; i < at.size(); ++i) {
    point.moves += at[i];
    if (at[i] > 0 && in_float(at, i)) ++point.in_float;
  }
  return error <= options_.budget;
}

// The least number of moves to a next choice, of the most sensitive layers first, with which the outputs keep the
// budget. Once all layers have moved, it begins anew.
Status Quantizer::meet_budget() {
  WOOTZ_ASSIGN_OR_RETURN(bool found, keeps_budget(at_));
  while (!found) {
    std::vector<size_t> order;
    for (size_t i = 0; i < at_.size(); ++i)
      if (!in_float(at_, i)) order.push_back(i);
    const auto cost = [&](size_t layer) { return *choices_[layer][at_[layer]].sensitivity; };
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return cost(a) > cost(b); });
    const std::vector<size_t> last = moved(order, order.size());
    const bool all_in_float = std::all_of(order.begin(), order.end(), [&](size_t i) { return in_float(last, i); });
    size_t low = 0, high = order.size();
    if (!all_in_float) {
      WOOTZ_ASSIGN_OR_RETURN(found, keeps_budget(last));
      if (!found) {
        at_ = last;
        continue;
      }
    }
    while (low + 1 < high) {
      const size_t middle = low + (high - low) / 2;
      WOOTZ_ASSIGN_OR_RETURN(const bool enough, keeps_budget(moved(order, middle)));
      (enough ? high : low) = middle;
    }
    if (all_in_float && high == order.size())
      return invalid_argument(
          "no layer can be in {} within an error of {:g}: the least sensitive alone, '{}', costs {:.3g}",
          names_of(options_.formats), options_.budget, report_.layers[order.back()].name, cost(order.back()));
    at_ = moved(order, high);
    found = true;
  }
  settle(at_);
  std::sort(report_.curve.begin(), report_.curve.end(), [](const auto& a, const auto& b) { return a.moves < b.moves; });
  return Status();
}

}  // namespace wootz::api
