// The refitter, and the parser that hands it a model's weights.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "NvOnnxParser.h"
#include "model_steps.h"
#include "weights.h"

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

// New weights, whose arrays the refitter keeps.
void bind_setting(nb::class_<IRefitter>& refitter) {
  refitter
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
      .def(
          "set_named_weights",
          [](nb::handle self, const char* name, nb::handle array, TensorLocation location) {
            keep_array(self, array);
            return nb::cast<IRefitter&>(self).setNamedWeights(name, to_weights(array), location);
          },
          nb::arg("name"), nb::arg("weights"), nb::arg("location"))
      .def("unset_named_weights", &IRefitter::unsetNamedWeights, nb::arg("weights_name"));
}

// What there is to set, and what was set.
void bind_asking(nb::class_<IRefitter>& refitter) {
  refitter.def("get_weights_location", &IRefitter::getWeightsLocation, nb::arg("weights_name"))
      .def(
          "get_named_weights",
          [](nb::handle self, const char* name) {
            return PyWeights{nb::cast<IRefitter&>(self).getNamedWeights(name), nb::borrow(self)};
          },
          nb::arg("weights_name"))
      .def(
          "get_weights_prototype",
          [](nb::handle self, const char* name) {
            return PyWeights{nb::cast<IRefitter&>(self).getWeightsPrototype(name), nb::borrow(self)};
          },
          nb::arg("weights_name"),
          "Weights of the wanted type and size, without values; the size of an unknown name is -1.")
      .def("get_missing_weights", [](IRefitter& r) { return names_of(r, &IRefitter::getMissingWeights); })
      .def("get_all_weights", [](IRefitter& r) { return names_of(r, &IRefitter::getAllWeights); })
      .def("get_missing", [](IRefitter& r) { return roles_of(r, &IRefitter::getMissing); })
      .def("get_all", [](IRefitter& r) { return roles_of(r, &IRefitter::getAll); });
}

#if NV_TENSORRT_MAJOR < 11
// Ranges of tensors in INT8.
void bind_ranges(nb::class_<IRefitter>& refitter) {
  refitter
      .def(
          "set_dynamic_range",
          [](IRefitter& r, const char* name, std::pair<float, float> range) {
            return r.setDynamicRange(name, range.first, range.second);
          },
          nb::arg("tensor_name"), nb::arg("range"))
      .def(
          "get_dynamic_range",
          [](const IRefitter& r, const char* name) {
            return nb::make_tuple(r.getDynamicRangeMin(name), r.getDynamicRangeMax(name));
          },
          nb::arg("tensor_name"))
      .def("get_tensors_with_dynamic_range", [](const IRefitter& r) {
        std::vector<const char*> names(static_cast<size_t>(r.getTensorsWithDynamicRange(0, nullptr)));
        r.getTensorsWithDynamicRange(static_cast<int32_t>(names.size()), names.data());
        return std::vector<std::string>(names.begin(), names.end());
      });
}
#else
void bind_ranges(nb::class_<IRefitter>&) {}
#endif

void bind_refitter_class(nb::module_& m) {
  nb::class_<Owned<IRefitter>>(m, "Refitter", "New weights for an engine that was built with BuilderFlag.REFIT.")
      .def(
          "__init__",
          [](Owned<IRefitter>* self, ICudaEngine& engine, ILogger& logger) {
            keep_logger(logger);
            hold(self, createInferRefitter(engine, logger), "refitter");
          },
          nb::arg("engine"), nb::arg("logger"), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>());
  auto refitter = nb::borrow<nb::class_<IRefitter>>(m.attr("Refitter"));
  bind_setting(refitter);
  bind_asking(refitter);
  bind_ranges(refitter);
  refitter.def("refit_cuda_engine", &IRefitter::refitCudaEngine, nb::call_guard<nb::gil_scoped_release>())
      .def(
          "refit_cuda_engine_async",
          [](IRefitter& r, StreamHandle stream) {
            const nb::gil_scoped_release release;
            return r.refitCudaEngineAsync(stream.handle);
          },
          nb::arg("stream_handle"))
      .def_prop_ro("logger", &IRefitter::getLogger, nb::rv_policy::reference_internal)
      .def_prop_rw("weights_validation", &IRefitter::getWeightsValidation, &IRefitter::setWeightsValidation)
      .def_prop_rw("max_threads", &IRefitter::getMaxThreads, [](IRefitter& r, int32_t threads) {
        if (!r.setMaxThreads(threads)) throw nb::value_error("max_threads: the number was refused: see the log");
      });
}

void bind_parser_refitter(nb::module_& m) {
  nb::class_<Owned<IParserRefitter>>(m, "OnnxParserRefitter", "Hands a model's weights to a refitter.")
      .def(
          "__init__",
          [](Owned<IParserRefitter>* self, IRefitter& refitter, ILogger& logger) {
            hold(self, nvonnxparser::createParserRefitter(refitter, logger), "parser");
          },
          nb::arg("refitter"), nb::arg("logger"), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>());
  auto parser = nb::borrow<nb::class_<IParserRefitter>>(m.attr("OnnxParserRefitter"));
  bind_model_steps(parser);
  bind_bytes_reader<&IParserRefitter::refitFromBytes>(parser, "refit_from_bytes")
      .def("refit_from_file", &IParserRefitter::refitFromFile, nb::arg("model"),
           nb::call_guard<nb::gil_scoped_release>())
      .def("refit_model_proto", &IParserRefitter::refitModelProto, nb::call_guard<nb::gil_scoped_release>())
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
