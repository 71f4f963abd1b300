// 8-bit products by every tile of ours, with everything that may come behind them: the same bits as one rounding for
// each operation gives. Sums of bytes are integers, so that nothing else is left to chance, and whatever a tile does
// otherwise (a product that the compiler fused with a sum, a conversion that loses a bit) shows. The emulator's
// compiler fuses nothing: that is seen on a GPU.
#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <random>
#include <set>

#include "backends/cuda/generate/tiles.h"
#include "backends/cuda/targets/devices.h"
#include "backends/registry.h"
#include "conformance/on_cuda.h"
#include "tuner/measure/benchmark_run.h"

namespace wootz::conformance {
namespace {

struct Grid {
  float step;
  int zero;
};
struct Shape {
  int64_t rows, depth, columns;
};

class ByteTilesSlow : public OnCuda {
 protected:
  struct Case {
    Problem problem;
    std::vector<HostTensor> inputs;
    std::vector<int64_t> expected;
  };

  int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(rng_); }
  // Where all are powers of two, results that lie between two bytes are usual.
  float real(double low, double high, bool powers) {
    const double v = std::uniform_real_distribution<double>(low, high)(rng_);
    return static_cast<float>(powers ? std::exp2(std::round(std::log2(v))) : v);
  }
  HostTensor integers(DType type, const Dims& dims) {
    HostTensor t = HostTensor::allocate(type, dims).value();
    for (int64_t i = 0; i < t.volume(); ++i) t.set_i64(i, type == DType::kU8 ? pick(0, 255) : pick(-127, 127));
    return t;
  }

  static int64_t quantized(float v, const Grid& g) {
    return std::clamp<int64_t>(std::llrint(std::nearbyint(v / g.step)) + g.zero, 0, 255);
  }
  static float dequantized(int64_t v, const Grid& g) { return static_cast<float>(v - g.zero) * g.step; }

  static int64_t sum_of(const Case& c, const Shape& s, const Grid& x, int64_t m, int64_t n) {
    int64_t sum = 0;
    for (int64_t k = 0; k < s.depth; ++k)
      sum += (c.inputs[0].get_i64(m * s.depth + k) - x.zero) * c.inputs[1].get_i64(n * s.depth + k);
    return sum;
  }
  // What brings the product between two neighbours of a grid, and next to 0: what rounding took from it decides to
  // which side a sum without that rounding falls.
  float half_from(float product, float step) { return (static_cast<float>(pick(-2, 1)) + 0.5F) * step - product; }

  // u8 of relu(round(x w + b) + r), where all but w has a zero point.
  Case make(const Shape& s, bool powers) {
    Case c;
    const Dims result{s.rows, s.columns};
    const float x_step = 1.0F / 128, about = static_cast<float>(1 / (40 * std::sqrt(static_cast<double>(s.depth))));
    const Grid x{x_step, pick(0, 1) != 0 ? 3 : 0}, middle{real(0.02, 0.05, true), static_cast<int>(pick(90, 160))},
        r{real(0.02, 0.05, powers), static_cast<int>(pick(90, 160))}, last{real(0.02, 0.05, powers), 0};
    c.inputs = {integers(DType::kU8, {s.rows, s.depth}), integers(DType::kI8, {s.columns, s.depth}),
                HostTensor::allocate(DType::kF32, {s.columns}).value(), integers(DType::kU8, result)};
    GemmParams params;
    params.trans_b = params.has_bias = true;
    params.x_scale = {x.step};
    params.x_zero = {static_cast<float>(x.zero)};
    std::vector<float> scales;
    for (int64_t n = 0; n < s.columns; ++n) {
      scales.push_back(real(0.2 * about, about, powers));
      const float product = static_cast<float>(sum_of(c, s, x, n % s.rows, n)) * (x.step * scales.back());
      c.inputs[2].set_f64(n, powers ? static_cast<double>(pick(-4, 4)) / 16 : half_from(product, middle.step));
    }
    params.w_scale.assign(scales.begin(), scales.end());
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      const HostTensor& t = c.inputs[i];
      c.problem.inputs.push_back({t.dtype(), Layout::kLinear, t.dims(), t.dims(), i == 1 || i == 2});
    }
    c.problem.set_family(Family::kGemm);
    c.problem.params = params;
    c.problem.num_main = 3;
    c.problem.outputs = {{DType::kU8, Layout::kLinear, result, result, false}};
    c.problem.acc_dtype = DType::kI32;
    c.problem.epilogue = expression(middle, r, last);
    for (int64_t i = 0; i < result.volume(); ++i) {
      const int64_t m = i / s.columns, n = i % s.columns;
      const float product = static_cast<float>(sum_of(c, s, x, m, n)) * (x.step * scales[static_cast<size_t>(n)]);
      const float rounded =
          dequantized(quantized(product + static_cast<float>(c.inputs[2].get_f64(n)), middle), middle);
      c.expected.push_back(quantized(std::max(0.0F, rounded + dequantized(c.inputs[3].get_i64(i), r)), last));
    }
    return c;
  }

