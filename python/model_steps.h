// The first two of the three steps in which parsers read models whose weights the application holds.
#pragma once

#include <nanobind/stl/optional.h>

#include "NvOnnxParser.h"
#include "casters.h"

namespace wootz_python {

template <class Parser>
void bind_model_steps(nb::class_<Parser>& parser) {
  parser
      .def(
          "load_model_proto",
          [](Parser& p, nb::handle model, std::optional<std::string> path) {
            const Buffer bytes(model);
            const nb::gil_scoped_release release;
            return p.loadModelProto(bytes.data(), bytes.size(), path ? path->c_str() : nullptr);
          },
          nb::arg("model"), nb::arg("path").none() = nb::none())
      .def(
          "load_initializer",
          [](Parser& p, const char* name, size_t data, size_t size) {
            return p.loadInitializer(name, reinterpret_cast<const void*>(data), size);
          },
          nb::arg("name"), nb::arg("data"), nb::arg("size"),
          "Values of an initializer at an address, which must stay until the network is built.");
}

}  // namespace wootz_python
