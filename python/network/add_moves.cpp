// Layers that move elements.
#include "adding.h"

using namespace nvinfer1;

namespace wootz_python {
namespace {

using N = INetworkDefinition;

void bind_shapes(Network& network) {
  network.def("add_shuffle", &N::addShuffle, nb::arg("input"), kInner)
      .def("add_slice", &N::addSlice, nb::arg("input"), nb::arg("start"), nb::arg("shape"), nb::arg("stride"), kInner)
      .def("add_padding_nd", &N::addPaddingNd, nb::arg("input"), nb::arg("pre_padding"), nb::arg("post_padding"),
           kInner)
      .def("add_shape", &N::addShape, nb::arg("input"), kInner)
      .def("add_resize", &N::addResize, nb::arg("input"), kInner)
      .def("add_squeeze", &N::addSqueeze, nb::arg("input"), nb::arg("axes"), kInner)
      .def("add_unsqueeze", &N::addUnsqueeze, nb::arg("input"), nb::arg("axes"), kInner)
      .def("add_grid_sample", &N::addGridSample, nb::arg("input"), nb::arg("grid"), kInner)
      .def("add_reverse_sequence", &N::addReverseSequence, nb::arg("input"), nb::arg("sequence_lens"), kInner)
      .def(
          "add_concatenation",
          [](nb::handle self, nb::sequence inputs) {
            const std::vector<ITensor*> all = pointers(inputs);
            return wrap(nb::cast<N&>(self).addConcatenation(all.data(), static_cast<int32_t>(all.size())), self);
          },
          nb::arg("inputs"));
}

// Places that are values.
void bind_places(Network& network) {
  network.def("add_gather", &N::addGather, nb::arg("input"), nb::arg("indices"), nb::arg("axis"), kInner)
      .def("add_gather_v2", &N::addGatherV2, nb::arg("input"), nb::arg("indices"), nb::arg("mode"), kInner)
      .def("add_scatter", &N::addScatter, nb::arg("data"), nb::arg("indices"), nb::arg("updates"), nb::arg("mode"),
           kInner)
      .def("add_one_hot", &N::addOneHot, nb::arg("indices"), nb::arg("values"), nb::arg("depth"), nb::arg("axis"),
           kInner)
      .def("add_non_zero", nb::overload_cast<ITensor&>(&N::addNonZero), nb::arg("input"), kInner)
      .def("add_non_zero", nb::overload_cast<ITensor&, DataType>(&N::addNonZero), nb::arg("input"),
           nb::arg("indices_type"), kInner)
      .def("add_nms", nb::overload_cast<ITensor&, ITensor&, ITensor&>(&N::addNMS), nb::arg("boxes"), nb::arg("scores"),
           nb::arg("max_output_boxes_per_class"), kInner)
      .def("add_nms", nb::overload_cast<ITensor&, ITensor&, ITensor&, DataType>(&N::addNMS), nb::arg("boxes"),
           nb::arg("scores"), nb::arg("max_output_boxes_per_class"), nb::arg("indices_type"), kInner);
}

}  // namespace

void bind_adding_moves(Network& network) {
  bind_shapes(network);
  bind_places(network);
}

}  // namespace wootz_python
