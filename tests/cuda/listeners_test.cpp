// Debug tensors and taps on the device: what a listener is handed, with the values that the CPU computes.
#include <algorithm>
#include <cstring>
#include <map>

#include "base/testing.h"
#include "cuda/on_device.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;

// Copies what it is handed as an application would: in the stream, from where the location says.
class Listener final : public IDebugListener {
 public:
  bool processDebugTensor(const void* address, TensorLocation location, DataType type, const Dims& shape,
                          const char* name, cudaStream_t stream) override {
    ++calls;
    streams.push_back(stream);
    EXPECT_EQ(location, TensorLocation::kDEVICE) << name;
    const size_t count = volume(shape);
    const size_t each = type == DataType::kINT64 ? 8 : type == DataType::kBOOL || type == DataType::kINT8 ? 1 : 4;
    std::vector<char> bytes(count * each + 1);
    if (on_device && count != 0) {
      auto* const queue = reinterpret_cast<CUstream>(stream);
      EXPECT_EQ(driver().cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(bytes.data()),
                                       reinterpret_cast<CUdeviceptr>(address), count * each, queue),
                CUDA_SUCCESS);
      EXPECT_EQ(driver().cuStreamSynchronize(queue), CUDA_SUCCESS);
    } else if (count != 0) {
      std::memcpy(bytes.data(), address, count * each);
    }
    std::vector<double> values;
    for (size_t i = 0; i < count; ++i) {
      const char* const at = bytes.data() + i * each;
      values.push_back(type == DataType::kINT64   ? static_cast<double>(*reinterpret_cast<const int64_t*>(at))
                       : type == DataType::kINT32 ? *reinterpret_cast<const int32_t*>(at)
                       : type == DataType::kINT8  ? static_cast<double>(static_cast<int8_t>(*at))
                       : type == DataType::kBOOL  ? static_cast<double>(*at != 0)
                                                  : static_cast<double>(*reinterpret_cast<const float*>(at)));
    }
    seen[name] = {list(shape), std::move(values)};
    return go_on;
  }
  bool on_device = false, go_on = true;
  int calls = 0;
  std::vector<cudaStream_t> streams;
  std::map<std::string, std::pair<std::vector<int64_t>, std::vector<double>>> seen;
};

void expect_same(const Listener& have, const Listener& want) {
  ASSERT_EQ(have.seen.size(), want.seen.size());
  for (const auto& [name, value] : want.seen) {
    ASSERT_EQ(have.seen.count(name), 1U) << name;
    const auto& [shape, values] = have.seen.at(name);
    ASSERT_EQ(shape, value.first) << name;
    for (size_t i = 0; i < values.size(); ++i)  // sums of at most 72 products of numbers below 1, in FP32 or TF32
      ASSERT_LE(std::abs(values[i] - value.second[i]), 5e-3) << name << " element " << i;
  }
}

