// Reports to look at: the graph with its fused regions as SVG, and a page with everything. Both need nothing but
// themselves: no network, no fonts, no scripts from elsewhere.
#pragma once

#include <string>

#include "report/record.h"

namespace wootz {

// `report`: as program_report() or build_report() made it. `alone`: with its own colors, light and dark; otherwise the
// page around it has them.
std::string graph_svg(const Json& report, bool alone);
std::string report_page(const Json& report);

}  // namespace wootz
