// The execution context.
#include "device.h"

using namespace nvinfer1;

namespace nanobind::detail {

// A context's end waits for its inferences, whose callbacks want Python's lock.
template <>
void wrap_destruct<IExecutionContext>(void* context) noexcept {
  const gil_scoped_release release;
  static_cast<IExecutionContext*>(context)->~IExecutionContext();
}

}  // namespace nanobind::detail

namespace wootz_python {
namespace {

// Shapes of inputs and outputs.
void bind_shapes(Context& context) {
  context.def("set_input_shape", &IExecutionContext::setInputShape, nb::arg("name"), nb::arg("shape"))
      .def("get_tensor_shape", &IExecutionContext::getTensorShape, nb::arg("name"))
      .def("get_tensor_strides", &IExecutionContext::getTensorStrides, nb::arg("name"))
      .def("infer_shapes",
           [](IExecutionContext& c) {
             std::vector<const char*> names(static_cast<size_t>(c.getEngine().getNbIOTensors()));
             const int32_t count = c.inferShapes(static_cast<int32_t>(names.size()), names.data());
             std::vector<std::string> missing;
             if (count < 0) throw std::runtime_error("the shapes could not be inferred: see the log");
             for (int32_t i = 0; i < count && i < static_cast<int32_t>(names.size()); ++i)
               missing.emplace_back(names[static_cast<size_t>(i)]);
             return missing;
           })
      .def_prop_ro("all_binding_shapes_specified", &IExecutionContext::allInputDimensionsSpecified)
#if NV_TENSORRT_MAJOR < 11
      .def_prop_ro("all_shape_inputs_specified", &IExecutionContext::allInputShapesSpecified)
#endif
      .def(
          "set_optimization_profile_async",
          [](IExecutionContext& c, int32_t index, StreamHandle stream) {
            const nb::gil_scoped_release release;
            return c.setOptimizationProfileAsync(index, stream.handle);
          },
          nb::arg("profile_index"), nb::arg("stream_handle"))
      .def_prop_ro("active_optimization_profile", &IExecutionContext::getOptimizationProfile);
}

// Where inputs and outputs are.
void bind_addresses(Context& context) {
  context
      .def(
          "set_tensor_address", &set_address, nb::arg("name"), nb::arg("memory").none(),
          "The address as a number, of memory that the caller keeps alive; or a DeviceMemory, which the context keeps.")
      .def(
          "get_tensor_address",
          [](const IExecutionContext& c, const char* name) {
            return reinterpret_cast<size_t>(c.getTensorAddress(name));
          },
          nb::arg("name"))
      .def(
          "set_output_allocator",
          [](nb::handle c, const char* name, nb::handle allocator) {
            auto* const set = allocator.is_none() ? nullptr : nb::cast<IOutputAllocator*>(allocator);
            if (!nb::cast<IExecutionContext&>(c).setOutputAllocator(name, set)) return false;
            keep_for(c, "allocator of " + std::string(name), allocator);
            return true;
          },
          nb::arg("name"), nb::arg("output_allocator").none())
      .def("get_output_allocator", &IExecutionContext::getOutputAllocator, nb::arg("name"), nb::rv_policy::reference)
      .def("get_max_output_size", &IExecutionContext::getMaxOutputSize, nb::arg("name"));
}

// An address for each input and output, in the engine's order. False: the context refused one.
bool set_bindings(nb::handle context, const std::vector<nb::object>& bindings, std::vector<void*>* addresses) {
  auto& c = nb::cast<IExecutionContext&>(context);
  const ICudaEngine& engine = c.getEngine();
  if (bindings.size() != static_cast<size_t>(engine.getNbIOTensors()))
    throw nb::value_error(("the engine has " + std::to_string(engine.getNbIOTensors()) + " inputs and outputs, " +
                           std::to_string(bindings.size()) + " addresses given")
                              .c_str());
  for (size_t b = 0; b < bindings.size(); ++b) {
    const char* const name = engine.getIOTensorName(static_cast<int32_t>(b));
    if (!set_address(context, name, bindings[b])) return false;
    addresses->push_back(const_cast<void*>(c.getTensorAddress(name)));
  }
  check_addresses(context);
  return true;
}

// Inferences.
void bind_execution(Context& context) {
  context
      .def(
          "execute_async_v3",
          [](nb::handle context, StreamHandle stream) {
            check_addresses(context);
            auto& c = nb::cast<IExecutionContext&>(context);
            nb::gil_scoped_release release;
            return c.enqueueV3(stream.handle);
          },
          nb::arg("stream_handle"))
      .def(
          "set_aux_streams",
          [](IExecutionContext& c, const std::vector<StreamHandle>& streams) {
            std::vector<cudaStream_t> list;
            for (const StreamHandle& s : streams) list.push_back(s.handle);
            c.setAuxStreams(list.empty() ? nullptr : list.data(), static_cast<int32_t>(list.size()));
          },
          nb::arg("aux_streams"))
      .def(
          "set_input_consumed_event",
          [](IExecutionContext& c, size_t event) {
            return c.setInputConsumedEvent(reinterpret_cast<cudaEvent_t>(event));
          },
          nb::arg("event"))
      .def("get_input_consumed_event",
           [](IExecutionContext& c) { return reinterpret_cast<size_t>(c.getInputConsumedEvent()); })
      .def(
          "execute_v2",
          [](nb::handle context, const std::vector<nb::object>& bindings) {
            std::vector<void*> addresses;
            if (!set_bindings(context, bindings, &addresses)) return false;
            auto& c = nb::cast<IExecutionContext&>(context);
            const nb::gil_scoped_release release;
            return c.executeV2(addresses.data());
          },
          nb::arg("bindings"));
}

void bind_profiling(Context& context) {
  context
      .def_prop_rw("profiler", &IExecutionContext::getProfiler, &IExecutionContext::setProfiler,
                   nb::for_setter(nb::keep_alive<1, 2>()), nb::for_setter(nb::arg("profiler").none()),
                   nb::for_getter(nb::rv_policy::reference))
      .def_prop_rw("enqueue_emits_profile", &IExecutionContext::getEnqueueEmitsProfile,
                   &IExecutionContext::setEnqueueEmitsProfile)
      .def("report_to_profiler", &IExecutionContext::reportToProfiler, nb::call_guard<nb::gil_scoped_release>())
      .def_prop_rw("persistent_cache_limit", &IExecutionContext::getPersistentCacheLimit,
                   &IExecutionContext::setPersistentCacheLimit)
      .def_prop_rw("nvtx_verbosity", &IExecutionContext::getNvtxVerbosity,
                   [](IExecutionContext& c, ProfilingVerbosity verbosity) {
                     if (!c.setNvtxVerbosity(verbosity))
                       throw nb::value_error("nvtx_verbosity: more than the engine was built with");
                   });
}

}  // namespace

void bind_context(nb::module_& m) {
  Context context(m, "IExecutionContext", nb::dynamic_attr());
  bind_shapes(context);
  bind_addresses(context);
  bind_context_extras(context);
  bind_execution(context);
  bind_profiling(context);
  context.def_prop_rw("name", &IExecutionContext::getName, [](IExecutionContext& c, const char* n) { c.setName(n); })
      .def_prop_ro("engine", &IExecutionContext::getEngine, nb::rv_policy::reference_internal);
}

}  // namespace wootz_python
