// Kinds that move elements to places that do not depend on values.
#include "layer.h"

using namespace nvinfer1;

namespace wootz_python {

void bind_moving_layers(nb::module_& m) {
  nb::class_<IConcatenationLayer, ILayer>(m, "IConcatenationLayer")
      .def_prop_rw("axis", &IConcatenationLayer::getAxis, &IConcatenationLayer::setAxis);
  nb::class_<IShuffleLayer, ILayer>(m, "IShuffleLayer")
      .def_prop_rw("reshape_dims", &IShuffleLayer::getReshapeDimensions, &IShuffleLayer::setReshapeDimensions)
      .def_prop_rw("zero_is_placeholder", &IShuffleLayer::getZeroIsPlaceholder, &IShuffleLayer::setZeroIsPlaceholder)
      .def_prop_rw(
          "first_transpose", [](const IShuffleLayer& l) { return from_permutation(l.getFirstTranspose()); },
          [](IShuffleLayer& l, const Dims& order) { l.setFirstTranspose(to_permutation(order)); })
      .def_prop_rw(
          "second_transpose", [](const IShuffleLayer& l) { return from_permutation(l.getSecondTranspose()); },
          [](IShuffleLayer& l, const Dims& order) { l.setSecondTranspose(to_permutation(order)); });
  nb::class_<ISliceLayer, ILayer>(m, "ISliceLayer")
      .def_prop_rw("start", &ISliceLayer::getStart, &ISliceLayer::setStart)
      .def_prop_rw("shape", &ISliceLayer::getSize, &ISliceLayer::setSize)
      .def_prop_rw("stride", &ISliceLayer::getStride, &ISliceLayer::setStride)
      .def_prop_rw("axes", &ISliceLayer::getAxes, &ISliceLayer::setAxes)
      .def_prop_rw("mode", &ISliceLayer::getMode, &ISliceLayer::setMode);
  nb::class_<IPaddingLayer, ILayer>(m, "IPaddingLayer")
      .def_prop_rw("pre_padding_nd", &IPaddingLayer::getPrePaddingNd, &IPaddingLayer::setPrePaddingNd)
      .def_prop_rw("post_padding_nd", &IPaddingLayer::getPostPaddingNd, &IPaddingLayer::setPostPaddingNd);
  nb::class_<IReverseSequenceLayer, ILayer>(m, "IReverseSequenceLayer")
      .def_prop_rw("batch_axis", &IReverseSequenceLayer::getBatchAxis, &IReverseSequenceLayer::setBatchAxis)
      .def_prop_rw("sequence_axis", &IReverseSequenceLayer::getSequenceAxis, &IReverseSequenceLayer::setSequenceAxis);
  nb::class_<IShapeLayer, ILayer>(m, "IShapeLayer");
  nb::class_<ISqueezeLayer, ILayer>(m, "ISqueezeLayer");
  nb::class_<IUnsqueezeLayer, ILayer>(m, "IUnsqueezeLayer");
}

}  // namespace wootz_python
