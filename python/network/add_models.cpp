// Layers that are whole parts of a model, and those that run others.
#include "adding.h"

using namespace nvinfer1;

namespace wootz_python {

void bind_adding_models(Network& network) {
  using N = INetworkDefinition;
  network
      .def("add_attention", &N::addAttention, nb::arg("query"), nb::arg("key"), nb::arg("value"), nb::arg("norm_op"),
           nb::arg("causal"), kInner)
#if NV_TENSORRT_MAJOR >= 11
      .def("add_attention_v2", &N::addAttentionV2, nb::arg("query"), nb::arg("key"), nb::arg("value"),
           nb::arg("norm_op"), nb::arg("causal_kind"), kInner)
#endif
      .def("add_rotary_embedding", &N::addRotaryEmbedding, nb::arg("input"), nb::arg("cos_cache"), nb::arg("sin_cache"),
           nb::arg("interleaved"), nb::arg("rotary_embedding_dim"), kInner)
      .def("add_kv_cache_update", &N::addKVCacheUpdate, nb::arg("cache"), nb::arg("update"), nb::arg("write_indices"),
           nb::arg("cache_mode"), kInner)
      .def("add_moe", &N::addMoE, nb::arg("hidden_states"), nb::arg("selected_experts_for_tokens"),
           nb::arg("scores_for_selected_experts"), kInner)
      .def("add_loop", &N::addLoop, kInner)
      .def("add_if_conditional", &N::addIfConditional, kInner);
}

}  // namespace wootz_python
