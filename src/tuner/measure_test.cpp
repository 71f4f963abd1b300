#include "tuner/measure.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace wootz {
namespace {

// Time that passes only when a kernel says so.
struct Clock {
  double us = 0;
};

class FakeTimer final : public RunTimer {
 public:
  explicit FakeTimer(Clock* clock) : clock_(clock) {}
  Result<double> batch_us(FunctionRef<Status()> run, int times) override {
    const double start = clock_->us;
    for (int i = 0; i < times; ++i) WOOTZ_RETURN_IF_ERROR(run());
    return clock_->us - start;
  }
  double now_us() override { return clock_->us; }

 private:
  Clock* clock_;
};

class HostDevice final : public Device {
 public:
  const DeviceDescription& describe() const override { return description_; }
  Result<void*> allocate(size_t bytes, size_t alignment) override {
    ++live;
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  }
  void free(void* memory) override {
    --live;
    std::free(memory);
  }
  Status copy(void* to, const void* from, size_t bytes, Stream*) override {
    std::memcpy(to, from, bytes);
    return {};
  }
  Result<std::unique_ptr<Stream>> create_stream() override { return unsupported("no streams"); }
  int live = 0;

 private:
  DeviceDescription description_{"cpu", "test", "avx2", 1, 0};
};

// y = 2 x + w0, in several ways.
struct Behavior {
  const char* kernel;
  double us;
  enum { kRight, kWrong, kNan, kFails, kWrongWhenSmall, kOnlyWhole, kWrongOnWhole } kind = kRight;
  Layout layout = Layout::kLinear;
};

constexpr int64_t kRows = 4096, kColumns = 128;  // large enough that the reference gets a smaller case

class FakeProvider final : public Provider {
 public:
  FakeProvider(Clock* clock, std::vector<Behavior> behaviors) : clock_(clock), behaviors_(std::move(behaviors)) {}
  const char* name() const override { return "fake"; }
  std::string version() const override { return "7"; }
  void tactics(const Problem& problem, const Limits&, std::vector<Candidate>* offers,
               std::vector<Refusal>*) const override {
    for (const Behavior& b : behaviors_) {
      Candidate c;
      c.tactic = {"fake", b.kernel, ""};
      c.input_layouts.assign(problem.inputs.size(), b.layout);
      c.output_layouts.assign(problem.outputs.size(), b.layout);
      c.estimate_us = 1000;
      offers->push_back(std::move(c));
    }
  }
  Result<std::unique_ptr<Kernel>> create(const Tactic& tactic, const Problem&, const Limits&) const override {
    ++created;
    for (const Behavior& b : behaviors_)
      if (tactic.kernel == b.kernel) return std::unique_ptr<Kernel>(std::make_unique<FakeKernel>(clock_, b));
    return unsupported("no kernel '{}'", tactic.kernel);
  }
  mutable int created = 0;

 private:
  class FakeCall final : public Call {
   public:
    FakeCall(Clock* clock, const Behavior& b, int64_t count, bool small)
        : clock_(clock), b_(b), count_(count), small_(small) {}
    Status run(const RunArgs& args) const override {
      clock_->us += b_.us;
      if (b_.kind == Behavior::kFails) return make_error(Code::kInternal, "out of order");
      const auto* x = static_cast<const float*>(args.inputs[0]);
      const auto* w = static_cast<const float*>(args.inputs[1]);
      auto* y = static_cast<float*>(args.outputs[0]);
      const bool wrong = b_.kind == Behavior::kWrong || (b_.kind == Behavior::kWrongWhenSmall && small_) ||
                         (b_.kind == Behavior::kWrongOnWhole && !small_);
      for (int64_t i = 0; i < count_; ++i) y[i] = 2 * x[i] + w[0] + (wrong && i == 3 ? 0.25f : 0);
      if (b_.kind == Behavior::kNan) y[1] = std::numeric_limits<float>::quiet_NaN();
      return {};
    }

   private:
    Clock* clock_;
    Behavior b_;
    int64_t count_;
    bool small_;
  };
  class FakeKernel final : public Kernel {
   public:
    FakeKernel(Clock* clock, const Behavior& b) : clock_(clock), b_(b) {}
    Result<std::optional<std::vector<std::byte>>> pack(int, const HostTensor& source) const override {
      std::vector<std::byte> bytes(4);
      std::memcpy(bytes.data(), source.data(), 4);
      return std::optional(std::move(bytes));
    }
    Result<std::unique_ptr<Call>> bind(const BindArgs& args) const override {
      if (args.constants[1] == nullptr || args.constant_bytes[1] != 4) return internal_error("constant not packed");
      const bool small = args.inputs[0].volume() < kRows * kColumns;
      if (small && b_.kind == Behavior::kOnlyWhole) return unsupported("extents are fixed");
      if (!(args.outputs[0] == args.inputs[0])) return invalid_argument("extents");
      return std::unique_ptr<Call>(std::make_unique<FakeCall>(clock_, b_, args.inputs[0].volume(), small));
    }

