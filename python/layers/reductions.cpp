// Kinds that combine elements along axes.
#include "layer.h"

using namespace nvinfer1;

namespace wootz_python {
namespace {

void bind_products(nb::module_& m) {
  nb::class_<IMatrixMultiplyLayer, ILayer>(m, "IMatrixMultiplyLayer")
      .def_prop_rw(
          "op0", [](const IMatrixMultiplyLayer& l) { return l.getOperation(0); },
          [](IMatrixMultiplyLayer& l, MatrixOperation op) { l.setOperation(0, op); })
      .def_prop_rw(
          "op1", [](const IMatrixMultiplyLayer& l) { return l.getOperation(1); },
          [](IMatrixMultiplyLayer& l, MatrixOperation op) { l.setOperation(1, op); });
  nb::class_<IEinsumLayer, ILayer>(m, "IEinsumLayer")
      .def_prop_rw("equation", &IEinsumLayer::getEquation, setter(&IEinsumLayer::setEquation, "equation"));
}

}  // namespace

void bind_reduction_layers(nb::module_& m) {
  nb::class_<ISoftMaxLayer, ILayer>(m, "ISoftMaxLayer")
      .def_prop_rw("axes", &ISoftMaxLayer::getAxes, &ISoftMaxLayer::setAxes);
  nb::class_<IRaggedSoftMaxLayer, ILayer>(m, "IRaggedSoftMaxLayer");
  nb::class_<IReduceLayer, ILayer>(m, "IReduceLayer")
      .def_prop_rw("op", &IReduceLayer::getOperation, &IReduceLayer::setOperation)
      .def_prop_rw("axes", &IReduceLayer::getReduceAxes, &IReduceLayer::setReduceAxes)
      .def_prop_rw("keep_dims", &IReduceLayer::getKeepDimensions, &IReduceLayer::setKeepDimensions);
  nb::class_<ITopKLayer, ILayer>(m, "ITopKLayer")
      .def_prop_rw("op", &ITopKLayer::getOperation, &ITopKLayer::setOperation)
      .def_prop_rw("k", &ITopKLayer::getK, &ITopKLayer::setK)
      .def_prop_rw("axes", &ITopKLayer::getReduceAxes, &ITopKLayer::setReduceAxes)
      .def_prop_rw("indices_type", &ITopKLayer::getIndicesType, setter(&ITopKLayer::setIndicesType, "indices_type"));
  nb::class_<ICumulativeLayer, ILayer>(m, "ICumulativeLayer")
      .def_prop_rw("op", &ICumulativeLayer::getOperation, setter(&ICumulativeLayer::setOperation, "op"))
      .def_prop_rw("exclusive", &ICumulativeLayer::getExclusive, &ICumulativeLayer::setExclusive)
      .def_prop_rw("reverse", &ICumulativeLayer::getReverse, &ICumulativeLayer::setReverse);
  nb::class_<INormalizationLayer, ILayer>(m, "INormalizationLayer")
      .def_prop_rw("epsilon", &INormalizationLayer::getEpsilon, &INormalizationLayer::setEpsilon)
      .def_prop_rw("axes", &INormalizationLayer::getAxes, &INormalizationLayer::setAxes)
      .def_prop_rw("num_groups", &INormalizationLayer::getNbGroups, &INormalizationLayer::setNbGroups)
#if NV_TENSORRT_MAJOR < 11
      .def_prop_rw("compute_precision", &INormalizationLayer::getComputePrecision,
                   &INormalizationLayer::setComputePrecision)
#endif
      .def_prop_ro("is_v2", &INormalizationLayer::isV2);
  bind_products(m);
}

}  // namespace wootz_python