// Two convolutions with their sum, positions of what is positive, and what is there; x [N, 8, 6, 6].
class Network {
 public:
  explicit Network(const char* backend, bool found = false) : on_device(std::string(backend) == "cuda") {
    real_gpu();
    std::mt19937 rng(3);
    INetworkDefinition& n = *bench.network;
    ITensor* x = bench.input("x", {-1, 8, 6, 6});
    const auto conv = [&](ITensor* in, const char* name) {
      filters_.emplace_back(8 * 8 * 9);
      for (float& v : filters_.back()) v = std::uniform_real_distribution<float>(-0.2F, 0.2F)(rng);
      auto* layer = n.addConvolutionNd(*in, 8, dims({3, 3}), weights(filters_.back()), kNone);
      layer->setPaddingNd(dims({1, 1}));
      layer->getOutput(0)->setName(name);
      return layer->getOutput(0);
    };
    ITensor* first = conv(x, "first");
    ITensor* active = n.addActivation(*first, ActivationType::kTANH)->getOutput(0);
    active->setName("active");
    ITensor* second = conv(active, "second");
    ITensor* sum = n.addElementWise(*second, *active, ElementWiseOperation::kSUM)->getOutput(0);
    sum->setName("sum");
    marked = {first, active, sum};
    if (found) {
      ITensor* at = n.addNonZero(*n.addActivation(*x, ActivationType::kRELU)->getOutput(0))->getOutput(0);
      at->setName("at");
      IShuffleLayer* turned = n.addShuffle(*at);
      turned->setFirstTranspose(Permutation{{1, 0}});
      ITensor* there = n.addGatherV2(*sum, *turned->getOutput(0), GatherMode::kND)->getOutput(0);
      there->setName("there");
      marked.push_back(there);
      sum = n.addActivation(*there, ActivationType::kSIGMOID)->getOutput(0);
    } else {
      sum = n.addSoftMax(*sum)->getOutput(0);
    }
    bench.output(sum, "y");
    bench.profile("x", {1, 8, 6, 6}, {2, 8, 6, 6}, {4, 8, 6, 6});
    EXPECT_EQ(wootz_config_set_option(bench.config.get(), "backend", backend), 0);
    EXPECT_EQ(wootz_config_set_option(bench.config.get(), "timing", "0"), 0);
    bench.config->setProfilingVerbosity(ProfilingVerbosity::kDETAILED);
    listener.on_device = on_device;
  }
  bool build() {
    engine = bench.engine();
    EXPECT_NE(engine, nullptr) << bench.logger.errors();
    if (engine == nullptr) return false;
    context.reset(engine->createExecutionContext());
    x_ = wootz_device_allocate(engine.get(), kMost * sizeof(float));
    y_ = wootz_device_allocate(engine.get(), kMost * sizeof(float));
    return context->setDebugListener(&listener);
  }
  ~Network() {
    context.reset();
    if (engine == nullptr) return;
    wootz_device_free(engine.get(), x_);
    wootz_device_free(engine.get(), y_);
  }
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  bool run(int64_t batch, unsigned seed, const Stream* stream = nullptr) {
    std::mt19937 rng(seed);
    std::vector<float> values(static_cast<size_t>(batch) * 8 * 36);
    for (float& v : values) v = std::uniform_real_distribution<float>(-1, 1)(rng);
    EXPECT_EQ(wootz_device_copy(engine.get(), x_, values.data(), values.size() * sizeof(float)), 0);
    listener.seen.clear();
    listener.streams.clear();
    listener.calls = 0;
    return context->setInputShape("x", dims({batch, 8, 6, 6})) && context->setInputTensorAddress("x", x_) &&
           context->setTensorAddress("y", y_) &&
           context->enqueueV3(on_device && stream != nullptr ? reinterpret_cast<cudaStream_t>(stream->handle)
                                                             : nullptr);
  }

  const bool on_device;
  Bench bench;
  std::vector<ITensor*> marked;
  Listener listener;
  Owned<ICudaEngine> engine;
  Owned<IExecutionContext> context;

 private:
  static constexpr size_t kMost = 4 * 8 * 36;
  std::vector<std::vector<float>> filters_;
  void *x_ = nullptr, *y_ = nullptr;
};

class CudaListeners : public testing::Test {
 protected:
  void TearDown() override {
    if (!real_gpu()) EXPECT_EQ(cuda::emulator_faults(), "");
  }
  const unsigned seed_ = static_cast<unsigned>(wootz::test_seed());
};

