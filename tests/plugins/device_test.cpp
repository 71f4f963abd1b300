// Plugins on a device with memory of its own: its addresses, its stream, inside of what is recorded and outside of it.
#include "cuda/on_device.h"
#include "plugins/script_plugin.h"

namespace wootz_test {
namespace {

CUdeviceptr at(const void* p) { return reinterpret_cast<CUdeviceptr>(p); }

// relu(x) * 2 by kernels, a copy by the plugin, and more kernels: y = 2 * relu(x) + x.
class PluginsOnDevice : public testing::Test, protected Scripted {
 protected:
  PluginsOnDevice() : real_(real_gpu()) {
    script.on_device = true;
    script.work = [this](const PluginTensorDesc* in, const PluginTensorDesc*, const void* const* inputs,
                         void* const* outputs, void*, cudaStream_t s) {
      const auto stream = reinterpret_cast<CUstream>(s);
      if (stream == nullptr) return 1;
      if (waits && driver().cuStreamSynchronize(stream) != CUDA_SUCCESS) return 2;
      return driver().cuMemcpyAsync(at(outputs[0]), at(inputs[0]), volume(in[0].dims) * sizeof(float), stream) ==
                     CUDA_SUCCESS
                 ? 0
                 : 3;
    };
  }
  void build() {
    INetworkDefinition& n = *b.network;
    ITensor* x = b.input("x", {-1, 16});
    ITensor* r = n.addActivation(*x, ActivationType::kRELU)->getOutput(0);
    ITensor* sum = n.addReduce(*r, ReduceOperation::kMAX, 1U << 1, true)->getOutput(0);
    ITensor* copied = add_script(b, {sum})->getOutput(0);
    b.output(n.addElementWise(*copied, *x, ElementWiseOperation::kSUM), "y");
    open();
  }
  // For the network as it is, of one input.
  void open() {
    b.profile("x", {1, 16}, {4, 16}, {32, 16});
    EXPECT_EQ(wootz_config_set_option(b.config.get(), "backend", "cuda"), 0);
    EXPECT_EQ(wootz_config_set_option(b.config.get(), "timing", "0"), 0);
    engine = b.engine();
    ASSERT_NE(engine, nullptr) << b.logger.errors();
    context.reset(engine->createExecutionContext());
    ASSERT_NE(context, nullptr) << b.logger.errors();
  }
  // Runs on a stream of the application's and compares.
  void check(size_t rows, uint32_t salt) {
    const std::vector<float> input = numbers(rows * 16, salt);
    std::vector<float> want = input, got(input.size());
    for (size_t r = 0; r < rows; ++r) {
      const float most = std::max(0.F, *std::max_element(input.begin() + static_cast<ptrdiff_t>(r * 16),
                                                         input.begin() + static_cast<ptrdiff_t>(r * 16 + 16)));
      for (size_t c = 0; c < 16; ++c) want[r * 16 + c] += most;
    }
    const size_t bytes = input.size() * sizeof(float);
    ASSERT_EQ(driver().cuMemcpy(x_, at(input.data()), bytes), CUDA_SUCCESS);
    ASSERT_TRUE(context->setInputShape("x", dims({static_cast<int64_t>(rows), 16})));
    ASSERT_TRUE(context->setTensorAddress("x", reinterpret_cast<void*>(x_)));
    ASSERT_TRUE(context->setTensorAddress("y", reinterpret_cast<void*>(y_)));
    ASSERT_TRUE(context->enqueueV3(reinterpret_cast<cudaStream_t>(stream_.handle))) << b.logger.errors();
    stream_.wait();
    ASSERT_EQ(driver().cuMemcpy(at(got.data()), y_, bytes), CUDA_SUCCESS);
    expect_near(got, want);
  }
  void SetUp() override {
    ASSERT_EQ(driver().cuMemAlloc_v2(&x_, 32 * 16 * sizeof(float)), CUDA_SUCCESS);
    ASSERT_EQ(driver().cuMemAlloc_v2(&y_, 32 * 16 * sizeof(float)), CUDA_SUCCESS);
  }
  void TearDown() override {
    context.reset();
    engine.reset();
    driver().cuMemFree_v2(x_);
    driver().cuMemFree_v2(y_);
    EXPECT_EQ(real_ ? "" : cuda::emulator_faults(), "");
  }