   private:
    Clock* clock_;
    Behavior b_;
  };

  Clock* clock_;
  std::vector<Behavior> behaviors_;
};

struct Fixture {
  explicit Fixture(std::vector<Behavior> behaviors) : provider(&clock, std::move(behaviors)), timer(&clock) {
    options.providers = {&provider};
    options.device = device;
    options.timer = &timer;
    options.cache = &cache;
    options.check_work = 5e7;
    options.reference = [this](size_t, const std::vector<HostTensor>& in) -> Result<std::vector<HostTensor>> {
      ++references;
      largest = std::max(largest, in[0].volume());
      WOOTZ_ASSIGN_OR_RETURN(HostTensor y, HostTensor::allocate(DType::kF32, in[0].dims()));
      for (int64_t i = 0; i < y.volume(); ++i) y.set_f64(i, 2 * in[0].get_f64(i) + in[1].get_f64(0));
      return std::vector<HostTensor>{y};
    };
    TensorDesc x;
    x.dtype = DType::kF32;
    x.dims = x.max_dims = Dims{kRows, kColumns};
    TensorDesc w = x;
    w.dims = w.max_dims = Dims{64, 1000};
    w.constant = true;
    problem.family = Family::kNorm;
    problem.num_main = 2;
    problem.inputs = {x, w};
    problem.outputs = {x};
  }

  // All candidates of `steps` steps, as choose_tactics would ask.
  std::vector<Considered> measure(size_t steps = 1) {
    Measurer measurer(options);
    std::vector<Considered> all;
    for (size_t step = 0; step < steps; ++step) {
      std::vector<Candidate> offers;
      provider.tactics(problem, options.limits, &offers, nullptr);
      for (const Candidate& offer : offers) {
        Considered c;
        c.candidate = offer;
        c.rivals = offers.size() - 1;
        Problem p = problem;
        p.inputs[0].layout = p.outputs[0].layout = offer.input_layouts[0];
        status = measurer.cost(p, step, &c);
        if (!status.ok()) return all;
        all.push_back(std::move(c));
      }
    }
    stats = measurer.stats();
    return all;
  }

