// Plugin registries, creators of C++ and Python, and the layers that hold plugins.
#define WOOTZ_NO_DEPRECATION
#include "NvInferPlugin.h"
#include "plugin_creators.h"
#include "plugin_native.h"
#include "plugin_tensors.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

using namespace nvinfer1;

namespace wootz_python {
namespace {

constexpr auto kReference = nb::rv_policy::reference;

nb::list all_creators(IPluginCreatorInterface* const* all, int32_t count) {
  nb::list list;
  for (int32_t i = 0; all != nullptr && i < count; ++i) list.append(from_creator(all[i]));
  return list;
}

[[maybe_unused]] nb::object get_v2(IPluginRegistry& r, const char* type, const char* version, const char* space) {
  IPluginCreatorInterface* const found = r.getCreator(type, version, space);
  const bool is_v2 = found != nullptr && std::string(found->getInterfaceInfo().kind) == "PLUGIN CREATOR_V1";
  return from_creator(is_v2 ? found : nullptr);
}

using Registry = nb::class_<IPluginRegistry>;

void bind_creators(Registry& registry) {
  registry
      .def_prop_ro("all_creators",
                   [](const IPluginRegistry& r) {
                     int32_t count = 0;
                     auto* const* const all = r.getAllCreators(&count);
                     return all_creators(all, count);
                   })
      .def_prop_ro("all_creators_recursive",
                   [](IPluginRegistry& r) {
                     int32_t count = 0;
                     auto* const* const all = r.getAllCreatorsRecursive(&count);
                     return all_creators(all, count);
                   })
#if NV_TENSORRT_MAJOR < 11
      .def_prop_ro("plugin_creator_list",
                   [](const IPluginRegistry& r) {
                     int32_t count = 0;
                     IPluginCreator* const* const all = r.getPluginCreatorList(&count);
                     nb::list list;
                     for (int32_t i = 0; i < count; ++i) list.append(from_creator(all[i]));
                     return list;
                   })
#endif
      .def(
          "get_creator",
          [](IPluginRegistry& r, const char* type, const char* version, const char* space) {
            return from_creator(r.getCreator(type, version, space));
          },
          nb::arg("type"), nb::arg("version"), nb::arg("plugin_namespace") = "")
#if NV_TENSORRT_MAJOR < 11
      .def("get_plugin_creator", &get_v2, nb::arg("type"), nb::arg("version"), nb::arg("plugin_namespace") = "")
#endif
      .def("register_creator", &register_creator, nb::arg("creator"), nb::arg("plugin_namespace") = "",
           "Makes a creator known; False when its name, version and namespace are taken. The registry keeps it.")
      .def("deregister_creator", &deregister_creator, nb::arg("creator"));
}

void bind_rest(Registry& registry) {
  registry
      .def_prop_rw("parent_search_enabled", &IPluginRegistry::isParentSearchEnabled,
                   &IPluginRegistry::setParentSearchEnabled)
      .def_prop_rw("error_recorder", &IPluginRegistry::getErrorRecorder, &IPluginRegistry::setErrorRecorder,
                   nb::for_getter(kReference), nb::for_setter(nb::keep_alive<1, 2>()))
      .def(
          "load_library",
          [](IPluginRegistry& r, const char* path) -> nb::object {
            void* handle = nullptr;
            {
              const nb::gil_scoped_release release;  // the library's code may take long
              handle = r.loadLibrary(path);
            }
            return handle == nullptr ? nb::object(nb::none()) : nb::object(nb::capsule(handle));
          },
          nb::arg("plugin_path"))
      .def(
          "deregister_library", [](IPluginRegistry& r, nb::capsule handle) { r.deregisterLibrary(handle.data()); },
          nb::arg("handle"))
      .def("acquire_plugin_resource", &acquire_resource, nb::arg("key"), nb::arg("resource").none(),
           "The resource that is kept under a key, or a clone of the given one; None where neither can be.")
      .def(
          "release_plugin_resource",
          [](IPluginRegistry& r, const char* key) {
            const nb::gil_scoped_release release;  // the registry's lock is held while it calls the resource
            return r.releasePluginResource(key);
          },
          nb::arg("key"));
}

// Where registries are had from.
void bind_registry_access(nb::module_& m) {
  m.def(
      "get_plugin_registry", [] { return getPluginRegistry(); }, kReference);
  m.def(
      "get_builder_plugin_registry", [](EngineCapability capability) { return getBuilderPluginRegistry(capability); },
      kReference);
  nb::borrow<nb::class_<IBuilder>>(m.attr("Builder"))
      .def("get_plugin_registry", &IBuilder::getPluginRegistry, nb::rv_policy::reference_internal);
  nb::borrow<nb::class_<IRuntime>>(m.attr("Runtime"))
      .def("get_plugin_registry", &IRuntime::getPluginRegistry, nb::rv_policy::reference_internal);
  m.def(
      "init_libnvinfer_plugins",
      [](nb::object logger, const char* space) {
        ILogger* const to = logger.is_none() ? nullptr : nb::cast<ILogger*>(logger);
        const bool done = initLibNvInferPlugins(to, space);
        if (to != nullptr && getLogger() == to) keep_logger(*to);  // otherwise another one stays the library's
        return done;
      },
      nb::arg("logger") = nb::none(), nb::arg("namespace") = "");
}

std::vector<ITensor*> tensors(nb::sequence list) {
  std::vector<ITensor*> all;
  for (nb::handle t : list) all.push_back(nb::cast<ITensor*>(t));
  return all;
}

template <class Layer>
nb::object plugin_of(nb::handle layer) {
  nb::object plugin = from_plugin(&nb::cast<Layer&>(layer).getPlugin(), false);
  if (nb::hasattr(plugin, "_native")) nb::keep_alive_obj(plugin.attr("_native"), layer);
  return plugin;
}

void bind_plugin_layers(nb::module_& m) {
  nb::class_<IPluginV2Layer, ILayer>(m, "IPluginV2Layer").def_prop_ro("plugin", &plugin_of<IPluginV2Layer>);
  nb::class_<IPluginV3Layer, ILayer>(m, "IPluginV3Layer").def_prop_ro("plugin", &plugin_of<IPluginV3Layer>);
  const auto add_plugin = [](nb::handle network, nb::handle call, nb::handle aot) {
    return nb::object(plugin_classes().attr("_add_plugin")(network, call, aot));
  };
  m.def("_prefers_aot", [](const INetworkDefinition& n) {
    return n.getFlag(NetworkDefinitionCreationFlag::kPREFER_AOT_PYTHON_PLUGINS);
  });
  nb::borrow<nb::class_<INetworkDefinition>>(m.attr("INetworkDefinition"))
      .def(
          "add_plugin", [=](nb::handle n, nb::tuple call) { return add_plugin(n, call, nb::none()); }, nb::arg("tuple"))
      .def(
          "add_plugin", [=](nb::handle n, nb::handle call) { return add_plugin(n, call, nb::none()); }, nb::arg("func"))
      .def(
          "add_plugin", [=](nb::handle n, nb::handle call, bool aot) { return add_plugin(n, call, nb::cast(aot)); },
          nb::arg("func"), nb::arg("aot"))
      .def(
          "add_plugin_v2",
          [](INetworkDefinition& n, nb::sequence inputs, nb::handle plugin) {
            const std::vector<ITensor*> all = tensors(inputs);
            const Given<IPluginV2> given(plugin);
            return n.addPluginV2(all.data(), static_cast<int32_t>(all.size()), given.get());
          },
          nb::arg("inputs"), nb::arg("plugin"), kInner)
      .def(
          "add_plugin_v3",
          [](INetworkDefinition& n, nb::sequence inputs, nb::sequence shapes, nb::handle plugin) {
            const std::vector<ITensor*> all = tensors(inputs), more = tensors(shapes);
            const Given<IPluginV3> given(plugin);
            return n.addPluginV3(all.data(), static_cast<int32_t>(all.size()), more.data(),
                                 static_cast<int32_t>(more.size()), given.get());
          },
          nb::arg("inputs"), nb::arg("shape_inputs"), nb::arg("plugin"), kInner);
}

}  // namespace

void bind_plugins(nb::module_& m) {
  bind_plugin_fields(m);
  bind_plugin_tensors(m);
  bind_native_plugins(m);
  bind_native_creators(m);
  bind_resource_context(m);
  bind_launch_params(m);
  Registry registry(m, "IPluginRegistry", "Creators of plugins, by name, version and namespace.");
  bind_creators(registry);
  bind_rest(registry);
  bind_registry_access(m);
  bind_plugin_layers(m);
  m.attr("_python_plugin_version") =
      (static_cast<uint32_t>(PluginVersion::kV2_DYNAMICEXT_PYTHON) << 24U) | static_cast<uint32_t>(NV_TENSORRT_VERSION);
}

}  // namespace wootz_python
