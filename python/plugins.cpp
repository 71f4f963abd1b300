// Plugins: fields, creators, registries, and the layers that hold plugins. Plugins written in Python are not offered.
#define WOOTZ_NO_DEPRECATION
#include <cstring>

#include "NvInferPlugin.h"
#include "casters.h"
#include "wootz/plugin_creator_v3.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

using namespace nvinfer1;

namespace wootz_python {
namespace {

// A field with data of its own.
struct Field {
  std::string name;
  PluginFieldType type = PluginFieldType::kUNKNOWN;
  int32_t length = 0;
  std::vector<uint64_t> data;  // for its alignment
};

size_t element_bytes(PluginFieldType type) {
  constexpr size_t kBytes[] = {2, 4, 8, 1, 2, 4, 1, sizeof(Dims), 1, 2, 8, 1, 1, 1};
  const auto number = static_cast<size_t>(type);
  return number < std::size(kBytes) ? kBytes[number] : 1;
}

void set_bytes(Field& field, const void* bytes, size_t size) {
  field.data.assign(size / sizeof(uint64_t) + 1, 0);
  if (size > 0) std::memcpy(field.data.data(), bytes, size);
}

// The elements of what has a buffer: an array, bytes. Their size must be that of the field's type.
void set_data(Field& field, nb::handle given) {
  if (field.type == PluginFieldType::kDIMS && !PyObject_CheckBuffer(given.ptr())) {
    const Dims dims = nb::cast<Dims>(given);
    field.length = 1;
    return set_bytes(field, &dims, sizeof dims);
  }
  nb::object text;
  if (PyUnicode_Check(given.ptr())) text = nb::steal(PyUnicode_AsUTF8String(given.ptr()));
  Py_buffer view{};
  if (PyObject_GetBuffer(text ? text.ptr() : given.ptr(), &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) != 0)
    throw nb::python_error();
  const auto size = static_cast<size_t>(view.len), element = element_bytes(field.type);
  const bool raw = field.type == PluginFieldType::kUNKNOWN || view.itemsize == 1;
  const bool fits = size % element == 0 && (raw || static_cast<size_t>(view.itemsize) == element);
  if (fits) {
    set_bytes(field, view.buf, size);
    field.length = static_cast<int32_t>(size / element);
  }
  const Py_ssize_t itemsize = view.itemsize;
  PyBuffer_Release(&view);
  if (!fits)
    throw nb::type_error(("field '" + field.name + "': elements of " + std::to_string(itemsize) +
                          " bytes, its type has " + std::to_string(element))
                             .c_str());
}

Field to_field(const PluginField& given) {
  Field field{given.name == nullptr ? "" : given.name, given.type, given.length, {}};
  if (given.data != nullptr)
    set_bytes(field, given.data, element_bytes(given.type) * static_cast<size_t>(std::max(given.length, 0)));
  return field;
}

std::vector<Field> to_fields(const PluginFieldCollection* given) {
  std::vector<Field> fields;
  for (int32_t i = 0; given != nullptr && i < given->nbFields; ++i) fields.push_back(to_field(given->fields[i]));
  return fields;
}

// Any sequence of fields, as long as it lives.
struct Fields {
  explicit Fields(nb::sequence given) {
    for (nb::handle item : given) {
      const auto& field = nb::cast<const Field&>(item);
      all.emplace_back(field.name.c_str(), field.length == 0 ? nullptr : field.data.data(), field.type, field.length);
    }
    collection = {static_cast<int32_t>(all.size()), all.data()};
  }
  std::vector<PluginField> all;
  PluginFieldCollection collection{};
};

void release(IPluginV2* plugin) {
  if (plugin != nullptr) plugin->destroy();
}
void release(IPluginV3* plugin) { delete plugin; }

// A plugin that Python owns, or a layer does.
template <class Plugin>
struct Held {
  Held(Plugin* given, bool own) : plugin(given), owned(own) {}
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() { destroy(); }
  void destroy() {
    if (owned) release(plugin);
    plugin = nullptr;
  }
  Plugin& get() const {
    if (plugin == nullptr) throw std::runtime_error("the plugin was destroyed");
    return *plugin;
  }
  Plugin* plugin;
  bool owned;
};
using PluginV2 = Held<IPluginV2>;
using PluginV3 = Held<IPluginV3>;

// Python takes the wrapper over.
template <class Wrapper, class Plugin>
Wrapper* own(Plugin* plugin) {
  return plugin == nullptr ? nullptr : new Wrapper(plugin, true);
}

nb::bytes serialized(const PluginV2& p) {
  std::string bytes(p.get().getSerializationSize(), '\0');
  p.get().serialize(bytes.data());
  return nb::bytes(bytes.data(), bytes.size());
}

void bind_plugins_of_both_sorts(nb::module_& m) {
  nb::class_<Field>(m, "PluginField")
      .def(
          "__init__",
          [](Field* field, const std::string& name, nb::handle data, PluginFieldType type) {
            new (field) Field{name, type, 0, {}};
            if (!data.is_none()) set_data(*field, data);
          },
          nb::arg("name") = "", nb::arg("data") = nb::none(), nb::arg("type") = PluginFieldType::kUNKNOWN)
      .def_rw("name", &Field::name)
      .def_prop_rw(
          "data",
          [](const Field& f) {
            return nb::bytes(reinterpret_cast<const char*>(f.data.data()),
                             f.data.empty() ? 0 : element_bytes(f.type) * static_cast<size_t>(f.length));
          },
          [](Field& f, nb::handle data) { set_data(f, data); })
      .def_rw("type", &Field::type)
      .def_ro("size", &Field::length)
      .def("__repr__", [](const Field& f) { return "<PluginField '" + f.name + "'>"; });
  nb::class_<PluginV2>(m, "IPluginV2")
      .def_prop_ro("plugin_type", [](const PluginV2& p) { return p.get().getPluginType(); })
      .def_prop_ro("plugin_version", [](const PluginV2& p) { return p.get().getPluginVersion(); })
      .def_prop_rw(
          "plugin_namespace", [](const PluginV2& p) { return p.get().getPluginNamespace(); },
          [](PluginV2& p, const char* space) { p.get().setPluginNamespace(space); })
      .def_prop_ro("num_outputs", [](const PluginV2& p) { return p.get().getNbOutputs(); })
      .def_prop_ro("serialization_size", [](const PluginV2& p) { return p.get().getSerializationSize(); })
      .def("serialize", &serialized)
      .def("clone", [](const PluginV2& p) { return own<PluginV2>(p.get().clone()); })
      .def("destroy", &PluginV2::destroy);
  nb::class_<PluginV3>(m, "IPluginV3")
      .def("clone", [](const PluginV3& p) { return own<PluginV3>(p.get().clone()); })
      .def("destroy", &PluginV3::destroy);
}

// What both sorts of creator show.
template <class Creator>
nb::class_<Creator, IPluginCreatorInterface> bind_creator(nb::module_& m, const char* name) {
  return nb::class_<Creator, IPluginCreatorInterface>(m, name)
      .def_prop_ro("name", [](Creator& c) { return c.getPluginName(); })
      .def_prop_ro("plugin_version", [](Creator& c) { return c.getPluginVersion(); })
      .def_prop_ro("plugin_namespace", [](Creator& c) { return c.getPluginNamespace(); })
      .def_prop_ro("field_names", [](Creator& c) { return to_fields(c.getFieldNames()); })
      .def("__repr__", [](Creator& c) { return std::string("<IPluginCreator '") + c.getPluginName() + "'>"; });
}

void bind_creators(nb::module_& m) {
  nb::class_<IPluginCreatorInterface>(m, "IPluginCreatorInterface");
  bind_creator<IPluginCreator>(m, "IPluginCreator")
      .def(
          "create_plugin",
          [](IPluginCreator& c, const char* name, nb::sequence fields) {
            const Fields all(fields);
            return own<PluginV2>(c.createPlugin(name, &all.collection));
          },
          nb::arg("name"), nb::arg("field_collection"))
      .def(
          "deserialize_plugin",
          [](IPluginCreator& c, const char* name, nb::bytes data) {
            return own<PluginV2>(c.deserializePlugin(name, data.c_str(), data.size()));
          },
          nb::arg("name"), nb::arg("serialized_plugin"));
  bind_creator<IPluginCreatorV3One>(m, "IPluginCreatorV3One")
      .def(
          "create_plugin",
          [](IPluginCreatorV3One& c, const char* name, nb::sequence fields, TensorRTPhase phase) {
            const Fields all(fields);
            return own<PluginV3>(c.createPlugin(name, &all.collection, phase));
          },
          nb::arg("name"), nb::arg("field_collection"), nb::arg("phase") = TensorRTPhase::kBUILD);
}

// A creator as its own class; registries and libraries keep it.
nb::object typed(IPluginCreatorInterface* creator) {
  if (creator == nullptr) return nb::none();
  const char* const kind = creator->getInterfaceInfo().kind;
  if (std::strcmp(kind, "PLUGIN CREATOR_V1") == 0)
    return nb::cast(static_cast<IPluginCreator*>(creator), nb::rv_policy::reference);
  if (std::strcmp(kind, "PLUGIN CREATOR_V3ONE") == 0)
    return nb::cast(static_cast<IPluginCreatorV3One*>(creator), nb::rv_policy::reference);
  return nb::cast(creator, nb::rv_policy::reference);
}

nb::list typed_list(IPluginCreatorInterface* const* all, int32_t count) {
  nb::list list;
  for (int32_t i = 0; all != nullptr && i < count; ++i) list.append(typed(all[i]));
  return list;
}

nb::object get_v2(IPluginRegistry& r, const char* type, const char* version, const char* space) {
  IPluginCreatorInterface* const found = r.getCreator(type, version, space);
  const bool is_v2 = found != nullptr && std::strcmp(found->getInterfaceInfo().kind, "PLUGIN CREATOR_V1") == 0;
  return typed(is_v2 ? found : nullptr);
}

void bind_registry(nb::module_& m) {
  nb::class_<IPluginRegistry>(m, "IPluginRegistry")
      .def_prop_ro("all_creators",
                   [](const IPluginRegistry& r) {
                     int32_t count = 0;
                     auto* const* const all = r.getAllCreators(&count);
                     return typed_list(all, count);
                   })
      .def_prop_ro("all_creators_recursive",
                   [](IPluginRegistry& r) {
                     int32_t count = 0;
                     auto* const* const all = r.getAllCreatorsRecursive(&count);
                     return typed_list(all, count);
                   })
#if NV_TENSORRT_MAJOR < 11
      .def_prop_ro("plugin_creator_list",
                   [](const IPluginRegistry& r) {
                     int32_t count = 0;
                     IPluginCreator* const* const all = r.getPluginCreatorList(&count);
                     nb::list list;
                     for (int32_t i = 0; i < count; ++i) list.append(typed(all[i]));
                     return list;
                   })
#endif
      .def(
          "get_creator",
          [](IPluginRegistry& r, const char* type, const char* version, const char* space) {
            return typed(r.getCreator(type, version, space));
          },
          nb::arg("type"), nb::arg("version"), nb::arg("plugin_namespace") = "")
      .def("get_plugin_creator", &get_v2, nb::arg("type"), nb::arg("version"), nb::arg("plugin_namespace") = "")
      .def_prop_rw("parent_search_enabled", &IPluginRegistry::isParentSearchEnabled,
                   &IPluginRegistry::setParentSearchEnabled)
      .def(
          "load_library",
          [](IPluginRegistry& r, const char* path) -> nb::object {
            void* const handle = r.loadLibrary(path);
            return handle == nullptr ? nb::object(nb::none()) : nb::object(nb::capsule(handle));
          },
          nb::arg("plugin_path"))
      .def(
          "deregister_library", [](IPluginRegistry& r, nb::capsule handle) { r.deregisterLibrary(handle.data()); },
          nb::arg("handle"));
}

// Where registries are had from.
void bind_registry_access(nb::module_& m) {
  constexpr auto kReference = nb::rv_policy::reference;
  m.def(
      "get_plugin_registry", [] { return getPluginRegistry(); }, kReference);
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

template <class Wrapper, class Layer>
Wrapper* held(Layer& layer) {
  return new Wrapper(&layer.getPlugin(), false);
}

void bind_plugin_layers(nb::module_& m) {
  nb::class_<IPluginV2Layer, ILayer>(m, "IPluginV2Layer")
      .def_prop_ro("plugin", &held<PluginV2, IPluginV2Layer>, nb::rv_policy::take_ownership, nb::keep_alive<0, 1>());
  nb::class_<IPluginV3Layer, ILayer>(m, "IPluginV3Layer")
      .def_prop_ro("plugin", &held<PluginV3, IPluginV3Layer>, nb::rv_policy::take_ownership, nb::keep_alive<0, 1>());
  constexpr auto kInner = nb::rv_policy::reference_internal;
  nb::borrow<nb::class_<INetworkDefinition>>(m.attr("INetworkDefinition"))
      .def(
          "add_plugin_v2",
          [](INetworkDefinition& n, nb::sequence inputs, const PluginV2& plugin) {
            const std::vector<ITensor*> all = tensors(inputs);
            return n.addPluginV2(all.data(), static_cast<int32_t>(all.size()), plugin.get());
          },
          nb::arg("inputs"), nb::arg("plugin"), kInner)
      .def(
          "add_plugin_v3",
          [](INetworkDefinition& n, nb::sequence inputs, nb::sequence shapes, const PluginV3& plugin) {
            const std::vector<ITensor*> all = tensors(inputs), more = tensors(shapes);
            return n.addPluginV3(all.data(), static_cast<int32_t>(all.size()), more.data(),
                                 static_cast<int32_t>(more.size()), plugin.get());
          },
          nb::arg("inputs"), nb::arg("shape_inputs"), nb::arg("plugin"), kInner);
}

}  // namespace

void bind_plugins(nb::module_& m) {
  bind_plugins_of_both_sorts(m);
  bind_creators(m);
  bind_registry(m);
  bind_registry_access(m);
  bind_plugin_layers(m);
}

}  // namespace wootz_python
