#define WOOTZ_NO_DEPRECATION
#include "plugin_creators.h"

#include <map>

#include "plugin_parts.h"
#include "shared.h"
#include "wootz/plugin_creator_v3.h"
#include "wootz/plugin_quick.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

using namespace nvinfer1;

namespace wootz_python {
namespace {

// What a creator is known by does not change once it is registered; the registry asks for it under its lock, where no
// Python may run.
template <class Base>
class PythonCreator : public Base {
 public:
  explicit PythonCreator(nb::handle self)
      : self_(nb::borrow(self)),
        name_(answered<std::string>(self.attr("name"), "a name")),
        version_(answered<std::string>(self.attr("plugin_version"), "a version")),
        space_(answered<std::string>(self.attr("plugin_namespace"), "a namespace")) {}
  nb::handle self() const { return self_.get(); }

  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }
  const char* getPluginName() const noexcept override { return name_.c_str(); }
  const char* getPluginVersion() const noexcept override { return version_.c_str(); }
  const char* getPluginNamespace() const noexcept override { return space_.c_str(); }
  const PluginFieldCollection* getFieldNames() noexcept override {
    told_ = attempt(self(), "field_names", [&] { fields_.assign(self().attr("field_names")); });
    return told_ ? fields_.collection() : nullptr;
  }

 protected:
  std::string& space() { return space_; }
  // `make` calls Python. Null: it raised, or the creator could not say its fields, so that it cannot be given any.
  template <class Plugin, class F>
  Plugin* made(const char* method, F&& make) const noexcept {
    Plugin* plugin = nullptr;
    if (told_) attempt(self(), method, [&] { plugin = make(); });
    return plugin;
  }

 private:
  Kept self_;
  std::string name_, version_, space_;
  Fields fields_;
  bool told_ = true;
};

class PythonCreatorV1 final : public PythonCreator<IPluginCreator> {
 public:
  using PythonCreator::PythonCreator;
  void setPluginNamespace(const char* given) noexcept override { space() = given == nullptr ? "" : given; }
  IPluginV2* createPlugin(const char* name, const PluginFieldCollection* fields) noexcept override {
    return made<IPluginV2>("create_plugin",
                           [&] { return to_owned_v2(self().attr("create_plugin")(name, to_collection(fields))); });
  }
  IPluginV2* deserializePlugin(const char* name, const void* data, size_t size) noexcept override {
    return made<IPluginV2>("deserialize_plugin",
                           [&] { return to_owned_v2(self().attr("deserialize_plugin")(name, nb::bytes(data, size))); });
  }
};

class PythonCreatorV3 final : public PythonCreator<IPluginCreatorV3One> {
 public:
  using PythonCreator::PythonCreator;
  IPluginV3* createPlugin(const char* name, const PluginFieldCollection* fields,
                          TensorRTPhase phase) noexcept override {
    return made<IPluginV3>(
        "create_plugin", [&] { return to_owned_v3(self().attr("create_plugin")(name, to_collection(fields), phase)); });
  }
};

class PythonCreatorQuick final : public PythonCreator<IPluginCreatorV3Quick> {
 public:
  using PythonCreator::PythonCreator;
  IPluginV3* createPlugin(const char* name, const char* space, const PluginFieldCollection* fields, TensorRTPhase phase,
                          QuickPluginCreationRequest request) noexcept override {
    return made<IPluginV3>("create_plugin", [&] {
      return to_owned_v3(self().attr("create_plugin")(name, space, to_collection(fields), phase, request));
    });
  }
};

template <class Creator>
std::unique_ptr<IPluginCreatorInterface> make_creator(nb::handle self) {
  return std::make_unique<Creator>(self);
}

// The sorts of creator: which class of Python's one derives from, what it is for the library, and the class of those
// of C++.
struct Sort {
  const char* base;
  const char* kind;
  std::unique_ptr<IPluginCreatorInterface> (*make)(nb::handle self);
  nb::object (*native)(IPluginCreatorInterface* creator);
  nb::handle (*python)(IPluginCreatorInterface* creator);
};

template <class Base>
nb::object native(IPluginCreatorInterface* creator) {
  return nb::cast(static_cast<Base*>(creator), nb::rv_policy::reference);
}
template <class Python>
nb::handle python(IPluginCreatorInterface* creator) {
  const auto* const own = dynamic_cast<Python*>(creator);
  return own == nullptr ? nb::handle() : own->self();
}

constexpr Sort kSorts[] = {
    {"IPluginCreator", "PLUGIN CREATOR_V1", make_creator<PythonCreatorV1>, native<IPluginCreator>,
     python<PythonCreatorV1>},
    {"IPluginCreatorV3One", "PLUGIN CREATOR_V3ONE", make_creator<PythonCreatorV3>, native<IPluginCreatorV3One>,
     python<PythonCreatorV3>},
    {"IPluginCreatorV3Quick", "PLUGIN CREATOR_V3QUICK", make_creator<PythonCreatorQuick>, native<IPluginCreatorV3Quick>,
     python<PythonCreatorQuick>},
};

// The library's objects of Python's creators, by registry and creator. They stay as long as the process, since the
// process's registry does: to let go of one, deregister it.
using Registered = std::map<std::pair<IPluginRegistry*, PyObject*>, std::unique_ptr<IPluginCreatorInterface>>;
Shared<Registered>& registered() {
  static auto* const all = new Shared<Registered>;
  return *all;
}

std::unique_ptr<IPluginCreatorInterface> to_creator(nb::handle creator) {
  for (const Sort& sort : kSorts)
    if (nb::isinstance(creator, plugin_classes().attr(sort.base))) return sort.make(creator);
  throw nb::type_error(
      (type_of(creator) + " derives from none of IPluginCreator, IPluginCreatorV3One, IPluginCreatorV3Quick").c_str());
}

// What both sorts of creator show.
template <class Creator>
nb::class_<Creator> bind_creator(nb::module_& m, const char* name) {
  return nb::class_<Creator>(m, name)
      .def_prop_ro("name", [](Creator& c) { return c.getPluginName(); })
      .def_prop_ro("plugin_version", [](Creator& c) { return c.getPluginVersion(); })
      .def_prop_ro("plugin_namespace", [](Creator& c) { return c.getPluginNamespace(); })
      .def_prop_ro("field_names", [](Creator& c) { return to_collection(c.getFieldNames()); });
}

class PythonResource final : public IPluginResource {
 public:
  explicit PythonResource(nb::handle self) : self_(nb::borrow(self)) {}
  int32_t release() noexcept override {
    int32_t code = kCallFailed;
    attempt(self(), "release", [&] { code = code_of(self().attr("release")()); });
    return code;
  }
  IPluginResource* clone() noexcept override {
    IPluginResource* made = nullptr;
    attempt(self(), "clone", [&] {
      const nb::object copy = self().attr("clone")();
      if (!nb::isinstance(copy, plugin_classes().attr("IPluginResource")))
        throw nb::type_error("clone() is to give an IPluginResource");
      made = new PythonResource(copy);
    });
    return made;
  }
  nb::handle self() const { return self_.get(); }