TEST_F(CudaListeners, DebugTensorsHaveTheValuesOfTheCpu) {
  for (const bool found : {false, true}) {
    SCOPED_TRACE(found);
    Network cpu("cpu", found), gpu("cuda", found);
    for (Network* n : {&cpu, &gpu}) {
      for (ITensor* t : n->marked) ASSERT_TRUE(n->bench.network->markDebug(*t));
      ASSERT_TRUE(n->build());
      ASSERT_TRUE(n->run(2, seed_)) << n->bench.logger.errors();
      EXPECT_EQ(n->listener.calls, 0) << "they are off at first";
      ASSERT_TRUE(n->context->setTensorDebugState("active", true));
      ASSERT_TRUE(n->run(2, seed_)) << n->bench.logger.errors();
      EXPECT_EQ(n->listener.calls, 1);
      EXPECT_EQ(n->listener.seen.count("active"), 1U);
      ASSERT_TRUE(n->context->setAllTensorsDebugState(true));
    }
    Stream stream;
    for (const int64_t batch : {2, 1, 4, 2}) {
      ASSERT_TRUE(cpu.run(batch, seed_ + static_cast<unsigned>(batch)));
      ASSERT_TRUE(gpu.run(batch, seed_ + static_cast<unsigned>(batch), &stream)) << gpu.bench.logger.errors();
      EXPECT_EQ(gpu.listener.seen.size(), gpu.marked.size());
      expect_same(gpu.listener, cpu.listener);
      for (const cudaStream_t s : gpu.listener.streams) EXPECT_EQ(s, reinterpret_cast<cudaStream_t>(stream.handle));
      stream.wait();
    }
    ASSERT_TRUE(gpu.context->setAllTensorsDebugState(false));
    ASSERT_TRUE(gpu.run(2, seed_)) << gpu.bench.logger.errors();
    EXPECT_EQ(gpu.listener.calls, 0);
  }
}

// Values by name that nobody marked: of steps, of inputs, of constants and of what is worked out with the shapes.
TEST_F(CudaListeners, TapsHaveTheValuesOfTheCpu) {
  Network cpu("cpu"), gpu("cuda");
  ASSERT_TRUE(cpu.build() && gpu.build());
  std::vector<std::string> names;
  for (const char* name : {"x", "first", "active", "second", "sum", "y"})
    if (wootz_context_tap(cpu.context.get(), name, 1) == 0) {
      if (wootz_context_tap(gpu.context.get(), name, 1) == 0)
        names.emplace_back(name);
      else
        wootz_context_tap(cpu.context.get(), name, 0);
    }
  gpu.bench.logger.take_errors();  // what lives inside a fused region, differently so
  for (const char* name : {"x", "active", "y"})
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  Stream stream;
  ASSERT_TRUE(cpu.run(3, seed_));
  ASSERT_TRUE(gpu.run(3, seed_, &stream)) << gpu.bench.logger.errors();
  for (Network* n : {&cpu, &gpu})  // names that the other one cannot read
    for (auto it = n->listener.seen.begin(); it != n->listener.seen.end();)
      it = std::find(names.begin(), names.end(), it->first) == names.end() ? n->listener.seen.erase(it) : std::next(it);
  EXPECT_EQ(gpu.listener.seen.size(), names.size());
  expect_same(gpu.listener, cpu.listener);
  // An input alone: nothing is watched while running.
  for (const std::string& name : names)
    if (name != "x") EXPECT_EQ(wootz_context_tap(gpu.context.get(), name.c_str(), 0), 0);
  ASSERT_TRUE(gpu.run(1, seed_, &stream)) << gpu.bench.logger.errors();
  ASSERT_EQ(gpu.listener.seen.size(), 1U);
  EXPECT_EQ(gpu.listener.seen.begin()->second.first, (std::vector<int64_t>{1, 8, 6, 6}));
}

TEST_F(CudaListeners, UnfusedTensorsAreShown) {
  Network gpu("cuda");
  ASSERT_TRUE(gpu.bench.network->markUnfusedTensorsAsDebugTensors());
  ASSERT_TRUE(gpu.build());
  ASSERT_TRUE(gpu.context->setUnfusedTensorsDebugState(true));
  ASSERT_TRUE(gpu.run(2, seed_)) << gpu.bench.logger.errors();
  EXPECT_GE(gpu.listener.seen.size(), 2U);
  for (const auto& [name, value] : gpu.listener.seen)
    for (const double v : value.second) ASSERT_TRUE(std::isfinite(v)) << name;
}

