// What came out when two engines ran on the same inputs: as JSON, as text, and as a page for a browser.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/record.h"
#include "report/value_errors.h"

namespace wootz {

// A value that both have, in the order of A's execution.
struct ComparedValue {
  std::string name;
  bool output = false;    // of the network
  DType types[2] = {};    // what the tensors hold
  Dims dims;              // of A, in the last batch
  std::string layers[2];  // that compute it
  ValueErrors errors;
  std::string not_comparable;  // why; empty: they are compared
};

struct Comparison {
  size_t batches = 0;
  double tolerance = 0;
  std::vector<ComparedValue> values;
  std::vector<std::string> only[2];  // values that one of the two alone holds in a tensor
};

// Whether the two are one value's: an error up to the tolerance, and what is not finite the same in both.
bool agrees(const ComparedValue& value, double tolerance);

// "same", "first_divergence", "first_not_finite", "values", ...: docs/inspecting.md has the keys.
Json comparison_json(const Comparison& comparison);
std::string compared_values_text(const Json& comparison);
std::string compared_values_page(const Json& comparison);

}  // namespace wootz
