// Properties of the layer kinds.
#include "casters.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

using namespace nvinfer1;

namespace wootz_python {
namespace {

template <typename Layer>
void bind_convolution(nb::module_& m, const char* name) {
  nb::class_<Layer, ILayer>(m, name)
      .def_prop_rw("num_output_maps", &Layer::getNbOutputMaps, &Layer::setNbOutputMaps)
      .def_prop_rw("num_groups", &Layer::getNbGroups, &Layer::setNbGroups)
      .def_prop_rw("kernel_size_nd", &Layer::getKernelSizeNd, &Layer::setKernelSizeNd)
      .def_prop_rw("stride_nd", &Layer::getStrideNd, &Layer::setStrideNd)
      .def_prop_rw("padding_nd", &Layer::getPaddingNd, &Layer::setPaddingNd)
      .def_prop_rw("pre_padding", &Layer::getPrePadding, &Layer::setPrePadding)
      .def_prop_rw("post_padding", &Layer::getPostPadding, &Layer::setPostPadding)
      .def_prop_rw("padding_mode", &Layer::getPaddingMode, &Layer::setPaddingMode)
      .def_prop_rw("dilation_nd", &Layer::getDilationNd, &Layer::setDilationNd);
}

Permutation to_permutation(const Dims& order) {
  Permutation p{};
  for (int32_t i = 0; i < order.nbDims; ++i) p.order[i] = static_cast<int32_t>(order.d[i]);
  return p;
}

// Kinds that slide a window.
void bind_windows(nb::module_& m) {
  bind_convolution<IConvolutionLayer>(m, "IConvolutionLayer");
  bind_convolution<IDeconvolutionLayer>(m, "IDeconvolutionLayer");
  nb::class_<IPoolingLayer, ILayer>(m, "IPoolingLayer")
      .def_prop_rw("type", &IPoolingLayer::getPoolingType, &IPoolingLayer::setPoolingType)
      .def_prop_rw("window_size_nd", &IPoolingLayer::getWindowSizeNd, &IPoolingLayer::setWindowSizeNd)
      .def_prop_rw("stride_nd", &IPoolingLayer::getStrideNd, &IPoolingLayer::setStrideNd)
      .def_prop_rw("padding_nd", &IPoolingLayer::getPaddingNd, &IPoolingLayer::setPaddingNd)
      .def_prop_rw("pre_padding", &IPoolingLayer::getPrePadding, &IPoolingLayer::setPrePadding)
      .def_prop_rw("post_padding", &IPoolingLayer::getPostPadding, &IPoolingLayer::setPostPadding)
      .def_prop_rw("padding_mode", &IPoolingLayer::getPaddingMode, &IPoolingLayer::setPaddingMode)
      .def_prop_rw("average_count_excludes_padding", &IPoolingLayer::getAverageCountExcludesPadding,
                   &IPoolingLayer::setAverageCountExcludesPadding);
  nb::class_<IResizeLayer, ILayer>(m, "IResizeLayer")
      .def_prop_rw("shape", &IResizeLayer::getOutputDimensions, &IResizeLayer::setOutputDimensions)
      .def_prop_rw(
          "scales",
          [](const IResizeLayer& l) {
            std::vector<float> scales(static_cast<size_t>(std::max(0, l.getScales(0, nullptr))));
            l.getScales(static_cast<int32_t>(scales.size()), scales.data());
            return scales;
          },
          [](IResizeLayer& l, const std::vector<float>& scales) {
            l.setScales(scales.data(), static_cast<int32_t>(scales.size()));
          })
      .def_prop_rw("resize_mode", &IResizeLayer::getResizeMode, &IResizeLayer::setResizeMode)
      .def_prop_rw("coordinate_transformation", &IResizeLayer::getCoordinateTransformation,
                   &IResizeLayer::setCoordinateTransformation)
      .def_prop_rw("selector_for_single_pixel", &IResizeLayer::getSelectorForSinglePixel,
                   &IResizeLayer::setSelectorForSinglePixel)
      .def_prop_rw("nearest_rounding", &IResizeLayer::getNearestRounding, &IResizeLayer::setNearestRounding)
      .def_prop_rw("cubic_coeff", &IResizeLayer::getCubicCoeff, &IResizeLayer::setCubicCoeff);
}

// Kinds that treat each element alone, or by its channel.
void bind_pointwise(nb::module_& m) {
  nb::class_<IActivationLayer, ILayer>(m, "IActivationLayer")
      .def_prop_rw("type", &IActivationLayer::getActivationType, &IActivationLayer::setActivationType)
      .def_prop_rw("alpha", &IActivationLayer::getAlpha, &IActivationLayer::setAlpha)
      .def_prop_rw("beta", &IActivationLayer::getBeta, &IActivationLayer::setBeta);
  nb::class_<IScaleLayer, ILayer>(m, "IScaleLayer")
      .def_prop_rw("mode", &IScaleLayer::getMode, &IScaleLayer::setMode)
      .def_prop_rw("channel_axis", &IScaleLayer::getChannelAxis, &IScaleLayer::setChannelAxis);
  nb::class_<IElementWiseLayer, ILayer>(m, "IElementWiseLayer")
      .def_prop_rw("op", &IElementWiseLayer::getOperation, &IElementWiseLayer::setOperation);
  nb::class_<IUnaryLayer, ILayer>(m, "IUnaryLayer")
      .def_prop_rw("op", &IUnaryLayer::getOperation, &IUnaryLayer::setOperation);
  nb::class_<ICastLayer, ILayer>(m, "ICastLayer")
      .def_prop_rw("to_type", &ICastLayer::getToType, &ICastLayer::setToType);
  nb::class_<IQuantizeLayer, ILayer>(m, "IQuantizeLayer")
      .def_prop_rw("axis", &IQuantizeLayer::getAxis, &IQuantizeLayer::setAxis);
  nb::class_<IDequantizeLayer, ILayer>(m, "IDequantizeLayer")
      .def_prop_rw("axis", &IDequantizeLayer::getAxis, &IDequantizeLayer::setAxis);
  nb::class_<IDynamicQuantizeLayer, ILayer>(m, "IDynamicQuantizeLayer")
      .def_prop_rw("axis", &IDynamicQuantizeLayer::getAxis, &IDynamicQuantizeLayer::setAxis)
      .def_prop_rw("block_size", &IDynamicQuantizeLayer::getBlockSize, &IDynamicQuantizeLayer::setBlockSize)
      .def_prop_rw("block_shape", &IDynamicQuantizeLayer::getBlockShape, &IDynamicQuantizeLayer::setBlockShape)
      .def_prop_rw("to_type", &IDynamicQuantizeLayer::getToType, &IDynamicQuantizeLayer::setToType)
      .def_prop_rw("scale_type", &IDynamicQuantizeLayer::getScaleType, &IDynamicQuantizeLayer::setScaleType);
}

// A layer that is a whole part of a model.
void bind_experts(nb::module_& m) {
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

// Kinds that make values, and one that judges them.
void bind_sources(nb::module_& m) {
  nb::class_<IFillLayer, ILayer>(m, "IFillLayer")
      .def_prop_rw("shape", &IFillLayer::getDimensions, &IFillLayer::setDimensions)
      .def_prop_rw("operation", &IFillLayer::getOperation, &IFillLayer::setOperation)
      .def_prop_rw("alpha", &IFillLayer::getAlpha, &IFillLayer::setAlpha)
      .def_prop_rw("beta", &IFillLayer::getBeta, &IFillLayer::setBeta)
      .def_prop_rw("to_type", &IFillLayer::getToType, &IFillLayer::setToType)
      .def("set_alpha_int64", &IFillLayer::setAlphaInt64, nb::arg("alpha"))
      .def("set_beta_int64", &IFillLayer::setBetaInt64, nb::arg("beta"))
      .def("is_alpha_beta_int64", &IFillLayer::isAlphaBetaInt64);
  nb::class_<IAssertionLayer, ILayer>(m, "IAssertionLayer")
      .def_prop_rw("message", &IAssertionLayer::getMessage,
                   [](IAssertionLayer& l, const char* message) { l.setMessage(message); });
}

// Kinds that combine elements along axes.
void bind_reductions(nb::module_& m) {
  nb::class_<ISoftMaxLayer, ILayer>(m, "ISoftMaxLayer")
      .def_prop_rw("axes", &ISoftMaxLayer::getAxes, &ISoftMaxLayer::setAxes);
  nb::class_<IReduceLayer, ILayer>(m, "IReduceLayer")
      .def_prop_rw("op", &IReduceLayer::getOperation, &IReduceLayer::setOperation)
      .def_prop_rw("axes", &IReduceLayer::getReduceAxes, &IReduceLayer::setReduceAxes)
      .def_prop_rw("keep_dims", &IReduceLayer::getKeepDimensions, &IReduceLayer::setKeepDimensions);
  nb::class_<ITopKLayer, ILayer>(m, "ITopKLayer")
      .def_prop_rw("op", &ITopKLayer::getOperation, &ITopKLayer::setOperation)
      .def_prop_rw("k", &ITopKLayer::getK, &ITopKLayer::setK)
      .def_prop_rw("axes", &ITopKLayer::getReduceAxes, &ITopKLayer::setReduceAxes);
  nb::class_<IMatrixMultiplyLayer, ILayer>(m, "IMatrixMultiplyLayer")
      .def_prop_rw(
          "op0", [](const IMatrixMultiplyLayer& l) { return l.getOperation(0); },
          [](IMatrixMultiplyLayer& l, MatrixOperation op) { l.setOperation(0, op); })
      .def_prop_rw(
          "op1", [](const IMatrixMultiplyLayer& l) { return l.getOperation(1); },
          [](IMatrixMultiplyLayer& l, MatrixOperation op) { l.setOperation(1, op); });
  nb::class_<INormalizationLayer, ILayer>(m, "INormalizationLayer")
      .def_prop_rw("epsilon", &INormalizationLayer::getEpsilon, &INormalizationLayer::setEpsilon)
      .def_prop_rw("axes", &INormalizationLayer::getAxes, &INormalizationLayer::setAxes)
      .def_prop_rw("num_groups", &INormalizationLayer::getNbGroups, &INormalizationLayer::setNbGroups);
}

// Kinds that move elements.
void bind_moves(nb::module_& m) {
  nb::class_<IConcatenationLayer, ILayer>(m, "IConcatenationLayer")
      .def_prop_rw("axis", &IConcatenationLayer::getAxis, &IConcatenationLayer::setAxis);
  nb::class_<IGatherLayer, ILayer>(m, "IGatherLayer")
      .def_prop_rw("axis", &IGatherLayer::getGatherAxis, &IGatherLayer::setGatherAxis)
      .def_prop_rw("num_elementwise_dims", &IGatherLayer::getNbElementWiseDims, &IGatherLayer::setNbElementWiseDims)
      .def_prop_rw("mode", &IGatherLayer::getMode, &IGatherLayer::setMode);
  nb::class_<IShuffleLayer, ILayer>(m, "IShuffleLayer")
      .def_prop_rw("reshape_dims", &IShuffleLayer::getReshapeDimensions, &IShuffleLayer::setReshapeDimensions)
      .def_prop_rw("zero_is_placeholder", &IShuffleLayer::getZeroIsPlaceholder, &IShuffleLayer::setZeroIsPlaceholder)
      .def_prop_rw(
          "first_transpose",
          [](const IShuffleLayer& l) {
            return std::vector<int32_t>(l.getFirstTranspose().order, l.getFirstTranspose().order + Dims::MAX_DIMS);
          },
          [](IShuffleLayer& l, const Dims& order) { l.setFirstTranspose(to_permutation(order)); })
      .def_prop_rw(
          "second_transpose",
          [](const IShuffleLayer& l) {
            return std::vector<int32_t>(l.getSecondTranspose().order, l.getSecondTranspose().order + Dims::MAX_DIMS);
          },
          [](IShuffleLayer& l, const Dims& order) { l.setSecondTranspose(to_permutation(order)); });
  nb::class_<ISliceLayer, ILayer>(m, "ISliceLayer")
      .def_prop_rw("start", &ISliceLayer::getStart, &ISliceLayer::setStart)
      .def_prop_rw("shape", &ISliceLayer::getSize, &ISliceLayer::setSize)
      .def_prop_rw("stride", &ISliceLayer::getStride, &ISliceLayer::setStride)
      .def_prop_rw("mode", &ISliceLayer::getMode, &ISliceLayer::setMode);
  nb::class_<IPaddingLayer, ILayer>(m, "IPaddingLayer")
      .def_prop_rw("pre_padding_nd", &IPaddingLayer::getPrePaddingNd, &IPaddingLayer::setPrePaddingNd)
      .def_prop_rw("post_padding_nd", &IPaddingLayer::getPostPaddingNd, &IPaddingLayer::setPostPaddingNd);
  nb::class_<IConstantLayer, ILayer>(m, "IConstantLayer")
      .def_prop_rw("shape", &IConstantLayer::getDimensions, &IConstantLayer::setDimensions);
}

// Kinds without properties of their own here.
void bind_plain(nb::module_& m) {
  nb::class_<IScatterLayer, ILayer>(m, "IScatterLayer");
  nb::class_<IIdentityLayer, ILayer>(m, "IIdentityLayer");
  nb::class_<IShapeLayer, ILayer>(m, "IShapeLayer");
  nb::class_<ISelectLayer, ILayer>(m, "ISelectLayer");
  nb::class_<IParametricReLULayer, ILayer>(m, "IParametricReLULayer");
  nb::class_<IOneHotLayer, ILayer>(m, "IOneHotLayer");
  nb::class_<ISqueezeLayer, ILayer>(m, "ISqueezeLayer");
  nb::class_<IUnsqueezeLayer, ILayer>(m, "IUnsqueezeLayer");
  nb::class_<IGridSampleLayer, ILayer>(m, "IGridSampleLayer");
  nb::class_<INonZeroLayer, ILayer>(m, "INonZeroLayer");
  nb::class_<IEinsumLayer, ILayer>(m, "IEinsumLayer");
}

}  // namespace

void bind_layers(nb::module_& m) {
  bind_windows(m);
  bind_pointwise(m);
  bind_reductions(m);
  bind_moves(m);
  bind_sources(m);
  bind_experts(m);
  bind_plain(m);
}

}  // namespace wootz_python
