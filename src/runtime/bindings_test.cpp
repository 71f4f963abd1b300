// Bindings: what is set, validated once, and what a run does with it.
#include "runtime/bindings.h"

#include <gtest/gtest.h>

#include <numeric>

#include "plan/verify.h"
#include "runtime/executor.h"
#include "runtime/fake_engine.h"

namespace wootz {
namespace {

struct Copies {
  explicit Copies(size_t steps = 2, bool own_memory = false)
      : device(std::make_shared<fake::FakeDevice>(own_memory)),
        program(fake::chain(steps, "copy")),
        engine(*fake::engine(program, device)),
        bindings(engine),
        executor(engine) {
    std::iota(std::begin(x), std::end(x), 1);
  }
  void set(int64_t n, int32_t* to) {
    ASSERT_TRUE(bindings.set_input_dims(0, {n}).ok());
    bindings.set_input_address(0, x);
    bindings.set_output_address(0, to);
  }

  std::shared_ptr<fake::FakeDevice> device;
  std::shared_ptr<Program> program;
  std::shared_ptr<EngineCore> engine;
  Bindings bindings;
  Executor executor;
  int32_t x[16], y[16] = {}, z[16] = {};
};

TEST(Bindings, WhatIsMissingIsNamed) {
  Copies c;
  ASSERT_TRUE(verify_program(*c.program).ok());
  EXPECT_EQ(c.bindings.validate().message(), "the shape of input 'x' is not set");
  ASSERT_TRUE(c.bindings.set_input_dims(0, {4}).ok());
  EXPECT_EQ(c.bindings.validate().message(), "the address of input 'x' is not set");
  c.bindings.set_input_address(0, c.x);
  EXPECT_EQ(c.bindings.validate().message(), "output 'y' has neither an address nor an allocator");
  c.bindings.set_output_address(0, c.y);
  EXPECT_TRUE(c.bindings.validate().ok());
  EXPECT_FALSE(c.bindings.set_input_dims(0, {17}).ok()) << "outside the profile";
  EXPECT_EQ(c.bindings.input_dims(0), Dims{4}) << "what was refused changed nothing";
  ASSERT_TRUE(c.bindings.set_profile(0).ok());
  EXPECT_FALSE(c.bindings.input_dims_known(0)) << "shapes are of a profile";
}

TEST(Bindings, NothingIsNeededOfWhatIsEmpty) {
  Copies c;
  ASSERT_TRUE(c.bindings.set_input_dims(0, {0}).ok());
  EXPECT_TRUE(c.bindings.validate().ok());
  EXPECT_TRUE(c.executor.run(c.bindings).ok());
}

TEST(Bindings, TheVersionTellsWhetherSomethingChanged) {
  Copies c;
  c.set(4, c.y);
  ASSERT_TRUE(c.bindings.validate().ok());
  const uint64_t first = c.bindings.version();
  c.set(4, c.y);
  ASSERT_TRUE(c.bindings.validate().ok());
  EXPECT_EQ(c.bindings.version(), first) << "the same again";
  Bindings copy(c.engine);
  copy.copy_from(c.bindings);
  ASSERT_TRUE(copy.validate().ok());
  EXPECT_EQ(copy.version(), first);
  c.set(4, c.z);
  ASSERT_TRUE(c.bindings.validate().ok());
  EXPECT_NE(c.bindings.version(), first);
  const uint64_t second = c.bindings.version();
  c.set(5, c.z);
  ASSERT_TRUE(c.bindings.validate().ok());
  EXPECT_NE(c.bindings.version(), second);
  EXPECT_EQ(copy.output_address(0), c.y) << "a copy stands by itself";
  EXPECT_EQ(copy.version(), first);
}

TEST(Bindings, ACopyRunsWithWhatItTookOver) {
  Copies c;
  c.set(4, c.y);
  ASSERT_TRUE(c.bindings.validate().ok());
  Bindings copy(c.engine);
  copy.copy_from(c.bindings);
  c.set(6, c.z);
  ASSERT_TRUE(c.executor.run(copy).ok());
  EXPECT_EQ(std::accumulate(std::begin(c.y), std::end(c.y), 0), 1 + 2 + 3 + 4);
  ASSERT_TRUE(c.executor.run(c.bindings).ok());
  EXPECT_EQ(std::accumulate(std::begin(c.z), std::end(c.z), 0), 21);
  EXPECT_EQ(*c.executor.dims(c.program->outputs[0].tensor), Dims{6});
  std::fill(std::begin(c.y), std::end(c.y), 0);
  ASSERT_TRUE(c.executor.run(copy).ok());
  EXPECT_EQ(std::accumulate(std::begin(c.y), std::end(c.y), 0), 10) << "and back";
}

TEST(Bindings, MemoryOfTheCallersIsChecked) {
  Copies c(4);
  c.set(16, c.y);
  c.bindings.require_memory();
  EXPECT_NE(c.bindings.validate().message().find("created without device memory"), std::string::npos);
  alignas(64) std::byte memory[1024];
  c.bindings.set_memory(memory, 8);
  EXPECT_NE(c.bindings.validate().message().find("the given device memory has 8 bytes"), std::string::npos);
  c.bindings.set_memory(memory, sizeof(memory));
  ASSERT_TRUE(c.executor.run(c.bindings).ok());
  EXPECT_EQ(c.y[15], 16);
}

TEST(Executor, ReservedMemoryIsUsedByBindingsThatDidNotChange) {
  Copies c(4, /*own_memory=*/true);
  c.set(16, c.y);
  ASSERT_TRUE(c.executor.run(c.bindings).ok());
  ASSERT_TRUE(c.executor.reserve(1 << 20).ok());
  const void* const before = c.executor.data(1_tensor);
  ASSERT_TRUE(c.executor.run(c.bindings).ok());
  EXPECT_NE(c.executor.data(1_tensor), before);
  EXPECT_EQ(c.device->recorded, 2) << "the recording was of memory that is gone";
}

TEST(Executor, AFailureNamesItsLayerOnce) {
  Copies c;
  c.set(4, c.y);
  c.executor.set_tap({c.program->outputs[0].tensor},
                     [](TensorIndex, const void*, const Dims&) { return unsupported("not this one"); });
  const Status status = c.executor.run(c.bindings);
  EXPECT_EQ(status.message(), "layer 'step2' (fake:copy): not this one");
  ASSERT_NE(status.place(PlaceKind::kLayer), nullptr);
  EXPECT_EQ(status.place(PlaceKind::kLayer)->name, "step2");
}

TEST(Executor, RecordsOnceForTheSameAddresses) {
  Copies c(8, /*own_memory=*/true);
  c.set(4, c.y);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(c.executor.run(c.bindings).ok());
  EXPECT_EQ(c.device->recorded, 1);
  EXPECT_EQ(c.device->replayed, 3);
  c.set(4, c.z);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(c.executor.run(c.bindings).ok());
  EXPECT_EQ(c.device->recorded, 2) << "other addresses";
  for (int i = 0; i < 3; ++i)
    for (const int64_t n : {4, 5}) {
      c.set(n, c.z);
      ASSERT_TRUE(c.executor.run(c.bindings).ok());
    }
  EXPECT_EQ(c.device->recorded, 3) << "another shape, and the first one as it was";
}

TEST(Executor, AddressesThatComeBackHaveARecordingEach) {
  Copies c(8, /*own_memory=*/true);
  const auto run = [&](auto& to) {
    c.set(4, to);
    return c.executor.run(c.bindings).ok();
  };
  ASSERT_TRUE(run(c.y) && run(c.z));
  EXPECT_EQ(c.device->recorded, 2) << "that of the one address became that of the other";
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(run(c.y) && run(c.z));
  EXPECT_EQ(c.device->recorded, 3) << "of the first again, and of none after that";
  EXPECT_EQ(c.device->replayed, 8);
}

TEST(Executor, ACaptureTakesShapesThatHaveRunOnly) {
  Copies c(8, /*own_memory=*/true);
  fake::FakeStream stream;
  c.set(4, c.y);
  ASSERT_TRUE(c.executor.run(c.bindings, &stream).ok());
  stream.capture = true;
  EXPECT_TRUE(c.executor.run(c.bindings, &stream).ok());
  c.set(5, c.y);
  EXPECT_NE(c.executor.run(c.bindings, &stream).message().find("before a stream is captured"), std::string::npos);
  ASSERT_TRUE(c.bindings.resolve_shapes().ok());
  EXPECT_NE(c.executor.run(c.bindings, &stream).message().find("before a stream is captured"), std::string::npos)
      << "resolved is not run";
  stream.capture = false;
  ASSERT_TRUE(c.executor.run(c.bindings, &stream).ok());
  stream.capture = true;
  EXPECT_TRUE(c.executor.run(c.bindings, &stream).ok());
}

}  // namespace
}  // namespace wootz
