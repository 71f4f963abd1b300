// What parsers that fill networks and those that fill refitters have in common.
#pragma once

#include <nanobind/stl/optional.h>

#include "NvOnnxParser.h"
#include "casters.h"

namespace wootz_python {

// A method that reads a model's bytes, whose other files are beside `path`.
template <auto kMethod, class Parser>
nb::class_<Parser>& bind_bytes_reader(nb::class_<Parser>& parser, const char* name) {
  parser.def(
      name,
      [](Parser& p, nb::handle model, std::optional<std::string> path) {
        const Buffer bytes(model);
        const nb::gil_scoped_release release;
        return (p.*kMethod)(bytes.data(), bytes.size(), path ? path->c_str() : nullptr);
      },
      nb::arg("model"), nb::arg("path").none() = nb::none());
  return parser;
}

// The first two of the three steps in which a model is read whose weights the application holds.
template <class Parser>
void bind_model_steps(nb::class_<Parser>& parser) {
  bind_bytes_reader<&Parser::loadModelProto>(parser, "load_model_proto")
      .def(
          "load_initializer",
          [](Parser& p, const char* name, size_t data, size_t size) {
            return p.loadInitializer(name, reinterpret_cast<const void*>(data), size);
          },
          nb::arg("name"), nb::arg("data"), nb::arg("size"),
          "Values of an initializer at an address, which must stay until the network is built.");
}

}  // namespace wootz_python
