// Tensors, layers in general, and the network with its add_ methods.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include "casters.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

using namespace nvinfer1;

namespace wootz_python {
namespace {

constexpr auto kInner = nb::rv_policy::reference_internal;

std::vector<ITensor*> pointers(nb::sequence tensors) {
  std::vector<ITensor*> all;
  for (nb::handle t : tensors) all.push_back(nb::cast<ITensor*>(t));
  return all;
}

// A layer as its own class, so that a Python program sees its properties.
nb::object typed(ILayer* layer, nb::handle owner);

template <typename Layer>
nb::object wrap(Layer* layer, nb::handle owner) {
  return nb::cast(layer, nb::rv_policy::reference_internal, owner);
}

nb::object typed(ILayer* layer, nb::handle owner) {
  if (layer == nullptr) return nb::none();
  switch (layer->getType()) {
#define LAYER(type, Interface) \
  case LayerType::type: return wrap(static_cast<Interface*>(layer), owner);
    LAYER(kCONVOLUTION, IConvolutionLayer)
    LAYER(kDECONVOLUTION, IDeconvolutionLayer)
    LAYER(kACTIVATION, IActivationLayer)
    LAYER(kPOOLING, IPoolingLayer)
    LAYER(kSCALE, IScaleLayer)
    LAYER(kSOFTMAX, ISoftMaxLayer)
    LAYER(kCONCATENATION, IConcatenationLayer)
    LAYER(kELEMENTWISE, IElementWiseLayer)
    LAYER(kUNARY, IUnaryLayer)
    LAYER(kREDUCE, IReduceLayer)
    LAYER(kTOPK, ITopKLayer)
    LAYER(kGATHER, IGatherLayer)
    LAYER(kMATRIX_MULTIPLY, IMatrixMultiplyLayer)
    LAYER(kSHUFFLE, IShuffleLayer)
    LAYER(kSLICE, ISliceLayer)
    LAYER(kPADDING, IPaddingLayer)
    LAYER(kCONSTANT, IConstantLayer)
    LAYER(kRESIZE, IResizeLayer)
    LAYER(kNORMALIZATION, INormalizationLayer)
    LAYER(kCAST, ICastLayer)
    LAYER(kFILL, IFillLayer)
    LAYER(kASSERTION, IAssertionLayer)
    LAYER(kDYNAMIC_QUANTIZE, IDynamicQuantizeLayer)
    LAYER(kMOE, IMoELayer)
    LAYER(kDIST_COLLECTIVE, IDistCollectiveLayer)
    LAYER(kPLUGIN_V2, IPluginV2Layer)
    LAYER(kPLUGIN_V3, IPluginV3Layer)
#undef LAYER
    default: return wrap(layer, owner);
  }
}

#if NV_TENSORRT_MAJOR < 11
// (min, max), or None.
nb::object range_of(const ITensor& tensor) {
  if (!tensor.dynamicRangeIsSet()) return nb::none();
  return nb::make_tuple(tensor.getDynamicRangeMin(), tensor.getDynamicRangeMax());
}

void set_range(ITensor& tensor, std::pair<float, float> range) {
  if (!tensor.setDynamicRange(range.first, range.second))
    throw nb::value_error((std::string("'") + tensor.getName() + "': this is no range: see the log").c_str());
}
#endif

void bind_tensor(nb::module_& m) {
  nb::class_<ITensor>(m, "ITensor")
      .def_prop_rw("name", &ITensor::getName, [](ITensor& t, const char* name) { t.setName(name); })
      .def_prop_rw("shape", &ITensor::getDimensions, [](ITensor& t, const Dims& dims) { t.setDimensions(dims); })
      .def_prop_ro("dtype", &ITensor::getType)
      .def_prop_ro("is_network_input", &ITensor::isNetworkInput)
      .def_prop_ro("is_network_output", &ITensor::isNetworkOutput)
      .def_prop_ro("is_shape_tensor", &ITensor::isShapeTensor)
      .def_prop_ro("is_execution_tensor", &ITensor::isExecutionTensor)
      .def_prop_ro("location", &ITensor::getLocation)
      .def_prop_rw("allowed_formats", &ITensor::getAllowedFormats, &ITensor::setAllowedFormats)
#if NV_TENSORRT_MAJOR < 11
      .def_prop_rw("dynamic_range", &range_of, &set_range)
      .def("set_dynamic_range", &ITensor::setDynamicRange, nb::arg("min"), nb::arg("max"))
      .def("reset_dynamic_range", &ITensor::resetDynamicRange)
#endif
      .def("set_dimension_name", &ITensor::setDimensionName)
      .def("get_dimension_name", &ITensor::getDimensionName)
      .def("__repr__", [](const ITensor& t) { return std::string("<ITensor '") + t.getName() + "'>"; });
}

void bind_layer(nb::module_& m) {
  nb::class_<ILayer>(m, "ILayer")
      .def_prop_rw("name", &ILayer::getName, [](ILayer& l, const char* name) { l.setName(name); })
      .def_prop_ro("type", &ILayer::getType)
      .def_prop_ro("num_inputs", &ILayer::getNbInputs)
      .def_prop_ro("num_outputs", &ILayer::getNbOutputs)
      .def("get_input", &ILayer::getInput, kInner)
      .def("get_output", &ILayer::getOutput, kInner)
      .def("set_input", &ILayer::setInput)
#if NV_TENSORRT_MAJOR < 11
      .def_prop_rw("precision", &ILayer::getPrecision, &ILayer::setPrecision)
      .def_prop_ro("precision_is_set", &ILayer::precisionIsSet)
      .def("reset_precision", &ILayer::resetPrecision)
      .def("set_output_type", &ILayer::setOutputType, nb::arg("index"), nb::arg("dtype"))
      .def("output_type_is_set", &ILayer::outputTypeIsSet, nb::arg("index"))
      .def("reset_output_type", &ILayer::resetOutputType, nb::arg("index"))
#endif
      .def("get_output_type", &ILayer::getOutputType, nb::arg("index"))
      .def_prop_rw("metadata", &ILayer::getMetadata, &ILayer::setMetadata)
      .def_prop_rw("num_ranks", &ILayer::getNbRanks,
                   [](ILayer& layer, int32_t ranks) {
                     if (!layer.setNbRanks(ranks))
                       throw nb::value_error(("layer '" + std::string(layer.getName()) + "' cannot have " +
                                              std::to_string(ranks) + " ranks: see the log")
                                                 .c_str());
                   })
      .def("__repr__", [](const ILayer& l) { return std::string("<ILayer '") + l.getName() + "'>"; });
}

using Network = nb::class_<INetworkDefinition>;

// Inputs, outputs and layers as they are.
void bind_reading(Network& network) {
  network.def_prop_rw("name", &INetworkDefinition::getName, [](INetworkDefinition& n, const char* s) { n.setName(s); })
      .def_prop_ro("num_inputs", &INetworkDefinition::getNbInputs)
      .def_prop_ro("num_outputs", &INetworkDefinition::getNbOutputs)
      .def_prop_ro("num_layers", &INetworkDefinition::getNbLayers)
      .def("get_input", &INetworkDefinition::getInput, kInner)
      .def("get_output", &INetworkDefinition::getOutput, kInner)
      .def("get_layer", [](nb::handle self,
                           int32_t index) { return typed(nb::cast<INetworkDefinition&>(self).getLayer(index), self); })
      .def("__len__", &INetworkDefinition::getNbLayers)
      .def("__getitem__",
           [](nb::handle self, int32_t index) {
             auto& n = nb::cast<INetworkDefinition&>(self);
             if (index < 0) index += n.getNbLayers();
             if (index < 0 || index >= n.getNbLayers()) throw nb::index_error();
             return typed(n.getLayer(index), self);
           })
      .def("add_input", &INetworkDefinition::addInput, nb::arg("name"), nb::arg("dtype"), nb::arg("shape"), kInner)
      .def("mark_output", &INetworkDefinition::markOutput, nb::arg("tensor"))
      .def("unmark_output", &INetworkDefinition::unmarkOutput, nb::arg("tensor"))
      .def("mark_debug", &INetworkDefinition::markDebug, nb::arg("tensor"))
      .def("remove_tensor", &INetworkDefinition::removeTensor, nb::arg("tensor"))
      .def(
          "set_weights_name",
          [](INetworkDefinition& n, nb::handle array, const char* name) {
            return n.setWeightsName(to_weights(array), name);
          },
          nb::arg("weights"), nb::arg("name"))
      .def("mark_weights_refittable", &INetworkDefinition::markWeightsRefittable, nb::arg("name"))
      .def("unmark_weights_refittable", &INetworkDefinition::unmarkWeightsRefittable, nb::arg("name"))
      .def("are_weights_marked_refittable", &INetworkDefinition::areWeightsMarkedRefittable, nb::arg("name"));
}

INetworkDefinition& with_weights(nb::handle self, std::initializer_list<nb::handle> arrays) {
  for (nb::handle a : arrays) keep_array(self, a);
  return nb::cast<INetworkDefinition&>(self);
}

// Layers with weights, whose arrays the network keeps.
void bind_adding_weights(Network& network) {
  network
      .def(
          "add_convolution_nd",
          [](nb::handle self, ITensor& input, int64_t maps, Dims kernel_shape, nb::handle kernel, nb::handle bias) {
            auto& n = with_weights(self, {kernel, bias});
            return wrap(n.addConvolutionNd(input, maps, kernel_shape, to_weights(kernel), to_weights(bias)), self);
          },
          nb::arg("input"), nb::arg("num_output_maps"), nb::arg("kernel_shape"), nb::arg("kernel"),
          nb::arg("bias") = nb::none())
      .def(
          "add_deconvolution_nd",
          [](nb::handle self, ITensor& input, int64_t maps, Dims kernel_shape, nb::handle kernel, nb::handle bias) {
            auto& n = with_weights(self, {kernel, bias});
            return wrap(n.addDeconvolutionNd(input, maps, kernel_shape, to_weights(kernel), to_weights(bias)), self);
          },
          nb::arg("input"), nb::arg("num_output_maps"), nb::arg("kernel_shape"), nb::arg("kernel"),
          nb::arg("bias") = nb::none())
      .def(
          "add_scale",
          [](nb::handle self, ITensor& input, ScaleMode mode, nb::handle shift, nb::handle scale, nb::handle power) {
            auto& n = with_weights(self, {shift, scale, power});
            return wrap(n.addScale(input, mode, to_weights(shift), to_weights(scale), to_weights(power)), self);
          },
          nb::arg("input"), nb::arg("mode"), nb::arg("shift") = nb::none(), nb::arg("scale") = nb::none(),
          nb::arg("power") = nb::none())
      .def(
          "add_constant",
          [](nb::handle self, Dims shape, nb::handle weights) {
            auto& n = with_weights(self, {weights});
            return wrap(n.addConstant(shape, to_weights(weights)), self);
          },
          nb::arg("shape"), nb::arg("weights"));
}

// Layers of any number of inputs.
void bind_adding_lists(Network& network) {
  network
      .def(
          "add_concatenation",
          [](nb::handle self, nb::sequence inputs) {
            const std::vector<ITensor*> all = pointers(inputs);
            return wrap(
                nb::cast<INetworkDefinition&>(self).addConcatenation(all.data(), static_cast<int32_t>(all.size())),
                self);
          },
          nb::arg("inputs"))
      .def(
          "add_einsum",
          [](nb::handle self, nb::sequence inputs, const char* equation) {
            const std::vector<ITensor*> all = pointers(inputs);
            return wrap(
                nb::cast<INetworkDefinition&>(self).addEinsum(all.data(), static_cast<int32_t>(all.size()), equation),
                self);
          },
          nb::arg("inputs"), nb::arg("equation"));
}

void bind_adding_arithmetic(Network& network) {
  network.def("add_activation", &INetworkDefinition::addActivation, nb::arg("input"), nb::arg("type"), kInner)
      .def("add_pooling_nd", &INetworkDefinition::addPoolingNd, nb::arg("input"), nb::arg("type"),
           nb::arg("window_size"), kInner)
      .def("add_softmax", &INetworkDefinition::addSoftMax, nb::arg("input"), kInner)
      .def("add_elementwise", &INetworkDefinition::addElementWise, nb::arg("input1"), nb::arg("input2"), nb::arg("op"),
           kInner)
      .def("add_unary", &INetworkDefinition::addUnary, nb::arg("input"), nb::arg("op"), kInner)
      .def("add_reduce", &INetworkDefinition::addReduce, nb::arg("input"), nb::arg("op"), nb::arg("axes"),
           nb::arg("keep_dims"), kInner)
      .def(
          "add_topk",
          [](nb::handle self, ITensor& input, TopKOperation op, int32_t k, uint32_t axes) {
            return wrap(nb::cast<INetworkDefinition&>(self).addTopK(input, op, k, axes, DataType::kINT32), self);
          },
          nb::arg("input"), nb::arg("op"), nb::arg("k"), nb::arg("axes"))
      .def("add_matrix_multiply", &INetworkDefinition::addMatrixMultiply, nb::arg("input0"), nb::arg("op0"),
           nb::arg("input1"), nb::arg("op1"), kInner)
      .def("add_parametric_relu", &INetworkDefinition::addParametricReLU, nb::arg("input"), nb::arg("slopes"), kInner)
      .def("add_normalization", &INetworkDefinition::addNormalizationV2, nb::arg("input"), nb::arg("scale"),
           nb::arg("bias"), nb::arg("axesMask"), kInner)
      .def("add_normalization_v2", &INetworkDefinition::addNormalizationV2, nb::arg("input"), nb::arg("scale"),
           nb::arg("bias"), nb::arg("axesMask"), kInner)
      .def("add_cast", &INetworkDefinition::addCast, nb::arg("input"), nb::arg("to_type"), kInner)
      .def(
          "add_quantize",
          [](nb::handle self, ITensor& input, ITensor& scale, DataType type) {
            return wrap(nb::cast<INetworkDefinition&>(self).addQuantize(input, scale, type), self);
          },
          nb::arg("input"), nb::arg("scale"), nb::arg("output_type") = DataType::kINT8)
      .def(
          "add_dequantize",
          [](nb::handle self, ITensor& input, ITensor& scale, DataType type) {
            return wrap(nb::cast<INetworkDefinition&>(self).addDequantize(input, scale, type), self);
          },
          nb::arg("input"), nb::arg("scale"), nb::arg("output_type") = DataType::kFLOAT)
      .def("add_dynamic_quantize", &INetworkDefinition::addDynamicQuantize, nb::arg("input"), nb::arg("axis"),
           nb::arg("block_size"), nb::arg("output_type"), nb::arg("scale_type"), kInner)
      .def("add_dynamic_quantize_v2", &INetworkDefinition::addDynamicQuantizeV2, nb::arg("input"),
           nb::arg("block_shape"), nb::arg("output_type"), nb::arg("scale_type"), kInner)
      .def("add_moe", &INetworkDefinition::addMoE, nb::arg("hidden_states"), nb::arg("selected_experts_for_tokens"),
           nb::arg("scores_for_selected_experts"), kInner);
}

// What several devices compute together.
void bind_adding_collectives(Network& network) {
  network.def(
      "add_dist_collective",
      [](nb::handle self, ITensor& input, CollectiveOperation op, std::optional<ReduceOperation> reduce,
         std::optional<int64_t> root, std::optional<std::vector<int64_t>> groups) {
        const bool some = groups.has_value() && !groups->empty();
        return wrap(nb::cast<INetworkDefinition&>(self).addDistCollective(
                        input, op, reduce.value_or(ReduceOperation::kNONE), root.value_or(-1),
                        some ? groups->data() : nullptr, some ? static_cast<int64_t>(groups->size()) : 0),
                    self);
      },
      nb::arg("input"), nb::arg("dist_collective_op"), nb::arg("reduce_op").none() = nb::none(),
      nb::arg("root").none() = nb::none(), nb::arg("groups").none() = nb::none());
}

// Layers that make values, and one that judges them.
void bind_adding_sources(Network& network) {
  network
      .def(
          "add_fill",
          [](nb::handle self, Dims shape, FillOperation op, DataType type) {
            return wrap(nb::cast<INetworkDefinition&>(self).addFill(shape, op, type), self);
          },
          nb::arg("shape"), nb::arg("op"), nb::arg("output_type") = DataType::kFLOAT)
      .def("add_assertion", &INetworkDefinition::addAssertion, nb::arg("condition"), nb::arg("message"), kInner);
}

void bind_adding_moves(Network& network) {
  network
      .def("add_gather", &INetworkDefinition::addGather, nb::arg("input"), nb::arg("indices"), nb::arg("axis"), kInner)
      .def("add_gather_v2", &INetworkDefinition::addGatherV2, nb::arg("input"), nb::arg("indices"), nb::arg("mode"),
           kInner)
      .def("add_scatter", &INetworkDefinition::addScatter, nb::arg("data"), nb::arg("indices"), nb::arg("updates"),
           nb::arg("mode"), kInner)
      .def("add_shuffle", &INetworkDefinition::addShuffle, nb::arg("input"), kInner)
      .def("add_slice", &INetworkDefinition::addSlice, nb::arg("input"), nb::arg("start"), nb::arg("shape"),
           nb::arg("stride"), kInner)
      .def("add_padding_nd", &INetworkDefinition::addPaddingNd, nb::arg("input"), nb::arg("pre_padding"),
           nb::arg("post_padding"), kInner)
      .def("add_identity", &INetworkDefinition::addIdentity, nb::arg("input"), kInner)
      .def("add_shape", &INetworkDefinition::addShape, nb::arg("input"), kInner)
      .def("add_resize", &INetworkDefinition::addResize, nb::arg("input"), kInner)
      .def("add_select", &INetworkDefinition::addSelect, nb::arg("condition"), nb::arg("then_input"),
           nb::arg("else_input"), kInner)
      .def("add_one_hot", &INetworkDefinition::addOneHot, nb::arg("indices"), nb::arg("values"), nb::arg("depth"),
           nb::arg("axis"), kInner)
      .def("add_squeeze", &INetworkDefinition::addSqueeze, nb::arg("input"), nb::arg("axes"), kInner)
      .def("add_unsqueeze", &INetworkDefinition::addUnsqueeze, nb::arg("input"), nb::arg("axes"), kInner)
      .def("add_grid_sample", &INetworkDefinition::addGridSample, nb::arg("input"), nb::arg("grid"), kInner)
      .def(
          "add_non_zero",
          [](nb::handle self, ITensor& input) {
            return wrap(nb::cast<INetworkDefinition&>(self).addNonZero(input, DataType::kINT64), self);
          },
          nb::arg("input"));
}

}  // namespace

void bind_network(nb::module_& m) {
  bind_tensor(m);
  bind_layer(m);
  Network network(m, "INetworkDefinition");
  bind_reading(network);
  bind_adding_weights(network);
  bind_adding_lists(network);
  bind_adding_arithmetic(network);
  bind_adding_moves(network);
  bind_adding_sources(network);
  bind_adding_collectives(network);
}

}  // namespace wootz_python
