// What capabilities of V3 plugins and of Quick ones, written in Python, have in common.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "plugin_fields.h"
#include "plugin_tensors.h"

namespace wootz_python {

// More than any workspace may have: a plugin that could not say how much it needs is refused.
inline constexpr size_t kNoWorkspaceIsEnough = size_t{1} << 60;
// No input's number: an output that could not say which input it overwrites is refused.
inline constexpr int32_t kNoInput = 1 << 20;
inline constexpr int32_t kCallFailed = -1;

// What a plugin answered, put where the library wants it. Errors: it is of another form or length.
void put_types(nb::handle answer, nvinfer1::DataType* out, int32_t outputs);
void put_shapes(nb::handle answer, nvinfer1::DimsExprs* out, int32_t outputs);
int32_t aliased_input(nb::handle self, int32_t output) noexcept;

// Questions that plugins of V2 and V3 are asked alike, of descriptions of their own sort.
template <class Desc>
bool supports_combination(nb::handle self, int32_t pos, const Desc* all, int32_t inputs, int32_t outputs) noexcept {
  bool fine = false;
  attempt(self, "supports_format_combination", [&] {
    fine =
        answered<bool>(self.attr("supports_format_combination")(pos, to_list(all, inputs + outputs), inputs), "a bool");
  });
  return fine;
}
template <class Desc>
size_t workspace_of(nb::handle self, const Desc* in, int32_t inputs, const Desc* out, int32_t outputs) noexcept {
  size_t size = kNoWorkspaceIsEnough;
  attempt(self, "get_workspace_size", [&] {
    size = answered<size_t>(self.attr("get_workspace_size")(to_list(in, inputs), to_list(out, outputs)), "a size");
  });
  return size;
}

template <class Base>
class PythonPart : public Base {
 public:
  explicit PythonPart(nb::object self) : self_(std::move(self)) {}
  nvinfer1::APILanguage getAPILanguage() const noexcept override { return nvinfer1::APILanguage::kPYTHON; }

 protected:
  nb::handle self() const { return self_.get(); }
  // A method's answer as the library's code. `f` gives what it answered.
  template <class F>
  int32_t call(const char* method, F&& f) const noexcept {
    int32_t code = kCallFailed;
    attempt(self(), method, [&] { code = code_of(f()); });
    return code;
  }

 private:
  Kept self_;
};

template <class Base>
class CorePart final : public PythonPart<Base> {
 public:
  using PythonPart<Base>::PythonPart;
  const char* getPluginName() const noexcept override { return name_.read(this->self(), "plugin_name"); }
  const char* getPluginVersion() const noexcept override { return version_.read(this->self(), "plugin_version"); }
  const char* getPluginNamespace() const noexcept override { return space_.read(this->self(), "plugin_namespace"); }

 private:
  mutable TextOf name_, version_, space_;
};

// What all build capabilities are asked for.
template <class Base>
class BuildPart : public PythonPart<Base> {
 public:
  using PythonPart<Base>::PythonPart;
  using PythonPart<Base>::self;
  using Descs = nvinfer1::DynamicPluginTensorDesc;

  int32_t configurePlugin(const Descs* in, int32_t inputs, const Descs* out, int32_t outputs) noexcept override {
    return this->call("configure_plugin",
                      [&] { return self().attr("configure_plugin")(to_list(in, inputs), to_list(out, outputs)); });
  }
  int32_t getOutputShapes(const nvinfer1::DimsExprs* in, int32_t inputs, const nvinfer1::DimsExprs* values,
                          int32_t shape_inputs, nvinfer1::DimsExprs* out, int32_t outputs,
                          nvinfer1::IExprBuilder& builder) noexcept override {
    return this->call("get_output_shapes", [&] {
      const ExprCall scope(builder);
      put_shapes(
          self().attr("get_output_shapes")(scope.lists(in, inputs), scope.lists(values, shape_inputs), scope.builder()),
          out, outputs);
      return nb::none();
    });
  }
  int32_t getNbOutputs() const noexcept override {
    return static_cast<int32_t>(number_of(self(), "num_outputs", kCallFailed));
  }
  int32_t getNbTactics() noexcept override {
    tactics_.clear();
    const bool done = attempt(self(), "get_valid_tactics", [&] {
      const nb::object given = self().attr("get_valid_tactics")();
      if (!given.is_none()) tactics_ = answered<std::vector<int32_t>>(given, "a list of numbers");
    });
    return done ? static_cast<int32_t>(tactics_.size()) : kCallFailed;
  }
  // Comes after getNbTactics.
  int32_t getValidTactics(int32_t* tactics, int32_t count) noexcept override {
    if (static_cast<size_t>(count) != tactics_.size()) return kCallFailed;
    for (size_t t = 0; t < tactics_.size(); ++t) tactics[t] = tactics_[t];
    return 0;
  }
  const char* getTimingCacheID() noexcept override { return cache_id_.read(self(), "timing_cache_id"); }
  const char* getMetadataString() noexcept override { return metadata_.read(self(), "metadata_string"); }

 private:
  std::vector<int32_t> tactics_;
  TextOf cache_id_, metadata_;
};

// Of Quick plugins (plugin_quick.cpp).
std::unique_ptr<nvinfer1::IPluginCapability> make_quick_build(nb::object self);
std::unique_ptr<nvinfer1::IPluginCapability> make_quick_aot_build(nb::object self);
std::unique_ptr<nvinfer1::IPluginCapability> make_quick_host_build(nb::object self);
std::unique_ptr<nvinfer1::IPluginCapability> make_quick_runtime(nb::object self);

}  // namespace wootz_python
