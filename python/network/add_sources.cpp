// Layers that make values, one that judges them, and what several devices compute together.
#include <nanobind/stl/optional.h>

#include "adding.h"

using namespace nvinfer1;

namespace wootz_python {
namespace {

using N = INetworkDefinition;

void bind_collectives(Network& network) {
  network.def(
      "add_dist_collective",
      [](nb::handle self, ITensor& input, CollectiveOperation op, std::optional<ReduceOperation> reduce,
         std::optional<int64_t> root, std::optional<std::vector<int64_t>> groups) {
        const bool some = groups.has_value() && !groups->empty();
        return wrap(nb::cast<N&>(self).addDistCollective(input, op, reduce.value_or(ReduceOperation::kNONE),
                                                         root.value_or(-1), some ? groups->data() : nullptr,
                                                         some ? static_cast<int64_t>(groups->size()) : 0),
                    self);
      },
      nb::arg("input"), nb::arg("dist_collective_op"), nb::arg("reduce_op").none() = nb::none(),
      nb::arg("root").none() = nb::none(), nb::arg("groups").none() = nb::none());
}

}  // namespace

void bind_adding_sources(Network& network) {
  network
      .def(
          "add_fill", [](N& n, Dims shape, FillOperation op, DataType type) { return n.addFill(shape, op, type); },
          nb::arg("shape"), nb::arg("op"), nb::arg("output_type") = DataType::kFLOAT, kInner)
      .def("add_assertion", &N::addAssertion, nb::arg("condition"), nb::arg("message"), kInner);
  bind_collectives(network);
}

}  // namespace wootz_python
