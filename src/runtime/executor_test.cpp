// What an executor lets others see of a run: ranges for tools, times of steps on a device, or nothing of a recording.
#include "runtime/executor.h"

#include <gtest/gtest.h>

#include "runtime/fake_engine.h"

namespace wootz {
namespace {

std::string g_heard;
constexpr RangeHooks kHooks{[](const char* name) { g_heard += std::string("(") + name; }, [] { g_heard += ")"; },
                            false};

// Events whose times are the number of the mark: one between two marks.
struct CountingEvent final : Event {
  Status wait() override { return Status(); }
  Result<double> ms_since(const Event& earlier) const override {
    return static_cast<double>(at - static_cast<const CountingEvent&>(earlier).at);
  }
  int at = 0;
};
struct CountingStream final : Stream {
  explicit CountingStream(int* to) : clock(to) {}
  Status enqueue(std::function<Status()> work) override { return work(); }
  Status synchronize() override { return Status(); }
  Status mark(Event& event) override {
    // The second mark comes right after the first; each later one after a step, which takes three.
    *clock += *clock == 0 ? 1 : *clock == 1 ? 1 : 4;
    static_cast<CountingEvent&>(event).at = *clock;
    return Status();
  }
  int* clock;
};

class Listened final : public Device {
 public:
  explicit Listened(bool own_memory) : own_memory_(own_memory) {}
  const DeviceDescription& describe() const override { return description_; }
  bool host_memory() const override { return !own_memory_; }
  const RangeHooks* ranges() const override { return &kHooks; }
  Result<void*> allocate(size_t bytes, size_t alignment) override {
    return std::aligned_alloc(alignment, (bytes + alignment) / alignment * alignment);
  }
  void free(void* memory) override { std::free(memory); }
  Status copy(void* to, const void* from, size_t bytes, Stream*) override {
    std::memcpy(to, from, bytes);
    return Status();
  }
  Result<std::unique_ptr<Stream>> create_stream() override {
    return std::unique_ptr<Stream>(std::make_unique<CountingStream>(&clock));
  }
  Result<std::unique_ptr<Stream>> adopt_stream(void*) override { return create_stream(); }
  Result<std::unique_ptr<Event>> create_event(bool tells_time, bool) override {
    EXPECT_TRUE(tells_time);
    return std::unique_ptr<Event>(std::make_unique<CountingEvent>());
  }
  Result<std::unique_ptr<Recording>> record(Stream&, FunctionRef<Status(Stream&)> work,
                                            std::unique_ptr<Recording>) override {
    ++recorded;
    clock = 0;
    CountingStream recorder(&clock);
    WOOTZ_RETURN_IF_ERROR(work(recorder));
    return std::unique_ptr<Recording>(std::make_unique<Replayed>(&replayed));
  }
  int clock = 0, recorded = 0, replayed = 0;

 private:
  struct Replayed final : Recording {
    explicit Replayed(int* to) : count(to) {}
    Status replay(Stream&) override {
      ++*count;
      return Status();
    }
    int* count;
  };
  bool own_memory_;
  DeviceDescription description_;
};

struct Chain {
  explicit Chain(bool own_memory)
      : device(std::make_shared<Listened>(own_memory)),
        engine(*fake::engine(fake::chain(5, "copy"), device)),
        bindings(engine),
        executor(engine) {
    EXPECT_TRUE(bindings.set_input_dims(0, Dims{4}).ok());
    bindings.set_input_address(0, x);
    bindings.set_output_address(0, y);
    g_heard.clear();
  }
  std::shared_ptr<Listened> device;
  std::shared_ptr<EngineCore> engine;
  int32_t x[4] = {1, 2, 3, 4}, y[4] = {};
  Bindings bindings;
  Executor executor;
};

TEST(Executor, RangesHaveNothingNamesOrTactics) {
  Chain c(/*own_memory=*/false);
  ASSERT_TRUE(c.executor.run(c.bindings).ok());
  EXPECT_EQ(g_heard, "(chain(step1)(step2)(step3)(step4)(step5))");
  g_heard.clear();
  c.executor.set_ranges(Executor::Ranges::kNone);
  ASSERT_TRUE(c.executor.run(c.bindings).ok());
  EXPECT_EQ(g_heard, "");
  c.executor.set_ranges(Executor::Ranges::kTactics);
  ASSERT_TRUE(c.executor.run(c.bindings).ok());
  EXPECT_EQ(g_heard.rfind("(chain(step1 [fake", 0), 0U) << g_heard;
}

TEST(Executor, TimesAreWithoutWhatAMarkTakes) {
  Chain c(/*own_memory=*/true);
  c.executor.set_timed(true);
  IndexedVector<StepIndex, float> ms(5, -1);
  ASSERT_TRUE(c.executor.run(c.bindings).ok());
  ASSERT_TRUE(c.executor.read_times(&ms).ok());
  EXPECT_EQ(ms.items(), std::vector<float>(5, 3)) << "four between two marks, of which a mark takes one";
  ASSERT_TRUE(c.executor.run(c.bindings).ok());
  EXPECT_EQ(c.device->recorded, 1);
  EXPECT_EQ(c.device->replayed, 2);
  // Without times it is another recording.
  c.executor.set_timed(false);
  ASSERT_TRUE(c.executor.run(c.bindings).ok());
  EXPECT_EQ(c.device->recorded, 2);
}

TEST(Executor, WithoutReplayNothingIsRecorded) {
  Chain c(/*own_memory=*/true);
  c.executor.set_replay(false);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(c.executor.run(c.bindings).ok());
  EXPECT_EQ(c.device->recorded, 0);
  EXPECT_EQ(c.y[3], 4);
  c.executor.set_replay(true);
  ASSERT_TRUE(c.executor.run(c.bindings).ok());
  EXPECT_EQ(c.device->recorded, 1);
}

}  // namespace
}  // namespace wootz