// Two convolutions of 8 bits: "r8" between them is in the layout of their kernels. x [1, 32, 6, 6].
struct Quantized {
  explicit Quantized(const char* backend) {
    real_gpu();
    std::mt19937 rng(9);
    INetworkDefinition& n = *bench.network;
    scale.assign(1, 0.02F);
    const auto quantized = [&](ITensor* t, const char* name) {
      ITensor* s = bench.constant<float>({}, scale);
      ITensor* q = n.addQuantize(*t, *s, DataType::kINT8)->getOutput(0);
      if (name != nullptr) q->setName(name);
      return n.addDequantize(*q, *s, DataType::kFLOAT)->getOutput(0);
    };
    ITensor* t = quantized(bench.input("x", {1, 32, 6, 6}), "x8");
    for (const char* name : {"r8", "y8"}) {
      filters.emplace_back(32 * 32 * 9);
      for (float& v : filters.back()) v = std::uniform_real_distribution<float>(-0.1F, 0.1F)(rng);
      auto* conv = n.addConvolutionNd(*t, 32, dims({3, 3}), kNone, kNone);
      conv->setInput(1, *quantized(bench.constant<float>({32, 32, 3, 3}, filters.back()), nullptr));
      conv->setPaddingNd(dims({1, 1}));
      t = quantized(n.addActivation(*conv->getOutput(0), ActivationType::kRELU)->getOutput(0), name);
    }
    bench.output(n.addActivation(*t, ActivationType::kSIGMOID), "y");
    for (const auto& [key, value] : {std::pair("backend", backend), std::pair("timing", "0")})
      EXPECT_EQ(wootz_config_set_option(bench.config.get(), key, value), 0);
    bench.config->setProfilingVerbosity(ProfilingVerbosity::kDETAILED);
    engine = bench.engine();
    EXPECT_NE(engine, nullptr) << bench.logger.errors();
    if (engine == nullptr) return;
    context.reset(engine->createExecutionContext());
    listener.on_device = std::string(backend) == "cuda";
    EXPECT_TRUE(context->setDebugListener(&listener));
  }
  // The values of "r8".
  std::vector<double> run(const std::vector<float>& values) {
    const size_t bytes = values.size() * sizeof(float);
    void *x = wootz_device_allocate(engine.get(), bytes), *y = wootz_device_allocate(engine.get(), bytes);
    EXPECT_EQ(wootz_device_copy(engine.get(), x, values.data(), bytes), 0);
    void* addresses[] = {x, y};
    EXPECT_EQ(wootz_context_tap(context.get(), "r8", 1), 0) << bench.logger.errors();
    EXPECT_TRUE(context->executeV2(addresses)) << bench.logger.errors();
    wootz_device_free(engine.get(), x);
    wootz_device_free(engine.get(), y);
    return listener.seen["r8"].second;
  }
  Bench bench;
  std::vector<float> scale;
  std::vector<std::vector<float>> filters;
  Listener listener;
  Owned<ICudaEngine> engine;
  Owned<IExecutionContext> context;
};

// Channels that lie innermost in memory are handed over row-major all the same.
TEST_F(CudaListeners, OtherLayoutsAreHandedOverRowMajor) {
  Quantized cpu("cpu"), gpu("cuda");
  ASSERT_TRUE(cpu.engine != nullptr && gpu.engine != nullptr);
  const Owned<IEngineInspector> inspector(gpu.engine->createEngineInspector());
  const std::string layers = inspector->getEngineInformation(LayerInformationFormat::kJSON);
  EXPECT_NE(layers.find("channels_last"), std::string::npos) << layers;
  std::mt19937 rng(seed_);
  std::vector<float> x(32 * 36);
  for (float& v : x) v = std::uniform_real_distribution<float>(-1, 1)(rng);
  const std::vector<double> want = cpu.run(x), have = gpu.run(x);
  ASSERT_EQ(want.size(), x.size());
  ASSERT_EQ(have.size(), x.size());
  EXPECT_GE(*std::max_element(want.begin(), want.end()), 20) << "little to compare";
  for (size_t i = 0; i < want.size(); ++i) ASSERT_LE(std::abs(have[i] - want[i]), 1) << "element " << i;
}

