#include "report/compare.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "runtime/report/kept_report.h"

namespace wootz {
namespace {

constexpr double kTimeRatio = 1.25, kTimeUs = 2;  // a time that moved by less is noise

std::string text_of(const Json& json, const char* key) {
  const Json* found = member(json, key);
  return found != nullptr && found->is_string() ? found->get<std::string>() : "";
}

std::vector<std::string> strings(const Json& list) {
  std::vector<std::string> made;
  if (list.is_array())
    for (const Json& item : list)
      if (item.is_string()) made.push_back(item.get<std::string>());
  return made;
}

struct StepView {
  std::vector<std::string> nodes;  // sorted
  std::vector<std::string> shown;  // in the model's order
  const Json* layer = nullptr;
};

// One of the two reports, by the model's nodes.
struct Side {
  explicit Side(const Json& report) {
    for (const Json& layer : list_or_empty(report, "layers")) {
      StepView step;
      step.nodes = step.shown = strings(list_or_empty(layer, "Nodes"));
      step.layer = &layer;
      std::sort(step.nodes.begin(), step.nodes.end());
      for (const std::string& node : step.nodes) {
        nodes.insert(node);
        steps_of[node].push_back(steps.size());
      }
      if (!step.nodes.empty()) steps.push_back(std::move(step));
    }
    for (const Json& node : list_or_empty(report, "nodes")) {
      const std::string name = text_of(node, "Name");
      nodes.insert(name);
      if (steps_of.count(name) != 0) continue;
      const std::string pass = text_of(node, "RemovedBy"), fate = text_of(node, "Fate");
      fates[name] = !pass.empty() ? "gone after " + pass : fate.empty() ? "no step" : fate;
    }
  }
  std::string fate(const std::string& node) const {
    if (const auto found = fates.find(node); found != fates.end()) return found->second;
    return "step";
  }
  std::set<std::string> nodes;
  std::vector<StepView> steps;
  std::map<std::string, std::vector<size_t>> steps_of;
  std::map<std::string, std::string> fates;  // of nodes without a step
};

// Groups of nodes that some step of either side holds together.
class Groups {
 public:
  int number(const std::string& node) {
    const auto [at, fresh] = numbers_.try_emplace(node, static_cast<int>(parent_.size()));
    if (fresh) parent_.push_back(at->second);
    return at->second;
  }
  int root(int i) {
    while (parent_[static_cast<size_t>(i)] != i) {
      parent_[static_cast<size_t>(i)] = parent_[static_cast<size_t>(parent_[static_cast<size_t>(i)])];
      i = parent_[static_cast<size_t>(i)];
    }
    return i;
  }
  void join(const std::vector<std::string>& nodes) {
    for (const std::string& node : nodes) parent_[static_cast<size_t>(root(number(node)))] = root(number(nodes[0]));
  }
  int of(const std::string& node) { return root(number(node)); }

