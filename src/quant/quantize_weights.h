// Constant weights in i8, by a scale for each output channel.
#pragma once

#include <map>

#include "ir/graph.h"

namespace wootz {

class WeightQuantizer {
 public:
  explicit WeightQuantizer(Graph& graph) : graph_(graph) {}

  // Whether the second operand of a convolution or product is constant, or computed of constants alone, in f32 and
  // finite, and its sums fit an int32.
  Result<bool> quantizable(Node& node);
  // Puts the weights in i8 and a Dequantize in its place. After quantizable().
  Status quantize(Node* node);

 private:
  Graph& graph_;
  std::map<std::pair<const Value*, int>, Value*> made_;  // by weights and axis
};

}  // namespace wootz