 private:
  Kept self_;
};

}  // namespace

nb::object from_creator(IPluginCreatorInterface* creator) {
  if (creator == nullptr) return nb::none();
  const std::string kind = creator->getInterfaceInfo().kind;
  for (const Sort& sort : kSorts) {
    if (kind != sort.kind) continue;
    if (const nb::handle own = sort.python(creator)) return nb::borrow(own);
    return nb::object(
        plugin_classes().attr(("Library" + std::string(sort.base).substr(1)).c_str())(sort.native(creator)));
  }
  throw nb::type_error(("a plugin creator of kind '" + kind + "' is not known here").c_str());
}

bool register_creator(IPluginRegistry& registry, nb::handle creator, const std::string& space) {
  if (nb::hasattr(creator, "_native")) throw nb::type_error("a creator of C++ is registered by its library");
  std::unique_ptr<IPluginCreatorInterface> made = to_creator(creator);
  if (!registry.registerCreator(*made, space.c_str())) return false;
  const std::lock_guard lock(registered().mutex);
  std::swap(registered().all[{&registry, creator.ptr()}], made);
  return true;
}

bool deregister_creator(IPluginRegistry& registry, nb::handle creator) {
  Registered::node_type gone;
  const std::lock_guard lock(registered().mutex);
  const auto found = registered().all.find({&registry, creator.ptr()});
  if (found == registered().all.end() || !registry.deregisterCreator(*found->second)) return false;
  gone = registered().all.extract(found);
  return true;
}

nb::object acquire_resource(IPluginRegistry& registry, const std::string& key, nb::handle resource) {
  std::unique_ptr<PythonResource> given;
  if (!resource.is_none()) given = std::make_unique<PythonResource>(resource);
  IPluginResource* found = nullptr;
  {
    const nb::gil_scoped_release release;  // the registry's lock is held while it calls the resource
    found = registry.acquirePluginResource(key.c_str(), given.get());
  }
  if (found == nullptr) return nb::none();
  const auto* const own = dynamic_cast<PythonResource*>(found);
  if (own == nullptr) throw nb::type_error(("resource '" + key + "' is of C++").c_str());
  return nb::borrow(own->self());
}

void bind_native_creators(nb::module_& m) {
  bind_creator<IPluginCreator>(m, "_NativePluginCreator")
      .def("create_plugin",
           [](IPluginCreator& c, const char* name, nb::handle fields) {
             Fields all(fields);
             return from_plugin(c.createPlugin(name, all.collection()), true);
           })
      .def("deserialize_plugin", [](IPluginCreator& c, const char* name, nb::bytes data) {
        return from_plugin(c.deserializePlugin(name, data.c_str(), data.size()), true);
      });
  bind_creator<IPluginCreatorV3One>(m, "_NativePluginCreatorV3One")
      .def("create_plugin", [](IPluginCreatorV3One& c, const char* name, nb::handle fields, TensorRTPhase phase) {
        Fields all(fields);
        return from_plugin(c.createPlugin(name, all.collection(), phase), true);
      });
  bind_creator<IPluginCreatorV3Quick>(m, "_NativePluginCreatorV3Quick")
      .def("create_plugin", [](IPluginCreatorV3Quick& c, const char* name, const char* space, nb::handle fields,
                               TensorRTPhase phase, QuickPluginCreationRequest request) {
        Fields all(fields);
        return from_plugin(c.createPlugin(name, space, all.collection(), phase, request), true);
      });
}

}  // namespace wootz_python
