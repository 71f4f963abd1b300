// What the files of a network's add_ methods share.
#pragma once

#include <initializer_list>
#include <type_traits>

#include "../casters.h"

namespace wootz_python {

using Network = nb::class_<nvinfer1::INetworkDefinition>;

// Kinds with weights, which remember their network: it keeps the arrays that are set later.
template <class Layer>
constexpr bool kHasWeights =
    std::is_same_v<Layer, nvinfer1::IConvolutionLayer> || std::is_same_v<Layer, nvinfer1::IDeconvolutionLayer> ||
    std::is_same_v<Layer, nvinfer1::IScaleLayer> || std::is_same_v<Layer, nvinfer1::IConstantLayer>;

template <typename Layer>
nb::object wrap(Layer* layer, nb::handle network) {
  nb::object made = nb::cast(layer, kInner, network);
  if constexpr (kHasWeights<Layer>)
    if (layer != nullptr) made.attr("_network") = network;
  return made;
}

// A layer as its own class, so that a Python program sees its properties; as ILayer where that would hide its type.
nb::object typed(nvinfer1::ILayer* layer, nb::handle network);

// The tensors of a list.
std::vector<nvinfer1::ITensor*> pointers(nb::sequence tensors);

void bind_adding_weights(Network& network);
void bind_adding_arithmetic(Network& network);
void bind_adding_quantization(Network& network);
void bind_adding_moves(Network& network);
void bind_adding_sources(Network& network);
void bind_adding_models(Network& network);

}  // namespace wootz_python
