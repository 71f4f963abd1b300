// IPluginV2DynamicExt as calls of a plugin that is written in Python.
#define WOOTZ_NO_DEPRECATION
#include "plugin_native.h"
#include "plugin_parts.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

using namespace nvinfer1;

namespace wootz_python {
namespace {

class PythonV2 final : public IPluginV2DynamicExt {
 public:
  PythonV2(nb::handle self, bool owned) : self_(nb::borrow(self)), owned_(owned) {}
  nb::handle self() const { return self_.get(); }

  int32_t getTensorRTVersion() const noexcept override {
    return static_cast<int32_t>((static_cast<uint32_t>(PluginVersion::kV2_DYNAMICEXT_PYTHON) << 24U) |
                                (static_cast<uint32_t>(NV_TENSORRT_VERSION) & 0xFFFFFFU));
  }
  const char* getPluginType() const noexcept override { return text(type_, "plugin_type"); }
  const char* getPluginVersion() const noexcept override { return text(version_, "plugin_version"); }
  const char* getPluginNamespace() const noexcept override { return text(space_, "plugin_namespace"); }
  void setPluginNamespace(const char* space) noexcept override {
    attempt(self(), "plugin_namespace", [&] { nb::setattr(self(), "plugin_namespace", nb::str(space)); });
  }
  int32_t getNbOutputs() const noexcept override {
    return static_cast<int32_t>(number_of(self(), "num_outputs", kCallFailed));
  }
  IPluginV2DynamicExt* clone() const noexcept override {
    IPluginV2DynamicExt* made = nullptr;
    attempt(self(), "clone", [&] { made = static_cast<PythonV2*>(make_python_v2(self().attr("clone")(), true)); });
    return made;
  }
  void destroy() noexcept override {
    if (owned_) attempt(self(), "destroy", [&] { self().attr("destroy")(); });
    delete this;
  }
  int32_t initialize() noexcept override {
    return call("initialize", [&] { return self().attr("initialize")(); });
  }
  void terminate() noexcept override {
    attempt(self(), "terminate", [&] { self().attr("terminate")(); });
  }

  DataType getOutputDataType(int32_t index, const DataType* types, int32_t inputs) const noexcept override {
    auto type = static_cast<DataType>(kNoInput);
    attempt(self(), "get_output_datatype", [&] {
      type = answered<DataType>(self().attr("get_output_datatype")(index, to_list(types, inputs)), "a DataType");
    });
    return type;
  }
  DimsExprs getOutputDimensions(int32_t index, const DimsExprs* inputs, int32_t count,
                                IExprBuilder& builder) noexcept override {
    DimsExprs made{};
    made.nbDims = -1;
    attempt(self(), "get_output_dimensions", [&] {
      const ExprCall scope(builder);
      made = to_exprs(self().attr("get_output_dimensions")(index, scope.lists(inputs, count), scope.builder()));
    });
    return made;
  }
  bool supportsFormatCombination(int32_t pos, const PluginTensorDesc* all, int32_t inputs,
                                 int32_t outputs) noexcept override {
    return supports_combination(self(), pos, all, inputs, outputs);
  }
  void configurePlugin(const DynamicPluginTensorDesc* in, int32_t inputs, const DynamicPluginTensorDesc* out,
                       int32_t outputs) noexcept override {
    inputs_ = inputs;
    outputs_ = outputs;
    configured_ = attempt(self(), "configure_plugin",
                          [&] { self().attr("configure_plugin")(to_list(in, inputs), to_list(out, outputs)); });
  }
  size_t getWorkspaceSize(const PluginTensorDesc* in, int32_t inputs, const PluginTensorDesc* out,
                          int32_t outputs) const noexcept override {
    return configured_ ? workspace_of(self(), in, inputs, out, outputs) : kNoWorkspaceIsEnough;
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc* out, const void* const* inputs,
                  void* const* outputs, void* workspace, cudaStream_t stream) noexcept override {
    if (!configured_) return kCallFailed;
    return call("enqueue", [&] {
      return self().attr("enqueue")(to_list(in, inputs_), to_list(out, outputs_), address_list(inputs, inputs_),
                                    address_list(outputs, outputs_), number_of(workspace), number_of(stream));
    });
  }

  // The library asks for the size, then for the bytes: both are of one answer.
  size_t getSerializationSize() const noexcept override {
    bytes_.clear();
    const bool done = attempt(self(), "serialize", [&] {
      const nb::object answer = self().attr("serialize")();
      const auto bytes = answered<nb::bytes>(nb::module_::import_("builtins").attr("bytes")(answer), "bytes");
      bytes_.assign(bytes.c_str(), bytes.size());
    });
    return done ? bytes_.size() : SIZE_MAX;  // which the library cannot allocate
  }
  void serialize(void* buffer) const noexcept override { bytes_.copy(static_cast<char*>(buffer), bytes_.size()); }

 private:
  template <class F>
  int32_t call(const char* method, F&& f) const noexcept {
    int32_t code = kCallFailed;
    attempt(self(), method, [&] { code = code_of(f()); });
    return code;
  }
  // V2's texts may not be null.
  const char* text(TextOf& to, const char* attribute) const noexcept {
    const char* const read = to.read(self(), attribute);
    return read == nullptr ? "" : read;
  }

  Kept self_;
  const bool owned_;
  mutable TextOf type_, version_, space_;
  mutable std::string bytes_;
  int32_t inputs_ = 0, outputs_ = 0;
  bool configured_ = true;
};

}  // namespace

IPluginV2* make_python_v2(nb::handle plugin, bool owned) {
  if (!nb::isinstance(plugin, plugin_classes().attr("IPluginV2DynamicExt")))
    throw nb::type_error((type_of(plugin) + " is no IPluginV2DynamicExt").c_str());
  return new PythonV2(plugin, owned);
}

void let_go(IPluginV2* plugin) { delete dynamic_cast<PythonV2*>(plugin); }

nb::handle python_of(IPluginV2* plugin) {
  const auto* const python = dynamic_cast<PythonV2*>(plugin);
  return python == nullptr ? nb::handle() : python->self();
}

}  // namespace wootz_python
