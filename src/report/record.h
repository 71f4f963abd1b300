// All that a build knows about itself, as plain data: passes, fusions, what became of each node of the model, tactics
// with their rivals, memory. What writes or draws a report starts here or from its JSON.
#pragma once

#include <string>
#include <vector>

#include "backend/libraries.h"
#include "backend/program.h"
#include "base/json.h"
#include "passes/pass.h"
#include "passes/quantization/qdq_report.h"
#include "report/trace.h"
#include "runtime/memory_report.h"
#include "tuner/layout/copy_elision.h"
#include "tuner/measure/measure.h"

namespace wootz {

using Json = OrderedJson;

// A line about one node of the model that a part of the build wants said: what became of a Q/DQ pair, say.
struct NodeNote {
  std::string node, kind;  // "QuantizeLinear", ...
  std::string fate;        // "fused", "folded", "removed", "kept"
  std::string step;        // where it is now, if anywhere
  std::string reason;
};

struct StageTime {
  std::string name;
  double ms = 0;
};

struct BuildReport {
  std::vector<PassReport> passes;
  std::vector<ModelNode> nodes;
  std::vector<Fusion> fusions;
  std::vector<NodeNote> notes;
  std::vector<LibraryState> libraries;  // that the backend opened, or not
  Choice choice;
  MeasureStats measured;
  ElidedCopies placed;
  std::vector<MemoryReport> estimated_memory;  // by profile, from before tactics were chosen
  std::vector<MemoryReport> memory;            // of what was built; empty where its kernels cannot be created here
  std::vector<std::string> disabled_passes;
  size_t workspace_limit = SIZE_MAX;
  std::vector<StageTime> stages;  // in their order
  double total_ms = 0;
  size_t kernels_created = 0;
};

// The part that goes into a plan (property::kReport): no wall-clock times, so that equal builds give equal plans.
// {"Libraries", "Nodes", "Fusions", "Notes", "Reformats", "ReformatsAvoided", "Steps": {name: {"Chosen", "Choice"}},
// "Choices":
// [{"Considered", "NotApplicable"}]}: steps with equal problems share a choice.
std::string stored_record(const BuildReport& record);

// Report on a program: TensorRT's layer information in "layers", with times, work, tactics considered and the model's
// nodes, and "configuration", "optimization", "performance", "memory", "nodes", "fusions", "edges". `stored` is what
// stored_record() made, or null. It may come from a plan file: what does not fit is left out.
Json program_report(const Program& program, const Json& stored, const std::vector<MemoryReport>& memory);

// The same for a build that has just ended, with its times, under the keys "operation", "status", "passes", "tuning".
Json build_report(const BuildReport& record, const Program& program);

std::string dump_report(const Json& json);

// A convolution or product whose operands are 8-bit integers.
bool computes_in_8_bits(const Step& step);
// A line for each Quantize and Dequantize among the nodes.
std::vector<NodeNote> quantization_notes(const std::vector<QdqLine>& lines);

}  // namespace wootz
