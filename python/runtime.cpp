// Runtime, engine, execution context, inspector.
#include <nanobind/trampoline.h>

#include <cstdlib>
#include <map>
#include <memory>

#include "casters.h"
#include "wootz/extensions.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

using namespace nvinfer1;

namespace wootz_python {
namespace {

// Memory for outputs whose size only the run tells; kept until the next run.
class OutputBuffer final : public IOutputAllocator {
 public:
  ~OutputBuffer() override { std::free(memory_); }
  void* reallocateOutput(const char*, void*, uint64_t size, uint64_t alignment) noexcept override {
    if (size > capacity_ || memory_ == nullptr) {
      std::free(memory_);
      const uint64_t align = alignment < 64 ? 64 : alignment;
      capacity_ = (size + align) / align * align;
      memory_ = std::aligned_alloc(align, capacity_);
      if (memory_ == nullptr) capacity_ = 0;
    }
    return memory_;
  }
  void notifyShape(const char*, const Dims& dims) noexcept override { shape = dims; }
  Dims shape{};
  const void* data() const { return memory_; }

 private:
  void* memory_ = nullptr;
  uint64_t capacity_ = 0;
};

// Of an element of a DataType, those of WOOTZ_EXTENDED_TYPE included.
size_t bits_of(int32_t type) {
  static const std::map<int32_t, size_t> kBits{{0, 32},   {1, 16},   {2, 8},    {3, 32},   {4, 8},    {5, 8},
                                               {6, 8},    {7, 16},   {8, 64},   {9, 4},    {10, 4},   {11, 8},
                                               {260, 64}, {263, 16}, {264, 16}, {266, 32}, {268, 64}, {271, 8},
                                               {272, 8},  {273, 8},  {277, 4},  {278, 2},  {279, 2}};
  const auto found = kBits.find(type);
  return found == kBits.end() ? 8 : found->second;
}

// Keeps what a context's taps hand over.
class TapListener final : public IDebugListener {
 public:
  bool processDebugTensor(const void* data, TensorLocation, DataType type, const Dims& shape, const char* name,
                          cudaStream_t) override {
    Kept& kept = values[name];
    kept.type = static_cast<int32_t>(type);
    kept.shape.assign(shape.d, shape.d + shape.nbDims);
    int64_t volume = 1;
    for (const int64_t d : kept.shape) volume *= d;
    const auto* bytes = static_cast<const char*>(data);
    kept.bytes.assign(bytes, bytes + (static_cast<size_t>(volume) * bits_of(kept.type) + 7) / 8);
    return true;
  }
  struct Kept {
    int32_t type = 0;
    std::vector<int64_t> shape;
    std::string bytes;
  };
  std::map<std::string, Kept> values;
};

// The text in what wootz_build_report_as() and its like return, which it frees.
nb::object report_text(void* memory) {
  const std::unique_ptr<IHostMemory> text(static_cast<IHostMemory*>(memory));
  if (text == nullptr) throw std::runtime_error("the report could not be made: see the log");
  return nb::str(static_cast<const char*>(text->data()), text->size() - 1);
}

}  // namespace

void bind_runtime(nb::module_& m) {
  nb::class_<TapListener>(m, "_TapListener").def(nb::init<>()).def("take", [](TapListener& l) {
    nb::list list;
    for (const auto& [name, kept] : l.values)
      list.append(nb::make_tuple(name, kept.type, kept.shape, nb::bytes(kept.bytes.data(), kept.bytes.size())));
    l.values.clear();
    return list;
  });
  m.def(
      "compare_reports",
      [](const char* a, const char* b, const char* format) {
        void* text = wootz_compare_reports(a, b, format);
        if (text == nullptr) throw nb::value_error("two reports in JSON and the format text or json are wanted");
        return report_text(text);
      },
      nb::arg("a"), nb::arg("b"), nb::arg("format") = "text",
      "Two reports (JSON) against each other, in the model's terms, as \"text\" or \"json\".");

  nb::class_<OutputBuffer>(m, "_OutputBuffer")
      .def(nb::init<>())
      .def_prop_ro("shape", [](const OutputBuffer& b) { return b.shape; })
      .def("read",
           [](const OutputBuffer& b, size_t bytes) { return nb::bytes(static_cast<const char*>(b.data()), bytes); });

  nb::class_<IEngineInspector>(m, "EngineInspector")
      .def("get_layer_information", &IEngineInspector::getLayerInformation, nb::arg("layer_index"), nb::arg("format"))
      .def("get_engine_information", &IEngineInspector::getEngineInformation, nb::arg("format"))
      .def_prop_rw(
          "execution_context", &IEngineInspector::getExecutionContext,
          [](IEngineInspector& i, const IExecutionContext* c) { i.setExecutionContext(c); }, nb::rv_policy::reference);

  nb::class_<IExecutionContext>(m, "IExecutionContext")
      .def("set_input_shape", &IExecutionContext::setInputShape, nb::arg("name"), nb::arg("shape"))
      .def("get_tensor_shape", &IExecutionContext::getTensorShape, nb::arg("name"))
      .def("get_tensor_strides", &IExecutionContext::getTensorStrides, nb::arg("name"))
      .def(
          "set_tensor_address",
          [](IExecutionContext& c, const char* name, size_t address) {
            return c.setTensorAddress(name, reinterpret_cast<void*>(address));
          },
          nb::arg("name"), nb::arg("memory"))
      .def(
          "get_tensor_address",
          [](const IExecutionContext& c, const char* name) {
            return reinterpret_cast<size_t>(c.getTensorAddress(name));
          },
          nb::arg("name"))
      .def(
          "_set_output_buffer",
          [](IExecutionContext& c, const char* name, OutputBuffer* buffer) {
            return c.setOutputAllocator(name, buffer);
          },
          nb::arg("name"), nb::arg("buffer").none(), nb::keep_alive<1, 3>())
      .def(
          "_set_tap_listener", [](IExecutionContext& c, TapListener* listener) { c.setDebugListener(listener); },
          nb::arg("listener").none(), nb::keep_alive<1, 2>())
      .def(
          "tap",
          [](IExecutionContext& c, const char* name, bool on) { return wootz_context_tap(&c, name, on ? 1 : 0) == 0; },
          nb::arg("name"), nb::arg("on") = true,
          "Hands a value of the model to the debug listener in each inference; False (see the log) when no step writes "
          "it.")
      .def("get_max_output_size", &IExecutionContext::getMaxOutputSize, nb::arg("name"))
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
      .def_prop_ro("all_input_dimensions_specified", &IExecutionContext::allInputDimensionsSpecified)
      .def(
          "execute_async_v3",
          [](IExecutionContext& c, size_t stream) {
            nb::gil_scoped_release release;
            return c.enqueueV3(reinterpret_cast<cudaStream_t>(stream));
          },
          nb::arg("stream_handle"))
      .def(
          "set_aux_streams",
          [](IExecutionContext& c, const std::vector<size_t>& streams) {
            std::vector<cudaStream_t> list;
            for (size_t s : streams) list.push_back(reinterpret_cast<cudaStream_t>(s));
            c.setAuxStreams(list.empty() ? nullptr : list.data(), static_cast<int32_t>(list.size()));
          },
          nb::arg("aux_streams"))
      .def(
          "execute_v2",
          [](IExecutionContext& c, const std::vector<size_t>& bindings) {
            std::vector<void*> addresses;
            for (size_t b : bindings) addresses.push_back(reinterpret_cast<void*>(b));
            nb::gil_scoped_release release;
            return c.executeV2(addresses.data());
          },
          nb::arg("bindings"))
      .def(
          "set_optimization_profile_async",
          [](IExecutionContext& c, int32_t index, size_t stream) {
            return c.setOptimizationProfileAsync(index, reinterpret_cast<cudaStream_t>(stream));
          },
          nb::arg("profile_index"), nb::arg("stream_handle"))
      .def_prop_ro("active_optimization_profile", &IExecutionContext::getOptimizationProfile)
      .def_prop_rw("profiler", &IExecutionContext::getProfiler, &IExecutionContext::setProfiler,
                   nb::for_setter(nb::keep_alive<1, 2>()), nb::for_getter(nb::rv_policy::reference))
      .def_prop_rw("enqueue_emits_profile", &IExecutionContext::getEnqueueEmitsProfile,
                   &IExecutionContext::setEnqueueEmitsProfile)
      .def("report_to_profiler", &IExecutionContext::reportToProfiler)
      .def_prop_rw("name", &IExecutionContext::getName, [](IExecutionContext& c, const char* n) { c.setName(n); })
      .def_prop_ro("engine", &IExecutionContext::getEngine, nb::rv_policy::reference_internal);

  nb::class_<ICudaEngine>(m, "ICudaEngine")
      .def_prop_ro("num_io_tensors", &ICudaEngine::getNbIOTensors)
      .def("get_tensor_name", &ICudaEngine::getIOTensorName, nb::arg("index"))
      .def("get_tensor_mode", &ICudaEngine::getTensorIOMode, nb::arg("name"))
      .def("get_tensor_shape", &ICudaEngine::getTensorShape, nb::arg("name"))
      .def("_get_tensor_dtype_number",
           [](const ICudaEngine& e, const char* n) { return static_cast<int>(e.getTensorDataType(n)); })
      .def("get_tensor_dtype", &ICudaEngine::getTensorDataType, nb::arg("name"))
      .def("get_tensor_location", &ICudaEngine::getTensorLocation, nb::arg("name"))
      .def(
          "get_tensor_format", [](const ICudaEngine& e, const char* n) { return e.getTensorFormat(n); },
          nb::arg("name"))
      .def(
          "get_tensor_format_desc", [](const ICudaEngine& e, const char* n) { return e.getTensorFormatDesc(n); },
          nb::arg("name"))
      .def("is_shape_inference_io", &ICudaEngine::isShapeInferenceIO, nb::arg("name"))
      .def(
          "get_tensor_profile_shape",
          [](const ICudaEngine& e, const char* n, int32_t p) {
            return nb::make_tuple(e.getProfileShape(n, p, OptProfileSelector::kMIN),
                                  e.getProfileShape(n, p, OptProfileSelector::kOPT),
                                  e.getProfileShape(n, p, OptProfileSelector::kMAX));
          },
          nb::arg("name"), nb::arg("profile_index"))
      .def_prop_ro("num_optimization_profiles", &ICudaEngine::getNbOptimizationProfiles)
      .def_prop_ro("num_layers", &ICudaEngine::getNbLayers)
      .def_prop_ro("num_aux_streams", &ICudaEngine::getNbAuxStreams)
      .def_prop_ro("name", &ICudaEngine::getName)
      .def_prop_ro("device_memory_size_v2", &ICudaEngine::getDeviceMemorySizeV2)
      .def("get_device_memory_size_for_profile_v2", &ICudaEngine::getDeviceMemorySizeForProfileV2)
      .def(
          "create_execution_context",
          [](ICudaEngine& e) { return e.createExecutionContext(ExecutionContextAllocationStrategy::kSTATIC); },
          nb::rv_policy::take_ownership, nb::keep_alive<0, 1>())
      .def("create_engine_inspector", &ICudaEngine::createEngineInspector, nb::rv_policy::take_ownership,
           nb::keep_alive<0, 1>())
      .def(
          "report", [](ICudaEngine& e, const char* format) { return report_text(wootz_engine_report(&e, format)); },
          nb::arg("format") = "text", "What the plan holds, as \"text\", \"json\", \"html\", \"svg\" or \"values\".")
      .def("serialize",
           [](const ICudaEngine& e) {
             IHostMemory* plan = e.serialize();
             return plan == nullptr ? nb::object(nb::none()) : nb::cast(plan, nb::rv_policy::take_ownership);
           })
      .def("__iter__", [](const ICudaEngine& e) {
        nb::list names;
        for (int32_t i = 0; i < e.getNbIOTensors(); ++i) names.append(e.getIOTensorName(i));
        return nb::iter(names);
      });

  nb::class_<IRuntime>(m, "Runtime")
      .def_static(
          "_create",
          [](ILogger& logger) -> IRuntime* {
            IRuntime* runtime = createInferRuntime(logger);
            if (runtime == nullptr) throw nb::type_error("the runtime could not be created: see the log");
            return runtime;
          },
          nb::rv_policy::take_ownership, nb::keep_alive<0, 1>())
      .def(
          "deserialize_cuda_engine",
          [](IRuntime& r, nb::handle plan) -> ICudaEngine* {
            Py_buffer view;
            if (PyObject_GetBuffer(plan.ptr(), &view, PyBUF_SIMPLE) != 0) throw nb::python_error();
            ICudaEngine* engine = nullptr;
            {
              nb::gil_scoped_release release;
              engine = r.deserializeCudaEngine(view.buf, static_cast<size_t>(view.len));
            }
            PyBuffer_Release(&view);
            return engine;
          },
          nb::arg("serialized_engine"), nb::rv_policy::take_ownership, nb::keep_alive<0, 1>())
      .def(
          "load_file",
          [](IRuntime& r, const char* path) {
            nb::gil_scoped_release release;
            return static_cast<ICudaEngine*>(wootz_runtime_load_file(&r, path));
          },
          nb::arg("path"), nb::rv_policy::take_ownership, nb::keep_alive<0, 1>(),
          "An engine from a plan file, mapped rather than read; None (see the log) when it is refused.")
      .def_prop_rw("max_threads", &IRuntime::getMaxThreads, &IRuntime::setMaxThreads)
      .def_prop_rw("engine_host_code_allowed", &IRuntime::getEngineHostCodeAllowed,
                   &IRuntime::setEngineHostCodeAllowed);

  m.def(
      "set_thread_pool",
      [](int threads, int spin_us, const std::vector<int>& affinity) {
        if (wootz_set_thread_pool(threads, spin_us, affinity.data(), static_cast<int>(affinity.size())) != 0)
          throw std::runtime_error(
              "the thread pool could not be set: an inference is running, or a value is out of range");
      },
      nb::arg("threads") = 0, nb::arg("spin_us") = -1, nb::arg("affinity") = std::vector<int>{});
}

}  // namespace wootz_python
