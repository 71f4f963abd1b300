// The ONNX parser.
#include <nanobind/stl/optional.h>

#include "NvOnnxParser.h"
#include "casters.h"
#include "wootz/extensions.h"

using namespace nvinfer1;
using nvonnxparser::IParser;
using nvonnxparser::IParserError;

namespace wootz_python {

namespace {

void bind_error(nb::module_& m) {
  nb::class_<IParserError>(m, "ParserError")
      .def("code", &IParserError::code)
      .def("desc", &IParserError::desc)
      .def("node", &IParserError::node)
      .def("node_name", &IParserError::nodeName)
      .def("node_operator", &IParserError::nodeOperator)
      .def("file", &IParserError::file)
      .def("line", &IParserError::line)
      .def("func", &IParserError::func)
      .def("local_function_stack",
           [](const IParserError& e) {
             const char* const* names = e.localFunctionStack();
             return std::vector<std::string>(names, names + e.localFunctionStackSize());
           })
      .def("local_function_stack_size", &IParserError::localFunctionStackSize)
      .def("__str__", [](const IParserError& e) {
        const std::string name = e.nodeName(), op = e.nodeOperator();
        const std::string text = op.empty() ? name : "node '" + name + "' (" + op + ")";
        return text + (text.empty() ? "" : ": ") + e.desc();
      });
}

void bind_parser_class(nb::module_& m) {
  nb::class_<IParser>(m, "OnnxParser")
      .def_static(
          "_create",
          [](INetworkDefinition& network, ILogger& logger) -> IParser* {
            IParser* parser = nvonnxparser::createParser(network, logger);
            if (parser == nullptr) throw nb::type_error("the parser could not be created: see the log");
            return parser;
          },
          nb::rv_policy::take_ownership, nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>())
      .def(
          "parse",
          [](IParser& p, nb::bytes model, std::optional<std::string> path) {
            nb::gil_scoped_release release;
            return p.parse(model.c_str(), model.size(), path ? path->c_str() : nullptr);
          },
          nb::arg("model"), nb::arg("path").none() = nb::none())
      .def(
          "parse_from_file",
          [](IParser& p, const char* path) {
            nb::gil_scoped_release release;
            return p.parseFromFile(path, 0);
          },
          nb::arg("model"))
      .def("supports_operator", &IParser::supportsOperator, nb::arg("op_name"))
      .def_prop_ro("num_errors", &IParser::getNbErrors)
      .def("get_error", &IParser::getError, nb::arg("index"), nb::rv_policy::reference_internal)
      .def("clear_errors", &IParser::clearErrors)
      .def(
          "set_option",
          [](IParser& p, const char* key, const char* value) {
            if (wootz_parser_set_option(&p, key, value) != 0)
              throw nb::value_error((std::string("no parser option '") + key + "', or not with that value").c_str());
          },
          nb::arg("key"), nb::arg("value"));
}

}  // namespace

void bind_parser(nb::module_& m) {
  bind_error(m);
  bind_parser_class(m);
}

}  // namespace wootz_python
