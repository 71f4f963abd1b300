// Memory reports as JSON and as lines, for the inspector and build reports.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "runtime/memory_report.h"

namespace wootz::api {

// `detailed`: every piece of the arena with its lifetime, and the bytes alive at each layer.
nlohmann::ordered_json memory_json(const MemoryReport& report, bool detailed);

// "97.5 MiB of weights; per context 9.8 MiB: ..."
std::string memory_line(const MemoryReport& report);

}  // namespace wootz::api
