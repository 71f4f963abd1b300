// A V3 plugin that does what a test tells it, and notes what the library does with it. Public headers only: at either
// level of the API.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "plugins/places.h"
#include "wootz/plugin_creator_v3.h"

namespace wootz_test {

using namespace nvinfer1;  // NOLINT: test code over that interface

// What plugins named "Script" do, and what was done with them. One at a time; reset by each test.
struct Script {
  // What enqueue does: operands, results, workspace.
  using Work = std::function<int32_t(const PluginTensorDesc* in, const PluginTensorDesc* out, const void* const* inputs,
                                     void* const* outputs, void* workspace, cudaStream_t stream)>;
  int32_t outputs = 1;
  std::function<void(DataType* out, const DataType* in)> types = [](DataType* out, const DataType* in) { *out = *in; };
  std::function<int32_t(const DimsExprs* in, const DimsExprs* values, DimsExprs* out, IExprBuilder& b)> shapes =
      [](const DimsExprs* in, const DimsExprs*, DimsExprs* out, IExprBuilder&) { return *out = *in, 0; };
  std::function<bool(int32_t pos, const DynamicPluginTensorDesc* all)> supports =
      [](int32_t pos, const DynamicPluginTensorDesc* all) {
        return all[pos].desc.format == TensorFormat::kLINEAR && all[pos].desc.type == all[0].desc.type;
      };
  std::vector<int32_t> tactics;
  const char* timing = nullptr;
  const char* metadata = nullptr;
  size_t workspace = 0;
  std::vector<int32_t> aliases;
  int32_t limit = 100;
  bool aliasing = false;   // as the second version of the build capability
  Work work;               // null: multiplies FP32 by the plugin's factor
  bool on_device = false;  // work takes device addresses; otherwise it computes on the host, wherever the tensors are
  std::string fails;       // the callback that does

  std::atomic<int> alive{0}, made{0}, enqueues{0}, shape_changes{0}, attached{0}, configures{0};
  std::atomic<int32_t> tactic = -1;          // of the object that ran or was set last
  std::vector<int64_t> min, max, desc_dims;  // of operand 0, when it was configured last
  IGpuAllocator* allocator = nullptr;
  IErrorRecorder* recorder = nullptr;
  std::string created_as;
  std::vector<std::string> created_with;  // names of the fields

