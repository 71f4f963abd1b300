// What a context has beside shapes, addresses and inferences: values inside of the network, a communicator, memory.
#include "device.h"
#include "wootz/extensions.h"

using namespace nvinfer1;

namespace wootz_python {
namespace {

// Values inside of the network.
void bind_debug(Context& context) {
  context
      .def(
          "set_debug_listener",
          [](nb::handle c, nb::handle listener) {
            auto* const set = listener.is_none() ? nullptr : nb::cast<IDebugListener*>(listener);
            if (!nb::cast<IExecutionContext&>(c).setDebugListener(set)) return false;
            keep_for(c, "debug listener", listener);
            return true;
          },
          nb::arg("listener").none())
      .def("get_debug_listener", &IExecutionContext::getDebugListener, nb::rv_policy::reference)
      .def("set_tensor_debug_state", &IExecutionContext::setTensorDebugState, nb::arg("name"), nb::arg("flag"))
      .def("get_debug_state", &IExecutionContext::getDebugState, nb::arg("name"))
      .def("set_all_tensors_debug_state", &IExecutionContext::setAllTensorsDebugState, nb::arg("flag"))
      .def_prop_rw("unfused_tensors_debug_state", &IExecutionContext::getUnfusedTensorsDebugState,
                   [](IExecutionContext& c, bool flag) {
                     if (!c.setUnfusedTensorsDebugState(flag))
                       throw nb::value_error("the network was built without mark_unfused_tensors_as_debug_tensors");
                   })
      .def(
          "tap",
          [](IExecutionContext& c, const char* name, bool on) { return wootz_context_tap(&c, name, on ? 1 : 0) == 0; },
          nb::arg("name"), nb::arg("on") = true,
          "Hands a value of the model to the debug listener in each inference; False (see the log) when no step writes "
          "it.");
}

// TensorRT's programs hand over a capsule, whatever its name; ctypes and other bindings of NCCL have numbers.
void* communicator_of(nb::handle object) {
  if (object.is_none()) return nullptr;
  if (PyCapsule_CheckExact(object.ptr())) {
    void* const pointer = PyCapsule_GetPointer(object.ptr(), PyCapsule_GetName(object.ptr()));
    if (pointer == nullptr) throw nb::python_error();
    return pointer;
  }
  size_t number = 0;
  if (!nb::try_cast(object, number)) throw nb::type_error("a communicator is a capsule, a number, or None");
  return reinterpret_cast<void*>(number);
}

void bind_communicator(Context& context) {
  context.def(
      "set_communicator",
      [](nb::handle context, nb::handle communicator) {
        void* const given = communicator_of(communicator);
        auto& c = nb::cast<IExecutionContext&>(context);
        bool set = false;
        {
          nb::gil_scoped_release release;  // it may wait for other ranks
          set = c.setCommunicator(given);
        }
        if (set) keep_for(context, "communicator", communicator);
        return set;
      },
      nb::arg("communicator").none(), "A capsule that holds an ncclComm_t, or its address as a number; None: none.");
}

// Memory that the application gives the context in place of the context's own.
void bind_memory(Context& context) {
  const auto remember = [](nb::handle context, size_t address) { context.attr("_device_memory") = address; };
  context
      .def_prop_rw(
          "device_memory",
          [](nb::handle context) {
            return nb::hasattr(context, "_device_memory") ? nb::object(context.attr("_device_memory")) : nb::int_(0);
          },
          [remember](nb::handle context, size_t memory) {
            nb::cast<IExecutionContext&>(context).setDeviceMemory(reinterpret_cast<void*>(memory));
            remember(context, memory);
          })
      .def(
          "set_device_memory",
          [remember](nb::handle context, size_t memory, int64_t size) {
            nb::cast<IExecutionContext&>(context).setDeviceMemoryV2(reinterpret_cast<void*>(memory), size);
            remember(context, memory);
          },
          nb::arg("memory"), nb::arg("size"))
      .def("update_device_memory_size_for_shapes", &IExecutionContext::updateDeviceMemorySizeForShapes)
      .def("get_runtime_config", &IExecutionContext::getRuntimeConfig, nb::rv_policy::reference_internal)
      .def_prop_rw("debug_sync", &IExecutionContext::getDebugSync, &IExecutionContext::setDebugSync);
}

}  // namespace

void bind_context_extras(Context& context) {
  bind_debug(context);
  bind_communicator(context);
  bind_memory(context);
}

}  // namespace wootz_python
