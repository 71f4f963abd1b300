// IPluginV3 with its capabilities, as calls of a plugin that is written in Python. A capability is what the plugin's
// get_capability_interface gives, by the class that it derives from.
#define WOOTZ_NO_DEPRECATION
#include <algorithm>
#include <array>
#include <utility>

#include <nanobind/stl/shared_ptr.h>

#include "plugin_native.h"
#include "plugin_parts.h"
#include "plugin_tensors.h"
#include "wootz/plugin_quick.h"

using namespace nvinfer1;

namespace wootz_python {
namespace {

// What an execution context lends, as long as it does.
struct Resources {
  IPluginResourceContext* context;
  IPluginResourceContext& get() const {
    if (context == nullptr) throw std::runtime_error("the execution context is gone");
    return *context;
  }
};

class PythonV3 final : public IPluginV3 {
 public:
  PythonV3(nb::handle self, bool is_owned) : owned(is_owned), self_(nb::borrow(self)) {}
  ~PythonV3() override {
    if (owned) attempt(self(), "destroy", [&] { self().attr("destroy")(); });
    if (resources_ != nullptr) resources_->context = nullptr;
  }
  PythonV3(const PythonV3&) = delete;
  PythonV3& operator=(const PythonV3&) = delete;

  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }
  IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override;
  IPluginV3* clone() noexcept override {
    IPluginV3* made = nullptr;
    attempt(self(), "clone", [&] { made = to_owned_v3(self().attr("clone")()); });
    return made;
  }
  nb::handle self() const { return self_.get(); }
  void lend(std::shared_ptr<Resources> resources) { resources_ = std::move(resources); }

  bool owned;

 private:
  Kept self_;
  std::array<std::unique_ptr<IPluginCapability>, 3> parts_;
  std::shared_ptr<Resources> resources_;
};

// IPluginV3OneBuild of either version.
template <class Base>
class OneBuild : public BuildPart<Base> {
 public:
  using BuildPart<Base>::BuildPart;
  using BuildPart<Base>::self;

  int32_t getOutputDataTypes(DataType* out, int32_t outputs, const DataType* in,
                             int32_t inputs) const noexcept override {
    return attempt(self(), "get_output_data_types",
                   [&] { put_types(self().attr("get_output_data_types")(to_list(in, inputs)), out, outputs); })
               ? 0
               : kCallFailed;
  }
  bool supportsFormatCombination(int32_t pos, const DynamicPluginTensorDesc* all, int32_t inputs,
                                 int32_t outputs) noexcept override {
    return supports_combination(self(), pos, all, inputs, outputs);
  }
  size_t getWorkspaceSize(const DynamicPluginTensorDesc* in, int32_t inputs, const DynamicPluginTensorDesc* out,
                          int32_t outputs) const noexcept override {
    return workspace_of(self(), in, inputs, out, outputs);
  }
  int32_t getFormatCombinationLimit() noexcept override {
    return static_cast<int32_t>(number_of(self(), "format_combination_limit", 0));
  }
};

class OneBuildV2 final : public OneBuild<IPluginV3OneBuildV2> {
 public:
  using OneBuild::OneBuild;
  int32_t getAliasedInput(int32_t output) noexcept override { return aliased_input(self(), output); }
};

class OneRuntime final : public PythonPart<IPluginV3OneRuntime> {
 public:
  using PythonPart::PythonPart;

  int32_t setTactic(int32_t tactic) noexcept override {
    return call("set_tactic", [&] { return self().attr("set_tactic")(tactic); });
  }
  int32_t onShapeChange(const PluginTensorDesc* in, int32_t inputs, const PluginTensorDesc* out,
                        int32_t outputs) noexcept override {
    inputs_ = inputs;
    outputs_ = outputs;
    return call("on_shape_change",
                [&] { return self().attr("on_shape_change")(to_list(in, inputs), to_list(out, outputs)); });
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc* out, const void* const* inputs,
                  void* const* outputs, void* workspace, cudaStream_t stream) noexcept override {
    return call("enqueue", [&] {
      return self().attr("enqueue")(to_list(in, inputs_), to_list(out, outputs_), address_list(inputs, inputs_),
                                    address_list(outputs, outputs_), number_of(workspace), number_of(stream));
    });
  }
  IPluginV3* attachToContext(IPluginResourceContext* context) noexcept override {
    IPluginV3* made = nullptr;
    attempt(self(), "attach_to_context", [&] {
      auto resources = std::make_shared<Resources>(Resources{context});
      made = to_owned_v3(self().attr("attach_to_context")(nb::cast(resources)));
      if (auto* const python = dynamic_cast<PythonV3*>(made)) python->lend(std::move(resources));
    });
    return made;
  }
  const PluginFieldCollection* getFieldsToSerialize() noexcept override {
    const bool done =
        attempt(self(), "get_fields_to_serialize", [&] { fields_.assign(self().attr("get_fields_to_serialize")()); });
    return done ? fields_.collection() : nullptr;
  }

