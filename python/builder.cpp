// The builder.
#include <memory>

#include "casters.h"
#include "wootz/extensions.h"

using namespace nvinfer1;

namespace wootz_python {
namespace {

void bind_default_backend(nb::module_& m) {
  m.def(
      "default_backend",
      [] {
        const char* reason = "";
        const std::string name = wootz_default_backend(&reason);
        return nb::make_tuple(name, reason);
      },
      "The backend of a build whose options do not say it, and why it is this one.");
}

using Builder = nb::class_<IBuilder>;

// What a build leaves beside the plan: appended to a list, None where there is none.
nb::object build_with_text(IBuilder& b, INetworkDefinition& network, IBuilderConfig& config, nb::object kernel_text) {
  if (!nb::isinstance<nb::list>(kernel_text))
    throw nb::type_error("kernel_text: a list is wanted, which gets the text");
  IHostMemory *plan = nullptr, *text = nullptr;
  {
    const nb::gil_scoped_release release;
    plan = b.buildSerializedNetwork(network, config, text);
  }
  nb::cast<nb::list>(kernel_text).append(owned(text));
  return owned(plan);
}

void bind_builds(Builder& builder) {
  builder
      .def(
          "build_serialized_network",
          [](IBuilder& b, INetworkDefinition& network, IBuilderConfig& config) {
            IHostMemory* plan = nullptr;
            {
              const nb::gil_scoped_release release;
              plan = b.buildSerializedNetwork(network, config);
            }
            return owned(plan);
          },
          nb::arg("network"), nb::arg("config"))
      .def("build_serialized_network", &build_with_text, nb::arg("network"), nb::arg("config"), nb::arg("kernel_text"),
           "The same; `kernel_text` is a list, to which the text of kernels, or None, is appended.")
      .def(
          "build_engine_with_config",
          [](IBuilder& b, INetworkDefinition& network, IBuilderConfig& config) {
            const nb::gil_scoped_release release;
            return b.buildEngineWithConfig(network, config);
          },
          nb::arg("network"), nb::arg("config"), nb::rv_policy::take_ownership, nb::keep_alive<0, 1>())
      .def(
          "build_serialized_network_to_stream",
          [](IBuilder& b, INetworkDefinition& network, IBuilderConfig& config, IStreamWriter& writer) {
            const nb::gil_scoped_release release;
            return b.buildSerializedNetworkToStream(network, config, writer);
          },
          nb::arg("network"), nb::arg("config"), nb::arg("writer"))
      .def(
          "build_file",
          [](IBuilder& b, INetworkDefinition& network, IBuilderConfig& config, const char* path) {
            const nb::gil_scoped_release release;
            return wootz_build_file(&b, &network, &config, path) == 0;
          },
          nb::arg("network"), nb::arg("config"), nb::arg("path"),
          "Builds and writes the plan to a file, with one weight in memory at a time; False (see the log) on failure.")
      .def(
          "is_network_supported",
          [](IBuilder& b, INetworkDefinition& network, IBuilderConfig& config) {
            const nb::gil_scoped_release release;
            return b.isNetworkSupported(network, config);
          },
          nb::arg("network"), nb::arg("config"));
}

void bind_platform(Builder& builder) {
  builder.def_prop_ro("num_DLA_cores", &IBuilder::getNbDLACores)
      .def_prop_ro("max_DLA_batch_size", &IBuilder::getMaxDLABatchSize)
#if NV_TENSORRT_MAJOR < 11
      .def_prop_ro("platform_has_fast_fp16", &IBuilder::platformHasFastFp16)
      .def_prop_ro("platform_has_fast_int8", &IBuilder::platformHasFastInt8)
      .def_prop_ro("platform_has_tf32", &IBuilder::platformHasTf32)
#endif
      .def_prop_rw("max_threads", &IBuilder::getMaxThreads, [](IBuilder& b, int32_t threads) {
        if (!b.setMaxThreads(threads)) throw nb::value_error("max_threads: the number was refused: see the log");
      });
}

void bind_reports(Builder& builder) {
  builder.def("report_json", [](IBuilder& b) { return std::string(wootz_build_report(&b)); })
      .def(
          "report",
          [](IBuilder& b, const char* format) {
            const std::unique_ptr<IHostMemory> text(static_cast<IHostMemory*>(wootz_build_report_as(&b, format)));
            if (text == nullptr) throw std::runtime_error("the report could not be made: see the log");
            return nb::str(static_cast<const char*>(text->data()), text->size() - 1);
          },
          nb::arg("format") = "text", "Report of the last build, as \"text\", \"json\", \"html\" or \"svg\".");
}

void bind_backend_libraries(nb::module_& m) {
  m.def(
      "_backend_libraries",
      [](const char* backend) {
        const char* const text = wootz_backend_libraries(backend);
        if (text == nullptr) throw nb::value_error("no such backend: see the log");
        return std::string(text);
      },
      nb::arg("backend"));
}

}  // namespace

void bind_builder(nb::module_& m) {
  bind_host_memory(m);
  bind_profile(m);
  bind_config(m);
  bind_default_backend(m);
  nb::class_<Owned<IBuilder>>(m, "Builder", "Builds plans. Logs to `logger`, which it keeps alive.")
      .def(
          "__init__",
          [](Owned<IBuilder>* self, ILogger& logger) {
            keep_logger(logger);
            hold(self, createInferBuilder(logger), "builder");
          },
          nb::arg("logger"), nb::keep_alive<1, 2>());
  auto builder = nb::borrow<Builder>(m.attr("Builder"));
  builder
      .def("create_network", &IBuilder::createNetworkV2, nb::arg("flags") = 0, nb::rv_policy::take_ownership,
           nb::keep_alive<0, 1>())
      .def("create_builder_config", &IBuilder::createBuilderConfig, nb::rv_policy::take_ownership,
           nb::keep_alive<0, 1>())
      .def("create_optimization_profile", &IBuilder::createOptimizationProfile, nb::rv_policy::reference_internal)
      .def_prop_ro("logger", &IBuilder::getLogger, nb::rv_policy::reference_internal)
      .def("reset", &IBuilder::reset);
  bind_builds(builder);
  bind_platform(builder);
  bind_reports(builder);
  bind_backend_libraries(m);
}

}  // namespace wootz_python
