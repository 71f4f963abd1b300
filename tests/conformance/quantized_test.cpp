// Random networks between Quantize and Dequantize: 8-bit steps, the same without passes, without 8-bit instructions and
// by the reference must all agree with the interpreter on the network as it was written: to the bit where all numbers
// are such that nothing is rounded but by Quantize; otherwise but for results that hang on a value next to a rounding
// boundary, which are found by moving all values a little.
#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "backend/device.h"
#include "backends/cuda/emulator/emulator.h"
#include "base/testing.h"
#include "base/tolerance.h"
#include "conformance/run_graph_on.h"
#include "ops/infer.h"
#include "ops/interpreter.h"
#include "ops/registry.h"

namespace wootz::conformance {
namespace {

class Network {
 public:
  // Exact: scales and constants are powers of two or multiples of one, and every operation gives numbers that float
  // holds. Then nothing is rounded but where it says Quantize, in whatever order sums are made.
  Network(uint64_t seed, bool exact) : rng_(seed), exact_(exact) {
    batch_ = pick(1, 2);
    channels_ = pick(1, 24);
    const int64_t h = pick(3, 9), w = pick(3, 9);
    Value* x = graph.add_input("x", DType::kF32, to_shape(Dims{batch_, channels_, h, w}));
    input = random(DType::kF32, {batch_, channels_, h, w}, -1, 1);
    Value* v = round_trip(x);
    const int64_t count = pick(1, 5);
    for (int64_t i = 0; i < count; ++i) v = block(v);
    finish(v);
  }

  Graph graph{"quantized"};
  HostTensor input;
  int products = 0;      // convolutions and matrix products, all of them with an 8-bit form
  double last_step = 0;  // of the grid that the result lies on; 0: float

 private:
  int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(rng_); }
  double real(double low, double high) { return std::uniform_real_distribution<double>(low, high)(rng_); }

  HostTensor random(DType type, const Dims& dims, double low, double high) {
    HostTensor t = HostTensor::allocate(type, dims).value();
    for (int64_t i = 0; i < t.volume(); ++i)
      t.set_f64(i, is_float(type) ? real(low, high) : std::floor(real(low, high + 1)));
    return t;
  }
  static double power_of_two(double about) { return std::exp2(std::round(std::log2(about))); }
  Value* constant(HostTensor t) { return graph.add_constant(graph.unique_name("k"), std::move(t)); }
  Value* scalar(DType type, double v) {
    HostTensor t = HostTensor::allocate(type, {}).value();
    t.set_f64(0, v);
    return constant(std::move(t));
  }
  Value* node(const char* op_name, std::vector<Value*> inputs, AttrMap attrs = {}) {
    Node* n = graph.add_node(op(op_name), graph.unique_name(op_name), std::move(inputs), std::move(attrs));
    const Status status = infer_node(*n);
    EXPECT_TRUE(status.ok()) << status.to_string();
    return n->output();
  }

  // Quantize and Dequantize by a grid that covers most of what the value holds.
  Value* round_trip(Value* v) {
    std::vector<HostTensor> taps;
    const auto run = run_graph_taps(graph, {input}, {v->id()}, &taps);
    EXPECT_TRUE(run.ok()) << run.status().to_string();
    double low = 0, high = 1e-3;
    for (int64_t i = 0; run.ok() && i < taps[0].volume(); ++i) {
      low = std::min(low, taps[0].get_f64(i));
      high = std::max(high, taps[0].get_f64(i));
    }
    const bool is_signed = pick(0, 3) == 0;
    const DType type = is_signed ? DType::kI8 : DType::kU8;
    const double covers = (high - low) / 255 * real(0.8, 1.1);
    const double step = exact_ ? power_of_two(covers) : static_cast<float>(covers);
    const double first = is_signed ? -128 : 0;
    double zero = std::clamp(std::round(first - low / step), first, first + 255);
    // Even where ties are usual: oneDNN adds the zero point of a result before it rounds to the nearest even number,
    // and with an odd one a tie falls to the other side.
    if (exact_) zero -= std::fmod(zero, 2);
    scale_ = scalar(DType::kF32, step);
    zero_ = pick(0, 5) == 0 && zero == 0 ? nullptr : scalar(type, zero);
    last_step = step;
    std::vector<Value*> grid{scale_};
    if (zero_ != nullptr) grid.push_back(zero_);
    std::vector<Value*> inputs{v};
    inputs.insert(inputs.end(), grid.begin(), grid.end());
    quantized_ = node("Quantize", inputs, {{"to", std::string(dtype_name(type))}});
    inputs[0] = quantized_;
    return node("Dequantize", inputs);
  }

