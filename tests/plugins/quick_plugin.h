// A Quick plugin in either of its forms: y = factor * x, of FP32 in any order that the library offers. Public headers
// only.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "plugins/script_plugin.h"
#include "wootz/plugin_quick.h"

namespace wootz_test {

// What quick plugins do and what was done with them. One at a time; reset by each test.
struct Quick {
  bool ahead = false;  // it gives a kernel
  std::string kernel = "wootz_kernel", code;
  TensorFormat format = TensorFormat::kLINEAR;
  std::vector<int32_t> tactics;
  std::function<int32_t(const void* x, void* y, size_t bytes, cudaStream_t stream)> work;  // null: on the host
  // In place of the launch that kSource of quick_device_test.cpp wants.
  std::function<void(const DimsExprs* in, IKernelLaunchParams& launch, ISymExprs& extras, IExprBuilder& builder)>
      launch;
  std::string fails;
  int made = 0, alive = 0, enqueues = 0;
  int32_t tactic = -1;
  std::vector<int64_t> strides;  // of the input, in the last run
  std::string space;             // that it was made with last
  TensorRTPhase phase = TensorRTPhase::kBUILD;
  QuickPluginCreationRequest request = QuickPluginCreationRequest::kUNKNOWN;
  std::string metadata = "quick";
  const char* timing = nullptr;
  int32_t alias = -1;
  bool failing(const char* callback) const { return fails == callback; }
  static Quick& now() {
    static Quick* quick = new Quick;
    return *quick;
  }
  static void reset() { now() = Quick(); }
};

// An expression as bindings wrap one.
struct QuickExpr final : ISymExpr {
  const IDimensionExpr* expression = nullptr;
  PluginArgType getType() const noexcept override { return PluginArgType::kINT; }
  PluginArgDataType getDataType() const noexcept override { return PluginArgDataType::kINT32; }
  void* getExpr() noexcept override { return const_cast<IDimensionExpr*>(expression); }
};

struct QuickPlugin final : IPluginV3, IPluginV3QuickCore, IPluginV3QuickAOTBuild, IPluginV3QuickRuntime {
  // As the build capability of a plugin that runs itself, which is another kind.
  struct Jit final : IPluginV3QuickBuild {
    explicit Jit(QuickPlugin* plugin) : p(plugin) {}
    int32_t getOutputDataTypes(DataType* out, int32_t outputs, const DataType* in, const int32_t* ranks,
                               int32_t inputs) const noexcept override {
      return p->getOutputDataTypes(out, outputs, in, ranks, inputs);
    }
    int32_t getOutputShapes(const DimsExprs* in, int32_t inputs, const DimsExprs* values, int32_t count, DimsExprs* out,
                            int32_t outputs, IExprBuilder& builder) noexcept override {
      return p->getOutputShapes(in, inputs, values, count, out, outputs, builder);
    }
    int32_t configurePlugin(const DynamicPluginTensorDesc* in, int32_t inputs, const DynamicPluginTensorDesc* out,
                            int32_t outputs) noexcept override {
      return p->configurePlugin(in, inputs, out, outputs);
    }
    int32_t getNbSupportedFormatCombinations(const DynamicPluginTensorDesc* all, int32_t inputs,
                                             int32_t outputs) noexcept override {
      return p->getNbSupportedFormatCombinations(all, inputs, outputs);
    }
    int32_t getSupportedFormatCombinations(const DynamicPluginTensorDesc* all, int32_t inputs, int32_t outputs,
                                           PluginTensorDesc* list, int32_t count) noexcept override {
      return p->getSupportedFormatCombinations(all, inputs, outputs, list, count);
    }
    int32_t getNbOutputs() const noexcept override { return p->getNbOutputs(); }
    int32_t getValidTactics(int32_t* tactics, int32_t count) noexcept override {
      return p->getValidTactics(tactics, count);
    }
    int32_t getNbTactics() noexcept override { return p->getNbTactics(); }
    const char* getMetadataString() noexcept override { return p->getMetadataString(); }
    const char* getTimingCacheID() noexcept override { return p->getTimingCacheID(); }
    int32_t getAliasedInput(int32_t output) noexcept override { return p->getAliasedInput(output); }
    QuickPlugin* p;
  };

