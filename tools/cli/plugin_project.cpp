// The files of a new plugin project, with @NAME@ for the plugin's name.
#include "plugin_project.h"

namespace wootz_cli {
namespace {

constexpr const char* kBuild = R"(# @NAME@: a plugin library, and a program that tests it.
#   cmake -B build -DWOOTZ_ROOT=<where Wootz is installed> && cmake --build build && ctest --test-dir build
cmake_minimum_required(VERSION 3.16)
project(@NAME@ LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

set(WOOTZ_ROOT "" CACHE PATH "folder with include/NvInfer.h and lib/libwootz.so")
find_path(WOOTZ_INCLUDE_DIR NvInfer.h HINTS ${WOOTZ_ROOT}/include REQUIRED)
find_library(WOOTZ_LIBRARY NAMES wootz nvinfer HINTS ${WOOTZ_ROOT}/lib REQUIRED)

# The registry is that of the program which opens the library.
add_library(@NAME@ MODULE plugin.cpp)
target_include_directories(@NAME@ PRIVATE ${WOOTZ_INCLUDE_DIR})

enable_testing()
add_executable(plugin_test plugin_test.cpp)
target_include_directories(plugin_test PRIVATE ${WOOTZ_INCLUDE_DIR})
target_link_libraries(plugin_test PRIVATE ${WOOTZ_LIBRARY})
add_test(NAME plugin_test COMMAND plugin_test $<TARGET_FILE:@NAME@>)
)";

constexpr const char* kPlugin =
    R"(// @NAME@: y = factor * x, on the CPU. On a CUDA device the addresses of enqueue() are the device's: launch a kernel
// on its stream there.
#include "NvInfer.h"
#include "NvInferPlugin.h"

#include <string>

namespace {

using namespace nvinfer1;

class Plugin final : public IPluginV3, public IPluginV3OneCore, public IPluginV3OneBuild, public IPluginV3OneRuntime {
 public:
  explicit Plugin(float factor) : factor_(factor) {}

  IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override {
    if (type == PluginCapabilityType::kCORE) return static_cast<IPluginV3OneCore*>(this);
    if (type == PluginCapabilityType::kBUILD) return static_cast<IPluginV3OneBuild*>(this);
    return static_cast<IPluginV3OneRuntime*>(this);
  }
  IPluginV3* clone() noexcept override { return new Plugin(factor_); }

  // Under these the creator is found again when a plan is loaded.
  const AsciiChar* getPluginName() const noexcept override { return "@NAME@"; }
  const AsciiChar* getPluginVersion() const noexcept override { return "1"; }
  const AsciiChar* getPluginNamespace() const noexcept override { return ""; }

  // What the results are.
  int32_t getNbOutputs() const noexcept override { return 1; }
  int32_t getOutputDataTypes(DataType* out, int32_t, const DataType* in, int32_t) const noexcept override {
    out[0] = in[0];
    return 0;
  }
  int32_t getOutputShapes(const DimsExprs* in, int32_t, const DimsExprs*, int32_t, DimsExprs* out, int32_t,
                          IExprBuilder&) noexcept override {
    out[0] = in[0];
    return 0;
  }

  // What it runs on.
  bool supportsFormatCombination(int32_t pos, const DynamicPluginTensorDesc* all, int32_t, int32_t) noexcept override {
    return all[pos].desc.type == DataType::kFLOAT && all[pos].desc.format == TensorFormat::kLINEAR;
  }
  int32_t configurePlugin(const DynamicPluginTensorDesc*, int32_t, const DynamicPluginTensorDesc*,
                          int32_t) noexcept override {
    return 0;
  }

  // Running.
  IPluginV3* attachToContext(IPluginResourceContext*) noexcept override { return clone(); }
  int32_t onShapeChange(const PluginTensorDesc*, int32_t, const PluginTensorDesc*, int32_t) noexcept override {
    return 0;
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc*, const void* const* inputs, void* const* outputs,
                  void*, cudaStream_t) noexcept override {
    int64_t count = 1;
    for (int32_t a = 0; a < in[0].dims.nbDims; ++a) count *= in[0].dims.d[a];
    const auto* x = static_cast<const float*>(inputs[0]);
    auto* y = static_cast<float*>(outputs[0]);
    for (int64_t i = 0; i < count; ++i) y[i] = factor_ * x[i];
    return 0;
  }
  const PluginFieldCollection* getFieldsToSerialize() noexcept override {
    field_ = PluginField("factor", &factor_, PluginFieldType::kFLOAT32, 1);
    fields_ = {1, &field_};
    return &fields_;
  }

