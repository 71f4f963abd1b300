// Tensors that pass through 8 bits, and what computes on them.
#include "random_graphs/generator.h"

namespace wootz::random_graphs {
namespace {

constexpr double kMargin = 1e-3;  // of a step of the grid: what lies nearer to a border may be rounded to either side

}  // namespace

// Quantize and Dequantize; nothing where rounding could go either way.
Made Generator::on_grid(const Made& x) {
  if (x.value == nullptr || x.data.dtype() != DType::kF32) return {};
  double largest = 0;
  for (int64_t i = 0; i < x.data.volume(); ++i) largest = std::max(largest, std::fabs(x.data.get_f64(i)));
  const bool unsigned_bytes = chance(40);
  const DType type = unsigned_bytes ? DType::kU8 : DType::kI8;
  const int zero = unsigned_bytes ? pick(100, 140) : chance(80) ? 0 : pick(-20, 20);
  for (int tries = 0; tries < 4; ++tries) {
    const double scale = static_cast<float>((largest + 0.1) / pick(20, 100));
    bool clear = true;
    for (int64_t i = 0; i < x.data.volume() && clear; ++i) {
      const double at = x.data.get_f64(i) / scale;
      clear = std::fabs(at - std::floor(at) - 0.5) > kMargin;
    }
    if (!clear) continue;
    const Made s = scalar(scale), z = scalar(zero, type);
    return add("Dequantize", {add("Quantize", {x, s, z}), s, z});
  }
  return {};
}

// Weights in 8 bits, one scale or one for each element of `axis`.
Made Generator::weights_on_grid(const Dims& dims, size_t axis) {
  HostTensor bytes = std::move(HostTensor::allocate(DType::kI8, dims)).value();
  for (int64_t i = 0; i < bytes.volume(); ++i) bytes.set_i64(i, pick(-127, 127));
  const double step = 0.01 / std::sqrt(static_cast<double>(bytes.volume() / std::max<int64_t>(1, dims[axis])));
  if (chance(30)) return add("Dequantize", {constant(std::move(bytes)), scalar(static_cast<float>(step))});
  Dims each = Dims::filled(dims.rank(), 1);
  each[axis] = dims[axis];
  HostTensor scales = std::move(HostTensor::allocate(DType::kF32, each)).value();
  for (int64_t i = 0; i < scales.volume(); ++i) scales.set_f64(i, step * pick(5, 15) / 10);
  return add("Dequantize", {constant(std::move(bytes)), constant(std::move(scales))});
}

void Generator::quantized() {
  const Made x = on_grid(random_value(DType::kF32, chance(70) ? 4 : -1));
  if (x.value == nullptr || x.data.rank() < 2) return;
  const size_t last = x.data.dims().size() - 1;
  Made y;
  if (x.data.rank() == 4 && !is_open(x.value->shape()[1]) && chance(70)) {
    const int64_t channels = x.data.dims()[1], kernel = chance(50) ? 1 : 3;
    const bool depthwise = chance(25);
    const int64_t out = depthwise ? channels : pick(1, 8);
    y = add("Conv", {x, weights_on_grid({out, depthwise ? 1 : channels, kernel, kernel}, 0)},
            {{"pads", Ints(4, kernel / 2)}, {"groups", depthwise ? channels : 1}});
  } else if (!is_open(x.value->shape()[last])) {
    y = add("MatMul", {x, weights_on_grid({x.data.dims()[last], pick(1, 10)}, 1)});
  }
  if (y.value != nullptr && chance(50)) y = activate(y);
  if (y.value != nullptr && chance(30) && y.data.dims() == x.data.dims()) y = add("Add", {y, x});
  if (chance(60)) on_grid(y.value == nullptr ? x : y);
}

}  // namespace wootz::random_graphs
