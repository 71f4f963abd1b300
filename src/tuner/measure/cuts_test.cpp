#include "tuner/measure/cuts.h"

#include <gtest/gtest.h>

#include "backend/chain_sum.h"
#include "backend/index_literals.h"
#include "base/testing.h"
#include "tuner/measure/random_data.h"
#include "tuner/measure/windows.h"

namespace wootz {
namespace {

TensorDesc desc(const Dims& dims, bool constant) { return {DType::kF32, Layout::kLinear, dims, dims, constant}; }

// By windows of 3 x 3, padded, at steps of 2 across; and by single pixels at steps of 3 and 2; of one channel.
const Dims kX{2, 1, 19, 46}, kS{2, 1, 56, 45}, kW{1, 1, 3, 3}, kU{1, 1, 1, 1}, kY{2, 1, 19, 23};

Problem conv(const Dims& x, const Dims& w, const Ints& strides, int64_t pad) {
  Problem p;
  p.params = ConvParams{.strides = strides, .dilations = {1, 1}, .pads = {pad, pad, pad, pad}};
  p.inputs = {desc(x, false), desc(w, true)};
  p.num_main = 2;
  p.outputs = {desc(kY, false)};
  return p;
}

double at(const HostTensor& t, int64_t n, int64_t y, int64_t x) {
  const Dims& d = t.dims();
  return y < 0 || y >= d[2] || x < 0 || x >= d[3] ? 0 : t.get_f64((n * d[2] + y) * d[3] + x);
}

// Of operands s, u, x, w and e, which is added too.
HostTensor sum_of(const HostTensor& s, const HostTensor& u, const HostTensor& x, const HostTensor& w,
                  const HostTensor& e) {
  HostTensor y = HostTensor::allocate(DType::kF32, {x.dims()[0], 1, x.dims()[2], (x.dims()[3] - 1) / 2 + 1}).value();
  EXPECT_EQ(y.dims()[2], (s.dims()[2] - 1) / 3 + 1);
  EXPECT_EQ(y.dims()[3], (s.dims()[3] - 1) / 2 + 1);
  EXPECT_EQ(y.dims(), e.dims());
  for (int64_t i = 0; i < y.volume(); ++i) {
    const int64_t column = i % y.dims()[3], row = i / y.dims()[3] % y.dims()[2], n = i / y.dims()[3] / y.dims()[2];
    double sum = at(s, n, row * 3, column * 2) * u.get_f64(0) + e.get_f64(i);
    for (int64_t k = 0; k < 9; ++k) sum += at(x, n, row + k / 3 - 1, column * 2 + k % 3 - 1) * w.get_f64(k);
    y.set_f64(i, sum);
  }
  return y;
}

TEST(Cuts, OfConvolutionsThatAreAddedUpFitEachOther) {
  const Problem pixels = conv(kS, kU, {3, 2}, 0), windows = conv(kX, kW, {1, 2}, 1);
  for (const bool ahead : {true, false}) {
    Problem second = ahead ? windows : pixels;
    second.inputs.push_back(desc(kY, false));
    second.inputs.push_back(desc(kY, false));
    const DType type = DType::kF32;
    PointwiseExpr& e = second.epilogue;
    const uint16_t sum = e.push(PwOp::kAdd, type, e.input(0, type), e.input(1, type));
    e.outputs = {e.push(PwOp::kAdd, type, sum, e.input(2, type))};
    e.num_inputs = 3;
    const std::optional<Problem> p = make_sum(ahead ? pixels : windows, second, 1);
    ASSERT_TRUE(p.has_value());
    std::vector<HostTensor> full;
    for (const TensorDesc& t : p->inputs) full.push_back(random_tensor(t.dtype, t.dims, test_seed()).value());
    const size_t s = ahead ? 0 : 2, x = 2 - s;
    size_t cut = 0;
    const auto made = [&](const std::vector<HostTensor>& in) {
      return sum_of(in[s], in[s + 1], in[x], in[x + 1], in[4]);
    };
    const auto reference = [&](StepIndex, const std::vector<HostTensor>& in) -> Result<std::vector<HostTensor>> {
      cut += in[s].volume() < full[s].volume() && in[x].volume() < full[x].volume();
      return std::vector<HostTensor>{made(in)};
    };
    const std::vector<CheckWindow> checks = windows_of(*p, 0_step, full, reference, 1e3);
    ASSERT_EQ(checks.size(), 2u);
    EXPECT_EQ(cut, 2u);
    double error = 0;
    EXPECT_EQ(disagreement(*p, checks, {made(full)}, &error), "");
    HostTensor wrong = made(full);
    wrong.set_f64(wrong.volume() - 1, 1e3);
    EXPECT_NE(disagreement(*p, checks, {wrong}, &error), "");
  }
}

}  // namespace
}  // namespace wootz
