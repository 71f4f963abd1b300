// Layers that compute element by element or along axes.
#include "adding.h"

using namespace nvinfer1;

namespace wootz_python {
namespace {

using N = INetworkDefinition;

void bind_pointwise(Network& network) {
  network.def("add_activation", &N::addActivation, nb::arg("input"), nb::arg("type"), kInner)
      .def("add_elementwise", &N::addElementWise, nb::arg("input1"), nb::arg("input2"), nb::arg("op"), kInner)
      .def("add_unary", &N::addUnary, nb::arg("input"), nb::arg("op"), kInner)
      .def("add_parametric_relu", &N::addParametricReLU, nb::arg("input"), nb::arg("slopes"), kInner)
      .def("add_select", &N::addSelect, nb::arg("condition"), nb::arg("then_input"), nb::arg("else_input"), kInner)
      .def("add_identity", &N::addIdentity, nb::arg("input"), kInner)
      .def("add_cast", &N::addCast, nb::arg("input"), nb::arg("to_type"), kInner)
      .def("add_lrn", &N::addLRN, nb::arg("input"), nb::arg("window"), nb::arg("alpha"), nb::arg("beta"), nb::arg("k"),
           kInner);
}

void bind_reductions(Network& network) {
  network.def("add_softmax", &N::addSoftMax, nb::arg("input"), kInner)
      .def("add_ragged_softmax", &N::addRaggedSoftMax, nb::arg("input"), nb::arg("bounds"), kInner)
      .def("add_reduce", &N::addReduce, nb::arg("input"), nb::arg("op"), nb::arg("axes"), nb::arg("keep_dims"), kInner)
      .def("add_topk", nb::overload_cast<ITensor&, TopKOperation, int32_t, uint32_t>(&N::addTopK), nb::arg("input"),
           nb::arg("op"), nb::arg("k"), nb::arg("axes"), kInner)
      .def("add_topk", nb::overload_cast<ITensor&, TopKOperation, int32_t, uint32_t, DataType>(&N::addTopK),
           nb::arg("input"), nb::arg("op"), nb::arg("k"), nb::arg("axes"), nb::arg("indices_type"), kInner)
      .def("add_cumulative", &N::addCumulative, nb::arg("input"), nb::arg("axis"), nb::arg("op"), nb::arg("exclusive"),
           nb::arg("reverse"), kInner)
      .def("add_normalization", &N::addNormalization, nb::arg("input"), nb::arg("scale"), nb::arg("bias"),
           nb::arg("axesMask"), kInner)
      .def("add_normalization_v2", &N::addNormalizationV2, nb::arg("input"), nb::arg("scale"), nb::arg("bias"),
           nb::arg("axesMask"), kInner);
}

}  // namespace

void bind_adding_arithmetic(Network& network) {
  bind_pointwise(network);
  bind_reductions(network);
  network.def("add_pooling_nd", &N::addPoolingNd, nb::arg("input"), nb::arg("type"), nb::arg("window_size"), kInner)
      .def("add_matrix_multiply", &N::addMatrixMultiply, nb::arg("input0"), nb::arg("op0"), nb::arg("input1"),
           nb::arg("op1"), kInner)
      .def(
          "add_einsum",
          [](nb::handle self, nb::sequence inputs, const char* equation) {
            const std::vector<ITensor*> all = pointers(inputs);
            return wrap(nb::cast<N&>(self).addEinsum(all.data(), static_cast<int32_t>(all.size()), equation), self);
          },
          nb::arg("inputs"), nb::arg("equation"));
}

}  // namespace wootz_python
