#include "runtime/report/memory_json.h"

#include <fmt/format.h>

#include "base/json.h"
#include "runtime/shape_plan.h"

namespace wootz {

using Json = OrderedJson;

Json memory_json(const MemoryReport& report, bool detailed) {
  Json json = {{"PersistentBytes", report.persistent},
               {"PerContextBytes", report.per_context()},
               {"ArenaBytes", report.arena},
               {"WorkspaceBytes", report.workspace},
               {"ActivationBytes", report.activations},
               {"LowerBoundBytes", report.lower_bound},
               {"SavedPercent", 100 * report.saved()},
               {"Estimated", report.estimated}};
  if (!detailed) return json;
  Json& buffers = json["Buffers"] = Json::array();
  for (const MemoryReport::Buffer& b : report.buffers)
    buffers.push_back({{"Tensor", b.tensor},
                       {"Bytes", b.life.bytes},
                       {"Offset", b.offset},
                       {"FirstLayer", b.life.first.number()},
                       {"LastLayer", b.life.last.number()}});
  json["AliveBytes"] = report.alive.items();
  return json;
}

std::vector<MemoryReport> memory_reports(const Program& program, const KernelsOf& kernels_of) {
  std::vector<MemoryReport> reports;
  for (size_t p = 0; p < program.profiles.size(); ++p) {
    const auto [runs, number] = program_of(program, p);
    Result<MemoryReport> report = report_memory(*runs, number, kernels_of ? kernels_of(*runs) : StepKernels());
    if (report.ok()) reports.push_back(std::move(report).value());
  }
  return reports;
}

std::string memory_line(const MemoryReport& report) {
  const auto mib = [](size_t bytes) { return static_cast<double>(bytes) / 1048576; };
  std::string line = fmt::format("{:.2f} MiB of weights; per context {}{:.2f} MiB", mib(report.persistent),
                                 report.estimated ? "at most " : "", mib(report.per_context()));
  if (report.estimated) return line + " for activations, and the workspace of the tactics to come";
  return line + fmt::format(
                    ": {:.2f} for activations ({:.2f} in all, {:.0f} % saved; no plan takes less than {:.2f}), {:.2f} "
                    "of workspace",
                    mib(report.arena), mib(report.activations), 100 * report.saved(), mib(report.lower_bound),
                    mib(report.workspace));
}

}  // namespace wootz
