// The ONNX parser.
#include <nanobind/stl/optional.h>

#include "model_steps.h"
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

void bind_reading(nb::class_<IParser>& parser) {
  bind_bytes_reader<&IParser::parse>(parser, "parse")
      .def(
          "parse_from_file",
          [](IParser& p, const char* path) {
            const nb::gil_scoped_release release;
            return p.parseFromFile(path, 0);
          },
          nb::arg("model"))
#if NV_TENSORRT_MAJOR < 11
      .def(
          "parse_with_weight_descriptors",
          [](IParser& p, nb::handle model) {
            const Buffer bytes(model);
            const nb::gil_scoped_release release;
            return p.parseWithWeightDescriptors(bytes.data(), bytes.size());
          },
          nb::arg("model"))
#endif
      .def("parse_model_proto", &IParser::parseModelProto, nb::call_guard<nb::gil_scoped_release>());
}

std::vector<int64_t> nodes_of(IParser& parser, int64_t index) {
  int64_t count = 0;
  const int64_t* const nodes = parser.getSubgraphNodes(index, count);
  if (nodes == nullptr)
    throw nb::index_error(
        ("subgraph " + std::to_string(index) + " of " + std::to_string(parser.getNbSubgraphs())).c_str());
  return {nodes, nodes + count};
}

#if NV_TENSORRT_MAJOR < 11
// (whether all of it, [(indices of nodes, whether they)]), as the module's classes.
nb::tuple supports_model(IParser& p, nb::handle model, std::optional<std::string> path, nb::handle m) {
  SubGraphCollection_t found;
  bool all = false;
  {
    const Buffer bytes(model);
    const nb::gil_scoped_release release;
    all = p.supportsModel(bytes.data(), bytes.size(), found, path ? path->c_str() : nullptr);
  }
  nb::object parts = m.attr("SubGraphCollection")();
  for (const auto& [nodes, supported] : found) {
    nb::object indices = m.attr("NodeIndices")();
    for (const size_t node : nodes) indices.attr("append")(node);
    parts.attr("append")(nb::make_tuple(indices, supported));
  }
  return nb::make_tuple(all, parts);
}
#endif

// What of a model could be built.
void bind_support(nb::module_& m, nb::class_<IParser>& parser) {
  bind_bytes_reader<&IParser::supportsModelV2>(parser, "supports_model_v2")
      .def("supports_operator", &IParser::supportsOperator, nb::arg("op_name"))
      .def_prop_ro("num_subgraphs", &IParser::getNbSubgraphs)
      .def("is_subgraph_supported", &IParser::isSubgraphSupported, nb::arg("index"))
      .def("get_subgraph_nodes", &nodes_of, nb::arg("index"));
  const nb::object type = nb::module_::import_("builtins").attr("type");
  const auto list_class = [&](const char* name) {
    nb::dict body;
    body["__module__"] = m.attr("__name__");
    m.attr(name) = type(name, nb::make_tuple(nb::handle(reinterpret_cast<PyObject*>(&PyList_Type))), body);
  };
  list_class("NodeIndices");
#if NV_TENSORRT_MAJOR < 11
  list_class("SubGraphCollection");
  parser.def(
      "supports_model",
      [module = m.ptr()](IParser& p, nb::handle model, std::optional<std::string> path) {
        return supports_model(p, model, std::move(path), module);
      },
      nb::arg("model"), nb::arg("path").none() = nb::none());
#endif
}

void bind_flags(nb::class_<IParser>& parser) {
  parser.def_prop_rw("flags", &IParser::getFlags, &IParser::setFlags)
      .def("set_flag", &IParser::setFlag, nb::arg("flag"))
      .def("clear_flag", &IParser::clearFlag, nb::arg("flag"))
      .def("get_flag", &IParser::getFlag, nb::arg("flag"))
      .def("set_builder_config", &IParser::setBuilderConfig, nb::arg("builder_config").none(), nb::keep_alive<1, 2>());
}

void bind_results(nb::class_<IParser>& parser) {
  parser
      .def(
          "get_layer_output_tensor",
          [](IParser& p, const char* name, int64_t i) { return const_cast<ITensor*>(p.getLayerOutputTensor(name, i)); },
          nb::arg("name"), nb::arg("i"), nb::rv_policy::reference_internal)
      .def("get_used_vc_plugin_libraries",
           [](const IParser& p) {
             int64_t count = 0;
             const char* const* const paths = p.getUsedVCPluginLibraries(count);
             return paths == nullptr ? std::vector<std::string>() : std::vector<std::string>(paths, paths + count);
           })
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
  nb::class_<Owned<IParser>>(m, "OnnxParser", "Fills a network from an ONNX model.")
      .def(
          "__init__",
          [](Owned<IParser>* self, INetworkDefinition& network, ILogger& logger) {
            hold(self, nvonnxparser::createParser(network, logger), "parser");
          },
          nb::arg("network"), nb::arg("logger"), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>());
  auto parser = nb::borrow<nb::class_<IParser>>(m.attr("OnnxParser"));
  bind_reading(parser);
  bind_model_steps(parser);
  bind_support(m, parser);
  bind_flags(parser);
  bind_results(parser);
}

}  // namespace wootz_python
