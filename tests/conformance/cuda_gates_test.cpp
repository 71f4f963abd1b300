// Depthwise convolutions with the gate of squeeze-and-excitation behind them, as one step that sums its results up and
// as steps of their own: networks by chance, held against sums of doubles.
#include <cmath>
#include <cstring>
#include <random>
#include <set>

#include "conformance/on_cuda.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "tuner/measure/random_data.h"

namespace wootz::conformance {
namespace {

struct Shape {
  int64_t images, channels, hidden, height, width, kernel, stride, pad;
  int64_t high() const { return (height + 2 * pad - kernel) / stride + 1; }
  int64_t wide() const { return (width + 2 * pad - kernel) / stride + 1; }
  std::string to_string() const {
    return fmt::format("{} of {}x{}x{}, {} hidden, {}x{} by {} in {}", images, channels, height, width, hidden, kernel,
                       kernel, stride, pad);
  }
};

struct Operands {
  HostTensor x, f, d, w, a, v, b;
};

double silu(double x) { return x / (1 + std::exp(-x)); }

// By the definition: the image times its gate.
std::vector<double> exact(const Shape& s, const Operands& o) {
  std::vector<double> y;
  const int64_t pixels = s.high() * s.wide();
  for (int64_t n = 0; n < s.images; ++n) {
    std::vector<double> image, mean, hidden;
    for (int64_t c = 0; c < s.channels; ++c) {
      double total = 0;
      for (int64_t i = 0; i < pixels; ++i) {
        double sum = o.d.get_f64(c);
        for (int64_t k = 0; k < s.kernel * s.kernel; ++k) {
          const int64_t iy = i / s.wide() * s.stride - s.pad + k / s.kernel;
          const int64_t ix = i % s.wide() * s.stride - s.pad + k % s.kernel;
          if (iy < 0 || iy >= s.height || ix < 0 || ix >= s.width) continue;
          sum += o.x.get_f64(((n * s.channels + c) * s.height + iy) * s.width + ix) *
                 o.f.get_f64(c * s.kernel * s.kernel + k);
        }
        image.push_back(silu(sum));
        total += image.back();
      }
      mean.push_back(total / static_cast<double>(pixels));
    }
    for (int64_t h = 0; h < s.hidden; ++h) {
      double sum = o.a.get_f64(h);
      for (int64_t c = 0; c < s.channels; ++c) sum += mean[static_cast<size_t>(c)] * o.w.get_f64(h * s.channels + c);
      hidden.push_back(silu(sum));
    }
    for (int64_t c = 0; c < s.channels; ++c) {
      double sum = o.b.get_f64(c);
      for (int64_t h = 0; h < s.hidden; ++h) sum += hidden[static_cast<size_t>(h)] * o.v.get_f64(c * s.hidden + h);
      for (int64_t i = 0; i < pixels; ++i)
        y.push_back(image[static_cast<size_t>(c * pixels + i)] / (1 + std::exp(-sum)));
    }
  }
  return y;
}

class CudaGates : public OnCuda {
 protected:
  int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(rng_); }

  Shape shape() {
    Shape s{pick(1, 3), 8 * pick(1, 20), 2 * pick(1, 12), pick(3, 30), pick(3, 30), 1 + 2 * pick(1, 3), pick(1, 2), 0};
    s.pad = pick(s.kernel > std::min(s.height, s.width) ? s.kernel / 2 : 0, s.kernel / 2);
    return s;
  }

  Operands operands(const Shape& s, DType type) {
    const auto scaled = [&](const Dims& dims, double by) {
      HostTensor t = random_tensor(type, dims, rng_()).value();
      for (int64_t i = 0; i < t.volume(); ++i) t.set_f64(i, by * t.get_f64(i));
      return t;
    };
    return {scaled({s.images, s.channels, s.height, s.width}, 1),
            scaled({s.channels, 1, s.kernel, s.kernel}, 1.5 / static_cast<double>(s.kernel)),
            scaled({s.channels}, 0.5),
            scaled({s.hidden, s.channels, 1, 1}, 4 / std::sqrt(static_cast<double>(s.channels))),
            scaled({s.hidden}, 0.5),
            scaled({s.channels, s.hidden, 1, 1}, 2 / std::sqrt(static_cast<double>(s.hidden))),
            scaled({s.channels}, 0.5)};
  }

  RunResult run(const Operands& o, const Shape& s, std::set<std::string> without = {}) {
    Graph g;
    const auto node = [&](const char* name, std::vector<Value*> in, AttrMap attrs = {}) {
      return g.add_node(op(name), name, std::move(in), std::move(attrs))->output();
    };
    const auto constant = [&](const char* name, const HostTensor& t) { return g.add_constant(name, t); };
    const auto with_silu = [&](Value* x) { return node("Mul", {x, node("Sigmoid", {x})}); };
    Value* const image = with_silu(node(
        "Conv", {g.add_input("x", o.x.dtype(), to_shape(o.x.dims())), constant("f", o.f), constant("d", o.d)},
        {{"groups", s.channels}, {"strides", Ints{s.stride, s.stride}}, {"pads", Ints{s.pad, s.pad, s.pad, s.pad}}}));
    Value* const mean = node("Pool", {image}, {{"kind", std::string("avg")}, {"global", int64_t{1}}});
    Value* const hidden = with_silu(node("Conv", {mean, constant("w", o.w), constant("a", o.a)}));
    Value* const gate = node("Sigmoid", {node("Conv", {hidden, constant("v", o.v), constant("b", o.b)})});
    g.mark_output(node("Mul", {image, gate}));
    EXPECT_TRUE(infer_graph(g).ok());
    return run_on("cuda", g, {o.x}, true, std::move(without));
  }

  std::mt19937_64 rng_{seed_};
};

double largest_difference(const HostTensor& got, const std::vector<double>& expected) {
  double largest = static_cast<size_t>(got.volume()) == expected.size() ? 0 : INFINITY;
  for (size_t i = 0; i < expected.size() && i < static_cast<size_t>(got.volume()); ++i) {
    const double d = std::fabs(got.get_f64(static_cast<int64_t>(i)) - expected[i]);
    if (!(d <= largest)) largest = d;
  }
  return largest;
}

TEST_F(CudaGates, AreRightAsOneStepAndAsSeveral) {
  for (int i = 0; i < 12; ++i) {
    const Shape s = shape();
    const DType type = i % 3 == 2 ? DType::kBF16 : DType::kF16;
    SCOPED_TRACE(fmt::format("{} {}", dtype_name(type), s.to_string()));
    const Operands o = operands(s, type);
    const std::vector<double> right = exact(s, o);
    const RunResult one = run(o, s), again = run(o, s), several = run(o, s, {"fuse_gates"});
    ASSERT_FALSE(one.outputs.empty() || again.outputs.empty() || several.outputs.empty());
    EXPECT_EQ(one.steps + 1, several.steps);
    const double together = largest_difference(one.outputs[0], right),
                 apart = largest_difference(several.outputs[0], right);
    std::printf("%s %s: %.2g as one step, %.2g as several\n", dtype_name(type), s.to_string().c_str(), together, apart);
    EXPECT_LE(together, type == DType::kF16 ? 0.02 : 0.16);
    EXPECT_EQ(std::memcmp(one.outputs[0].data(), again.outputs[0].data(), one.outputs[0].bytes()), 0);
  }
}

}  // namespace
}  // namespace wootz::conformance