  Clock clock;
  FakeProvider provider;
  FakeTimer timer;
  std::shared_ptr<HostDevice> device = std::make_shared<HostDevice>();
  TimingCache cache{device->describe()};
  MeasureOptions options;
  Problem problem;
  MeasureStats stats;
  Status status;
  int references = 0;
  int64_t largest = 0;
};

TEST(Measure, TimesWhatIsRightAndRefusesWhatIsNot) {
  Fixture f({{"right", 50},
             {"wrong", 10, Behavior::kWrong},
             {"nan", 5, Behavior::kNan},
             {"fails", 1, Behavior::kFails},
             {"slow", 5000}});
  const std::vector<Considered> c = f.measure();
  ASSERT_EQ(c.size(), 5u);
  EXPECT_TRUE(c[0].measured);
  EXPECT_NEAR(c[0].us, 50, 1e-6);
  EXPECT_EQ(c[0].refusal, "");
  EXPECT_GE(c[0].error, 0);
  EXPECT_LT(c[0].error, 1e-5);
  EXPECT_NE(c[1].refusal.find("differs from the reference"), std::string::npos) << c[1].refusal;
  EXPECT_NE(c[1].refusal.find("0.25"), std::string::npos) << c[1].refusal;
  EXPECT_NE(c[1].refusal.find("element 3"), std::string::npos) << c[1].refusal;
  EXPECT_FALSE(c[1].measured);
  EXPECT_NE(c[2].refusal.find("NaN"), std::string::npos) << c[2].refusal;
  EXPECT_NE(c[3].refusal.find("out of order"), std::string::npos) << c[3].refusal;
  EXPECT_NEAR(c[4].us, 5000, 1e-6);
  EXPECT_EQ(f.stats.timed, 2u);
  EXPECT_EQ(f.stats.refused, 3u);
  EXPECT_EQ(f.device->live, 0);
}

TEST(Measure, TheReferenceSeesSmallCases) {
  Fixture f({{"a", 50}, {"b", 60}});
  f.measure();
  EXPECT_EQ(f.references, 1);  // shared by the candidates
  EXPECT_LT(f.largest, kRows * kColumns);
  EXPECT_GT(f.largest, 0);
}

TEST(Measure, AVerdictOnASmallCaseIsConfirmedOnTheWhole) {
  Fixture f({{"a", 50}, {"fixed", 60, Behavior::kWrongWhenSmall}, {"unbound", 70, Behavior::kOnlyWhole}});
  const std::vector<Considered> c = f.measure();
  EXPECT_EQ(c[1].refusal, "");
  EXPECT_GE(c[1].error, 0);
  EXPECT_EQ(c[2].refusal, "");
  EXPECT_GE(c[2].error, 0);
  EXPECT_EQ(f.largest, kRows * kColumns);
  EXPECT_EQ(f.references, 2);
  // Too expensive to check on the whole: timed all the same, and counted.
  Fixture g({{"a", 50}, {"unbound", 70, Behavior::kOnlyWhole}});
  g.options.check_work = 1e6;
  const std::vector<Considered> d = g.measure();
  EXPECT_TRUE(d[1].measured);
  EXPECT_EQ(d[1].error, -1);
  EXPECT_EQ(g.stats.unchecked, 1u);
  EXPECT_LT(g.largest, kRows * kColumns);
}

TEST(Measure, WithoutReferenceNothingIsChecked) {
  Fixture f({{"a", 50}, {"wrong", 10, Behavior::kWrong}});
  f.options.reference = nullptr;
  const std::vector<Considered> c = f.measure();
  EXPECT_TRUE(c[1].measured);
  EXPECT_EQ(c[1].error, -1);
}

TEST(Measure, ASecondTimeComesFromTheCache) {
  Fixture f({{"a", 50}, {"wrong", 10, Behavior::kWrong}, {"b", 60}});
  const std::vector<Considered> first = f.measure();
  const int created = f.provider.created;
  const double time = f.clock.us;
  const auto copy = TimingCache::deserialize(f.cache.serialize());
  ASSERT_TRUE(copy.ok());
  f.options.cache = copy->get();
  f.options.error_on_miss = true;
  const std::vector<Considered> second = f.measure();
  ASSERT_EQ(second.size(), 3u) << f.status.to_string();
  EXPECT_EQ(f.provider.created, created);
  EXPECT_EQ(f.clock.us, time);
  EXPECT_EQ(f.stats.from_cache, 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(second[i].us, first[i].us);
    EXPECT_EQ(second[i].measured, first[i].measured);
    EXPECT_EQ(second[i].refusal, first[i].refusal);
    EXPECT_EQ(second[i].error, first[i].error);
  }
}

TEST(Measure, AMissCanBeAnError) {
  Fixture f({{"a", 50}, {"b", 60}});
  f.options.error_on_miss = true;
  f.measure();
  EXPECT_EQ(f.status.code(), Code::kInvalidState);
  EXPECT_NE(f.status.message().find("fake:a"), std::string::npos) << f.status.message();
}

TEST(Measure, APinnedTacticIsTheOnlyOne) {
  Fixture f({{"a", 50}, {"b", 60, Behavior::kRight, Layout::kChannelsLast}});
  f.measure();
  const auto ids = f.cache.problems();
  ASSERT_EQ(ids.size(), 1u);  // layouts do not make another problem
  const TimingCache::Best fast = *f.cache.best(ids[0]);
  EXPECT_NEAR(fast.us, 50, 1e-6);
  for (const auto& [key, timing] : f.cache.entries())
    if (timing.median_us > 55) {
      TimingCache only(f.device->describe());
      ASSERT_TRUE(only.update(key, timing).ok());
      ASSERT_TRUE(f.cache.pin(ids[0], only.best(only.problems()[0])->tactic, 55).ok());
    }
  const std::vector<Considered> c = f.measure();
  EXPECT_NE(c[0].refusal.find("pins"), std::string::npos);
  EXPECT_EQ(c[1].refusal, "");
  EXPECT_NEAR(c[1].us, 55, 1e-6);
}

TEST(Measure, ASingleCandidateIsLeftAlone) {
  Fixture f({{"only", 50, Behavior::kFails}});
  const std::vector<Considered> c = f.measure();
  EXPECT_FALSE(c[0].measured);
  EXPECT_EQ(c[0].refusal, "");
  EXPECT_EQ(c[0].us, 1000);
  EXPECT_EQ(f.provider.created, 0);
}

TEST(Measure, TheBudgetEndsBetweenSteps) {
  Fixture f({{"a", 50}, {"b", 60}});
  f.options.cache = nullptr;
  f.options.budget_us = 100;  // spent by the first step
  const std::vector<Considered> c = f.measure(3);
  ASSERT_EQ(c.size(), 6u);
  EXPECT_TRUE(c[0].measured && c[1].measured);
  for (size_t i = 2; i < 6; ++i) {
    EXPECT_FALSE(c[i].measured);
    EXPECT_EQ(c[i].us, 1000);
  }
  EXPECT_EQ(f.stats.over_budget, 4u);
}

TEST(Measure, RealConstantsAreAskedFor) {
  Fixture f({{"a", 50}, {"b", 60}});
  f.options.constants = [&](size_t step, size_t input) -> Result<HostTensor> {
    EXPECT_EQ(step, 0u);
    EXPECT_EQ(input, 1u);
    return HostTensor::allocate(DType::kF32, f.problem.inputs[1].dims);
  };
  EXPECT_EQ(f.measure()[0].refusal, "");
  f.options.constants = [](size_t, size_t) -> Result<HostTensor> { return HostTensor::scalar(1.0f); };
  f.cache.reset();
  EXPECT_NE(f.measure()[0].refusal, "");  // not of the described shape
}

// A network of the fixture's one layer.
Program network_of(const Problem& problem) {
  Program p;
  p.exprs = {{ShapeOp::kConst, kRows, {}},
             {ShapeOp::kConst, kColumns, {}},
             {ShapeOp::kConst, 64, {}},
             {ShapeOp::kConst, 1000, {}}};
  p.tensors.resize(3);
  for (PlanTensor& t : p.tensors) t.dtype = DType::kF32, t.dims = {0, 1};
  p.tensors[0].kind = TensorKind::kInput;
  p.tensors[1].kind = TensorKind::kConstant;
  p.tensors[1].dims = {2, 3};
  p.tensors[1].constant = 0;
  p.tensors[2].kind = TensorKind::kOutput;
  Step step;
  step.name = "layer";
  step.problem = problem;
  step.inputs = {0, 1};
  step.outputs = {2};
  p.steps = {step};
  p.inputs = {{0, false}};
  p.outputs = {{2, false}};
  return p;
}

TEST(Measure, ChoosesTheFastestRightOne) {
  Fixture f({{"right", 50}, {"wrong", 10, Behavior::kWrong}, {"faster", 40}});
  Program p = network_of(f.problem);
  Measurer measurer(f.options);
  ChooseOptions choose;
  choose.cost = measurer.as_cost();
  const Result<Choice> choice = choose_tactics(&p, {&f.provider}, choose);
  ASSERT_TRUE(choice.ok()) << choice.status().to_string();
  EXPECT_EQ(p.steps[0].tactic.kernel, "faster");
  EXPECT_NEAR(p.steps[0].measured_us, 40, 1e-3);
}

// What the cache recommends is run before it is relied on.
TEST(Measure, WhatTheCacheKnowsAndFailsIsReplaced) {
  Fixture before({{"right", 50}, {"faster", 40}});
  before.measure();
  Fixture f({{"right", 50}, {"faster", 40, Behavior::kFails}});
  f.options.cache = &before.cache;
  Measurer measurer(f.options);
  ChooseOptions choose;
  choose.cost = measurer.as_cost();
  Program unproved = network_of(f.problem);
  ASSERT_TRUE(choose_tactics(&unproved, {&f.provider}, choose).ok());
  EXPECT_EQ(unproved.steps[0].tactic.kernel, "faster");
  std::string warning;
  choose.warn = [&](const std::string& line) { warning += line; };
  choose.prove = [&](const Problem& problem, size_t s, const Candidate& c) { return measurer.prove(problem, s, c); };
  Program p = network_of(f.problem);
  const Result<Choice> choice = choose_tactics(&p, {&f.provider}, choose);
  ASSERT_TRUE(choice.ok()) << choice.status().to_string();
  EXPECT_EQ(p.steps[0].tactic.kernel, "right");
  EXPECT_NE(warning.find("layer 'layer'"), std::string::npos) << warning;
  EXPECT_NE(warning.find("out of order"), std::string::npos) << warning;
}

}  // namespace
}  // namespace wootz
