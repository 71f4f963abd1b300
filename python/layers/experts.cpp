// Mixtures of experts.
#include "layer.h"

using namespace nvinfer1;

namespace wootz_python {

void bind_expert_layers(nb::module_& m) {
  nb::class_<IMoELayer, ILayer>(m, "IMoELayer")
      .def("set_gated_weights", &IMoELayer::setGatedWeights, nb::arg("fc_gate_weights"), nb::arg("fc_up_weights"),
           nb::arg("fc_down_weights"), nb::arg("activation_type"))
      .def("set_gated_biases", &IMoELayer::setGatedBiases, nb::arg("fc_gate_biases"), nb::arg("fc_up_biases"),
           nb::arg("fc_down_biases"))
      .def_prop_rw("activation_type", &IMoELayer::getActivationType, &IMoELayer::setActivationType)
      .def("set_quantization_static", &IMoELayer::setQuantizationStatic, nb::arg("fc_down_activation_scale"),
           nb::arg("data_type"))
      .def("set_quantization_dynamic_dbl_q", &IMoELayer::setQuantizationDynamicDblQ,
           nb::arg("fc_down_activation_dbl_q_scale"), nb::arg("data_type"), nb::arg("block_shape"),
           nb::arg("dyn_q_output_scale_type"))
      .def_prop_rw("quantization_to_type", &IMoELayer::getQuantizationToType, &IMoELayer::setQuantizationToType)
      .def_prop_rw("quantization_block_shape", &IMoELayer::getQuantizationBlockShape,
                   &IMoELayer::setQuantizationBlockShape)
      .def_prop_rw("dyn_q_output_scale_type", &IMoELayer::getDynQOutputScaleType, &IMoELayer::setDynQOutputScaleType)
      .def("set_swiglu_params", &IMoELayer::setSwigluParams, nb::arg("limit"), nb::arg("alpha"), nb::arg("beta"))
      .def_prop_rw("swiglu_param_limit", &IMoELayer::getSwigluParamLimit, &IMoELayer::setSwigluParamLimit)
      .def_prop_rw("swiglu_param_alpha", &IMoELayer::getSwigluParamAlpha, &IMoELayer::setSwigluParamAlpha)
      .def_prop_rw("swiglu_param_beta", &IMoELayer::getSwigluParamBeta, &IMoELayer::setSwigluParamBeta);
}

}  // namespace wootz_python
