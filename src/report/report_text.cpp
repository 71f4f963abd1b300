// Reports and comparisons as text for a terminal.
#include <fmt/ranges.h>

#include <algorithm>

#include "report/compare.h"
#include "runtime/report/kept_report.h"

namespace wootz {
namespace {

const Json* at(const Json& json, std::initializer_list<const char*> path) {
  const Json* here = &json;
  for (const char* key : path) {
    here = member(*here, key);
    if (here == nullptr) return nullptr;
  }
  return here;
}

std::string text_of(const Json& json, const char* key) {
  const Json* found = member(json, key);
  return found != nullptr && found->is_string() ? found->get<std::string>() : "";
}

double number(const Json& json, std::initializer_list<const char*> path, double fallback = 0) {
  const Json* found = at(json, path);
  return found != nullptr && found->is_number() ? found->get<double>() : fallback;
}

std::string bytes_text(double bytes) {
  if (bytes >= 1 << 20) return fmt::format("{:.1f} MiB", bytes / (1 << 20));
  return bytes >= 1024 ? fmt::format("{:.1f} KiB", bytes / 1024) : fmt::format("{:.0f} B", bytes);
}

std::string nodes_text(const Json& list) {
  std::vector<std::string> names;
  if (list.is_array())
    for (const Json& name : list)
      if (name.is_string()) names.push_back(name.get<std::string>());
  if (names.size() > 12) {
    const size_t rest = names.size() - 10;
    names.resize(10);
    names.push_back(fmt::format("... {} more", rest));
  }
  return fmt::format("{}", fmt::join(names, " + "));
}

std::string value_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return fmt::format("{:.4g}", value.get<double>());
  return value.is_null() ? "unknown" : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Rows of the bodies that a layer runs: numbered by body instead of by step.
void add_bodies(const Json& layer, int depth, std::string* out) {
  size_t number_of_body = 0;
  for (const Json& body : list_or_empty(layer, "Bodies")) {
    ++number_of_body;
    if (!body.is_array()) continue;
    for (const Json& inner : body) {
      const double us = number(inner, {"TacticTimeUs"}, -1);
      *out += fmt::format("{:>4} {:>10} {:>6}  {:<15} {:<34} {:{}}{}\n", fmt::format("b{}", number_of_body),
                          us < 0 ? "-" : fmt::format("{:.1f}", us), "", text_of(inner, "LayerType"),
                          text_of(inner, "TacticName"), "", 2 * depth, text_of(inner, "Name"));
      add_bodies(inner, depth + 1, out);
    }
  }
}

std::string layers_text(const Json& layers) {
  double total = 0;
  for (const Json& layer : layers) total += number(layer, {"TimeUs"});
  std::string out = fmt::format("{:>4} {:>10} {:>6}  {:<15} {:<34} {}\n", "#", "us", "%", "type", "tactic", "layer");
  for (size_t i = 0; i < layers.size(); ++i) {
    const double us = number(layers[i], {"TimeUs"}, -1);
    const std::string sparsity = text_of(layers[i], "Sparsity");
    out += fmt::format("{:>4} {:>10} {:>6}  {:<15} {:<34} {}{}\n", i, us < 0 ? "-" : fmt::format("{:.1f}", us),
                       us < 0 || total <= 0 ? "" : fmt::format("{:.1f}", 100 * us / total),
                       text_of(layers[i], "LayerType"), text_of(layers[i], "TacticName"), text_of(layers[i], "Name"),
                       sparsity.empty() ? "" : fmt::format(" ({})", sparsity));
    add_bodies(layers[i], 1, &out);
  }
  return out;
}

}  // namespace

std::string report_text(const Json& report) {
  const Json& layers = list_or_empty(report, "layers");
  std::string out = fmt::format(
      "{}: {:.0f} steps for {:.0f} nodes of the model, {:.0f} fused regions, {:.0f} reformats ({:.0f} avoided)\n",
      text_of(report, "network").empty() ? "network" : text_of(report, "network"),
      number(report, {"optimization", "steps"}), number(report, {"optimization", "model_nodes"}),
      number(report, {"optimization", "layer_fusions"}), number(report, {"optimization", "reformats"}),
      number(report, {"optimization", "reformats_eliminated"}));
  const double measured = number(report, {"performance", "steps_measured"});
  out += fmt::format("latency {:.3f} ms ({})", number(report, {"performance", "estimated_latency_ms"}),
                     measured > 0 ? fmt::format("{:.0f} steps measured", measured) : "by estimate");
  if (const Json& memory = list_or_empty(report, "memory"); !memory.empty())
    out += fmt::format(
        ", weights {}, per context {} (activations {}, {} without reuse)",
        bytes_text(number(memory[0], {"PersistentBytes"})), bytes_text(number(memory[0], {"PerContextBytes"})),
        bytes_text(number(memory[0], {"ArenaBytes"})), bytes_text(number(memory[0], {"ActivationBytes"})));
  if (const Json* configuration = member(report, "configuration"))
    for (const Json& library : list_or_empty(*configuration, "libraries"))
      if (!text_of(library, "Without").empty())
        out += fmt::format("\nbuilt without {}: {}", text_of(library, "Name"), text_of(library, "Without"));
  out += "\n\n" + layers_text(layers);
  for (const Json& profile : list_or_empty(report, "profiles"))
    out += fmt::format("\nprofile {:.0f}, with tactics of its own\n\n", number(profile, {"Profile"})) +
           layers_text(list_or_empty(profile, "Layers"));
  std::map<std::string, size_t> gone;
  size_t views = 0, placed = 0;
  for (const Json& node : list_or_empty(report, "nodes")) {
    if (text_of(node, "Fate") == "removed") ++gone[text_of(node, "RemovedBy")];
    views += text_of(node, "Fate") == "no step";
    placed += text_of(node, "Fate") == "in place";
  }
  if (!gone.empty() || views + placed > 0) out += "\nNodes without a step:\n";
  for (const auto& [pass, count] : gone) out += fmt::format("  {} gone after {}\n", count, pass);
  if (placed > 0) out += fmt::format("  {} in place: operands are made where they belong\n", placed);
  if (views > 0) out += fmt::format("  {} are views, or worked out with the shapes\n", views);
  for (const Json& note : list_or_empty(report, "notes"))
    out += fmt::format("{} '{}': {}{}\n", text_of(note, "Kind"), text_of(note, "Node"), text_of(note, "Fate"),
                       text_of(note, "Reason").empty() ? "" : ": " + text_of(note, "Reason"));
  return out;
}

std::string comparison_text(const Json& comparison, const std::string& name_a, const std::string& name_b) {
  const Json* same = member(comparison, "same");
  std::string out = fmt::format("A: {}\nB: {}\n", name_a, name_b);
  if (const Json* totals = member(comparison, "totals"))
    for (const auto& [what, pair] : totals->items())
      if (pair.is_array() && pair.size() == 2 && !(pair[0].is_null() && pair[1].is_null()))
        out += pair[0] == pair[1] ? fmt::format("  {:<22} {}\n", what, value_text(pair[0]))
                                  : fmt::format("  {:<22} {} -> {}\n", what, value_text(pair[0]), value_text(pair[1]));
  const auto list = [&](const char* key, const char* title) {
    const Json& names = list_or_empty(comparison, key);
    if (names.empty()) return;
    out += fmt::format("\n{} ({})\n", title, names.size());
    for (const Json& name : names) out += "  " + value_text(name) + "\n";
  };
  list("only_in_a", "Nodes only in A");
  list("only_in_b", "Nodes only in B");
  if (const Json& fates = list_or_empty(comparison, "fates"); !fates.empty()) {
    out += fmt::format("\nWhat became of nodes ({})\n", fates.size());
    for (const Json& f : fates)
      out += fmt::format("  {}: {} -> {}\n", text_of(f, "node"), text_of(f, "a"), text_of(f, "b"));
  }
  if (const Json& fusion = list_or_empty(comparison, "fusion"); !fusion.empty()) {
    out += fmt::format("\nFused otherwise ({})\n", fusion.size());
    for (const Json& f : fusion)
      for (const char* side : {"a", "b"}) {
        std::string steps;
        for (const Json& nodes : list_or_empty(f, side)) steps += (steps.empty() ? "" : "  |  ") + nodes_text(nodes);
        out += fmt::format("  {}: {}\n", side[0] == 'a' ? "A" : "B", steps) + (side[0] == 'b' ? "\n" : "");
      }
  }
  if (const Json& steps = list_or_empty(comparison, "steps"); !steps.empty()) {
    out += fmt::format("\nSteps over the same nodes ({})\n", steps.size());
    for (const Json& step : steps) {
      out += "  " + text_of(step, "name");
      if (const Json* us = member(step, "time_us"))
        out += fmt::format("   {:.1f} us -> {:.1f} us", (*us)[0].get<double>(), (*us)[1].get<double>());
      out += "\n";
      if (const Json* changes = member(step, "changes"))
        for (const auto& [what, pair] : changes->items())
          out += fmt::format("    {}: {} -> {}\n", what, value_text(pair[0]), value_text(pair[1]));
    }
  }
  if (const Json& times = list_or_empty(comparison, "times"); !times.empty()) {
    out += fmt::format("\nSteps that only took another time ({})\n", times.size());
    for (const Json& step : times)
      if (const Json* us = member(step, "time_us"))
        out += fmt::format("  {}   {:.1f} us -> {:.1f} us\n", text_of(step, "name"), (*us)[0].get<double>(),
                           (*us)[1].get<double>());
  }
  out += same != nullptr && same->is_boolean() && same->get<bool>() ? "\nThe same.\n" : "\nThey differ.\n";
  return out;
}

}  // namespace wootz