  bool real_;
  bool waits = false;
  Bench b;
  Owned<ICudaEngine> engine;
  Owned<IExecutionContext> context;
  wootz_test::Stream stream_;
  CUdeviceptr x_ = 0, y_ = 0;
};

TEST_F(PluginsOnDevice, IsRecordedWithTheRest) {
  build();
  check(4, 1);
  const int enqueues = script.enqueues;
  for (uint32_t k = 0; k < 5; ++k) check(4, 2 + k);
  EXPECT_EQ(script.enqueues, enqueues) << "replayed";
  check(7, 9);
  EXPECT_GT(script.enqueues, enqueues);
  check(4, 10);
}

TEST_F(PluginsOnDevice, WhatCannotBeRecordedRunsOutsideOfIt) {
  waits = true;
  build();
  check(4, 1);
  const int enqueues = script.enqueues;
  check(4, 2);
  check(4, 3);
  EXPECT_EQ(script.enqueues, enqueues + 2) << "each time";
  EXPECT_EQ(b.logger.errors(), "");
}

TEST_F(PluginsOnDevice, FaultsAreReported) {
  build();
  script.fails = "enqueue";
  ASSERT_TRUE(context->setInputShape("x", dims({4, 16})));
  ASSERT_TRUE(context->setTensorAddress("x", reinterpret_cast<void*>(x_)));
  ASSERT_TRUE(context->setTensorAddress("y", reinterpret_cast<void*>(y_)));
  EXPECT_FALSE(context->enqueueV3(reinterpret_cast<cudaStream_t>(stream_.handle)));
  const std::string errors = b.logger.take_errors();
  EXPECT_NE(errors.find("enqueue answered 17"), std::string::npos) << errors;
  EXPECT_NE(errors.find("the_plugin"), std::string::npos) << errors;
  script.fails.clear();
  check(4, 3);
}

// The first half of the elements, and how many they are: found on the device.
TEST_F(PluginsOnDevice, SizesFoundByRunning) {
  script.outputs = 2;
  script.types = [](DataType* out, const DataType* in) { out[0] = in[0], out[1] = DataType::kINT32; };
  script.shapes = [](const DimsExprs* in, const DimsExprs*, DimsExprs* out, IExprBuilder& builder) {
    out[0] = in[0];
    out[0].d[0] = builder.declareSizeTensor(1, *in->d[0], *in->d[0]);
    out[1].nbDims = 0;
    return 0;
  };
  script.supports = [](int32_t pos, const DynamicPluginTensorDesc* all) {
    return all[pos].desc.format == TensorFormat::kLINEAR;
  };
  script.work = [](const PluginTensorDesc* in, const PluginTensorDesc*, const void* const* inputs, void* const* outputs,
                   void*, cudaStream_t s) {
    const auto stream = reinterpret_cast<CUstream>(s);
    const int32_t half = static_cast<int32_t>(in[0].dims.d[0] / 2);
    if (driver().cuStreamSynchronize(stream) != CUDA_SUCCESS ||
        driver().cuMemcpy(at(outputs[1]), at(&half), sizeof half) != CUDA_SUCCESS)
      return 1;
    return driver().cuMemcpyAsync(at(outputs[0]), at(inputs[0]), static_cast<size_t>(half) * 16 * sizeof(float),
                                  stream) == CUDA_SUCCESS
               ? 0
               : 2;
  };
  ITensor* x = b.input("x", {-1, 16});
  b.output(b.network->addActivation(*add_script(b, {x})->getOutput(0), ActivationType::kRELU), "y");
  open();
  ASSERT_FALSE(HasFatalFailure());
  for (const size_t rows : {size_t{8}, size_t{32}}) {
    const std::vector<float> input = numbers(rows * 16, static_cast<uint32_t>(rows));
    std::vector<float> want(input.begin(), input.begin() + static_cast<ptrdiff_t>(rows * 8)), got(want.size());
    for (float& v : want) v = std::max(v, 0.F);
    ASSERT_EQ(driver().cuMemcpy(x_, at(input.data()), input.size() * sizeof(float)), CUDA_SUCCESS);
    ASSERT_TRUE(context->setInputShape("x", dims({static_cast<int64_t>(rows), 16})));
    ASSERT_TRUE(context->setTensorAddress("x", reinterpret_cast<void*>(x_)));
    ASSERT_TRUE(context->setTensorAddress("y", reinterpret_cast<void*>(y_)));
    ASSERT_TRUE(context->enqueueV3(reinterpret_cast<cudaStream_t>(stream_.handle))) << b.logger.errors();
    stream_.wait();
    EXPECT_EQ(list(context->getTensorShape("y")), (std::vector<int64_t>{static_cast<int64_t>(rows / 2), 16}));
    ASSERT_EQ(driver().cuMemcpy(at(got.data()), y_, got.size() * sizeof(float)), CUDA_SUCCESS);
    expect_near(got, want);
  }
}

}  // namespace
}  // namespace wootz_test