  // Weights behind a Dequantize; scales along `axis` for half of them.
  Value* weights(const Dims& dims, int axis) {
    int64_t sum = 1;
    for (int64_t d : dims) sum *= d;
    const double around =
        0.02 / std::sqrt(static_cast<double>(sum) / static_cast<double>(dims[static_cast<size_t>(axis)]));
    HostTensor w = random(DType::kI8, dims, -127, 127);
    Dims scale_dims = Dims::filled(dims.rank(), 1);
    if (pick(0, 1) != 0) scale_dims[static_cast<size_t>(axis)] = dims[static_cast<size_t>(axis)];
    HostTensor scale = random(DType::kF32, scale_dims, 0.5 * around, 2 * around);
    for (int64_t i = 0; exact_ && i < scale.volume(); ++i) scale.set_f64(i, power_of_two(scale.get_f64(i)));
    if (scale.volume() == 1) scale = scale.reshaped({});
    if (pick(0, 3) != 0) return node("Dequantize", {constant(std::move(w)), constant(std::move(scale))});
    // The same in u8.
    HostTensor moved = HostTensor::allocate(DType::kU8, dims).value();
    for (int64_t i = 0; i < w.volume(); ++i) moved.set_i64(i, w.get_i64(i) + 128);
    HostTensor zero = HostTensor::allocate(DType::kU8, scale.dims()).value();
    for (int64_t i = 0; i < zero.volume(); ++i) zero.set_i64(i, 128);
    return node("Dequantize", {constant(std::move(moved)), constant(std::move(scale)), constant(std::move(zero))});
  }
  Value* bias(int64_t channels) {
    if (!exact_ && pick(0, 1) != 0) return constant(random(DType::kF32, {channels}, -0.2, 0.2));
    const double step = exact_ ? 1.0 / 4096 : 2e-4;
    return node("Dequantize", {constant(random(DType::kI32, {channels}, -900, 900)), scalar(DType::kF32, step)});
  }

  Value* activation(Value* v) {
    switch (pick(0, 5)) {
      case 0: return node("Relu", {v});
      case 1:
        return node("Clip", {v, scalar(DType::kF32, exact_ ? -0.125 : -0.1), scalar(DType::kF32, exact_ ? 0.75 : 0.7)});
      case 2: return exact_ ? node("Abs", {v}) : node("Sigmoid", {v});
      case 3: return node("LeakyRelu", {v}, {{"alpha", exact_ ? 0.125 : 0.1}});
      default: return v;
    }
  }

  Value* convolution(Value* v, bool same_shape) {
    const int64_t in = v->shape()[1].value();
    const bool depthwise = pick(0, 3) == 0, transposed = !same_shape && pick(0, 4) == 0;
    int64_t out = same_shape ? in : pick(1, 40);
    const int64_t smallest = std::min(v->shape()[2].value(), v->shape()[3].value());
    const int64_t k = same_shape ? 1 + 2 * pick(0, 1) : pick(1, std::min<int64_t>(3, smallest));
    ++products;
    if (transposed) {
      std::vector<Value*> inputs{v, weights({in, out, k, k}, 1)};
      if (pick(0, 1) != 0) inputs.push_back(bias(out));
      return node("ConvTranspose", inputs, {{"strides", std::vector<int64_t>{2, 1}}});
    }
    if (depthwise) out = in;
    const int64_t groups = depthwise ? in : 1;
    std::vector<Value*> inputs{v, weights({out, in / groups, k, k}, 0)};
    if (pick(0, 1) != 0) inputs.push_back(bias(out));
    const int64_t pad = same_shape ? k / 2 : pick(0, k - 1);
    const int64_t stride = same_shape ? 1 : pick(1, 2);
    return node("Conv", inputs,
                {{"groups", groups},
                 {"pads", std::vector<int64_t>(4, pad)},
                 {"strides", std::vector<int64_t>{stride, stride}}});
  }