  explicit QuickPlugin(float factor) : factor_(factor) { ++Quick::now().alive; }
  QuickPlugin(const QuickPlugin& o)
      : IPluginV3(o), IPluginV3QuickCore(o), IPluginV3QuickAOTBuild(o), IPluginV3QuickRuntime(o), factor_(o.factor_) {
    ++Quick::now().alive;
  }
  QuickPlugin& operator=(const QuickPlugin&) = delete;
  ~QuickPlugin() override { --Quick::now().alive; }

  IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override {
    const Quick& q = Quick::now();
    if (q.failing("getCapabilityInterface") && type != PluginCapabilityType::kCORE) return nullptr;
    if (type == PluginCapabilityType::kCORE) return static_cast<IPluginV3QuickCore*>(this);
    if (type == PluginCapabilityType::kRUNTIME) return static_cast<IPluginV3QuickRuntime*>(this);
    return q.ahead ? static_cast<IPluginV3QuickBuild*>(static_cast<IPluginV3QuickAOTBuild*>(this)) : &jit_;
  }
  IPluginV3* clone() noexcept override { return new QuickPlugin(*this); }
  Jit& jit() { return jit_; }

  const AsciiChar* getPluginName() const noexcept override { return "Quick"; }
  const AsciiChar* getPluginVersion() const noexcept override { return "1"; }
  const AsciiChar* getPluginNamespace() const noexcept override { return "tests"; }

  int32_t getOutputDataTypes(DataType* out, int32_t outputs, const DataType* in, const int32_t* ranks,
                             int32_t inputs) const noexcept override {
    if (outputs != 1 || inputs != 1 || ranks[0] < 1) return 1;
    return *out = *in, Quick::now().failing("getOutputDataTypes") ? 21 : 0;
  }
  int32_t getOutputShapes(const DimsExprs* in, int32_t, const DimsExprs*, int32_t, DimsExprs* out, int32_t,
                          IExprBuilder&) noexcept override {
    return *out = *in, Quick::now().failing("getOutputShapes") ? 22 : 0;
  }
  int32_t configurePlugin(const DynamicPluginTensorDesc*, int32_t, const DynamicPluginTensorDesc*,
                          int32_t) noexcept override {
    return Quick::now().failing("configurePlugin") ? 23 : 0;
  }
  int32_t getNbSupportedFormatCombinations(const DynamicPluginTensorDesc*, int32_t, int32_t) noexcept override {
    return Quick::now().failing("getNbSupportedFormatCombinations") ? 0 : 2;
  }
  // Halves, which the network does not have, and floats.
  int32_t getSupportedFormatCombinations(const DynamicPluginTensorDesc* all, int32_t inputs, int32_t outputs,
                                         PluginTensorDesc* list, int32_t count) noexcept override {
    for (int32_t c = 0; c < count; ++c)
      for (int32_t i = 0; i < inputs + outputs; ++i) {
        PluginTensorDesc& desc = list[c * (inputs + outputs) + i];
        desc = all[i].desc;
        desc.type = c == 0 ? DataType::kHALF : DataType::kFLOAT;
        desc.format = Quick::now().format;
      }
    return 0;
  }
  int32_t getNbOutputs() const noexcept override { return 1; }
  int32_t getValidTactics(int32_t* tactics, int32_t count) noexcept override {
    std::copy_n(Quick::now().tactics.begin(), count, tactics);
    return 0;
  }
  int32_t getNbTactics() noexcept override { return static_cast<int32_t>(Quick::now().tactics.size()); }
  const char* getMetadataString() noexcept override { return Quick::now().metadata.c_str(); }
  const char* getTimingCacheID() noexcept override { return Quick::now().timing; }
  int32_t getAliasedInput(int32_t) noexcept override { return Quick::now().alias; }

  // One thread an element, in blocks of 32, and the arguments that there are that many, and that many rows.
  int32_t getLaunchParams(const DimsExprs* in, const DynamicPluginTensorDesc*, int32_t, int32_t,
                          IKernelLaunchParams* launch, ISymExprs* extras, IExprBuilder& builder) noexcept override {
    const Quick& q = Quick::now();
    if (q.failing("getLaunchParams")) return 24;
    if (q.launch) return q.launch(in, *launch, *extras, builder), 0;
    const IDimensionExpr* count = builder.constant(1);
    for (int32_t a = 0; a < in[0].nbDims; ++a)
      count = builder.operation(DimensionOperation::kPROD, *count, *in[0].d[a]);
    block_.expression = builder.constant(32);
    grid_.expression = builder.operation(DimensionOperation::kCEIL_DIV, *count, *block_.expression);
    count_.expression = count;
    rows_.expression = q.failing("expressions") ? &foreign_ : in[0].d[0];
    const bool set = launch->setGridX(&grid_) && launch->setBlockX(&block_) && extras->setNbSymExprs(2) &&
                     extras->setSymExpr(0, &count_) && extras->setSymExpr(1, &rows_);
    return set ? 0 : 25;
  }
  int32_t getKernel(const PluginTensorDesc*, int32_t, const PluginTensorDesc*, int32_t, const char** name, char** code,
                    int32_t* bytes) noexcept override {
    Quick& q = Quick::now();
    if (q.failing("getKernel")) return 26;
    *name = q.kernel.c_str();
    *code = q.code.data();
    *bytes = static_cast<int32_t>(q.code.size());
    return 0;
  }

