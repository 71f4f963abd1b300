// Plugins and creators of C++ as Python sees them, and the way from Python's objects to the library's and back.
#pragma once

#include <memory>

#include "plugin_fields.h"

namespace wootz_python {

inline void release(nvinfer1::IPluginV2* plugin) {
  if (plugin != nullptr) plugin->destroy();
}
inline void release(nvinfer1::IPluginV3* plugin) { delete plugin; }

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
  Plugin* take() {
    if (!owned) throw std::runtime_error("the plugin belongs to a layer: clone it");
    return std::exchange(plugin, nullptr);
  }
  Plugin* plugin;
  bool owned;
};
using PluginV2 = Held<nvinfer1::IPluginV2>;
using PluginV3 = Held<nvinfer1::IPluginV3>;

// Ends what calls Python's plugin, and not that.
void let_go(nvinfer1::IPluginV2* plugin);
void let_go(nvinfer1::IPluginV3* plugin);

// The library's object for a plugin of Python's: one of C++ itself, or one that calls Python. Errors: it is none.
template <class Plugin>
class Given {
 public:
  explicit Given(nb::handle plugin);
  Plugin& get() const { return *plugin_; }

 private:
  struct LetGo {
    void operator()(Plugin* plugin) const { let_go(plugin); }
  };
  std::unique_ptr<Plugin, LetGo> made_;
  Plugin* plugin_ = nullptr;
};

// The same, for a caller that owns it: null for None.
nvinfer1::IPluginV3* to_owned_v3(nb::handle plugin);
nvinfer1::IPluginV2* to_owned_v2(nb::handle plugin);

// Python's object for a plugin: the one that it calls, or a new one that owns it, or does not.
nb::object from_plugin(nvinfer1::IPluginV3* plugin, bool own);
nb::object from_plugin(nvinfer1::IPluginV2* plugin, bool own);

// Plugins that call Python's (plugin_python_v3.cpp, plugin_python_v2.cpp); with the end of an owned one, Python's is
// told to destroy itself. python_of(): Python's object of one; null: it is of C++.
nvinfer1::IPluginV3* make_python_v3(nb::handle plugin, bool owned);
nb::handle python_of(nvinfer1::IPluginV3* plugin);
nvinfer1::IPluginV2* make_python_v2(nb::handle plugin, bool owned);

nb::handle python_of(nvinfer1::IPluginV2* plugin);

void bind_native_plugins(nb::module_& m);
void bind_resource_context(nb::module_& m);
void bind_launch_params(nb::module_& m);
void bind_plugin_registry(nb::module_& m);

}  // namespace wootz_python
