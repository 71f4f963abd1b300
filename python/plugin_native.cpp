// Plugins of C++: what wootz._plugins.LibraryPluginV2 and V3 call.
#define WOOTZ_NO_DEPRECATION
#include "plugin_native.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

using namespace nvinfer1;

namespace wootz_python {
namespace {

nb::bytes serialized(const PluginV2& p) {
  std::string bytes(p.get().getSerializationSize(), '\0');
  p.get().serialize(bytes.data());
  return nb::bytes(bytes.data(), bytes.size());
}

std::vector<void*> addresses(const std::vector<size_t>& given) {
  std::vector<void*> all;
  for (const size_t address : given) all.push_back(reinterpret_cast<void*>(address));
  return all;
}

int32_t execute(const PluginV2& p, int32_t batch, const std::vector<size_t>& inputs, const std::vector<size_t>& outputs,
                size_t workspace, size_t stream) {
  const std::vector<void*> in = addresses(inputs), out = addresses(outputs);
  const nb::gil_scoped_release release;
  return p.get().enqueue(batch, in.data(), out.data(), reinterpret_cast<void*>(workspace),
                         reinterpret_cast<cudaStream_t>(stream));
}

nvinfer1::IPluginV2Ext& ext_of(const PluginV2& p) {
  constexpr int32_t kLanguages = 64;  // added by bindings
  const uint32_t version = (static_cast<uint32_t>(p.get().getTensorRTVersion()) >> 24U) % kLanguages;
  if (version == static_cast<uint32_t>(PluginVersion::kV2))
    throw nb::type_error("the plugin derives from IPluginV2 alone");
  return static_cast<IPluginV2Ext&>(p.get());
}

void bind_v2(nb::module_& m) {
  nb::class_<PluginV2>(m, "_NativePluginV2")
      .def_prop_ro("plugin_type", [](const PluginV2& p) { return p.get().getPluginType(); })
      .def_prop_ro("plugin_version", [](const PluginV2& p) { return p.get().getPluginVersion(); })
      .def_prop_rw(
          "plugin_namespace", [](const PluginV2& p) { return p.get().getPluginNamespace(); },
          [](PluginV2& p, const char* space) { p.get().setPluginNamespace(space); })
      .def_prop_ro("num_outputs", [](const PluginV2& p) { return p.get().getNbOutputs(); })
      .def_prop_ro("serialization_size", [](const PluginV2& p) { return p.get().getSerializationSize(); })
      .def_prop_ro("tensorrt_version", [](const PluginV2& p) { return p.get().getTensorRTVersion(); })
      .def("serialize", &serialized)
      .def("clone", [](const PluginV2& p) { return from_plugin(p.get().clone(), true); })
      .def("destroy", &PluginV2::destroy)
      .def("initialize", [](const PluginV2& p) { return p.get().initialize(); })
      .def("terminate", [](const PluginV2& p) { p.get().terminate(); })
      .def("get_workspace_size", [](const PluginV2& p, int32_t batch) { return p.get().getWorkspaceSize(batch); })
      .def("supports_format",
           [](const PluginV2& p, DataType type, TensorFormat format) { return p.get().supportsFormat(type, format); })
      .def("get_output_shape",
           [](const PluginV2& p, int32_t index, const std::vector<Dims>& inputs) {
             return p.get().getOutputDimensions(index, inputs.data(), static_cast<int32_t>(inputs.size()));
           })
      .def("get_output_data_type",
           [](const PluginV2& p, int32_t index, const std::vector<DataType>& types) {
             return ext_of(p).getOutputDataType(index, types.data(), static_cast<int32_t>(types.size()));
           })
      .def("detach_from_context", [](const PluginV2& p) { ext_of(p).detachFromContext(); })
      .def("configure_with_format",
           [](const PluginV2& p, const std::vector<Dims>& inputs, const std::vector<Dims>& outputs, DataType type,
              TensorFormat format, int32_t batch) {
             p.get().configureWithFormat(inputs.data(), static_cast<int32_t>(inputs.size()), outputs.data(),
                                         static_cast<int32_t>(outputs.size()), type, format, batch);
           })
      .def("execute_async", &execute);
}

}  // namespace

template <>
Given<IPluginV3>::Given(nb::handle plugin) {
  const bool native = nb::hasattr(plugin, "_native");
  if (!native) made_.reset(make_python_v3(plugin, false));
  plugin_ = native ? &nb::cast<PluginV3&>(plugin.attr("_native")).get() : made_.get();
}

template <>
Given<IPluginV2>::Given(nb::handle plugin) {
  const bool native = nb::hasattr(plugin, "_native");
  if (!native) made_.reset(make_python_v2(plugin, false));
  plugin_ = native ? &nb::cast<PluginV2&>(plugin.attr("_native")).get() : made_.get();
}

IPluginV3* to_owned_v3(nb::handle plugin) {
  if (plugin.is_none()) return nullptr;
  if (!nb::hasattr(plugin, "_native")) return make_python_v3(plugin, true);
  return nb::cast<PluginV3&>(plugin.attr("_native")).take();
}

IPluginV2* to_owned_v2(nb::handle plugin) {
  if (plugin.is_none()) return nullptr;
  if (!nb::hasattr(plugin, "_native")) return make_python_v2(plugin, true);
  return nb::cast<PluginV2&>(plugin.attr("_native")).take();
}

nb::object from_plugin(IPluginV3* plugin, bool own) {
  if (plugin == nullptr) return nb::none();
  if (const nb::handle object = python_of(plugin)) {
    const nb::object same = nb::borrow(object);
    if (own) let_go(plugin);
    return same;
  }
  nb::object native = nb::cast(new PluginV3(plugin, own), nb::rv_policy::take_ownership);
  return nb::object(plugin_classes().attr("LibraryPluginV3")(native));
}

nb::object from_plugin(IPluginV2* plugin, bool own) {
  if (plugin == nullptr) return nb::none();
  if (const nb::handle object = python_of(plugin)) {
    const nb::object same = nb::borrow(object);
    if (own) let_go(plugin);
    return same;
  }
  nb::object native = nb::cast(new PluginV2(plugin, own), nb::rv_policy::take_ownership);
  return nb::object(plugin_classes().attr("LibraryPluginV2")(native));
}

void bind_native_plugins(nb::module_& m) {
  bind_v2(m);
  nb::class_<PluginV3>(m, "_NativePluginV3")
      .def("clone", [](const PluginV3& p) { return from_plugin(p.get().clone(), true); })
      .def("identity",
           [](const PluginV3& p) -> nb::object {
             auto* const core =
                 static_cast<IPluginV3OneCore*>(p.get().getCapabilityInterface(PluginCapabilityType::kCORE));
             if (core == nullptr || std::string(core->getInterfaceInfo().kind) != "PLUGIN_V3ONE_CORE")
               return nb::none();
             return nb::make_tuple(core->getPluginName(), core->getPluginVersion(), core->getPluginNamespace());
           })
      .def("destroy", &PluginV3::destroy);
}

}  // namespace wootz_python