  bool failing(const char* callback) const { return fails == callback; }
  static Script& now() {
    static Script* script = new Script;
    return *script;
  }
  static void reset() {
    now().~Script();
    new (&now()) Script;
  }
};

// What a tensor takes in memory: channels that make vectors are filled up.
inline size_t bytes_of(const PluginTensorDesc& desc) {
  constexpr int64_t kTogether[] = {1, 2, 8, 4, 16, 32, 8, 32, 1, 1, 4, 16, 1};
  const int64_t together = kTogether[static_cast<int32_t>(desc.format)];
  Dims d = desc.dims;
  if (together > 1) d.d[1] = (d.d[1] + together - 1) / together * together;
  return volume(d) * bytes_of(desc.type);
}

class ScriptPlugin final : public IPluginV3,
                           public IPluginV3OneCore,
                           public IPluginV3OneBuildV2,
                           public IPluginV3OneRuntime {
 public:
  explicit ScriptPlugin(float factor) : factor_(factor) { ++Script::now().alive; }
  ScriptPlugin(const ScriptPlugin& o)
      : IPluginV3(o),
        IPluginV3OneCore(o),
        IPluginV3OneBuildV2(o),
        IPluginV3OneRuntime(o),
        factor_(o.factor_),
        tactic_(o.tactic_) {
    ++Script::now().alive;
  }
  ScriptPlugin& operator=(const ScriptPlugin&) = delete;
  ~ScriptPlugin() override { --Script::now().alive; }

  // IPluginV3
  IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override {
    if (Script::now().failing("getCapabilityInterface")) return nullptr;
    if (type == PluginCapabilityType::kCORE) return static_cast<IPluginV3OneCore*>(this);
    if (type == PluginCapabilityType::kBUILD) return static_cast<IPluginV3OneBuildV2*>(this);
    return static_cast<IPluginV3OneRuntime*>(this);
  }
  IPluginV3* clone() noexcept override { return Script::now().failing("clone") ? nullptr : new ScriptPlugin(*this); }

  // Core
  const AsciiChar* getPluginName() const noexcept override { return "Script"; }
  const AsciiChar* getPluginVersion() const noexcept override { return "3"; }
  const AsciiChar* getPluginNamespace() const noexcept override { return "tests"; }

  // Build
  int32_t configurePlugin(const DynamicPluginTensorDesc* in, int32_t count, const DynamicPluginTensorDesc*,
                          int32_t) noexcept override {
    Script& s = Script::now();
    ++s.configures;
    if (count > 0) s.min = list(in[0].min), s.max = list(in[0].max), s.desc_dims = list(in[0].desc.dims);
    return s.failing("configurePlugin") ? 11 : 0;
  }
  int32_t getOutputDataTypes(DataType* out, int32_t, const DataType* in, int32_t) const noexcept override {
    Script::now().types(out, in);
    return Script::now().failing("getOutputDataTypes") ? 12 : 0;
  }
  int32_t getOutputShapes(const DimsExprs* in, int32_t, const DimsExprs* values, int32_t, DimsExprs* out, int32_t,
                          IExprBuilder& builder) noexcept override {
    return Script::now().failing("getOutputShapes") ? 13 : Script::now().shapes(in, values, out, builder);
  }
  bool supportsFormatCombination(int32_t pos, const DynamicPluginTensorDesc* all, int32_t, int32_t) noexcept override {
    return !Script::now().failing("supportsFormatCombination") && Script::now().supports(pos, all);
  }
  int32_t getNbOutputs() const noexcept override {
    return Script::now().failing("getNbOutputs") ? -1 : Script::now().outputs;
  }
  size_t getWorkspaceSize(const DynamicPluginTensorDesc*, int32_t, const DynamicPluginTensorDesc*,
                          int32_t) const noexcept override {
    return Script::now().workspace;
  }
  int32_t getValidTactics(int32_t* tactics, int32_t count) noexcept override {
    std::copy_n(Script::now().tactics.begin(), count, tactics);
    return Script::now().failing("getValidTactics") ? 14 : 0;
  }
  int32_t getNbTactics() noexcept override { return static_cast<int32_t>(Script::now().tactics.size()); }
  const char* getTimingCacheID() noexcept override { return Script::now().timing; }
  int32_t getFormatCombinationLimit() noexcept override { return Script::now().limit; }
  const char* getMetadataString() noexcept override { return Script::now().metadata; }
  int32_t getAliasedInput(int32_t output) noexcept override {
    const auto o = static_cast<size_t>(output);
    return o < Script::now().aliases.size() ? Script::now().aliases[o] : -1;
  }

  // Runtime
  int32_t setTactic(int32_t tactic) noexcept override {
    Script::now().tactic = tactic_ = tactic;
    return Script::now().failing("setTactic") ? 15 : 0;
  }
  int32_t onShapeChange(const PluginTensorDesc*, int32_t inputs, const PluginTensorDesc*,
                        int32_t outputs) noexcept override {
    ++Script::now().shape_changes;
    inputs_ = static_cast<size_t>(inputs), outputs_ = static_cast<size_t>(outputs);
    ready_ = true;
    return Script::now().failing("onShapeChange") ? 16 : 0;
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc* out, const void* const* inputs,
                  void* const* outputs, void* workspace, cudaStream_t stream) noexcept override {
    Script& s = Script::now();
    ++s.enqueues;
    s.tactic = tactic_;
    if (!ready_ || !attached_) return 98;  // not as the interface promises
    if (s.failing("enqueue")) return 17;
    if (s.on_device) return s.work(in, out, inputs, outputs, workspace, stream);
    Staging staging(stream);
    std::vector<const void*> from(inputs_);
    std::vector<void*> to(outputs_);
    for (size_t i = 0; i < inputs_; ++i) from[i] = staging.at(inputs[i], bytes_of(in[i]));
    for (size_t i = 0; i < outputs_; ++i) to[i] = staging.at(outputs[i], bytes_of(out[i]));
    void* const scratch = staging.at(workspace, s.workspace);
    if (staging.status() != 0) return staging.status();
    return staging.done(compute(in, out, from.data(), to.data(), scratch, stream));
  }
  IPluginV3* attachToContext(IPluginResourceContext* context) noexcept override {
    Script& s = Script::now();
    ++s.attached;
    s.allocator = context->getGpuAllocator();
    s.recorder = context->getErrorRecorder();
    if (s.failing("attachToContext")) return nullptr;
    auto* mine = new ScriptPlugin(*this);
    mine->attached_ = true;
    return mine;
  }
  const PluginFieldCollection* getFieldsToSerialize() noexcept override {
    if (Script::now().failing("getFieldsToSerialize")) return nullptr;
    field_ = PluginField("factor", &factor_, PluginFieldType::kFLOAT32, 1);
    fields_ = {1, &field_};
    return &fields_;
  }

 private:
  int32_t compute(const PluginTensorDesc* in, const PluginTensorDesc* out, const void* const* inputs,
                  void* const* outputs, void* workspace, cudaStream_t stream) const {
    const Script& s = Script::now();
    if (s.work) return s.work(in, out, inputs, outputs, workspace, stream);
    const auto* x = static_cast<const float*>(inputs[0]);
    auto* y = static_cast<float*>(outputs[0]);
    for (size_t i = 0; i < volume(in[0].dims); ++i) y[i] = factor_ * x[i];
    return 0;
  }
  float factor_;
  int32_t tactic_ = 0;
  size_t inputs_ = 0, outputs_ = 0;
  bool ready_ = false, attached_ = false;
  PluginField field_;
  PluginFieldCollection fields_{0, nullptr};
};

class ScriptCreator final : public IPluginCreatorV3One {
 public:
  ScriptCreator() {
    fields_.emplace_back("factor", nullptr, PluginFieldType::kFLOAT32, 1);
    fields_.emplace_back("counts", nullptr, PluginFieldType::kINT32, 1);
    fields_.emplace_back("wide", nullptr, PluginFieldType::kINT64, 1);
    fields_.emplace_back("text", nullptr, PluginFieldType::kCHAR, 1);
    fields_.emplace_back("extents", nullptr, PluginFieldType::kDIMS, 1);
    collection_ = {static_cast<int32_t>(fields_.size()), fields_.data()};
  }
  IPluginV3* createPlugin(const AsciiChar* name, const PluginFieldCollection* fc,
                          TensorRTPhase phase) noexcept override {
    Script& s = Script::now();
    if (s.failing(phase == TensorRTPhase::kBUILD ? "createPlugin" : "createPlugin at run time")) return nullptr;
    ++s.made;
    s.created_as = name;
    s.created_with.clear();
    float factor = 1;
    for (int32_t i = 0; i < fc->nbFields; ++i) {
      const PluginField& f = fc->fields[i];
      s.created_with.push_back(show(f));
      if (std::string(f.name) == "factor") factor = *static_cast<const float*>(f.data);
    }
    return new ScriptPlugin(factor);
  }
  const PluginFieldCollection* getFieldNames() noexcept override { return &collection_; }
  const AsciiChar* getPluginName() const noexcept override { return "Script"; }
  const AsciiChar* getPluginVersion() const noexcept override { return "3"; }
  const AsciiChar* getPluginNamespace() const noexcept override { return "tests"; }

