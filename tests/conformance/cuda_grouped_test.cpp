// Every kernel that is offered for the convolutions of RegNets and ResNeXts, each run and held against sums in double:
// grouped ones, and the others of such networks. Says of each by name how far off it is and in which way, since some
// are chosen without being measured. On the GPU where there is one, otherwise on the emulator, where only our own are.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <random>
#include <set>

#include "backends/registry.h"
#include "base/tolerance.h"
#include "conformance/on_cuda.h"
#include "tuner/measure/benchmark_run.h"
#include "tuner/measure/random_data.h"

namespace wootz::conformance {
namespace {

struct Shape {
  int64_t images, from, to, groups, kernel, pixels, stride;
  int64_t pad() const { return kernel / 2; }
  int64_t result() const { return (pixels + 2 * pad() - kernel) / stride + 1; }
  std::string to_string() const {
    return fmt::format("{}x{}x{}x{} to {}, {} groups of {}, {}x{} stride {}", images, from, pixels, pixels, to, groups,
                       from / groups, kernel, kernel, stride);
  }
};
struct Mode {
  const char* name;
  DType type;
  bool tf32;
  double allowed;  // of the largest value
};
constexpr Mode kModes[] = {{"tf32", DType::kF32, true, 2e-3},
                           {"f16", DType::kF16, false, 4e-3},
                           {"f32", DType::kF32, false, 2e-5},
                           {"bf16", DType::kBF16, false, 2e-2}};

// Difference from the expected values, as it is told.
struct Verdict {
  double worst = 0, mean = 0;  // of the largest value; root of the mean square
  double gain = 0;             // by how much results are too large throughout: cut off operands make them smaller
  int64_t channels = 0;        // that have a wrong value
  bool finite = true;
};

class GroupedSlow : public OnCuda {
 protected:
  struct Case {
    Problem problem;
    std::vector<HostTensor> inputs;
    std::vector<double> expected;
  };

  Case make(const Shape& s, const Mode& mode) {
    Case c;
    const Dims x{s.images, s.from, s.pixels, s.pixels}, w{s.to, s.from / s.groups, s.kernel, s.kernel}, b{s.to},
        y{s.images, s.to, s.result(), s.result()};
    c.problem.set_family(Family::kConv);
    c.problem.params = ConvParams{.strides = Ints(2, s.stride),
                                  .dilations = Ints(2, 1),
                                  .pads = Ints(4, s.pad()),
                                  .groups = s.groups,
                                  .transposed = false,
                                  .has_bias = true};
    c.problem.num_main = 3;
    for (const Dims& d : {x, w, b}) {
      c.problem.inputs.push_back({mode.type, Layout::kLinear, d, d, c.problem.inputs.size() > 0});
      c.inputs.push_back(random_tensor(mode.type, d, seed_ + c.inputs.size()).value());
    }
    // As behind a ReLU: where operands are positive, what cutting them off costs adds up.
    for (int64_t i = 0; i < x.volume(); ++i) c.inputs[0].set_f64(i, std::max(0.0, c.inputs[0].get_f64(i)));
    c.problem.outputs = {{mode.type, Layout::kLinear, y, y, false}};
    PointwiseExpr& relu = c.problem.epilogue;
    relu.outputs = {relu.push(PwOp::kRelu, DType::kF32, relu.input(0, DType::kF32))};
    if (mode.type != DType::kF32) relu.outputs = {relu.push(PwOp::kCast, mode.type, relu.outputs[0])};
    c.expected = sums(s, c.inputs);
    return c;
  }

  // By the definition, in double.
  static std::vector<double> sums(const Shape& s, const std::vector<HostTensor>& inputs) {
    std::vector<std::vector<double>> in;
    for (const HostTensor& t : inputs) {
      in.emplace_back(static_cast<size_t>(t.volume()));
      for (int64_t i = 0; i < t.volume(); ++i) in.back()[static_cast<size_t>(i)] = t.get_f64(i);
    }
    const int64_t depth = s.from / s.groups, per_group = s.to / s.groups, out = s.result(), p = s.pixels, k = s.kernel;
    std::vector<double> y;
    y.reserve(static_cast<size_t>(s.images * s.to * out * out));
    for (int64_t n = 0; n < s.images; ++n)
      for (int64_t m = 0; m < s.to; ++m)
        for (int64_t oy = 0; oy < out; ++oy)
          for (int64_t ox = 0; ox < out; ++ox) {
            double sum = in[2][static_cast<size_t>(m)];
            for (int64_t c = 0; c < depth; ++c)
              for (int64_t ky = 0; ky < k; ++ky)
                for (int64_t kx = 0; kx < k; ++kx) {
                  const int64_t iy = oy * s.stride - s.pad() + ky, ix = ox * s.stride - s.pad() + kx;
                  if (iy < 0 || iy >= p || ix < 0 || ix >= p) continue;
                  const int64_t channel = m / per_group * depth + c;
                  sum += in[0][static_cast<size_t>(((n * s.from + channel) * p + iy) * p + ix)] *
                         in[1][static_cast<size_t>(((m * depth + c) * k + ky) * k + kx)];
                }
            y.push_back(std::max(0.0, sum));
          }
    return y;
  }