 private:
  std::map<std::string, int> numbers_;
  std::vector<int> parent_;
};

struct Format {
  std::string layout, type;
};
Format format_of(const Json& tensor) {
  const std::string text = text_of(tensor, "Format/Datatype");
  const size_t at = text.rfind(' ');
  if (at == std::string::npos) return {"", text};
  return {text.substr(0, at), text.substr(at + 1)};
}

std::string shape_of(const Json& tensor) {
  std::string text;
  for (const Json& d : list_or_empty(tensor, "Dimensions"))
    text += (text.empty() ? "" : "x") + (d.is_number_integer() && d.get<int64_t>() >= 0 ? d.dump() : "?");
  return text.empty() ? "scalar" : text;
}

// Of the data that a step takes and makes; weights are the kernel's affair.
template <typename F>
std::string over_tensors(const Json& layer, F&& describe) {
  std::string text;
  for (const char* side : {"Inputs", "Outputs"}) {
    std::string part;
    for (const Json& t : list_or_empty(layer, side))
      if (member(t, "WeightBytes") == nullptr) part += (part.empty() ? "" : ", ") + describe(t);
    text += (text.empty() ? "" : " -> ") + part;
  }
  return text;
}

std::optional<double> time_of(const Json& layer) {
  const Json* us = member(layer, "TimeUs");
  return us != nullptr && us->is_number() ? std::optional<double>(us->get<double>()) : std::nullopt;
}

Json compare_steps(const StepView& a, const StepView& b) {
  Json changes = Json::object();
  const auto note = [&](const char* what, const std::string& before, const std::string& after) {
    if (before != after) changes[what] = {before, after};
  };
  note("kind", text_of(*a.layer, "LayerType"), text_of(*b.layer, "LayerType"));
  note("tactic", text_of(*a.layer, "TacticName"), text_of(*b.layer, "TacticName"));
  const auto type = [](const Json& t) { return format_of(t).type; };
  const auto layout = [](const Json& t) { return format_of(t).layout; };
  note("precision", over_tensors(*a.layer, type), over_tensors(*b.layer, type));
  note("layout", over_tensors(*a.layer, layout), over_tensors(*b.layer, layout));
  note("shape", over_tensors(*a.layer, shape_of), over_tensors(*b.layer, shape_of));
  note("epilogue", text_of(*a.layer, "Epilogue"), text_of(*b.layer, "Epilogue"));
  return changes;
}

Json pair_of(const Json& a, const Json& b, std::initializer_list<const char*> path) {
  Json pair = Json::array();
  for (const Json* from : {&a, &b}) {
    for (const char* key : path) from = from == nullptr ? nullptr : member(*from, key);
    pair.push_back(from == nullptr ? Json() : *from);
  }
  return pair;
}

// Of the first profile.
Json memory_pair(const Json& a, const Json& b, const char* what) {
  Json pair = Json::array();
  for (const Json* report : {&a, &b}) {
    const Json& profiles = list_or_empty(*report, "memory");
    const Json* found = profiles.empty() ? nullptr : member(profiles[0], what);
    pair.push_back(found == nullptr ? Json() : *found);
  }
  return pair;
}

Json node_lists(const Side& side, const std::vector<size_t>& steps) {
  Json list = Json::array();
  for (const size_t s : steps) list.push_back(side.steps[s].shown);
  return list;
}

// Steps of both sides that compute the same nodes, connected by them: by number.
struct Counterparts {
  std::vector<size_t> a, b;
};

// In the order of the left side's steps.
std::vector<Counterparts> counterparts(const Side& left, const Side& right) {
  Groups groups;
  for (const Side* side : {&left, &right})
    for (const StepView& step : side->steps) groups.join(step.nodes);
  std::map<int, Counterparts> members;
  std::vector<int> order;
  for (size_t s = 0; s < left.steps.size(); ++s) {
    const int g = groups.of(left.steps[s].nodes[0]);
    if (members[g].a.empty()) order.push_back(g);
    members[g].a.push_back(s);
  }
  for (size_t s = 0; s < right.steps.size(); ++s) members[groups.of(right.steps[s].nodes[0])].b.push_back(s);
  std::vector<Counterparts> list;
  for (const int g : order) list.push_back(std::move(members[g]));
  return list;
}

struct StepDifferences {
  Json fusion = Json::array(), steps = Json::array(), times = Json::array();
};

// Two steps over the same nodes.
void compare_pair(const StepView& x, const StepView& y, StepDifferences* found) {
  const std::optional<double> us_a = time_of(*x.layer), us_b = time_of(*y.layer);
  Json entry = {{"nodes", x.nodes}, {"name", text_of(*x.layer, "Name")}};
  if (us_a && us_b) entry["time_us"] = {*us_a, *us_b};
  if (Json changes = compare_steps(x, y); !changes.empty()) {
    entry["changes"] = std::move(changes);
    found->steps.push_back(std::move(entry));
  } else if (us_a && us_b && std::abs(*us_a - *us_b) >= kTimeUs &&
             std::max(*us_a, *us_b) >= kTimeRatio * std::min(*us_a, *us_b)) {
    found->times.push_back(std::move(entry));
  }
}

StepDifferences compare_all_steps(const Side& left, const Side& right) {
  StepDifferences found;
  for (const auto& [in_a, in_b] : counterparts(left, right)) {
    if (in_b.empty()) continue;  // reported by fates or only_in_a
    const Json lists_a = node_lists(left, in_a), lists_b = node_lists(right, in_b);
    if (lists_a == lists_b) {
      for (size_t k = 0; k < in_a.size(); ++k) compare_pair(left.steps[in_a[k]], right.steps[in_b[k]], &found);
      continue;
    }
    std::set<std::string> all;
    for (const size_t s : in_a) all.insert(left.steps[s].nodes.begin(), left.steps[s].nodes.end());
    found.fusion.push_back({{"nodes", all}, {"a", lists_a}, {"b", lists_b}});
  }
  return found;
}

}  // namespace

Json compare_reports(const Json& a, const Json& b) {
  const Side left(a), right(b);
  Json json = {{"same", true}};
  json["totals"] = {{"steps", pair_of(a, b, {"optimization", "steps"})},
                    {"fused_regions", pair_of(a, b, {"optimization", "layer_fusions"})},
                    {"reformats", pair_of(a, b, {"optimization", "reformats"})},
                    {"precision", pair_of(a, b, {"configuration", "precision"})},
                    {"backend", pair_of(a, b, {"configuration", "backend"})},
                    {"estimated_latency_ms", pair_of(a, b, {"performance", "estimated_latency_ms"})},
                    {"engine_size_mb", pair_of(a, b, {"performance", "engine_size_mb"})},
                    {"weights_bytes", memory_pair(a, b, "PersistentBytes")},
                    {"bytes_per_context", memory_pair(a, b, "PerContextBytes")}};
  Json only_a = Json::array(), only_b = Json::array(), fates = Json::array();
  std::set_difference(left.nodes.begin(), left.nodes.end(), right.nodes.begin(), right.nodes.end(),
                      std::back_inserter(only_a.get_ref<Json::array_t&>()));
  std::set_difference(right.nodes.begin(), right.nodes.end(), left.nodes.begin(), left.nodes.end(),
                      std::back_inserter(only_b.get_ref<Json::array_t&>()));
  for (const std::string& node : left.nodes)
    if (right.nodes.count(node) != 0 && left.fate(node) != right.fate(node))
      fates.push_back({{"node", node}, {"a", left.fate(node)}, {"b", right.fate(node)}});

  StepDifferences found = compare_all_steps(left, right);
  const Json totals = json["totals"];
  const bool same_reformats = totals["reformats"][0] == totals["reformats"][1];
  json["same"] = only_a.empty() && only_b.empty() && fates.empty() && found.fusion.empty() && found.steps.empty() &&
                 same_reformats && totals["backend"][0] == totals["backend"][1];
  json["only_in_a"] = std::move(only_a);
  json["only_in_b"] = std::move(only_b);
  json["fates"] = std::move(fates);
  json["fusion"] = std::move(found.fusion);
  json["steps"] = std::move(found.steps);
  json["times"] = std::move(found.times);
  return json;
}

}  // namespace wootz