 private:
  // "counts=1,2,3"
  static std::string show(const PluginField& f) {
    std::string text = std::string(f.name) + "=";
    if (f.type == PluginFieldType::kCHAR)
      return text + std::string(static_cast<const char*>(f.data), static_cast<size_t>(f.length));
    if (f.type == PluginFieldType::kDIMS) {
      for (const int64_t d : list(*static_cast<const Dims*>(f.data))) text += std::to_string(d) + ",";
      return text;
    }
    for (int32_t i = 0; i < f.length; ++i) {
      if (f.type == PluginFieldType::kFLOAT32) text += std::to_string(static_cast<const float*>(f.data)[i]) + ",";
      if (f.type == PluginFieldType::kINT32) text += std::to_string(static_cast<const int32_t*>(f.data)[i]) + ",";
      if (f.type == PluginFieldType::kINT64) text += std::to_string(static_cast<const int64_t*>(f.data)[i]) + ",";
    }
    return text;
  }
  std::vector<PluginField> fields_;
  PluginFieldCollection collection_;
};

// Each test with a script of its own and its creator registered, and none of its plugins left at the end.
class Scripted {
 protected:
  Scripted() {
    Script::reset();
    EXPECT_TRUE(getPluginRegistry()->registerCreator(creator, ""));
  }
  ~Scripted() {
    EXPECT_TRUE(getPluginRegistry()->deregisterCreator(creator));
    EXPECT_EQ(Script::now().alive, 0) << "plugins that were not deleted";
  }
  Script& script = Script::now();
  ScriptCreator creator;
};
class Plugins : public OnEachPlace, protected Scripted {};

// A layer of a Script plugin over these tensors.
inline IPluginV3Layer* add_script(Bench& b, std::vector<ITensor*> inputs, std::vector<ITensor*> shapes = {},
                                  float factor = 2) {
  ScriptPlugin plugin(factor);
  IPluginV3Layer* layer = b.network->addPluginV3(inputs.data(), static_cast<int32_t>(inputs.size()), shapes.data(),
                                                 static_cast<int32_t>(shapes.size()), plugin);
  if (layer != nullptr) layer->setName("the_plugin");
  return layer;
}

inline std::vector<float> numbers(size_t count, uint32_t seed) {
  std::vector<float> values(count);
  uint32_t state = seed * 2654435761U + 1;
  for (float& v : values) {
    state = state * 1664525U + 1013904223U;
    v = static_cast<float>(static_cast<int32_t>(state >> 8) % 2000 - 1000) / 250.0F;
  }
  return values;
}
inline std::vector<float> scaled(std::vector<float> values, float factor) {
  for (float& v : values) v *= factor;
  return values;
}

}  // namespace wootz_test
