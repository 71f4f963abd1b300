// program_report(): a program, and what the build stored beside it, as one JSON document.
#include <algorithm>
#include <map>
#include <set>

#include "plan/describe.h"
#include "report/record.h"
#include "runtime/report/kept_report.h"
#include "runtime/report/memory_json.h"
#include "runtime/report/value_map.h"

namespace wootz {
namespace {

// The time that the tuner knew for the tactic it chose.
void add_time(const Json& tactics, Json* layer) {
  const Json* chosen = member(tactics, "Chosen");
  const Json& considered = list_or_empty(tactics, "Considered");
  if (chosen == nullptr || chosen->get<int64_t>() < 0 || chosen->get<size_t>() >= considered.size()) return;
  const Json& entry = considered[chosen->get<size_t>()];
  const Json *us = member(entry, "TimeUs"), *measured = member(entry, "Measured");
  if (us == nullptr || !us->is_number()) return;
  (*layer)["TimeUs"] = *us;
  (*layer)["TimeMeasured"] = measured != nullptr && measured->is_boolean() && measured->get<bool>();
}

Json precisions(const Program& program) {
  std::set<std::string> found;
  for (const Step& step : program.steps) {
    if (computes_in_8_bits(step)) found.insert("INT8");
    for (const auto* list : {&step.problem.inputs, &step.problem.outputs})
      for (const TensorDesc& d : *list) {
        if (d.dtype == DType::kF32) found.insert("FP32");
        if (d.dtype == DType::kF16) found.insert("FP16");
        if (d.dtype == DType::kBF16) found.insert("BF16");
      }
  }
  return found;
}

bool dynamic_shapes(const Program& program) {
  return std::any_of(program.symbols.begin(), program.symbols.end(),
                     [](const PlanSymbol& s) { return s.source != SymbolSource::kDataDependent; });
}

// Who hands what to whom: [from, to, tensor name, bytes]. Steps by number; input i is -1 - i, output o is the number of
// steps + o.
Json edges(const Program& program) {
  Json list = Json::array();
  IndexedVector<TensorIndex, int> producer(program.tensors.size(), INT32_MIN);
  IndexedVector<TensorIndex, double> bytes(program.tensors.size(), 0);
  for (size_t i = 0; i < program.inputs.size(); ++i) producer[program.inputs[i].tensor] = -1 - static_cast<int>(i);
  const auto note = [&](const std::vector<TensorIndex>& tensors, const std::vector<TensorDesc>& descs) {
    for (size_t k = 0; k < tensors.size() && k < descs.size(); ++k)
      if (tensors[k].exists() && descs[k].dtype != DType::kInvalid)
        bytes[tensors[k]] = static_cast<double>(dtype_bytes(descs[k].dtype, descs[k].dims.volume()));
  };
  for (const StepIndex s : program.steps.indices()) {
    const Step& step = program.steps[s];
    note(step.inputs, step.problem.inputs);
    note(step.outputs, step.problem.outputs);
    for (const TensorIndex t : step.outputs)
      if (t.exists()) producer[t] = s.number();
  }
  const auto add = [&](TensorIndex tensor, int to) {
    std::set<int> from;
    for (const TensorIndex t : written_tensors(program, tensor))
      if (producer[t] != INT32_MIN) from.insert(producer[t]);
    for (const int f : from) list.push_back({f, to, program.tensors[tensor].name, bytes[tensor]});
  };
  for (const StepIndex s : program.steps.indices()) {
    std::set<TensorIndex> seen;
    for (const TensorIndex t : program.steps[s].inputs)
      if (t.exists() && seen.insert(t).second) add(t, s.number());
  }
  for (size_t o = 0; o < program.outputs.size(); ++o)
    add(program.outputs[o].tensor, static_cast<int>(program.steps.size() + o));
  return list;
}

Json bindings(const Program& program) {
  Json list = Json::array();
  for (const auto* ios : {&program.inputs, &program.outputs})
    for (const IoTensor& io : *ios) {
      const PlanTensor& t = program.tensors[io.tensor];
      list.push_back(
          {{"Name", t.name}, {"Kind", ios == &program.inputs ? "input" : "output"}, {"Type", dtype_name(t.dtype)}});
    }
  return list;
}

// The model's nodes with the steps that hold them, or what became of them.
Json nodes_json(const Program& program, const Json& stored) {
  std::map<std::string, Json> steps;
  for (const StepIndex s : program.steps.indices())
    for (const std::string& name : program.steps[s].provenance) steps[name].push_back(s.position());
  Json list = Json::array();
  for (const Json& node : list_or_empty(stored, "Nodes")) {
    const Json* name = member(node, "Name");
    if (name == nullptr || !name->is_string()) continue;
    Json made = node;
    const auto held = steps.find(name->get<std::string>());
    if (held != steps.end()) {
      made["Steps"] = held->second;
      made["Fate"] = "step";
    } else {
      made["Fate"] = member(node, "RemovedBy") != nullptr ? "removed"
                     : member(node, "InPlace") != nullptr ? "in place"
                                                          : "no step";
    }
    list.push_back(std::move(made));
  }
  return list;
}

// Profiles with tactics of their own: their layers, and the times of those that were measured.
Json profiles_json(const Program& program) {
  Json list = Json::array();
  for (size_t p = 0; p < program.profiles.size(); ++p) {
    const Program& own = *program_of(program, p).program;
    if (&own == &program) continue;
    Json layers = Json::array();
    double total_us = 0;
    for (const StepIndex s : own.steps.indices()) {
      Json layer = describe_step(own, s);
      const float us = own.steps[s].measured_us;
      if (us >= 0) layer["TimeUs"] = us;
      total_us += std::max(us, 0.0F);
      layers.push_back(std::move(layer));
    }
    list.push_back({{"Profile", p}, {"MeasuredMs", total_us * 1e-3}, {"Layers", std::move(layers)}});
  }
  return list;
}

}  // namespace

Json program_report(const Program& program, const Json& stored, const std::vector<MemoryReport>& memory) {
  Json json;
  json["network"] = program.name;
  json["configuration"] = {{"precision", precisions(program)},
                           {"dynamic_shapes", dynamic_shapes(program)},
                           {"backend", program.backend},
                           {"profiles", program.profiles.size()},
                           {"device", Json::parse(program.device, nullptr, false)}};
  if (json["configuration"]["device"].is_discarded()) json["configuration"]["device"] = program.device;

  if (const Json& libraries = list_or_empty(stored, "Libraries"); !libraries.empty())
    json["configuration"]["libraries"] = libraries;

  const KeptChoices choices(stored);
  Json layers = Json::array();
  size_t fused = 0, timed = 0, reformats = 0;
  double total_us = 0;
  for (const StepIndex s : program.steps.indices()) {
    const Step& step = program.steps[s];
    Json layer = describe_step(program, s);
    layer["Nodes"] = step.provenance;
    if (Json tactics = choices.of(step.name); tactics.is_object()) {
      add_time(tactics, &layer);
      layer["Tactics"] = std::move(tactics);
    } else if (step.measured_us >= 0) {
      layer["TimeUs"] = step.measured_us;
      layer["TimeMeasured"] = true;
    }
    fused += step.provenance.size() > 1;
    reformats += step.problem.family() == Family::kReformat && step.provenance.empty();
    timed += layer.value("TimeMeasured", false);
    total_us += layer.value("TimeUs", 0.0);
    layers.push_back(std::move(layer));
  }
  const Json *avoided = member(stored, "ReformatsAvoided"), *before = member(stored, "ReformatsBeforeSearch");
  json["optimization"] = {{"layer_fusions", fused},
                          {"reformats_eliminated", avoided == nullptr ? Json(0) : *avoided},
                          {"reformats_before_search", before == nullptr ? Json() : *before},
                          {"tactics_selected", program.steps.size()},
                          {"reformats", reformats},
                          {"model_nodes", list_or_empty(stored, "Nodes").size()},
                          {"steps", program.steps.size()}};
  const Json* total = member(stored, "TotalUs");
  json["performance"] = {
      {"estimated_latency_ms", (total != nullptr && total->is_number() ? total->get<double>() : total_us) * 1e-3},
      {"steps_measured", timed}};
  json["memory"] = Json::array();
  for (const MemoryReport& report : memory) json["memory"].push_back(memory_json(report, true));
  json["bindings"] = bindings(program);
  json["layers"] = std::move(layers);
  if (Json profiles = profiles_json(program); !profiles.empty()) json["profiles"] = std::move(profiles);
  json["edges"] = edges(program);
  json["nodes"] = nodes_json(program, stored);
  json["fusions"] = list_or_empty(stored, "Fusions");
  json["notes"] = list_or_empty(stored, "Notes");
  return json;
}

}  // namespace wootz