  // `type` of the biases alone, or of their relu: of values next to all halves of the step and of others.
  Case make_rounding(DType type, float step, bool relu) {
    const int64_t columns = 2048, zero = type == DType::kU8 && !relu ? 128 : 0, low = type == DType::kU8 ? 0 : -128;
    Case c;
    c.inputs = {integers(DType::kI8, {1, 16}), HostTensor::allocate(DType::kI8, {columns, 16}).value(),
                HostTensor::allocate(DType::kF32, {columns}).value()};
    GemmParams params;
    params.trans_b = params.has_bias = true;
    params.x_scale = params.w_scale = {1.0F};
    params.x_zero = {0.0F};
    PointwiseExpr& e = c.problem.epilogue;
    const uint16_t bias = e.input(0, DType::kF32), v = relu ? e.push(PwOp::kRelu, DType::kF32, bias) : bias;
    const uint16_t by = e.constant(step, DType::kF32);
    e.outputs = {e.push(PwOp::kQuantize, type, v, by, e.constant(static_cast<double>(zero), DType::kF32))};
    constexpr float kOdd[] = {0.0F, -0.0F, 1e38F, -1e38F, INFINITY, -INFINITY, NAN, 1e-45F};
    for (int64_t n = 0; n < columns; ++n) {
      float value = (static_cast<float>(n / 7) - (zero == 0 && type == DType::kU8 ? 20.5F : 145.5F)) * step;
      for (int64_t k = n % 7; k != 3; k += k < 3 ? 1 : -1) value = std::nextafter(value, k < 3 ? -1e38F : 1e38F);
      if (n >= 2040) value = kOdd[n - 2040];
      c.inputs[2].set_f64(n, value);
      const float quotient = std::nearbyint(std::max(-1000.0F, std::min(1000.0F, value / step)));
      const int64_t rounded =
          zero + (std::isnan(value) ? -zero : std::llrint(relu ? std::max(0.0F, quotient) : quotient));
      c.expected.push_back(std::clamp<int64_t>(rounded, low, low + 255));
    }
    for (int64_t k = 0; k < columns * 16; ++k) c.inputs[1].set_i64(k, 0);
    for (size_t i = 0; i < c.inputs.size(); ++i)
      c.problem.inputs.push_back({c.inputs[i].dtype(), Layout::kLinear, c.inputs[i].dims(), c.inputs[i].dims(), i > 0});
    c.problem.set_family(Family::kGemm);
    c.problem.params = params;
    c.problem.num_main = 3;
    c.problem.outputs = {{type, Layout::kLinear, {1, columns}, {1, columns}, false}};
    c.problem.acc_dtype = DType::kI32;
    return c;
  }

  static PointwiseExpr expression(const Grid& middle, const Grid& r, const Grid& last) {
    PointwiseExpr e;
    const auto quantize = [&](uint16_t v, const Grid& g) {
      return e.push(PwOp::kQuantize, DType::kU8, v, e.constant(g.step, DType::kF32), e.constant(g.zero, DType::kF32));
    };
    const auto dequantize = [&](uint16_t v, const Grid& g) {
      const uint16_t f = e.push(PwOp::kCast, DType::kF32, v);
      const uint16_t moved = e.push(PwOp::kSub, DType::kF32, f, e.constant(g.zero, DType::kF32));
      return e.push(PwOp::kMul, DType::kF32, moved, e.constant(g.step, DType::kF32));
    };
    const uint16_t product = dequantize(quantize(e.input(0, DType::kF32), middle), middle);
    const uint16_t image = dequantize(e.input(1, DType::kU8), r);
    const uint16_t sum = e.push(PwOp::kAdd, DType::kF32, product, image);
    e.outputs = {quantize(e.push(PwOp::kRelu, DType::kF32, sum), last)};
    return e;
  }

