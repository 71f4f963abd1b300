// Attention as one, and what stands beside it: rotation by position, and caches of keys and values.
#include "layer.h"

using namespace nvinfer1;

namespace wootz_python {
namespace {

using Attention = nb::class_<IAttention>;

template <class Set>
auto set_tensor(Set set, const char* what) {
  return [set, what](IAttention& a, ITensor& tensor) {
    if (!(a.*set)(tensor)) throw nb::value_error((std::string(what) + ": the tensor was refused: see the log").c_str());
  };
}

// Inputs, outputs and names, which other classes have from ILayer.
void bind_as_layer(Attention& attention) {
  attention
      .def_prop_rw("name", &IAttention::getName,
                   [](IAttention& a, const char* name) {
                     if (!a.setName(name)) throw nb::value_error("name: it was refused: see the log");
                   })
      .def_prop_rw("metadata", &IAttention::getMetadata,
                   [](IAttention& a, const char* text) {
                     if (!a.setMetadata(text)) throw nb::value_error("metadata: they were refused: see the log");
                   })
      .def_prop_rw("num_ranks", &IAttention::getNbRanks, setter(&IAttention::setNbRanks, "num_ranks"))
      .def_prop_ro("num_inputs", &IAttention::getNbInputs)
      .def_prop_ro("num_outputs", &IAttention::getNbOutputs)
      .def("get_input", &IAttention::getInput, nb::arg("index"), kInner)
      .def("get_output", &IAttention::getOutput, nb::arg("index"), kInner)
      .def("set_input", &IAttention::setInput, nb::arg("index"), nb::arg("tensor"));
}

void bind_computation(Attention& attention) {
  attention
      .def_prop_rw("norm_op", &IAttention::getNormalizationOperation,
                   setter(&IAttention::setNormalizationOperation, "norm_op"))
      .def_prop_rw("causal", &IAttention::getCausal, setter(&IAttention::setCausal, "causal"))
      .def_prop_rw("decomposable", &IAttention::getDecomposable, setter(&IAttention::setDecomposable, "decomposable"))
      .def_prop_rw("mask", &IAttention::getMask, set_tensor(&IAttention::setMask, "mask"), nb::for_getter(kInner))
      .def_prop_rw("normalization_quantize_scale", &IAttention::getNormalizationQuantizeScale,
                   set_tensor(&IAttention::setNormalizationQuantizeScale, "normalization_quantize_scale"),
                   nb::for_getter(kInner))
      .def_prop_rw("normalization_quantize_to_type", &IAttention::getNormalizationQuantizeToType,
                   setter(&IAttention::setNormalizationQuantizeToType, "normalization_quantize_to_type"));
}

#if NV_TENSORRT_MAJOR >= 11
// Sequences of different lengths. None in place of a tensor: none.
void bind_lengths(Attention& attention) {
  const auto lengths = nb::for_setter(nb::arg("lengths").none());
  attention.def_prop_rw("causal_kind", &IAttention::getCausalKind, setter(&IAttention::setCausalKind, "causal_kind"))
      .def_prop_rw("query_form", &IAttention::getQueryForm, setter(&IAttention::setQueryForm, "query_form"))
      .def_prop_rw("key_value_form", &IAttention::getKeyValueForm,
                   setter(&IAttention::setKeyValueForm, "key_value_form"))
      .def_prop_rw("query_lengths", &IAttention::getQueryLengths, setter(&IAttention::setQueryLengths, "query_lengths"),
                   nb::for_getter(kInner), lengths)
      .def_prop_rw("key_value_lengths", &IAttention::getKeyValueLengths,
                   setter(&IAttention::setKeyValueLengths, "key_value_lengths"), nb::for_getter(kInner), lengths);
}
#endif

void bind_cache(nb::module_& m) {
  nb::class_<IKVCacheUpdateLayer, ILayer>(m, "IKVCacheUpdateLayer")
#if NV_TENSORRT_MAJOR >= 11
      .def_prop_rw("update_form", &IKVCacheUpdateLayer::getUpdateForm,
                   setter(&IKVCacheUpdateLayer::setUpdateForm, "update_form"))
      .def_prop_rw("update_lengths", &IKVCacheUpdateLayer::getUpdateLengths,
                   setter(&IKVCacheUpdateLayer::setUpdateLengths, "update_lengths"), nb::for_getter(kInner),
                   nb::for_setter(nb::arg("lengths").none()))
#endif
      .def_prop_rw("cache_mode", &IKVCacheUpdateLayer::getCacheMode,
                   setter(&IKVCacheUpdateLayer::setCacheMode, "cache_mode"));
}

}  // namespace

void bind_attention_layers(nb::module_& m) {
  Attention attention(m, "IAttention");
  bind_as_layer(attention);
  bind_computation(attention);
#if NV_TENSORRT_MAJOR >= 11
  bind_lengths(attention);
#endif
  nb::class_<IAttentionBoundaryLayer, ILayer>(m, "IAttentionBoundaryLayer")
      .def_prop_ro("attention", &IAttentionBoundaryLayer::getAttention, kInner);
  nb::class_<IAttentionInputLayer, IAttentionBoundaryLayer>(m, "IAttentionInputLayer");
  nb::class_<IAttentionOutputLayer, IAttentionBoundaryLayer>(m, "IAttentionOutputLayer");
  nb::class_<IRotaryEmbeddingLayer, ILayer>(m, "IRotaryEmbeddingLayer")
      .def_prop_rw("interleaved", &IRotaryEmbeddingLayer::getInterleaved, &IRotaryEmbeddingLayer::setInterleaved)
      .def_prop_rw("rotary_embedding_dim", &IRotaryEmbeddingLayer::getRotaryEmbeddingDim,
                   setter(&IRotaryEmbeddingLayer::setRotaryEmbeddingDim, "rotary_embedding_dim"));
  bind_cache(m);
}

}  // namespace wootz_python
