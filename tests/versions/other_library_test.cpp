// A second copy of the library in the process: where it is looked for, and that its threads are its own.
#include <filesystem>

#include "api/dense.h"
#include "base/thread_pool.h"

namespace wootz_test {
namespace {

namespace fs = std::filesystem;

size_t threads_now() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& task : fs::directory_iterator("/proc/self/task")) ++count;
  return count;
}

// Each library has a pool of its own, whose workers end when it is set anew.
TEST(OtherLibrary, ThreadsAreThoseOfTheLibraryThatRuns) {
  constexpr int64_t kMany = 1 << 20;  // more than one thread's work
  Bench net;
  net.output(net.network->addUnary(*net.input("x", {kMany}), UnaryOperation::kSIN), "y");
  const Owned<IHostMemory> plan(net.builder->buildSerializedNetwork(*net.network, *net.config));
  ASSERT_NE(plan, nullptr) << net.logger.errors();
  const Owned<IRuntime> here(createInferRuntime(net.logger));
  const Owned<IRuntime> other(here->loadRuntime(wootz_runtime_library()));
  ASSERT_NE(other, nullptr) << net.logger.errors();
  const Owned<ICudaEngine> own(here->deserializeCudaEngine(plan->data(), plan->size()));
  const Owned<ICudaEngine> engine(other->deserializeCudaEngine(plan->data(), plan->size()));
  ASSERT_TRUE(own != nullptr && engine != nullptr) << net.logger.errors();
  const auto infer = [](ICudaEngine& on) {
    const Owned<IExecutionContext> context(on.createExecutionContext());
    const Floats x(kMany, 0.5F);
    return run(*context, {{"x", x.data()}}, "y");
  };
  const Floats want = infer(*own);
  EXPECT_EQ(infer(*engine), want);
  const int ours = wootz::ThreadPool::process().size();
  const size_t before = threads_now();
  ASSERT_EQ(wootz_engine_set_thread_pool(engine.get(), 1, 0, nullptr, 0), 0);
  EXPECT_EQ(threads_now() < before, ours > 1);
  EXPECT_EQ(wootz::ThreadPool::process().size(), ours);
  EXPECT_EQ(infer(*engine), want);
  EXPECT_NE(wootz_engine_set_thread_pool(engine.get(), -1, 0, nullptr, 0), 0);
  EXPECT_NE(wootz_engine_set_thread_pool(nullptr, 1, 0, nullptr, 0), 0);
  EXPECT_EQ(wootz_engine_set_thread_pool(own.get(), ours, -1, nullptr, 0), 0);
  EXPECT_EQ(wootz::ThreadPool::process().size(), ours);
  EXPECT_EQ(infer(*own), want);
}

// By its name alone it is taken from beside this library; what is not there is left to the loader.
TEST(OtherLibrary, ARuntimeIsFoundBesideTheLibrary) {
  Logger logger;
  const Owned<IRuntime> here(createInferRuntime(logger));
  const fs::path folder = fs::temp_directory_path() / "wootz_versions_e2e_beside";
  fs::create_directories(folder);
  ASSERT_TRUE(setInternalLibraryPath(folder.c_str()));
  EXPECT_EQ(here->loadRuntime("libnext.so.91"), nullptr);
  EXPECT_NE(logger.take_errors().find("libnext.so.91"), std::string::npos);
  fs::copy_file(WOOTZ_NEXT_RUNTIME, folder / "libnext.so.91", fs::copy_options::overwrite_existing);
  const Owned<IRuntime> next(here->loadRuntime("libnext.so.91"));
  EXPECT_NE(next, nullptr) << logger.errors();
  EXPECT_EQ(here->loadRuntime(""), nullptr);
  EXPECT_EQ(here->loadRuntime(nullptr), nullptr);
  EXPECT_TRUE(setInternalLibraryPath(""));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace wootz_test
