#include "no_memory/life.h"

#include "steady/real_models.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;

// One life in steps; each says whether life goes on, and leaves the name of its call.
class Steps {
 public:
  Steps(const Model& model, const std::string& path, LastError& logger, Life& life)
      : model_(model), path_(path), logger_(logger), life_(life) {}

  bool all() { return define() && shape() && build() && load() && bind() && run() && run(); }

 private:
  bool call(const char* name, bool good) {
    if (!good) life_.failed = name;
    return good;
  }
  bool define() {
    builder_.reset(createInferBuilder(logger_));
    if (!call("createInferBuilder", builder_ != nullptr)) return false;
    network_.reset(builder_->createNetworkV2(0));
    config_.reset(builder_->createBuilderConfig());
    if (!call("createNetworkV2", network_ != nullptr) || !call("createBuilderConfig", config_ != nullptr)) return false;
    if (!call("wootz_config_set_option", wootz_config_set_option(config_.get(), "timing", "0") == 0)) return false;
    if (model_.make != nullptr) return call("the network's calls", model_.make(*network_));
    parser_.reset(nvonnxparser::createParser(*network_, logger_));
    if (!call("createParser", parser_ != nullptr)) return false;
    return call("parseFromFile", parser_->parseFromFile(path_.c_str(), 0));
  }
  bool shape() {
    if (model_.shapes.empty()) return true;
    IOptimizationProfile* profile = builder_->createOptimizationProfile();
    if (!call("createOptimizationProfile", profile != nullptr)) return false;
    for (const Shape& s : model_.shapes)
      if (!call("setDimensions", profile->setDimensions(s.input, OptProfileSelector::kMIN, s.min) &&
                                     profile->setDimensions(s.input, OptProfileSelector::kOPT, s.opt) &&
                                     profile->setDimensions(s.input, OptProfileSelector::kMAX, s.max)))
        return false;
    return call("addOptimizationProfile", config_->addOptimizationProfile(profile) == 0);
  }
  bool build() {
    plan_.reset(builder_->buildSerializedNetwork(*network_, *config_));
    return call("buildSerializedNetwork", plan_ != nullptr);
  }
  bool load() {
    runtime_.reset(createInferRuntime(logger_));
    if (!call("createInferRuntime", runtime_ != nullptr)) return false;
    engine_.reset(runtime_->deserializeCudaEngine(plan_->data(), plan_->size()));
    if (!call("deserializeCudaEngine", engine_ != nullptr)) return false;
    context_.reset(engine_->createExecutionContext());
    return call("createExecutionContext", context_ != nullptr);
  }
  bool bind() {
    for (const Shape& s : model_.shapes)
      if (!call("setInputShape", context_->setInputShape(s.input, s.opt))) return false;
    for (int32_t i = 0; i < engine_->getNbIOTensors(); ++i) {
      const char* name = engine_->getIOTensorName(i);
      if (!call("getIOTensorName", name != nullptr)) return false;
      if (engine_->getTensorIOMode(name) == TensorIOMode::kINPUT) {
        if (!call("setTensorAddress", context_->setTensorAddress(name, input_.data()))) return false;
        continue;
      }
      Room& room = life_.outputs.at(static_cast<size_t>(life_.num_outputs++));
      if (!call("setOutputAllocator", context_->setOutputAllocator(name, &room))) return false;
    }
    return true;
  }
  bool run() { return call("enqueueV3", context_->enqueueV3(nullptr)); }

  const Model& model_;
  const std::string& path_;
  LastError& logger_;
  Life& life_;
  // Every input reads from here, whatever its type: ones where it is FP32.
  inline static std::vector<float> input_ = std::vector<float>(size_t{1} << 16, 1.F);
  Owned<IBuilder> builder_;
  Owned<INetworkDefinition> network_;
  Owned<IBuilderConfig> config_;
  Owned<nvonnxparser::IParser> parser_;
  Owned<IHostMemory> plan_;
  Owned<IRuntime> runtime_;
  Owned<ICudaEngine> engine_;
  Owned<IExecutionContext> context_;
};

ITensor* out(ILayer* layer) { return layer == nullptr ? nullptr : layer->getOutput(0); }

// Convolution, product and softmax by the calls of the API.
bool by_calls(INetworkDefinition& n) {
  static const std::vector<float> w(8 * 9, 0.1F), m(64, 0.2F);
  ITensor* x = n.addInput("x", DataType::kFLOAT, dims({1, 1, 8, 8}));
  if (x == nullptr) return false;
  ITensor* y = out(n.addConvolutionNd(*x, 8, dims({3, 3}), weights(w), kNone));
  if (y == nullptr || (y = out(n.addActivation(*y, ActivationType::kRELU))) == nullptr) return false;
  if ((y = out(n.addReduce(*y, ReduceOperation::kAVG, 12, false))) == nullptr) return false;
  ITensor* c = out(n.addConstant(dims({8, 8}), weights(m)));
  if (c == nullptr) return false;
  y = out(n.addMatrixMultiply(*y, MatrixOperation::kNONE, *c, MatrixOperation::kNONE));
  if (y == nullptr || (y = out(n.addSoftMax(*y))) == nullptr) return false;
  y->setName("y");
  n.markOutput(*y);
  return n.getNbOutputs() == 1;
}

}  // namespace

void live(const Model& model, const std::string& path, LastError& logger, Life& life) {
  Steps(model, path, logger, life).all();
}

const std::vector<Model>& models() {
  static const std::vector<Model> all = {
      {"calls", nullptr, by_calls, {}},
      {"loop", "loop.onnx", nullptr, {}},
      {"if_lstm",
       "if_lstm.onnx",
       nullptr,
       {{"x", dims({1, 1, 8}), dims({2, 1, 16}), dims({2, 1, 32})},
        {"h", dims({1, 1, 4}), dims({1, 2, 4}), dims({1, 2, 4})},
        {"c", dims({1, 1, 4}), dims({1, 2, 4}), dims({1, 2, 4})}}},
      {"cls", "", nullptr, {{"x", dims({1, 3, 48, 192}), dims({1, 3, 48, 192}), dims({2, 3, 48, 192})}}}};
  return all;
}

std::string file_of(const Model& model) {
  if (model.file == nullptr) return "";
  if (*model.file == '\0') return model_path(model.name);
  const char* source = std::getenv("WOOTZ_SOURCE_DIR");
  return std::string(source == nullptr ? "." : source) + "/src/onnx/import_fuzz_corpus/" + model.file;
}

}  // namespace wootz_test
