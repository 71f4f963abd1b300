// Weights of convolutions and products with structured zeros: of each four along the sum, the two that are smallest by
// magnitude become 0 (base/two_of_four.h).
#pragma once

#include <string>
#include <vector>

#include "onnx/edit/format_rules.h"
#include "onnx/edit/graph_edit.h"

namespace wootz::importer {

struct PrunedLayer {
  std::string weights;  // the name of those that it had
  std::string why_not;  // empty: it is pruned
  double error = 0;     // root mean square of what went, as a part of the weights'
};

// Of each layer (is_layer()) in the model's order; those of `rules.keep` stay whole.
Result<std::vector<PrunedLayer>> prune_layers(GraphEdit& edit, const FormatRules& rules);
// Tells each layer of it. One that stays as it is, for whatever reason, has its own weights again.
void settle_pruning(GraphEdit& edit, const std::vector<PrunedLayer>& pruned, std::vector<EditedLayer>* layers);
// FP32 as it was: what is pruned is in the format.
std::vector<EditedLayer> layers_in_float(GraphEdit& edit, const std::vector<PrunedLayer>& pruned);

}  // namespace wootz::importer
