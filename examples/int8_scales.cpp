// A network in INT8, with scales that are measured on sample data: an FP32 engine tells the ranges of the activations,
// and Quantize and Dequantize layers say in the network where it is computed in INT8. (A calibrator, which level 11 has
// no more, would do the first step during the build.) The result is compared with INT8 arithmetic in plain loops, and
// with FP32.
#include <algorithm>

#include "common.h"

namespace {

using namespace example;

constexpr int kRows = 16, kIn = 32, kInner = 48, kOut = 10, kSamples = 8;

struct Model {
  Random random{11};
  std::vector<float> first = random.values(kIn * kInner, -0.3F, 0.3F), bias = random.values(kInner, -0.2F, 0.2F);
  std::vector<float> second = random.values(kInner * kOut, -0.3F, 0.3F);
};

// What an INT8 value counts, for the input, the activation between, and each column of the matrices; none: FP32.
struct Scales {
  std::vector<float> input, inner, first, second;
  bool none() const { return input.empty(); }
};

float scale_of(float largest) { return largest / 127; }

std::vector<float> column_scales(const std::vector<float>& matrix, size_t columns) {
  std::vector<float> scales(columns);
  for (size_t i = 0; i < matrix.size(); ++i)
    scales[i % columns] = std::max(scales[i % columns], scale_of(std::fabs(matrix[i])));
  return scales;
}

struct Layers {
  INetworkDefinition& network;

  ITensor* rounded(ITensor* x, const std::vector<float>& scales) const {
    if (scales.empty()) return x;
    const bool columns = scales.size() > 1;
    const Dims extents = columns ? Dims{1, {static_cast<int64_t>(scales.size())}} : Dims{0, {}};
    ITensor* const scale = constant(network, extents, scales);
    IQuantizeLayer* const quantize = network.addQuantize(*x, *scale, DataType::kINT8);
    if (columns) quantize->setAxis(1);
    IDequantizeLayer* const back = network.addDequantize(*quantize->getOutput(0), *scale, DataType::kFLOAT);
    if (columns) back->setAxis(1);
    return back->getOutput(0);
  }
  ITensor* product(ITensor* x, const std::vector<float>& matrix, int rows, const std::vector<float>& scales) const {
    const Dims2 extents(rows, static_cast<int64_t>(matrix.size()) / rows);
    return multiply(network, x, rounded(constant(network, extents, matrix), scales));
  }
  void add(const Model& model, const Scales& scales) const {
    ITensor* const x = network.addInput("x", DataType::kFLOAT, Dims2{kRows, kIn});
    ITensor* inner = product(rounded(x, scales.input), model.first, kIn, scales.first);
    inner = combine(network, inner, ElementWiseOperation::kSUM, constant(network, Dims2{1, kInner}, model.bias));
    inner = network.addActivation(*inner, ActivationType::kRELU)->getOutput(0);
    if (scales.none()) mark_output(network, inner, "inner");
    mark_output(network, product(rounded(inner, scales.inner), model.second, kInner, scales.second), "y");
  }
};

struct Engine {
  Engine(IRuntime& runtime, const Model& model, const Scales& scales) : float_inner(scales.none()) {
    const std::unique_ptr<IBuilder> builder(createInferBuilder(logger()));
    const std::unique_ptr<INetworkDefinition> network = typed_network(*builder);
    Layers{*network}.add(model, scales);
    const std::unique_ptr<IHostMemory> plan(builder->buildSerializedNetwork(*network, *exact_config(*builder)));
    REQUIRE(plan != nullptr);
    engine = load(runtime, *plan);
    context.reset(engine->createExecutionContext());
    REQUIRE(context->setTensorAddress("x", x.data()) && context->setTensorAddress("y", y.data()));
    if (float_inner) REQUIRE(context->setTensorAddress("inner", inner.data()));
  }
  std::vector<float> run(const std::vector<float>& input) {
    x.upload(input, stream);
    REQUIRE(context->enqueueV3(stream));
    return y.download(stream);
  }
  bool float_inner;
  Stream stream;
  DeviceArray<float> x{kRows * kIn}, y{kRows * kOut}, inner{kRows * kInner};
  std::unique_ptr<ICudaEngine> engine;
  std::unique_ptr<IExecutionContext> context;
};

int quantized(float value, float scale) {
  return static_cast<int>(std::fmin(127.F, std::fmax(-128.F, std::nearbyint(value / scale))));
}

// x * matrix in integers, with the scales put back on.
std::vector<float> multiplied(const std::vector<float>& x, float scale, const std::vector<float>& matrix,
                              const std::vector<float>& scales) {
  const size_t columns = scales.size(), rows = matrix.size() / columns;
  std::vector<float> y(x.size() / rows * columns);
  for (size_t i = 0; i < y.size(); ++i) {
    int sum = 0;
    for (size_t k = 0; k < rows; ++k)
      sum += quantized(x[i / columns * rows + k], scale) *
             quantized(matrix[k * columns + i % columns], scales[i % columns]);
    y[i] = static_cast<float>(sum) * scale * scales[i % columns];
  }
  return y;
}

}  // namespace

int main() {
  const Model model;
  const std::unique_ptr<IRuntime> runtime(createInferRuntime(logger()));
  Engine exact(*runtime, model, {});
  Random random(110);
  float largest = 0, largest_inner = 0;
  for (int sample = 0; sample < kSamples; ++sample) {
    const std::vector<float> input = random.values(kRows * kIn);
    exact.run(input);
    for (const float value : input) largest = std::fmax(largest, std::fabs(value));
    for (const float value : exact.inner.download(exact.stream))
      largest_inner = std::fmax(largest_inner, std::fabs(value));
  }
  Scales scales;
  scales.input = {scale_of(largest)};
  scales.inner = {scale_of(largest_inner)};
  scales.first = column_scales(model.first, kInner);
  scales.second = column_scales(model.second, kOut);
  std::printf("scales: %g for the input, %g for the activation between\n", scales.input[0], scales.inner[0]);

  Engine rounded(*runtime, model, scales);
  const std::vector<float> input = random.values(kRows * kIn), in_float = exact.run(input), got = rounded.run(input);
  std::vector<float> inner = multiplied(input, scales.input[0], model.first, scales.first);
  for (size_t i = 0; i < inner.size(); ++i) inner[i] = std::fmax(inner[i] + model.bias[i % kInner], 0.F);
  // A value on the border of two integers may go either way: one step of the activation, by one weight.
  expect_close("INT8 as in loops", got, multiplied(inner, scales.inner[0], model.second, scales.second), 0.01F);
  expect_close("INT8 near FP32", got, in_float, 0.05F);
  REQUIRE(got != in_float);  // it was rounded
  return 0;
}