  static Verdict judge(const HostTensor& actual, const std::vector<double>& expected, double allowed) {
    Verdict v;
    double scale = 0, squares = 0, dot = 0, own = 0;
    for (const double e : expected) scale = std::max(scale, std::fabs(e));
    const int64_t channels = actual.dims()[1], pixels = actual.dims()[2] * actual.dims()[3];
    std::set<int64_t> wrong;
    for (int64_t i = 0; i < actual.volume(); ++i) {
      const double a = actual.get_f64(i), e = expected[static_cast<size_t>(i)], off = std::fabs(a - e) / scale;
      v.finite = v.finite && std::isfinite(a);
      v.worst = std::max(v.worst, off);
      squares += off * off;
      dot += a * e;
      own += e * e;
      if (!(off <= allowed)) wrong.insert(i / pixels % channels);
    }
    v.mean = std::sqrt(squares / static_cast<double>(actual.volume()));
    v.gain = own > 0 ? dot / own - 1 : 0;
    v.channels = static_cast<int64_t>(wrong.size());
    return v;
  }

  Result<HostTensor> run(const Provider& provider, const Candidate& candidate, const Case& c, const Limits& limits) {
    Problem p = c.problem;
    for (size_t i = 0; i < p.inputs.size(); ++i) p.inputs[i].layout = candidate.input_layouts[i];
    p.outputs[0].layout = candidate.output_layouts[0];
    WOOTZ_ASSIGN_OR_RETURN(const std::unique_ptr<Kernel> kernel, provider.create(candidate.tactic, p, limits));
    WOOTZ_ASSIGN_OR_RETURN(const PackedConstants constants, pack_for(*kernel, p, c.inputs));
    WOOTZ_ASSIGN_OR_RETURN(BenchmarkRun benchmark, BenchmarkRun::prepare(*kernel, p, constants, c.inputs,
                                                                         {p.outputs[0].dims}, *device_, stream_.get()));
    WOOTZ_RETURN_IF_ERROR(benchmark.run());
    WOOTZ_ASSIGN_OR_RETURN(std::vector<HostTensor> results, benchmark.results());
    return std::move(results[0]);
  }

  // Each candidate as it was proposed, and made anew from the text that a plan keeps of it.
  void check(const Shape& s, const Mode& mode) {
    SCOPED_TRACE(fmt::format("{} {}", mode.name, s.to_string()));
    const Case c = make(s, mode);
    Limits limits;
    limits.tf32 = mode.tf32;
    limits.device = &device_->describe();
    limits.at = device_;
    const DeviceScope current(*device_);
    struct Offer {
      const Provider* provider;
      Candidate candidate;
    };
    std::vector<Offer> offers;
    for (const Provider* provider : providers_) {
      std::vector<Candidate> made;
      std::vector<Refusal> refused;
      provider->tactics(c.problem, limits, &made, &refused);
      for (Candidate& candidate : made) {
        tell(mode, s, *provider, candidate, "", c, limits);
        offers.push_back({provider, std::move(candidate)});
      }
    }
    EXPECT_FALSE(offers.empty());
    if (emulator_) return;
    make_others(mode, limits);
    for (const Offer& o : offers) tell(mode, s, *o.provider, o.candidate, " made anew", c, limits);
  }

  // So that libraries forget what they had proposed.
  void make_others(const Mode& mode, const Limits& limits) {
    std::vector<Candidate> made;
    std::vector<Refusal> refused;
    Case other = make({1, 16, 16, 1, 1, 4, 1}, mode);
    for (const Provider* provider : providers_) provider->tactics(other.problem, limits, &made, &refused);
  }