TEST_F(CudaListeners, AListenerEndsTheInferenceAndItIsSaidWhere) {
  Network gpu("cuda");
  for (ITensor* t : gpu.marked) ASSERT_TRUE(gpu.bench.network->markDebug(*t));
  ASSERT_TRUE(gpu.build());
  ASSERT_TRUE(gpu.context->setTensorDebugState("active", true));
  gpu.listener.go_on = false;
  EXPECT_FALSE(gpu.run(2, seed_));
  const std::string errors = gpu.bench.logger.take_errors();
  EXPECT_NE(errors.find("the debug listener ended the inference at 'active'"), std::string::npos) << errors;
  gpu.listener.go_on = true;
  EXPECT_TRUE(gpu.run(2, seed_)) << gpu.bench.logger.errors();
}

TEST_F(CudaListeners, ACapturedStreamShowsNothingAndSaysSo) {
  Network gpu("cuda");
  for (ITensor* t : gpu.marked) ASSERT_TRUE(gpu.bench.network->markDebug(*t));
  ASSERT_TRUE(gpu.build());
  ASSERT_TRUE(gpu.context->setAllTensorsDebugState(true));
  Stream stream;
  ASSERT_TRUE(gpu.run(2, seed_, &stream)) << gpu.bench.logger.errors();
  stream.wait();
  const cuda::Driver& d = driver();
  for (const bool shown : {true, false}) {
    ASSERT_TRUE(gpu.context->setAllTensorsDebugState(shown));
    gpu.listener.calls = 0;
    CUgraph graph = nullptr;
    ASSERT_EQ(d.cuStreamBeginCapture_v2(stream.handle, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    EXPECT_EQ(gpu.context->enqueueV3(reinterpret_cast<cudaStream_t>(stream.handle)), !shown);
    EXPECT_EQ(d.cuStreamEndCapture(stream.handle, &graph), CUDA_SUCCESS);
    d.cuGraphDestroy(graph);
    EXPECT_EQ(gpu.listener.calls, 0);
    EXPECT_EQ(gpu.bench.logger.take_errors().find("debug tensors cannot be shown while a stream is captured") !=
                  std::string::npos,
              shown);
  }
}

// The emulator is no better than a GPU: memory is the device's or the host's.
TEST_F(CudaListeners, TheHostFaultsAtMemoryOfTheEmulator) {
  if (real_gpu()) GTEST_SKIP() << "about the emulator";
  SmallNet net;
  ASSERT_NE(net.engine, nullptr);
  void* const memory = wootz_device_allocate(net.engine.get(), 64);
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(static_cast<void>(*static_cast<volatile float*>(memory)), "");
  wootz_device_free(net.engine.get(), memory);
}

TEST_F(CudaListeners, KernelsOfTheEmulatorFailAtMemoryOfTheHost) {
  if (real_gpu()) GTEST_SKIP() << "about the emulator";
  SmallNet net;
  ASSERT_NE(net.engine, nullptr);
  Owned<IExecutionContext> context(net.engine->createExecutionContext());
  Batch b(*net.engine, 1);
  std::vector<float> host(10);
  ASSERT_TRUE(b.set(*context));
  EXPECT_FALSE(context->setTensorAddress("y", host.data()) && context->enqueueV3(nullptr) &&
               driver().cuStreamSynchronize(nullptr) == CUDA_SUCCESS);
  cuda::emulator_fail({});
}

}  // namespace
}  // namespace wootz_test
