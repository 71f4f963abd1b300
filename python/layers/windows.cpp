// Kinds that slide a window over their input, or sample it.
#include <algorithm>

#include "layer.h"

using namespace nvinfer1;

namespace wootz_python {
namespace {

template <typename Kind>
void bind_convolution(nb::module_& m, const char* name) {
  nb::class_<Kind, ILayer> layer(m, name, nb::dynamic_attr());
  layer.def_prop_rw("num_output_maps", &Kind::getNbOutputMaps, &Kind::setNbOutputMaps)
      .def_prop_rw("num_groups", &Kind::getNbGroups, &Kind::setNbGroups)
      .def_prop_rw("kernel_size_nd", &Kind::getKernelSizeNd, &Kind::setKernelSizeNd)
      .def_prop_rw("stride_nd", &Kind::getStrideNd, &Kind::setStrideNd)
      .def_prop_rw("padding_nd", &Kind::getPaddingNd, &Kind::setPaddingNd)
      .def_prop_rw("pre_padding", &Kind::getPrePadding, &Kind::setPrePadding)
      .def_prop_rw("post_padding", &Kind::getPostPadding, &Kind::setPostPadding)
      .def_prop_rw("padding_mode", &Kind::getPaddingMode, &Kind::setPaddingMode)
      .def_prop_rw("dilation_nd", &Kind::getDilationNd, &Kind::setDilationNd);
  bind_weights_property(layer, "kernel", &Kind::getKernelWeights, &Kind::setKernelWeights);
  bind_weights_property(layer, "bias", &Kind::getBiasWeights, &Kind::setBiasWeights);
}

void bind_pooling(nb::module_& m) {
  nb::class_<IPoolingLayer, ILayer>(m, "IPoolingLayer")
      .def_prop_rw("type", &IPoolingLayer::getPoolingType, &IPoolingLayer::setPoolingType)
      .def_prop_rw("window_size_nd", &IPoolingLayer::getWindowSizeNd, &IPoolingLayer::setWindowSizeNd)
      .def_prop_rw("stride_nd", &IPoolingLayer::getStrideNd, &IPoolingLayer::setStrideNd)
      .def_prop_rw("padding_nd", &IPoolingLayer::getPaddingNd, &IPoolingLayer::setPaddingNd)
      .def_prop_rw("pre_padding", &IPoolingLayer::getPrePadding, &IPoolingLayer::setPrePadding)
      .def_prop_rw("post_padding", &IPoolingLayer::getPostPadding, &IPoolingLayer::setPostPadding)
      .def_prop_rw("padding_mode", &IPoolingLayer::getPaddingMode, &IPoolingLayer::setPaddingMode)
      .def_prop_rw("blend_factor", &IPoolingLayer::getBlendFactor, &IPoolingLayer::setBlendFactor)
      .def_prop_rw("average_count_excludes_padding", &IPoolingLayer::getAverageCountExcludesPadding,
                   &IPoolingLayer::setAverageCountExcludesPadding);
}

std::vector<float> scales_of(const IResizeLayer& layer) {
  std::vector<float> scales(static_cast<size_t>(std::max(0, layer.getScales(0, nullptr))));
  layer.getScales(static_cast<int32_t>(scales.size()), scales.data());
  return scales;
}

void bind_resize(nb::module_& m) {
  nb::class_<IResizeLayer, ILayer>(m, "IResizeLayer")
      .def_prop_rw("shape", &IResizeLayer::getOutputDimensions, &IResizeLayer::setOutputDimensions)
      .def_prop_rw("scales", &scales_of,
                   [](IResizeLayer& l, const std::vector<float>& scales) {
                     l.setScales(scales.data(), static_cast<int32_t>(scales.size()));
                   })
      .def_prop_rw("resize_mode", &IResizeLayer::getResizeMode, &IResizeLayer::setResizeMode)
      .def_prop_rw("coordinate_transformation", &IResizeLayer::getCoordinateTransformation,
                   &IResizeLayer::setCoordinateTransformation)
      .def_prop_rw("selector_for_single_pixel", &IResizeLayer::getSelectorForSinglePixel,
                   &IResizeLayer::setSelectorForSinglePixel)
      .def_prop_rw("nearest_rounding", &IResizeLayer::getNearestRounding, &IResizeLayer::setNearestRounding)
      .def_prop_rw("cubic_coeff", &IResizeLayer::getCubicCoeff, &IResizeLayer::setCubicCoeff)
      .def_prop_rw("exclude_outside", &IResizeLayer::getExcludeOutside, &IResizeLayer::setExcludeOutside);
  nb::class_<IGridSampleLayer, ILayer>(m, "IGridSampleLayer")
      .def_prop_rw("interpolation_mode", &IGridSampleLayer::getInterpolationMode,
                   &IGridSampleLayer::setInterpolationMode)
      .def_prop_rw("align_corners", &IGridSampleLayer::getAlignCorners, &IGridSampleLayer::setAlignCorners)
      .def_prop_rw("sample_mode", &IGridSampleLayer::getSampleMode,
                   setter(&IGridSampleLayer::setSampleMode, "sample_mode"));
}

}  // namespace

void bind_window_layers(nb::module_& m) {
  bind_convolution<IConvolutionLayer>(m, "IConvolutionLayer");
  bind_convolution<IDeconvolutionLayer>(m, "IDeconvolutionLayer");
  bind_pooling(m);
  bind_resize(m);
}

}  // namespace wootz_python