 private:
  float factor_;
  PluginField field_;
  PluginFieldCollection fields_{0, nullptr};
};

class Creator final : public IPluginCreatorV3One {
 public:
  IPluginV3* createPlugin(const AsciiChar*, const PluginFieldCollection* fc, TensorRTPhase) noexcept override {
    float factor = 1;
    for (int32_t i = 0; i < fc->nbFields; ++i)
      if (std::string(fc->fields[i].name) == "factor" && fc->fields[i].length == 1)
        factor = *static_cast<const float*>(fc->fields[i].data);
    return new Plugin(factor);
  }
  const PluginFieldCollection* getFieldNames() noexcept override { return &fields_; }
  const AsciiChar* getPluginName() const noexcept override { return "@NAME@"; }
  const AsciiChar* getPluginVersion() const noexcept override { return "1"; }
  const AsciiChar* getPluginNamespace() const noexcept override { return ""; }

 private:
  PluginField field_{"factor", nullptr, PluginFieldType::kFLOAT32, 1};
  PluginFieldCollection fields_{1, &field_};
};

Creator g_creator;
IPluginCreatorInterface* const g_creators[] = {&g_creator};

}  // namespace

// What IPluginRegistry::loadLibrary looks for.
extern "C" __attribute__((visibility("default"))) IPluginCreatorInterface* const* getCreators(int32_t& count) {
  count = 1;
  return g_creators;
}
)";

constexpr const char* kTest =
    R"(// Loads the library named on the command line, builds a network with the plugin, and compares.
#include "NvInfer.h"
#include "NvInferPlugin.h"

#include <cstdio>
#include <memory>
#include <vector>

using namespace nvinfer1;

class Logger final : public ILogger {
  void log(Severity severity, const char* text) noexcept override {
    if (severity <= Severity::kWARNING) std::fprintf(stderr, "%s\n", text);
  }
};

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  Logger logger;
  std::unique_ptr<IRuntime> runtime(createInferRuntime(logger));
  std::unique_ptr<IBuilder> builder(createInferBuilder(logger));
  // Both look here when they do not know a plugin themselves.
  IPluginRegistry& registry = *getPluginRegistry();
  if (registry.loadLibrary(argv[1]) == nullptr) return 1;
  auto* creator = static_cast<IPluginCreatorV3One*>(registry.getCreator("@NAME@", "1", ""));
  if (creator == nullptr) return 1;
  const float factor = 3;
  const PluginField field("factor", &factor, PluginFieldType::kFLOAT32, 1);
  const PluginFieldCollection fields{1, &field};
  std::unique_ptr<IPluginV3> plugin(creator->createPlugin("layer", &fields, TensorRTPhase::kBUILD));

  std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
  std::unique_ptr<IBuilderConfig> config(builder->createBuilderConfig());
  Dims shape{};
  shape.nbDims = 1;
  shape.d[0] = 4;
  ITensor* x = network->addInput("x", DataType::kFLOAT, shape);
  ITensor* y = network->addPluginV3(&x, 1, nullptr, 0, *plugin)->getOutput(0);
  y->setName("y");
  network->markOutput(*y);
  std::unique_ptr<IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
  if (plan == nullptr) return 1;

  std::unique_ptr<ICudaEngine> engine(runtime->deserializeCudaEngine(plan->data(), plan->size()));
  if (engine == nullptr) return 1;
  std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
  std::vector<float> input{1, -2, 3, 4}, output(4);
  context->setTensorAddress("x", input.data());
  context->setTensorAddress("y", output.data());
  if (!context->enqueueV3(nullptr)) return 1;
  for (size_t i = 0; i < 4; ++i) {
    if (output[i] == factor * input[i]) continue;
    std::printf("element %zu: %g, not %g\n", i, output[i], factor * input[i]);
    return 1;
  }
  std::printf("@NAME@ works\n");
  return 0;
}
)";

std::string named(const char* text, const std::string& name) {
  constexpr std::string_view kMark = "@NAME@";
  std::string made = text;
  for (size_t at = 0; (at = made.find(kMark, at)) != std::string::npos; at += name.size())
    made.replace(at, kMark.size(), name);
  return made;
}

}  // namespace

std::vector<ProjectFile> plugin_project(const std::string& name) {
  return {{"CMakeLists.txt", named(kBuild, name)},
          {"plugin.cpp", named(kPlugin, name)},
          {"plugin_test.cpp", named(kTest, name)}};
}

}  // namespace wootz_cli