  Value* block(Value* v) {
    if (std::min(v->shape()[2].value(), v->shape()[3].value()) < 3) return round_trip(convolution(v, true));
    switch (pick(0, 9)) {
      case 0: {  // a residual
        Value* a = round_trip(activation(convolution(v, true)));
        return round_trip(node("Relu", {round_trip(node("Add", {a, v}))}));
      }
      case 1: {  // a concatenation of two grids
        Value *a = round_trip(convolution(v, true)), *b = round_trip(activation(convolution(v, true)));
        return round_trip(node("Concat", {a, b}, {{"axis", int64_t{1}}}));
      }
      case 2: {
        const bool average = pick(0, 1) != 0;
        products += average;
        return round_trip(node("Pool", {v},
                               {{"kind", std::string(average ? "avg" : "max")},
                                {"kernel", std::vector<int64_t>{2, exact_ ? 2 : 3}},
                                {"count_include_pad", pick(0, 1)},
                                {"pads", std::vector<int64_t>{0, 1, 1, 0}}}));
      }
      case 3:
        return round_trip(
            node("Resize", {v}, {{"mode", std::string("nearest")}, {"scales", std::vector<double>{1, 1, 2, 1}}}));
      case 4: {
        Value* t = node("Transpose", {v}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
        return round_trip(convolution(t, true));
      }
      case 5: return round_trip(node("Mul", {v, exact_ ? v : node("Sigmoid", {v})}));
      default: return round_trip(activation(convolution(v, false)));
    }
  }

  void finish(Value* v) {
    const int64_t kind = pick(0, 3);
    if (kind == 0) {  // 8-bit result
      graph.mark_output(quantized_);
      last_step = 1;
      return;
    }
    if (kind == 1) return graph.mark_output(v);
    HostTensor shape = HostTensor::from<int64_t>(std::vector<int64_t>{batch_, -1}, Dims{2});
    Value* flat = node("Reshape", {v, constant(std::move(shape))});
    const int64_t k = flat->shape()[1].value(), n = pick(1, 50);
    const bool turned = pick(0, 1) != 0;
    std::vector<Value*> inputs{flat, weights(turned ? Dims{n, k} : Dims{k, n}, turned ? 0 : 1)};
    if (pick(0, 1) != 0) inputs.push_back(bias(n));
    ++products;
    Value* y = node("MatMul", inputs, {{"trans_b", int64_t{turned}}});
    if (kind == 2)
      y = round_trip(activation(y));
    else
      last_step = 0;
    graph.mark_output(y);
  }

  std::mt19937_64 rng_;
  const bool exact_;
  int64_t batch_ = 1, channels_ = 1;
  Value *quantized_ = nullptr, *scale_ = nullptr, *zero_ = nullptr;
};

int quantized_products(const Graph& graph) {
  int count = 0;
  for (const Node* n = graph.first(); n != nullptr; n = n->next()) count += n->has_attr("x_scale");
  return count;
}

// Products that were left in float: none, however many became one (convolutions of one value do).
int float_products(const Graph& graph) {
  int count = 0;
  for (const Node* n = graph.first(); n != nullptr; n = n->next())
    count += !n->has_attr("x_scale") && (n->is("Conv") || n->is("ConvTranspose") || n->is("MatMul") ||
                                         (n->is("Pool") && n->attr_string("kind") == "avg"));
  return count;
}

struct Setting {
  const char* name;
  RunOptions options;
};
const Setting kSettings[] = {{"cpu", {}},
                             {"cpu, no passes", {"cpu", false, "", 2}},
                             {"cpu, avx2", {"cpu", true, "avx2", 2}},
                             {"reference", {"reference", true, "", 2}}};

// How far results may be apart where values lie on the same side of every boundary: float rounding of sums.
bool is_off(const HostTensor& actual, const HostTensor& expected, double scale, int64_t i) {
  return std::fabs(actual.get_f64(i) - expected.get_f64(i)) > 1e-3 * scale;
}

// What is right, and which results hang on values that lie next to a rounding boundary.
struct Expected {
  HostTensor value;
  int64_t on_boundary = 0;
};

// The network once more, with what every Quantize rounds moved up or down by so many steps of its grid.
Result<HostTensor> run_moved(uint64_t seed, bool exact, double steps) {
  Network made(seed, exact);
  std::vector<Node*> nodes;
  for (Node* n = made.graph.first(); n != nullptr; n = n->next())
    if (n->is("Quantize")) nodes.push_back(n);
  for (Node* n : nodes) {
    const double step = n->input(1)->constant().get_f64(0);
    Value* move =
        made.graph.add_constant(made.graph.unique_name("move"), HostTensor::scalar(static_cast<float>(steps * step)));
    Node* moved = made.graph.add_node(op("Add"), made.graph.unique_name("moved"), {n->input(0), move}, {}, 1, n);
    WOOTZ_RETURN_IF_ERROR(infer_node(*moved));
    n->set_input(0, moved->output());
  }
  WOOTZ_ASSIGN_OR_RETURN(std::vector<HostTensor> results, run_graph(made.graph, {made.input}));
  return std::move(results[0]);
}

// Float rounding moves a value by some 1e-6 of its magnitude, which is up to 255 steps.
constexpr double kNear = 1e-3;  // steps

Result<Expected> expected_of(uint64_t seed, bool exact) {
  Network made(seed, exact);
  Expected expected;
  WOOTZ_ASSIGN_OR_RETURN(std::vector<HostTensor> results, run_graph(made.graph, {made.input}));
  expected.value = std::move(results[0]);
  if (exact) return expected;
  WOOTZ_ASSIGN_OR_RETURN(const HostTensor up, run_moved(seed, exact, kNear));
  WOOTZ_ASSIGN_OR_RETURN(const HostTensor down, run_moved(seed, exact, -kNear));
  const double scale = compare(expected.value, expected.value).scale;
  for (int64_t i = 0; i < expected.value.volume(); ++i)
    expected.on_boundary += is_off(up, expected.value, scale, i) || is_off(down, expected.value, scale, i);
  return expected;
}

void expect_agreement(const Network& made, bool exact, const Expected& expected, const HostTensor& actual) {
  const Difference d = compare(actual, expected.value);
  ASSERT_FALSE(d.shape_mismatch || d.non_finite_mismatch) << to_string(d);
  if (exact) {
    EXPECT_EQ(d.max_abs, 0) << "nothing is rounded in this network: " << to_string(d);
    return;
  }
  int64_t off = 0;
  for (int64_t i = 0; i < actual.volume(); ++i) off += is_off(actual, expected.value, d.scale, i);
  EXPECT_LE(off, expected.on_boundary) << to_string(d);
  // A value on a boundary anywhere before moves results a little; the last one moves by a step.
  EXPECT_LE(d.max_abs, std::max(3 * made.last_step, 0.03 * d.scale)) << to_string(d);
}

TEST(Quantized, RandomNetworksAgreeHoweverTheyRun) {
  const uint64_t first = test_seed();
  int products = 0;
  for (uint64_t seed = first; seed < first + 40 && !::testing::Test::HasFailure(); ++seed)
    for (const bool exact : {true, false}) {
      const auto expected = expected_of(seed, exact);
      ASSERT_TRUE(expected.ok()) << expected.status().to_string();
      for (const Setting& setting : kSettings) {
        SCOPED_TRACE(fmt::format("seed {}{}, {}", seed, exact ? " (exact)" : "", setting.name));
        Network made(seed, exact);
        const auto actual = run_graph_on(made.graph, {made.input}, setting.options);
        ASSERT_TRUE(actual.ok()) << actual.status().to_string();
        expect_agreement(made, exact, *expected, actual->outputs[0]);
        if (setting.options.passes) {
          EXPECT_EQ(float_products(made.graph), 0);
        }
        products += quantized_products(made.graph);
      }
    }
  EXPECT_GT(products, 200);
}

// The same networks on the GPU, or on what stands in for one: every product of those that tensor cores take is computed
// from bytes, and nothing is left to the host.
TEST(Quantized, RandomNetworksAgreeOnCudaSlow) {
  const Result<bool> emulator = open_cuda();
  ASSERT_TRUE(emulator.ok()) << emulator.status().to_string();
  const uint64_t first = test_seed();
  struct Made {
    std::string name;
    bool exact;
    Expected expected;
    std::unique_ptr<Network> network;
    PreparedRun run;
  };
  std::vector<Made> all;  // their kernels are compiled together
  for (uint64_t i = 0; i < 16; ++i) {
    const uint64_t seed = first + i;
    const bool exact = i % 2 == 0;
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Result<Expected> expected = expected_of(seed, exact);
    ASSERT_TRUE(expected.ok()) << expected.status().to_string();
    auto network = std::make_unique<Network>(seed, exact);
    Result<PreparedRun> run = prepare_graph_on(network->graph, {network->input}, {"cuda", true, "", 2});
    ASSERT_TRUE(run.ok()) << run.status().to_string();
    all.push_back({fmt::format("seed {}{}", seed, exact ? " (exact)" : ""), exact, std::move(*expected),
                   std::move(network), std::move(run).value()});
  }
  size_t in_bytes = 0;
  int products = 0;
  for (Made& made : all) {
    SCOPED_TRACE(made.name);
    const Result<RunResult> actual = made.run.run();
    ASSERT_TRUE(actual.ok()) << actual.status().to_string();
    expect_agreement(*made.network, made.exact, made.expected, actual->outputs[0]);
    EXPECT_THAT(actual->reference_steps, testing::IsEmpty());
    in_bytes += actual->byte_steps;
    products += made.network->products;
  }
  EXPECT_EQ(cuda::emulator_faults(), "");
  std::printf("%d products, %zu of them in bytes\n", products, in_bytes);
  EXPECT_GT(in_bytes * 10, static_cast<size_t>(products) * 9);
}

}  // namespace
}  // namespace wootz::conformance
