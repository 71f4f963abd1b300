// Quick plugins on a device: those that were compiled while building bring a kernel, which the plan keeps.
#include "backends/cuda/jit/compiler.h"
#include "base/testing.h"
#include "cuda/on_device.h"
#include "plugins/quick_plugin.h"

namespace wootz_test {
namespace {

constexpr const char* kSource =
    "extern \"C\" __global__ void wootz_kernel(const float* x, int n, int rows, float* y) {\n"
    "  const int i = blockIdx.x * 32 + threadIdx.x;\n"
    "  if (i < n) y[i] = x[i] * rows;\n"
    "}\n";

class QuickOnDevice : public QuickPlugins {
 protected:
  QuickOnDevice() : real_(real_gpu()) {
    quick.ahead = true;
    quick.code = kSource;  // which is what the emulator runs
    if (!real_) return;
    const auto code = cuda::compile_cuda(kSource, (*cuda::gpu())->describe().isa);
    EXPECT_TRUE(code.ok()) << code.status().to_string();
    if (code.ok()) quick.code.assign(code->begin(), code->end());
  }
  Owned<IHostMemory> build() { return build(b); }
  static Owned<IHostMemory> build(Bench& b) {
    ITensor* x = b.input("x", {-1, 5});
    ITensor* made = add(b, x, 1)->getOutput(0);
    b.output(b.network->addElementWise(*made, *x, ElementWiseOperation::kSUM), "y");
    b.profile("x", {1, 5}, {4, 5}, {40, 5});
    EXPECT_EQ(wootz_config_set_option(b.config.get(), "backend", "cuda"), 0);
    EXPECT_EQ(wootz_config_set_option(b.config.get(), "timing", "0"), 0);
    return Owned<IHostMemory>(b.builder->buildSerializedNetwork(*b.network, *b.config));
  }
  // y = x * (rows + 1), or times `factor`.
  void check(ICudaEngine& engine, float factor = 0) {
    const Owned<IExecutionContext> context(engine.createExecutionContext());
    const Stream stream;
    const auto any = static_cast<int64_t>(1 + wootz::test_seed() % 40);
    for (const int64_t rows : std::initializer_list<int64_t>{3, 40, 3, 3, any}) {
      const std::vector<float> input = numbers(static_cast<size_t>(rows) * 5, static_cast<uint32_t>(rows));
      const size_t bytes = input.size() * sizeof(float);
      void *const x = wootz_device_allocate(&engine, bytes), *const y = wootz_device_allocate(&engine, bytes);
      EXPECT_EQ(wootz_device_copy(&engine, x, input.data(), bytes), 0);
      ASSERT_TRUE(context->setInputShape("x", dims({rows, 5})) && context->setTensorAddress("x", x) &&
                  context->setTensorAddress("y", y));
      for (int i = 0; i < 3; ++i)  // recorded and replayed
        ASSERT_TRUE(context->enqueueV3(reinterpret_cast<cudaStream_t>(stream.handle))) << b.logger.errors();
      stream.wait();
      std::vector<float> got(input.size());
      EXPECT_EQ(wootz_device_copy(&engine, got.data(), y, bytes), 0);
      expect_near(got, scaled(input, factor != 0 ? factor : static_cast<float>(rows + 1)), 1e-4F);
      wootz_device_free(&engine, x);
      wootz_device_free(&engine, y);
    }
  }
  Owned<ICudaEngine> load(const IHostMemory& plan, bool allowed) {
    runtime.reset(createInferRuntime(b.logger));
    runtime->setEngineHostCodeAllowed(allowed);
    return Owned<ICudaEngine>(runtime->deserializeCudaEngine(plan.data(), plan.size()));
  }
  bool real_;
  Bench b;
  Owned<IRuntime> runtime;
};

TEST_F(QuickOnDevice, TheKernelOfThePlanIsRunWithPermissionAndNoCreator) {
  const Owned<IHostMemory> plan = build();
  ASSERT_NE(plan, nullptr) << b.logger.errors();
  EXPECT_EQ(load(*plan, false), nullptr);
  const std::string why = b.logger.take_errors();
  EXPECT_NE(why.find("setEngineHostCodeAllowed"), std::string::npos) << why;
  const int made = quick.made;
  const Owned<ICudaEngine> engine = load(*plan, true);
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  EXPECT_EQ(quick.made, made) << "the plan has all of it";
  check(*engine);
  EXPECT_EQ(quick.enqueues, 0);
  const Owned<IHostMemory> again(engine->serialize());
  ASSERT_NE(again, nullptr);
  const Owned<ICudaEngine> second = load(*again, true);
  ASSERT_NE(second, nullptr) << b.logger.errors();
  check(*second);
}

// y = x * rows by a grid of rows and fives, one thread a block.
TEST_F(QuickOnDevice, TheLaunchIsWhatThePluginWrites) {
  std::string source = kSource;
  source.replace(source.find("blockIdx.x * 32 + threadIdx.x"), 29, "blockIdx.y * 5 + blockIdx.x");
  quick.code = source;
  if (real_) {
    const auto code = cuda::compile_cuda(source, (*cuda::gpu())->describe().isa);
    ASSERT_TRUE(code.ok()) << code.status().to_string();
    quick.code.assign(code->begin(), code->end());
  }
  QuickExpr rows, columns, one, none, count;
  quick.launch = [&](const DimsExprs* in, IKernelLaunchParams& launch, ISymExprs& extras, IExprBuilder& builder) {
    rows.expression = in[0].d[0];
    columns.expression = in[0].d[1];
    one.expression = builder.constant(1);
    none.expression = builder.constant(0);
    count.expression = builder.operation(DimensionOperation::kPROD, *in[0].d[0], *in[0].d[1]);
    EXPECT_EQ(launch.getGridX(), nullptr);
    EXPECT_FALSE(launch.setGridX(nullptr));
    EXPECT_TRUE(launch.setGridX(&columns) && launch.setGridY(&rows) && launch.setGridZ(&one));
    EXPECT_TRUE(launch.setBlockX(&one) && launch.setBlockY(&one) && launch.setBlockZ(&one));
    EXPECT_TRUE(launch.setSharedMem(&none));
    EXPECT_EQ(launch.getGridX(), &columns);
    EXPECT_EQ(launch.getGridY(), &rows);
    EXPECT_EQ(launch.getGridZ(), &one);
    EXPECT_EQ(launch.getBlockX(), &one);
    EXPECT_EQ(launch.getBlockY(), &one);
    EXPECT_EQ(launch.getBlockZ(), &one);
    EXPECT_EQ(launch.getSharedMem(), &none);
    EXPECT_FALSE(extras.setNbSymExprs(-1));
    EXPECT_TRUE(extras.setNbSymExprs(2));
    EXPECT_EQ(extras.getNbSymExprs(), 2);
    EXPECT_EQ(extras.getSymExpr(0), nullptr);
    EXPECT_TRUE(extras.setSymExpr(0, &count) && extras.setSymExpr(1, &rows));
    EXPECT_FALSE(extras.setSymExpr(2, &rows));
    EXPECT_FALSE(extras.setSymExpr(0, nullptr));
    EXPECT_EQ(extras.getSymExpr(1), &rows);
    EXPECT_EQ(extras.getSymExpr(2), nullptr);
  };
  const Owned<IHostMemory> plan = build();
  ASSERT_NE(plan, nullptr) << b.logger.errors();
  const Owned<ICudaEngine> engine = load(*plan, true);
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  check(*engine);
}

TEST_F(QuickOnDevice, WhatFailsWhileBuildingIsNamed) {
  for (const char* callback : {"getLaunchParams", "getKernel", "expressions"}) {
    SCOPED_TRACE(callback);
    quick.fails = callback;
    Bench fresh;
    EXPECT_EQ(build(fresh), nullptr);
    const std::string why = fresh.logger.take_errors();
    EXPECT_NE(why.find("the_plugin"), std::string::npos) << why;
    EXPECT_NE(why.find(std::string(callback) == "expressions" ? "did not make" : callback), std::string::npos) << why;
  }
}

TEST_F(QuickOnDevice, CodeThatTheDeviceDoesNotLoadIsRefusedByName) {
  quick.code = real_ ? "no code" : ".version 8.0\n.target sm_80\n.visible .entry wootz(){ret;}\n";
  quick.kernel = "the_kernel";
  const Owned<IHostMemory> plan = build();
  std::string why = b.logger.take_errors();
  if (plan != nullptr) {
    const Owned<ICudaEngine> engine = load(*plan, true);
    if (engine != nullptr) {
      const Owned<IExecutionContext> context(engine->createExecutionContext());
      ASSERT_TRUE(context->setInputShape("x", dims({1, 5})));
      void* const memory = wootz_device_allocate(engine.get(), 64);
      ASSERT_TRUE(context->setTensorAddress("x", memory) && context->setTensorAddress("y", memory));
      EXPECT_FALSE(context->enqueueV3(nullptr));
      wootz_device_free(engine.get(), memory);
    }
    why += b.logger.take_errors();
  }
  EXPECT_NE(why.find("kernel 'the_kernel'"), std::string::npos) << why;
  if (!real_) EXPECT_NE(why.find("no PTX"), std::string::npos) << why;
}

// One that runs itself gets the device's addresses and its stream.
TEST_F(QuickOnDevice, RunThemselvesOnTheirStream) {
  quick.ahead = false;
  quick.work = [](const void* x, void* y, size_t bytes, cudaStream_t stream) {
    if (stream == nullptr) return 1;
    return driver().cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(y), reinterpret_cast<CUdeviceptr>(x), bytes,
                                  reinterpret_cast<CUstream>(stream)) == CUDA_SUCCESS
               ? 0
               : 2;
  };
  const Owned<IHostMemory> plan = build();
  ASSERT_NE(plan, nullptr) << b.logger.errors();
  const Owned<ICudaEngine> engine = load(*plan, false);
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  EXPECT_EQ(quick.request, QuickPluginCreationRequest::kSTRICT_JIT);
  check(*engine, 2);
  EXPECT_GT(quick.enqueues, 0);
}

}  // namespace
}  // namespace wootz_test
