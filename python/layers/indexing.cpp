// Kinds that read or write where values say, or give places as values.
#include "layer.h"

using namespace nvinfer1;

namespace wootz_python {

void bind_indexing_layers(nb::module_& m) {
  nb::class_<IGatherLayer, ILayer>(m, "IGatherLayer")
      .def_prop_rw("axis", &IGatherLayer::getGatherAxis, &IGatherLayer::setGatherAxis)
      .def_prop_rw("num_elementwise_dims", &IGatherLayer::getNbElementWiseDims, &IGatherLayer::setNbElementWiseDims)
      .def_prop_rw("mode", &IGatherLayer::getMode, &IGatherLayer::setMode);
  nb::class_<IScatterLayer, ILayer>(m, "IScatterLayer")
      .def_prop_rw("axis", &IScatterLayer::getAxis, &IScatterLayer::setAxis)
      .def_prop_rw("mode", &IScatterLayer::getMode, &IScatterLayer::setMode);
  nb::class_<IOneHotLayer, ILayer>(m, "IOneHotLayer")
      .def_prop_rw("axis", &IOneHotLayer::getAxis, &IOneHotLayer::setAxis);
  nb::class_<INonZeroLayer, ILayer>(m, "INonZeroLayer")
      .def_prop_rw("indices_type", &INonZeroLayer::getIndicesType,
                   setter(&INonZeroLayer::setIndicesType, "indices_type"));
  nb::class_<INMSLayer, ILayer>(m, "INMSLayer")
      .def_prop_rw("bounding_box_format", &INMSLayer::getBoundingBoxFormat, &INMSLayer::setBoundingBoxFormat)
      .def_prop_rw("topk_box_limit", &INMSLayer::getTopKBoxLimit, &INMSLayer::setTopKBoxLimit)
      .def_prop_rw("indices_type", &INMSLayer::getIndicesType, setter(&INMSLayer::setIndicesType, "indices_type"));
}

}  // namespace wootz_python
