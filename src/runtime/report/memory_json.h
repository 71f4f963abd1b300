// Memory reports as JSON and as lines, for the inspector and build reports.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/program.h"
#include "base/json.h"
#include "runtime/memory_report.h"

namespace wootz {

// `detailed`: every piece of the arena with its lifetime, and the bytes alive at each layer.
OrderedJson memory_json(const MemoryReport& report, bool detailed);

// Memory at the maximum of every profile, under the program that runs it; profiles whose far end is no shape are left
// out. `kernels_of`: of a program; null: an estimate, before tactics are chosen.
using KernelsOf = std::function<StepKernels(const Program& program)>;
std::vector<MemoryReport> memory_reports(const Program& program, const KernelsOf& kernels_of);

// "97.5 MiB of weights; per context 9.8 MiB: ..."
std::string memory_line(const MemoryReport& report);

}  // namespace wootz