 private:
  int32_t inputs_ = 0, outputs_ = 0;
  Fields fields_;
};

template <class Part>
std::unique_ptr<IPluginCapability> make_part(nb::object self) {
  return std::make_unique<Part>(std::move(self));
}

// By PluginCapabilityType; of the classes that an object derives from, the first one counts.
struct Sort {
  PluginCapabilityType type;
  const char* name;
  std::unique_ptr<IPluginCapability> (*make)(nb::object self);
};
constexpr Sort kSorts[] = {
    {PluginCapabilityType::kCORE, "IPluginV3OneCore", make_part<CorePart<IPluginV3OneCore>>},
    {PluginCapabilityType::kCORE, "IPluginV3QuickCore", make_part<CorePart<IPluginV3QuickCore>>},
    {PluginCapabilityType::kBUILD, "IPluginV3OneBuildV2", make_part<OneBuildV2>},
    {PluginCapabilityType::kBUILD, "IPluginV3OneBuild", make_part<OneBuild<IPluginV3OneBuild>>},
    {PluginCapabilityType::kBUILD, "IPluginV3QuickAOTBuild", make_quick_aot_build},
    {PluginCapabilityType::kBUILD, "IPluginV3QuickHostBuild", make_quick_host_build},
    {PluginCapabilityType::kBUILD, "IPluginV3QuickBuild", make_quick_build},
    {PluginCapabilityType::kRUNTIME, "IPluginV3OneRuntime", make_part<OneRuntime>},
    {PluginCapabilityType::kRUNTIME, "IPluginV3QuickRuntime", make_quick_runtime},
};

std::unique_ptr<IPluginCapability> to_part(PluginCapabilityType type, nb::object given) {
  if (given.is_none()) return nullptr;
  std::string names;
  for (const Sort& sort : kSorts) {
    if (sort.type != type) continue;
    if (nb::isinstance(given, plugin_classes().attr(sort.name))) return sort.make(std::move(given));
    names += (names.empty() ? "" : ", ") + std::string(sort.name);
  }
  throw nb::type_error(("it gave " + type_of(given) + ", which derives from none of " + names).c_str());
}

IPluginCapability* PythonV3::getCapabilityInterface(PluginCapabilityType type) noexcept {
  const auto at = static_cast<size_t>(type);
  if (at >= parts_.size()) return nullptr;
  attempt(self(), "get_capability_interface", [&] {
    if (parts_[at] != nullptr) return;
    std::unique_ptr<IPluginCapability> part = to_part(type, self().attr("get_capability_interface")(type));
    if (parts_[at] == nullptr) parts_[at] = std::move(part);  // unless another thread has been here
  });
  return parts_[at].get();
}

}  // namespace

void put_types(nb::handle answer, DataType* out, int32_t outputs) {
  const auto types = answered<std::vector<DataType>>(answer, "a list of DataType, one for each output");
  if (types.size() != static_cast<size_t>(outputs))
    throw nb::value_error(
        ("it gave " + std::to_string(types.size()) + " types, of " + std::to_string(outputs) + " outputs").c_str());
  std::copy(types.begin(), types.end(), out);
}

void put_shapes(nb::handle answer, nvinfer1::DimsExprs* out, int32_t outputs) {
  const auto shapes = answered<std::vector<nb::object>>(answer, "a list of DimsExprs, one for each output");
  if (shapes.size() != static_cast<size_t>(outputs))
    throw nb::value_error(
        ("it gave " + std::to_string(shapes.size()) + " shapes, of " + std::to_string(outputs) + " outputs").c_str());
  for (size_t o = 0; o < shapes.size(); ++o) out[o] = to_exprs(shapes[o]);
}

int32_t aliased_input(nb::handle self, int32_t output) noexcept {
  int32_t input = kNoInput;
  attempt(self, "get_aliased_input",
          [&] { input = answered<int32_t>(self.attr("get_aliased_input")(output), "an input's number, or -1"); });
  return input;
}

IPluginV3* make_python_v3(nb::handle plugin, bool owned) {
  if (!nb::isinstance(plugin, plugin_classes().attr("IPluginV3")))
    throw nb::type_error((type_of(plugin) + " is no IPluginV3").c_str());
  return new PythonV3(plugin, owned);
}

void let_go(IPluginV3* plugin) {
  auto* const python = dynamic_cast<PythonV3*>(plugin);
  if (python != nullptr) python->owned = false;
  delete python;
}

nb::handle python_of(IPluginV3* plugin) {
  const auto* const python = dynamic_cast<PythonV3*>(plugin);
  return python == nullptr ? nb::handle() : python->self();
}

void bind_resource_context(nb::module_& m) {
  nb::class_<Resources>(m, "IPluginResourceContext", "What an execution context lends the plugins attached to it.")
      .def_prop_ro(
          "gpu_allocator", [](const Resources& r) { return r.get().getGpuAllocator(); }, nb::rv_policy::reference)
      .def_prop_ro(
          "error_recorder", [](const Resources& r) { return r.get().getErrorRecorder(); }, nb::rv_policy::reference);
}

}  // namespace wootz_python
