#include <cmath>

#include "backend/op_kernels.h"
#include "backends/cpu/testing/found_results.h"

namespace wootz::cpu {
namespace {

void check_non_zero(const HostTensor& x) {
  Problem p;
  p.set_family(Family::kOp);
  p.params = OpParams{.op = "NonZero", .kernel = box_params(NonZeroOpParams()), .own_sizes = true};
  p.num_main = 1;
  p.inputs = {rig::desc_of(x)};
  p.outputs = {rig::desc(DType::kI64, {std::max(1, x.rank()), 16})};
  std::vector<int64_t> places;
  for (int64_t i = 0; i < x.volume(); ++i)
    if (x.get_f64(i) != 0) places.push_back(i);  // NaN is not zero
  for (const int threads : {1, 3}) {
    const Result<HostTensor> y = rig::run_found(p, {x}, threads);
    ASSERT_TRUE(y.ok()) << y.status().to_string();
    const auto count = static_cast<int64_t>(places.size());
    ASSERT_TRUE(y->dims() == Dims({std::max(1, x.rank()), count})) << y->dims().to_string();
    for (int64_t k = 0; k < count; ++k) {
      int64_t at = x.rank() == 0 ? y->get_i64(k) : 0;
      for (int a = 0; a < x.rank(); ++a) at += y->get_i64(a * count + k) * x.dims().strides()[static_cast<size_t>(a)];
      ASSERT_EQ(at, places[static_cast<size_t>(k)]);
    }
  }
}

TEST(NonZero, EveryTypeAndRank) {
  std::mt19937_64 rng(rig::seed());
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI8, DType::kU8, DType::kI32,
                           DType::kI64, DType::kBool})
    for (const Dims& dims : {Dims{}, Dims{7}, Dims{3, 5}, Dims{2, 3, 4, 5}, Dims{0, 4}, Dims{40, 5000}}) {
      HostTensor x = HostTensor::allocate(type, dims).value();
      for (int64_t i = 0; i < x.volume(); ++i) x.set_f64(i, static_cast<double>(rng() % 3 == 0));
      check_non_zero(x);
    }
}

TEST(NonZero, SignsAndNumbersThatAreNone) {
  check_non_zero(HostTensor::from<float>(std::vector<float>{0.f, -0.f, NAN, -NAN, 1e-45f, -INFINITY}, {6}));
  check_non_zero(HostTensor::from<int32_t>(std::vector<int32_t>{0, INT32_MIN, 1, -1}, {2, 2}));
}

}  // namespace
}  // namespace wootz::cpu
