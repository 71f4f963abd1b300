#include "report/record.h"

#include <map>

#include "runtime/report/memory_json.h"

namespace wootz {
namespace {

Json node_json(const ModelNode& node) {
  Json json = {{"Name", node.name}, {"Op", node.op}, {"Inputs", node.inputs}, {"Outputs", node.outputs}};
  if (!node.removed_by.empty()) json["RemovedBy"] = node.removed_by;
  if (node.in_place) json["InPlace"] = true;
  return json;
}

Json choice_json(const StepReport& step) {
  Json json;
  Json& list = json["Considered"] = Json::array();
  for (const EvaluatedCandidate& c : step.evaluated) {
    Json entry = {{"Tactic", c.candidate.tactic.to_string()}, {"TimeUs", c.us}, {"Measured", c.measured}};
    if (c.error >= 0) entry["Error"] = c.error;
    if (!c.refusal.empty()) entry["Refused"] = c.refusal;
    list.push_back(std::move(entry));
  }
  Json& refused = json["NotApplicable"] = Json::array();
  for (const Refusal& r : step.refused) refused.push_back({{"Kernel", r.kernel}, {"Reason", r.reason}});
  return json;
}

// Not why one is missing: that names folders of the machine that built.
Json libraries_json(const std::vector<LibraryState>& libraries) {
  Json list = Json::array();
  for (const LibraryState& l : libraries) {
    Json entry = {{"Name", l.name}, {"Version", l.version.empty() ? Json() : Json(l.version)}};
    if (l.version.empty() && !l.without.empty()) entry["Without"] = l.without;
    list.push_back(std::move(entry));
  }
  return list;
}

Json stored_json(const BuildReport& record) {
  Json json;
  if (!record.libraries.empty()) json["Libraries"] = libraries_json(record.libraries);
  Json& nodes = json["Nodes"] = Json::array();
  for (const ModelNode& node : record.nodes) nodes.push_back(node_json(node));
  Json& fusions = json["Fusions"] = Json::array();
  for (const Fusion& f : record.fusions) fusions.push_back({{"Pass", f.pass}, {"Members", f.members}});
  Json& notes = json["Notes"] = Json::array();
  for (const NodeNote& n : record.notes)
    notes.push_back({{"Node", n.node}, {"Kind", n.kind}, {"Fate", n.fate}, {"Step", n.step}, {"Reason", n.reason}});
  json["Reformats"] = record.choice.reformats;
  json["ReformatsBeforeSearch"] = record.choice.reformats_before;
  const size_t before = record.choice.reformats_before;
  json["ReformatsAvoided"] = before > record.choice.reformats ? before - record.choice.reformats : size_t{0};
  json["TotalUs"] = record.choice.total_us;
  Json& choices = json["Choices"] = Json::array();
  std::map<std::string, size_t> numbers;
  SortedJson steps = SortedJson::object();
  for (const StepReport& step : record.choice.steps) {
    Json choice = choice_json(step);
    const auto [at, fresh] = numbers.try_emplace(dump_report(choice), choices.size());
    if (fresh) choices.push_back(std::move(choice));
    steps[step.step] = {{"Chosen", step.chosen}, {"Choice", at->second}};
  }
  json["Steps"] = std::move(steps);
  return json;
}

}  // namespace

std::string dump_report(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string stored_record(const BuildReport& record) { return dump_report(stored_json(record)); }

Json build_report(const BuildReport& record, const Program& program) {
  Json json = {{"operation", "build-engine"}, {"status", "success"}};
  json.update(program_report(program, stored_json(record), record.memory));
  Json& configuration = json["configuration"];
  configuration["workspace_mb"] =
      record.workspace_limit == SIZE_MAX ? Json() : Json(static_cast<double>(record.workspace_limit) / 1048576);
  configuration["disabled_passes"] = record.disabled_passes;
  Json& performance = json["performance"];
  performance["build_time_s"] = record.total_ms * 1e-3;
  json["build_ms"] = {{"total", record.total_ms}};
  for (const StageTime& stage : record.stages) json["build_ms"][stage.name] = stage.ms;
  Json& passes = json["passes"] = Json::array();
  for (const PassReport& pass : record.passes)
    passes.push_back({{"name", pass.name},
                      {"changed", pass.changed},
                      {"nodes_before", pass.nodes_before},
                      {"nodes_after", pass.nodes_after},
                      {"ms", pass.ms}});
  json["estimated_memory"] = Json::array();
  for (const MemoryReport& memory : record.estimated_memory)
    json["estimated_memory"].push_back(memory_json(memory, false));
  json["in_place"] = {{"steps", record.placed.steps},
                      {"subviews", record.placed.subviews},
                      {"copies", record.placed.copies},
                      {"ranges", record.placed.ranges}};
  json["tuning"] = {{"timed", record.measured.timed},
                    {"from_cache", record.measured.from_cache},
                    {"refused", record.measured.refused},
                    {"unchecked", record.measured.unchecked},
                    {"proved", record.measured.proved},
                    {"timed_us", record.measured.timed_us},
                    {"operands_us", record.measured.operands_us},
                    {"kernels_us", record.measured.kernels_us},
                    {"checks_us", record.measured.checks_us},
                    {"sampling_us", record.measured.sampling_us},
                    {"kernels_created", record.kernels_created}};
  return json;
}

}  // namespace wootz
