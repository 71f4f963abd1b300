// The errors of an 8-bit layer that do not cancel show in the mean of its result. Adding what is missing there, layer
// by layer from the network's beginning, brings the layers behind back to what they compute in float.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "ir/graph.h"

namespace wootz {

// Means of a layer's result by output channel, over any number of batches.
class ChannelMeans {
 public:
  // `axis`: along which the channels lie, as in each batch. Errors: another number of channels than before, no f32.
  Status add(const HostTensor& values, int axis);
  std::vector<float> means() const;

 private:
  std::vector<double> sums_;
  double count_ = 0;  // of elements of a channel
};

// Of the result of a convolution or product ("Conv", "ConvTranspose", "MatMul", "Gemm").
int result_channel_axis(std::string_view op, int rank);

// A layer's result and how many channels it has, for add_bias_inputs().
struct BiasInput {
  std::string value;
  std::string op;
  int64_t channels = 0;
};
inline std::string bias_input_name(const BiasInput& layer) { return layer.value + " bias"; }

// Every reader of these values gets them with an input of the network added, of a number for each channel. The value
// keeps its name and is what it was. Errors: the graph has no such value.
Status add_bias_inputs(Graph& graph, std::span<const BiasInput> layers);
// The input's elements in the shape that it has; `rank`: of the value.
Result<HostTensor> bias_array(const BiasInput& layer, int rank, std::span<const float> by_channel);

}  // namespace wootz
