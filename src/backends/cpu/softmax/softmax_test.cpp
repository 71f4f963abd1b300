#include <cmath>

#include "backends/cpu/testing/kernel_runner.h"
#include "base/tolerance.h"

namespace wootz::cpu {
namespace {

using rig::random_tensor;

HostTensor oracle(const HostTensor& x, int axis, bool log) {
  HostTensor y = HostTensor::allocate(DType::kF64, x.dims()).value();
  const int64_t length = x.dims()[static_cast<size_t>(axis)], step = x.dims().strides()[static_cast<size_t>(axis)];
  for (int64_t line = 0; length > 0 && line < x.volume() / length; ++line) {
    const int64_t base = line / step * step * length + line % step;
    double top = -INFINITY, sum = 0;
    for (int64_t k = 0; k < length; ++k) top = std::max(top, x.get_f64(base + k * step));
    for (int64_t k = 0; k < length; ++k) sum += std::exp(x.get_f64(base + k * step) - top);
    for (int64_t k = 0; k < length; ++k) {
      const double v = x.get_f64(base + k * step) - top;
      y.set_f64(base + k * step, log ? v - std::log(sum) : std::exp(v) / sum);
    }
  }
  return y;
}

void check_case(const HostTensor& x, int axis, bool log, DType out, bool epilogue, rig::Options options = {}) {
  Problem p;
  p.set_family(Family::kSoftmax);
  p.params = SoftmaxParams{.axis = axis, .log = log};
  p.num_main = 1;
  p.inputs = {rig::desc_of(x)};
  p.outputs = {rig::desc(out, x.dims())};
  p.acc_dtype = epilogue ? DType::kF32 : out;
  std::vector<HostTensor> inputs = {x};
  HostTensor want = oracle(x, axis, log);
  if (epilogue) {
    std::mt19937_64 rng(rig::seed());
    inputs.push_back(random_tensor(rng, DType::kF32, x.dims(), -1, 1));
    p.inputs.push_back(rig::desc_of(inputs[1]));
    p.epilogue = rig::test_epilogue(DType::kF32, out);
    want = rig::apply_epilogue(p.epilogue, want, {inputs[1]});
  } else {
    want = rig::converted(want, out);
  }
  options.tolerance = tolerance_for(out, x.dims()[static_cast<size_t>(axis)]);
  SCOPED_TRACE(fmt::format("{} axis {}", x.dims().to_string(), axis));
  rig::check(p, inputs, {want}, options);
}

TEST(Softmax, EveryAxisTypeAndEpilogue) {
  std::mt19937_64 rng(rig::seed());
  for (const Dims& dims : {Dims{7}, Dims{3, 65}, Dims{2, 5, 17}, Dims{2, 3, 4, 33}, Dims{3, 300, 2}, Dims{2, 3, 520},
                           Dims{2, 4500}, Dims{1, 1, 1, 1}})
    for (int axis = 0; axis < dims.rank(); ++axis)
      for (DType type : {DType::kF32, DType::kF16, DType::kBF16}) {
        const HostTensor x = random_tensor(rng, type, dims, -6, 6);
        check_case(x, axis, false, type, false);
        check_case(x, axis, true, DType::kF32, false, {.misaligned = true});
        check_case(x, axis, false, DType::kF16, true);
      }
}

TEST(Softmax, LargeValuesMasksAndNaN) {
  std::vector<float> v = {1000, 999, -1e30f,    3,         0,         -INFINITY, 1,        2, NAN, 1,
                          2,    3,   -INFINITY, -INFINITY, -INFINITY, -INFINITY, INFINITY, 1, 0,   0};
  const HostTensor x = HostTensor::from<float>(v, {5, 4});
  check_case(x, 1, false, DType::kF32, false);
  check_case(x, 1, true, DType::kF32, false);
}

TEST(Softmax, EmptyTensors) {
  for (const Dims& dims : {Dims{0, 4}, Dims{4, 0}, Dims{2, 0, 3}})
    check_case(HostTensor::allocate(DType::kF32, dims).value(), dims.rank() - 1, false, DType::kF32, false);
}

}  // namespace
}  // namespace wootz::cpu