  int32_t setTactic(int32_t tactic) noexcept override {
    Quick::now().tactic = tactic_ = tactic;
    return 0;
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc*, const void* const* inputs, void* const* outputs,
                  const Dims* in_strides, const Dims* out_strides, int32_t nb_inputs, int32_t nb_outputs,
                  cudaStream_t stream) noexcept override {
    Quick& q = Quick::now();
    ++q.enqueues;
    q.tactic = tactic_;
    q.strides = list(in_strides[0]);
    if (nb_inputs != 1 || nb_outputs != 1 || list(out_strides[0]) != q.strides) return 27;
    if (q.failing("enqueue")) return 28;
    if (q.work) return q.work(inputs[0], outputs[0], volume(in[0].dims) * sizeof(float), stream);
    for (size_t i = 0; i < volume(in[0].dims); ++i)
      static_cast<float*>(outputs[0])[i] = factor_ * static_cast<const float*>(inputs[0])[i];
    return 0;
  }
  const PluginFieldCollection* getFieldsToSerialize() noexcept override {
    if (Quick::now().failing("getFieldsToSerialize")) return nullptr;
    field_ = PluginField("factor", &factor_, PluginFieldType::kFLOAT32, 1);
    fields_ = {1, &field_};
    return &fields_;
  }

 private:
  struct Foreign final : IDimensionExpr {
    bool isConstant() const noexcept override { return false; }
    int64_t getConstantValue() const noexcept override { return 0; }
    bool isSizeTensor() const noexcept override { return false; }
  };
  float factor_;
  int32_t tactic_ = 0;
  Jit jit_{this};
  Foreign foreign_;
  QuickExpr grid_, block_, count_, rows_;
  PluginField field_;
  PluginFieldCollection fields_{0, nullptr};
};

struct QuickCreator final : IPluginCreatorV3Quick {
  IPluginV3* createPlugin(const AsciiChar*, const AsciiChar* space, const PluginFieldCollection* fields,
                          TensorRTPhase phase, QuickPluginCreationRequest request) noexcept override {
    Quick& q = Quick::now();
    ++q.made;
    q.space = space;
    q.phase = phase;
    q.request = request;
    if (q.failing("createPlugin")) return nullptr;
    float factor = 1;
    for (int32_t i = 0; i < fields->nbFields; ++i)
      if (std::string(fields->fields[i].name) == "factor") factor = *static_cast<const float*>(fields->fields[i].data);
    return new QuickPlugin(factor);
  }
  const PluginFieldCollection* getFieldNames() noexcept override { return &known_; }
  const AsciiChar* getPluginName() const noexcept override { return "Quick"; }
  const AsciiChar* getPluginVersion() const noexcept override { return "1"; }
  const AsciiChar* getPluginNamespace() const noexcept override { return "tests"; }

 private:
  PluginField factor_{"factor", nullptr, PluginFieldType::kFLOAT32, 1};
  PluginFieldCollection known_{1, &factor_};
};

class QuickPlugins : public testing::Test {
 protected:
  QuickPlugins() {
    Quick::reset();
    EXPECT_TRUE(getPluginRegistry()->registerCreator(creator, ""));
  }
  ~QuickPlugins() override {
    EXPECT_TRUE(getPluginRegistry()->deregisterCreator(creator));
    EXPECT_EQ(Quick::now().alive, 0) << "plugins that were not deleted";
  }
  static ILayer* add(Bench& b, ITensor* x, float factor) {
    QuickPlugin plugin(factor);
    ILayer* layer = b.network->addPluginV3(&x, 1, nullptr, 0, plugin);
    if (layer != nullptr) layer->setName("the_plugin");
    return layer;
  }
  Quick& quick = Quick::now();
  QuickCreator creator;
};

}  // namespace wootz_test