  void SetUp() override {
    OnCuda::SetUp();
    if (HasFatalFailure()) return;
    const Result<const Backend*> backend = find_backend("cuda");
    ASSERT_TRUE(backend.ok());
    Result<std::shared_ptr<Device>> device = (*backend)->open();
    ASSERT_TRUE(device.ok()) << device.status().to_string();
    device_ = std::move(device).value();
    for (const Provider* p : (*backend)->providers())
      if (std::string_view(p->name()) == "generated") generated_ = p;
    ASSERT_NE(generated_, nullptr);
    Result<std::unique_ptr<Stream>> stream = device_->create_stream();
    ASSERT_TRUE(stream.ok()) << stream.status().to_string();
    stream_ = std::move(stream).value();
  }

  Result<HostTensor> run(const Tactic& tactic, const Case& c, const Limits& limits) {
    WOOTZ_ASSIGN_OR_RETURN(const std::unique_ptr<Kernel> kernel, generated_->create(tactic, c.problem, limits));
    WOOTZ_ASSIGN_OR_RETURN(const PackedConstants constants, pack_for(*kernel, c.problem, c.inputs));
    WOOTZ_ASSIGN_OR_RETURN(BenchmarkRun benchmark,
                           BenchmarkRun::prepare(*kernel, c.problem, constants, c.inputs, {c.problem.outputs[0].dims},
                                                 *device_, stream_.get()));
    WOOTZ_RETURN_IF_ERROR(benchmark.run());
    WOOTZ_ASSIGN_OR_RETURN(std::vector<HostTensor> results, benchmark.results());
    return std::move(results[0]);
  }

  // By all tiles, or by those of these names.
  void check(const Case& c, const std::set<std::string_view>& names = {}) {
    ASSERT_TRUE(c.problem.epilogue.verify().ok()) << c.problem.epilogue.verify().to_string();
    Limits limits;
    limits.device = &device_->describe();
    limits.at = device_;
    const DeviceScope current(*device_);
    size_t tiles = 0;
    for (const cuda::Tile& tile : cuda::kInt8Tiles) {
      const Tactic tactic{generated_->name(), fmt::format("gemm_generated_bytes_{}", tile.name), ""};
      if (cuda::capability_of(device_->describe()) < tile.capability()) continue;
      if (!names.empty() && names.count(tile.name) == 0) continue;
      ++tiles;
      const Result<HostTensor> y = run(tactic, c, limits);
      ASSERT_TRUE(y.ok()) << tactic.kernel << ": " << y.status().to_string();
      size_t wrong = 0, first = 0;
      for (size_t i = c.expected.size(); i-- > 0;)
        if (y->get_i64(static_cast<int64_t>(i)) != c.expected[i]) ++wrong, first = i;
      EXPECT_EQ(wrong, 0U) << tactic.kernel << ": the first is " << first << ", "
                           << y->get_i64(static_cast<int64_t>(first)) << " for " << c.expected[first];
    }
    EXPECT_GE(tiles, !names.empty() ? names.size() : emulator_ ? std::size(cuda::kInt8Tiles) : 5U);
  }

  std::mt19937_64 rng_{seed_};
  std::shared_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  const Provider* generated_ = nullptr;
};

TEST_F(ByteTilesSlow, GiveTheBitsOfOneRoundingAnOperation) {
  std::vector<Shape> shapes{{70, 48, 96}, {33, 144, 20}, {17, 64, 13}};  // stored by eight, by four, one by one
  if (!emulator_) shapes.insert(shapes.end(), {{3136, 64, 256}, {3136, 576, 64}, {784, 1024, 516}, {49, 2048, 1000}});
  for (const Shape& s : shapes)
    for (const bool powers : {false, true}) {
      SCOPED_TRACE(fmt::format("{} x {} x {}{}", s.rows, s.depth, s.columns, powers ? ", powers of two" : ""));
      check(make(s, powers));
    }
}

// Every scale is the same kernel, which finds it behind its weights: but for the float below a power of two.
TEST_F(ByteTilesSlow, RoundNextToHalvesAsADivision) {
  for (const DType type : {DType::kI8, DType::kU8})
    for (const bool relu : {false, true})
      for (int i = 0; i < 4; ++i) {
        const float step = i == 0 ? 0x1.fffffep-6F : real(0.001, 0.1, i == 1);
        SCOPED_TRACE(fmt::format("{}{}, by {:a}", dtype_name(type), relu ? " of relu" : "", step));
        check(make_rounding(type, step, relu), {"32x32k2"});
      }
}

// So many rows that a block takes several tiles of them.
TEST_F(ByteTilesSlow, WalkOverRows) { check(make({1030, 96, 4096}, true), {"64x64", "128x64"}); }

}  // namespace
}  // namespace wootz::conformance