  void tell(const Mode& mode, const Shape& s, const Provider& provider, const Candidate& candidate, const char* how,
            const Case& c, const Limits& limits) {
    const Tactic& t = candidate.tactic;
    const std::string name = fmt::format("{} {}:{} {} {}{}", mode.name, t.provider, t.kernel, t.config.substr(0, 60),
                                         layout_name(candidate.output_layouts[0]), how);
    const Result<HostTensor> y = run(provider, candidate, c, limits);
    if (!y.ok()) {
      std::printf("%-110s %s: FAILS %s\n", name.c_str(), s.to_string().c_str(), y.status().to_string().c_str());
      ADD_FAILURE() << name << ": " << y.status().to_string();
      return;
    }
    const Verdict v = judge(*y, c.expected, mode.allowed);
    const bool wrong = v.channels > 0 || !v.finite;
    ++run_;
    if (wrong || v.worst > worst_[mode.name].first) worst_[mode.name] = {v.worst, name};
    if (wrong || !emulator_)
      std::printf("%-110s %s: %.2e of the largest, root mean square %.2e, gain %+.2e%s\n", name.c_str(),
                  s.to_string().c_str(), v.worst, v.mean, v.gain,
                  wrong ? fmt::format(" WRONG in {} of {} channels", v.channels, s.to).c_str() : "");
    EXPECT_FALSE(wrong) << name << ", " << s.to_string() << ": " << v.worst << " of the largest value";
  }

  void SetUp() override {
    OnCuda::SetUp();
    if (HasFatalFailure()) return;
    const Result<const Backend*> backend = find_backend("cuda");
    ASSERT_TRUE(backend.ok());
    Result<std::shared_ptr<Device>> device = (*backend)->open();
    ASSERT_TRUE(device.ok()) << device.status().to_string();
    device_ = std::move(device).value();
    providers_ = (*backend)->providers();
    std::erase_if(providers_, [](const Provider* p) { return std::string_view(p->name()) == "host"; });
    Result<std::unique_ptr<Stream>> stream = device_->create_stream();
    ASSERT_TRUE(stream.ok()) << stream.status().to_string();
    stream_ = std::move(stream).value();
  }
  void TearDown() override {
    for (const auto& [mode, worst] : worst_)
      std::printf("%s: worst %.2e by %s\n", mode.c_str(), worst.first, worst.second.c_str());
    std::printf("%zu runs of candidates\n", run_);
  }

  std::shared_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::vector<const Provider*> providers_;
  std::map<std::string, std::pair<double, std::string>> worst_;
  size_t run_ = 0;
};

TEST_F(GroupedSlow, EveryKernelForRegNetsShapesAgrees) {
  // Width of a group 8, 16, 24; then what stands around them: the stem, products by pixels, a shortcut of stride 2.
  std::vector<Shape> shapes{{1, 48, 48, 6, 3, 56, 1},    {1, 48, 48, 6, 3, 112, 2},  {1, 104, 104, 13, 3, 28, 1},
                            {1, 208, 208, 26, 3, 28, 2}, {1, 440, 440, 55, 3, 7, 1}, {1, 112, 112, 7, 3, 28, 1},
                            {1, 256, 256, 16, 3, 28, 2}, {1, 72, 72, 3, 3, 56, 1},   {1, 216, 216, 9, 3, 28, 1},
                            {4, 104, 104, 13, 3, 28, 1}, {1, 3, 32, 1, 3, 112, 2},   {1, 104, 208, 1, 1, 28, 2},
                            {1, 208, 208, 1, 1, 14, 1}};
  if (emulator_) shapes = {{1, 16, 16, 2, 3, 9, 1}, {2, 48, 48, 3, 3, 8, 2}, {1, 24, 48, 3, 3, 7, 1}};
  const auto start = std::chrono::steady_clock::now();
  for (const Mode& mode : kModes)
    for (const Shape& s : shapes) {
      // What matters most comes first; a machine that compiles slowly is told what it did not get to.
      if (std::chrono::steady_clock::now() - start > std::chrono::seconds(90))
        std::printf("%s %s: left out, 90 seconds are over\n", mode.name, s.to_string().c_str());
      else
        check(s, mode);
    }
  EXPECT_GT(run_, 0U);
}

}  // namespace
}  // namespace wootz::conformance
