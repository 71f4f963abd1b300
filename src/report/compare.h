// Two reports against each other, in the model's terms: which nodes are fused otherwise, and which steps over the same
// nodes changed their tactic, type, layout or shape.
#pragma once

#include <string>

#include "report/record.h"

namespace wootz {

// {"same", "totals": {what: [a, b]}, "only_in_a", "only_in_b": [node], "fates": [{"node", "a", "b"}], "fusion":
// [{"nodes", "a": [[node]], "b"}], "steps": [{"nodes", "name", "changes": {what: [a, b]}, "time_us": [a, b]}], "times":
// [...]}. `same` is about all but times and sizes: two builds of one model may well differ in those. Reports may come
// from anywhere: what does not fit is left out.
Json compare_reports(const Json& a, const Json& b);

std::string comparison_text(const Json& comparison, const std::string& name_a, const std::string& name_b);

// A report as a table for people.
std::string report_text(const Json& report);

}  // namespace wootz
