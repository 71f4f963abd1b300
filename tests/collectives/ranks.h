// Engines on several GPUs of the emulator, each the rank of a communicator on a thread of its own.
#pragma once

#include <dlfcn.h>

#include <cstring>
#include <functional>
#include <thread>

#include "api/on_backend.h"

namespace wootz_test {

using Plan = Owned<nvinfer1::IHostMemory>;

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// The application's own NCCL: communicators of the first GPUs, or of those named.
class Communicators {
 public:
  explicit Communicators(int count, std::vector<int> devices = {}) : all_(static_cast<size_t>(count)) {
    for (int d = static_cast<int>(devices.size()); d < count; ++d) devices.push_back(d);
    using Init = int (*)(void**, int, const int*);
    const auto init = reinterpret_cast<Init>(function("ncclCommInitAll"));
    EXPECT_TRUE(init != nullptr && init(all_.data(), count, devices.data()) == 0)
        << "is LD_LIBRARY_PATH the emulator's?";
  }
  ~Communicators() {
    const auto destroy = reinterpret_cast<int (*)(void*)>(function("ncclCommDestroy"));
    for (void* comm : all_) destroy(comm);
  }
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;
  void* operator[](size_t rank) const { return all_[rank]; }
  size_t size() const { return all_.size(); }

 private:
  static void* function(const char* name) {
    static void* const library = dlopen("libnccl.so.2", RTLD_NOW);
    EXPECT_NE(library, nullptr) << dlerror();
    return library == nullptr ? nullptr : dlsym(library, name);
  }
  std::vector<void*> all_;
};

// A plan on one GPU, with a context.
struct Rank {
  Rank(const nvinfer1::IHostMemory& plan, int device) {
    runtime.reset(nvinfer1::createInferRuntime(logger));
    EXPECT_EQ(wootz_runtime_set_device(runtime.get(), device), 0) << logger.errors();
    engine.reset(runtime->deserializeCudaEngine(plan.data(), plan.size()));
    EXPECT_NE(engine, nullptr) << logger.errors();
    if (engine != nullptr) inference = std::make_unique<Inference>(*engine);
  }
  nvinfer1::IExecutionContext& context() { return inference->context(); }

  Logger logger;
  Owned<nvinfer1::IRuntime> runtime;
  Owned<nvinfer1::ICudaEngine> engine;
  std::unique_ptr<Inference> inference;
};

// Does something as every rank at the same time.
inline void as_ranks(size_t count, const std::function<void(size_t)>& work) {
  std::vector<std::thread> threads;
  for (size_t r = 0; r < count; ++r) threads.emplace_back(work, r);
  for (std::thread& thread : threads) thread.join();
}

struct CudaBench : BackendBench {
  explicit CudaBench(const char* backend = "cuda") : BackendBench(backend, strongly_typed()) {}
  nvinfer1::ILayer* collective(nvinfer1::ITensor* x, nvinfer1::CollectiveOperation operation,
                               nvinfer1::ReduceOperation reduction, int32_t ranks, int64_t root = -1,
                               std::vector<int64_t> groups = {}) {
    nvinfer1::ILayer* layer = network->addDistCollective(
        *x, operation, reduction, root, groups.empty() ? nullptr : groups.data(), static_cast<int64_t>(groups.size()));
    EXPECT_NE(layer, nullptr) << logger.errors();
    if (layer != nullptr) {
      EXPECT_TRUE(layer->setNbRanks(ranks)) << logger.errors();
    }
    return layer;
  }
  Plan plan() {
    Plan built(builder->buildSerializedNetwork(*network, *config));
    EXPECT_NE(built, nullptr) << logger.errors();
    return built;
  }
};

}  // namespace wootz_test
