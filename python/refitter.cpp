// The refitter, and the parser that hands it a model's weights.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "NvOnnxParser.h"
#include "casters.h"

using namespace nvinfer1;
using nvonnxparser::IParserRefitter;

namespace wootz_python {

namespace {

std::vector<std::string> names_of(IRefitter& r, int32_t (IRefitter::*ask)(int32_t, const char**) noexcept) {
  std::vector<const char*> names(static_cast<size_t>((r.*ask)(0, nullptr)));
  (r.*ask)(static_cast<int32_t>(names.size()), names.data());
  return {names.begin(), names.end()};
}

// Names of layers, and the roles of their weights.
nb::tuple roles_of(IRefitter& r, int32_t (IRefitter::*ask)(int32_t, const char**, WeightsRole*) noexcept) {
  const auto count = static_cast<size_t>((r.*ask)(0, nullptr, nullptr));
  std::vector<const char*> layers(count);
  std::vector<WeightsRole> roles(count);
  (r.*ask)(static_cast<int32_t>(count), layers.data(), roles.data());
  return nb::make_tuple(std::vector<std::string>(layers.begin(), layers.end()), roles);
}

void bind_refitter_class(nb::module_& m) {
  nb::class_<IRefitter>(m, "Refitter")
      .def_static(
          "_create",
          [](ICudaEngine& engine, ILogger& logger) -> IRefitter* {
            keep_logger(logger);
            IRefitter* refitter = createInferRefitter(engine, logger);
            if (refitter == nullptr) throw nb::type_error("the refitter could not be created: see the log");
            return refitter;
          },
          nb::rv_policy::take_ownership, nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>())
      .def(
          "set_weights",
          [](nb::handle self, const char* layer, WeightsRole role, nb::handle array) {
            keep_array(self, array);
            return nb::cast<IRefitter&>(self).setWeights(layer, role, to_weights(array));
          },
          nb::arg("layer_name"), nb::arg("role"), nb::arg("weights"))
      .def(
          "set_named_weights",
          [](nb::handle self, const char* name, nb::handle array) {
            keep_array(self, array);
            return nb::cast<IRefitter&>(self).setNamedWeights(name, to_weights(array));
          },
          nb::arg("name"), nb::arg("weights"))
      .def("unset_named_weights", &IRefitter::unsetNamedWeights, nb::arg("weights_name"))
      .def("get_weights_location", &IRefitter::getWeightsLocation, nb::arg("weights_name"))
      .def(
          "get_weights_prototype",
          [](const IRefitter& r, const char* name) {
            const Weights w = r.getWeightsPrototype(name);
            return nb::make_tuple(w.type, w.count);
          },
          nb::arg("weights_name"), "Type and count; the count of an unknown name is -1.")
      .def("get_missing_weights", [](IRefitter& r) { return names_of(r, &IRefitter::getMissingWeights); })
      .def("get_all_weights", [](IRefitter& r) { return names_of(r, &IRefitter::getAllWeights); })
      .def("get_missing", [](IRefitter& r) { return roles_of(r, &IRefitter::getMissing); })
      .def("get_all", [](IRefitter& r) { return roles_of(r, &IRefitter::getAll); })
      .def("refit_cuda_engine", &IRefitter::refitCudaEngine, nb::call_guard<nb::gil_scoped_release>())
      .def(
          "refit_cuda_engine_async",
          [](IRefitter& r, size_t stream) {
            const nb::gil_scoped_release release;
            return r.refitCudaEngineAsync(reinterpret_cast<cudaStream_t>(stream));
          },
          nb::arg("stream_handle"))
      .def_prop_rw("weights_validation", &IRefitter::getWeightsValidation, &IRefitter::setWeightsValidation)
      .def_prop_rw("max_threads", &IRefitter::getMaxThreads, &IRefitter::setMaxThreads);
}

void bind_parser_refitter(nb::module_& m) {
  nb::class_<IParserRefitter>(m, "OnnxParserRefitter")
      .def_static(
          "_create",
          [](IRefitter& refitter, ILogger& logger) -> IParserRefitter* {
            IParserRefitter* parser = nvonnxparser::createParserRefitter(refitter, logger);
            if (parser == nullptr) throw nb::type_error("the parser could not be created: see the log");
            return parser;
          },
          nb::rv_policy::take_ownership, nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>())
      .def(
          "refit_from_bytes",
          [](IParserRefitter& p, nb::bytes model, std::optional<std::string> path) {
            const nb::gil_scoped_release release;
            return p.refitFromBytes(model.c_str(), model.size(), path ? path->c_str() : nullptr);
          },
          nb::arg("model"), nb::arg("path").none() = nb::none())
      .def(
          "refit_from_file",
          [](IParserRefitter& p, const char* path) {
            const nb::gil_scoped_release release;
            return p.refitFromFile(path);
          },
          nb::arg("model"))
      .def_prop_ro("num_errors", &IParserRefitter::getNbErrors)
      .def("get_error", &IParserRefitter::getError, nb::arg("index"), nb::rv_policy::reference_internal)
      .def("clear_errors", &IParserRefitter::clearErrors);
}

}  // namespace

void bind_refitter(nb::module_& m) {
  bind_refitter_class(m);
  bind_parser_refitter(m);
}

}  // namespace wootz_python
