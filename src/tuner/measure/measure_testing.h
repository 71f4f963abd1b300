// A provider whose kernels take as long, and are as wrong, as a test says.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <limits>

#include "backend/index_literals.h"
#include "backend/shared_memory.h"
#include "tuner/measure/measure.h"

namespace wootz::measure_testing {

// Time that passes only when a kernel says so, and a cache that holds the constants of the last runs.
struct Clock {
  double us = 0;
  size_t cached = 2;                // places
  std::deque<const void*> touched;  // the last one first
  // Whether it was there.
  bool touch(const void* place) {
    const auto found = std::find(touched.begin(), touched.end(), place);
    const bool there = found != touched.end();
    if (there) touched.erase(found);
    touched.push_front(place);
    if (touched.size() > cached) touched.pop_back();
    return there;
  }
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
    if (bytes > room) return make_error(Code::kResourceExhausted, "no room for {} bytes", bytes);
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
  bool host_memory() const override { return cache == 0 || host; }
  size_t cache_bytes() const override { return cache; }
  void cores(int count) { description_.threads = count; }
  int live = 0;
  size_t cache = 0;        // 0: a host whose caches are not known
  bool host = false;       // or with `cache`, otherwise a device with memory of its own
  size_t room = SIZE_MAX;  // of one allocation

 private:
  DeviceDescription description_{"cpu", "test", "avx2", 1, 0};
};

// y = 2 x + w0, in several ways.
struct Behavior {
  const char* kernel;
  double us;
  enum { kRight, kWrong, kNan, kFails, kWrongWhenSmall, kOnlyWhole, kWrongOnWhole, kFailsOnWhole } kind = kRight;
  Layout layout = Layout::kLinear;
  std::optional<size_t> shared = 0;  // memory of a block; none: not known
  bool by_place = false;             // the last row is computed otherwise
  double miss_us = 0;                // longer where the constants are not in the cache
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
  class FakeCall final : public Call, public SharedMemoryUser {
   public:
    FakeCall(Clock* clock, const Behavior& b, int64_t count, bool small)
        : clock_(clock), b_(b), count_(count), small_(small) {}
    std::optional<size_t> shared_memory() const override { return b_.shared; }
    Status run(const RunArgs& args) const override {
      clock_->us += b_.us + (clock_->touch(args.inputs[1]) ? 0 : b_.miss_us);
      if (b_.kind == Behavior::kFails || (b_.kind == Behavior::kFailsOnWhole && !small_))
        return make_error(Code::kInternal, "out of order");
      const auto* x = static_cast<const float*>(args.inputs[0]);
      const auto* w = static_cast<const float*>(args.inputs[1]);
      auto* y = static_cast<float*>(args.outputs[0]);
      const bool wrong = b_.kind == Behavior::kWrong || (b_.kind == Behavior::kWrongWhenSmall && small_) ||
                         (b_.kind == Behavior::kWrongOnWhole && !small_);
      for (int64_t i = 0; i < count_; ++i) y[i] = 2 * x[i] + w[0] + (wrong && i == 3 ? 0.25f : 0);
      if (b_.by_place) y[count_ - 1] *= 1 + std::numeric_limits<float>::epsilon();
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
    Result<std::optional<PackedForm>> pack(int, const HostTensor& source) const override {
      return std::optional(PackedForm{4, [source](std::span<std::byte> bytes) {
                                        std::memcpy(bytes.data(), source.data(), 4);
                                        return Status();
                                      }});
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
    options.reference = [this](StepIndex, const std::vector<HostTensor>& in) -> Result<std::vector<HostTensor>> {
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
    problem.set_family(Family::kNorm);
    problem.num_main = 2;
    problem.inputs = {x, w};
    problem.outputs = {x};
  }

  // All candidates of `steps` steps, as choose_tactics would ask.
  std::vector<EvaluatedCandidate> measure(size_t steps = 1) {
    Measurer measurer(options);
    std::vector<EvaluatedCandidate> all;
    for (const StepIndex step : IndexRange<StepIndex>(steps)) {
      std::vector<Candidate> offers;
      provider.tactics(problem, options.limits, &offers, nullptr);
      for (const Candidate& offer : offers) {
        EvaluatedCandidate c;
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

// A network of the fixture's one layer.
inline Program network_of(const Problem& problem) {
  Program p;
  p.exprs = {{ShapeOp::kConst, kRows, {}},
             {ShapeOp::kConst, kColumns, {}},
             {ShapeOp::kConst, 64, {}},
             {ShapeOp::kConst, 1000, {}}};
  p.tensors.resize(3);
  for (PlanTensor& t : p.tensors) t.dtype = DType::kF32, t.dims = {0_expr, 1_expr};
  p.tensors[0_tensor].kind = TensorKind::kInput;
  p.tensors[1_tensor].kind = TensorKind::kConstant;
  p.tensors[1_tensor].dims = {2_expr, 3_expr};
  p.tensors[1_tensor].constant = 0_constant;
  p.tensors[2_tensor].kind = TensorKind::kOutput;
  Step step;
  step.name = "layer";
  step.problem = problem;
  step.inputs = {0_tensor, 1_tensor};
  step.outputs = {2_tensor};
  p.steps = {step};
  p.inputs = {{0_tensor, false}};
  p.outputs = {{2_tensor, false}};
  return p;
}

}  // namespace wootz::measure_testing
