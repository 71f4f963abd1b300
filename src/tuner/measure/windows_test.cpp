#include "tuner/measure/windows.h"

#include <gtest/gtest.h>

#include <random>

#include "backend/chain.h"
#include "backend/index_literals.h"
#include "backend/siblings.h"
#include "base/testing.h"
#include "tuner/measure/measure_testing.h"
#include "tuner/measure/random_data.h"

namespace wootz {
namespace {

using namespace measure_testing;  // NOLINT: what this file is about

struct Conv {
  int64_t strides[2], dilations[2], pads[4], groups;
};

int64_t extent(const Conv& c, size_t a, int64_t in, int64_t kernel) {
  return (in + c.pads[a] + c.pads[a + 2] - (kernel - 1) * c.dilations[a] - 1) / c.strides[a] + 1;
}

// y = conv(x, w) + addend, which broadcasts over channels; loops and nothing else.
HostTensor convolve(const Conv& c, const std::vector<HostTensor>& in) {
  const Dims &x = in[0].dims(), &w = in[1].dims();
  const Dims dims{x[0], w[0], extent(c, 0, x[2], w[2]), extent(c, 1, x[3], w[3])};
  HostTensor y = HostTensor::allocate(DType::kF32, dims).value();
  int64_t at = 0;
  for (int64_t n = 0; n < dims[0]; ++n)
    for (int64_t m = 0; m < dims[1]; ++m)
      for (int64_t h = 0; h < dims[2]; ++h)
        for (int64_t v = 0; v < dims[3]; ++v, ++at) {
          double sum = in[2].get_f64(in[2].volume() == 1 ? 0 : (n * dims[2] + h) * dims[3] + v);
          for (int64_t k = 0; k < w[1]; ++k)
            for (int64_t i = 0; i < w[2]; ++i)
              for (int64_t j = 0; j < w[3]; ++j) {
                const int64_t row = h * c.strides[0] - c.pads[0] + i * c.dilations[0];
                const int64_t column = v * c.strides[1] - c.pads[1] + j * c.dilations[1];
                if (row < 0 || row >= x[2] || column < 0 || column >= x[3]) continue;
                const int64_t channel = m / (w[0] / c.groups) * w[1] + k;
                sum += in[0].get_f64(((n * x[1] + channel) * x[2] + row) * x[3] + column) *
                       in[1].get_f64(((m * w[1] + k) * w[2] + i) * w[3] + j);
              }
          y.set_f64(at, sum);
        }
  return y;
}

TensorDesc described(const Dims& dims, bool constant) {
  TensorDesc t;
  t.dtype = DType::kF32;
  t.dims = t.max_dims = dims;
  t.constant = constant;
  return t;
}

void expect_parts(const std::vector<CheckWindow>& windows, const HostTensor& whole) {
  for (const CheckWindow& window : windows) {
    const HostTensor& expected = window.part.expected[0];
    const Result<HostTensor> part = part_of(whole, window.at, expected.dims());
    ASSERT_TRUE(part.ok());
    for (int64_t i = 0; i < expected.volume(); ++i)
      ASSERT_NEAR(part->get_f64(i), expected.get_f64(i), 1e-4) << window.at.to_string() << " element " << i;
  }
}

TEST(Windows, AreWhatAConvolutionMakesThere) {
  std::mt19937_64 rng(test_seed());
  const auto any = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(rng() % static_cast<uint64_t>(high - low + 1));
  };
  size_t cut = 0;
  for (int round = 0; round < 60; ++round) {
    Conv c{};
    for (int64_t& s : c.strides) s = any(1, 3);
    for (int64_t& d : c.dilations) d = any(1, 2);
    for (int64_t& p : c.pads) p = any(0, 3);
    c.groups = any(1, 2);
    const Dims w{c.groups * any(1, 2), any(1, 3), any(1, 4), any(1, 4)};
    const Dims x{any(1, 3), w[1] * c.groups, any(8, 40), any(8, 40)};
    const Dims y{x[0], w[0], extent(c, 0, x[2], w[2]), extent(c, 1, x[3], w[3])};
    Problem p;
    p.set_family(Family::kConv);
    auto& params = p.as<ConvParams>();
    params.strides = {c.strides[0], c.strides[1]};
    params.dilations = {c.dilations[0], c.dilations[1]};
    params.pads = {c.pads[0], c.pads[1], c.pads[2], c.pads[3]};
    params.groups = c.groups;
    p.num_main = 2;
    const Dims addend = any(0, 1) == 0 ? Dims{1} : Dims{x[0], 1, y[2], y[3]};
    p.inputs = {described(x, false), described(w, true), described(addend, false)};
    p.outputs = {described(y, false)};
    std::vector<HostTensor> full;
    for (const TensorDesc& t : p.inputs) full.push_back(random_tensor(t.dtype, t.dims, rng()).value());
    const HostTensor whole = convolve(c, full);
    const auto reference = [&](StepIndex, const std::vector<HostTensor>& in) -> Result<std::vector<HostTensor>> {
      cut += in[0].volume() < full[0].volume();
      return std::vector<HostTensor>{convolve(c, in)};
    };
    const double work = static_cast<double>(y.volume() * w[1] * w[2] * w[3]) / static_cast<double>(any(1, 200));
    const std::vector<CheckWindow> windows = windows_of(p, 0_step, full, reference, work);
    ASSERT_FALSE(windows.empty()) << p.key();
    expect_parts(windows, whole);
    double error = 0;
    EXPECT_EQ(disagreement(p, windows, {whole}, &error), "");
    HostTensor wrong = convolve(c, full);
    wrong.set_f64(wrong.volume() - 1, 1e3);
    EXPECT_NE(disagreement(p, windows, {wrong}, &error), "");
  }
  EXPECT_GT(cut, 20u);
}

// Elements of 4 bits, where a part is whole bytes.
TEST(Windows, HavePartsOfFewBits) {
  const HostTensor whole = random_tensor(DType::kI4, Dims{5, 12}, test_seed()).value();
  const Result<HostTensor> part = part_of(whole, Dims{1, 4}, Dims{3, 6});
  ASSERT_TRUE(part.ok()) << part.status().to_string();
  for (int64_t r = 0; r < 3; ++r)
    for (int64_t c = 0; c < 6; ++c) EXPECT_EQ(part->get_f64(r * 6 + c), whole.get_f64((r + 1) * 12 + c + 4));
  EXPECT_FALSE(part_of(whole, Dims{1, 3}, Dims{3, 6}).ok());
  EXPECT_FALSE(part_of(whole, Dims{1, 4}, Dims{3, 5}).ok());
}

// Of siblings, all results at once.
TEST(Windows, AreWhatSiblingsMakeThere) {
  const Conv c{{2, 1}, {1, 1}, {1, 0, 1, 2}, 1};
  const Dims x{2, 3, 40, 17}, w{6, 3, 3, 3};
  std::vector<Problem> each(2);
  std::vector<Dims> results;
  for (size_t i = 0; i < 2; ++i) {
    const Dims own{i == 0 ? 2 : 4, 3, 3, 3};
    results.push_back({2, own[0], extent(c, 0, 40, 3), extent(c, 1, 17, 3)});
    each[i].params = ConvParams{.strides = {2, 1}, .dilations = {1, 1}, .pads = {1, 0, 1, 2}};
    each[i].num_main = 2;
    each[i].inputs = {described(x, false), described(own, true)};
    each[i].outputs = {described(results[i], false)};
  }
  const std::optional<Problem> p = make_siblings(each);
  ASSERT_TRUE(p.has_value());
  ASSERT_EQ(p->inputs[1].dims, w);
  std::vector<HostTensor> full{random_tensor(DType::kF32, x, test_seed()).value(),
                               random_tensor(DType::kF32, w, test_seed() + 1).value()};
  size_t cut = 0;
  const auto made = [&](const std::vector<HostTensor>& in) {
    HostTensor none = HostTensor::allocate(DType::kF32, Dims{1}).value();
    none.set_f64(0, 0);
    const HostTensor all = convolve(c, {in[0], in[1], none});
    std::vector<HostTensor> parts;
    for (size_t i = 0; i < 2; ++i) {
      Dims at = Dims::filled(4, 0), extents = all.dims();
      at[1] = i == 0 ? 0 : results[0][1];
      extents[1] = results[i][1];
      parts.push_back(part_of(all, at, extents).value());
    }
    return parts;
  };
  const auto reference = [&](StepIndex, const std::vector<HostTensor>& in) -> Result<std::vector<HostTensor>> {
    cut += in[0].volume() < full[0].volume();
    return made(in);
  };
  const std::vector<CheckWindow> windows = windows_of(*p, 0_step, full, reference, 1e4);
  ASSERT_EQ(windows.size(), 2u);
  EXPECT_EQ(cut, 2u);
  std::vector<HostTensor> whole = made(full);
  double error = 0;
  EXPECT_EQ(disagreement(*p, windows, whole, &error), "");
  whole[1].set_f64(whole[1].volume() - 1, 1e3);
  EXPECT_NE(disagreement(*p, windows, whole, &error), "");
  EXPECT_NE(disagreement(*p, windows, {whole[0]}, &error), "");
}

// A gate's multiplication in front of it: both are cut.
TEST(Windows, AreWhatAConvolutionOfAnExpressionMakesThere) {
  const Conv c{{2, 1}, {1, 1}, {1, 0, 1, 2}, 1};
  const Dims x{2, 3, 40, 17}, gate{2, 3, 1, 1}, w{4, 3, 3, 3}, y{2, 4, extent(c, 0, 40, 3), extent(c, 1, 17, 3)};
  Problem first, second;
  first.set_family(Family::kPointwise);
  PointwiseExpr& e = first.epilogue;
  const uint16_t by = e.input(0, DType::kF32);
  e.outputs = {e.push(PwOp::kMul, DType::kF32, by, e.input(1, DType::kF32))};
  first.inputs = {described(gate, false), described(x, false)};
  first.outputs = {described(x, false)};
  second.params = ConvParams{.strides = {2, 1}, .dilations = {1, 1}, .pads = {1, 0, 1, 2}};
  second.num_main = 2;
  second.inputs = {described(x, false), described(w, true), described(Dims{1}, false)};
  second.outputs = {described(y, false)};
  const Problem p = make_chain(first, second);
  std::vector<HostTensor> full;
  for (const TensorDesc& t : p.inputs) full.push_back(random_tensor(t.dtype, t.dims, test_seed()).value());
  size_t cut = 0;
  const auto made = [&](const std::vector<HostTensor>& in) {
    HostTensor middle = HostTensor::allocate(DType::kF32, in[1].dims()).value();
    const int64_t pixels = in[1].dims()[2] * in[1].dims()[3];
    for (int64_t i = 0; i < middle.volume(); ++i) middle.set_f64(i, in[0].get_f64(i / pixels) * in[1].get_f64(i));
    return convolve(c, {middle, in[2], in[3]});
  };
  const HostTensor whole = made(full);
  const auto reference = [&](StepIndex, const std::vector<HostTensor>& in) -> Result<std::vector<HostTensor>> {
    cut += in[1].volume() < full[1].volume();
    return std::vector<HostTensor>{made(in)};
  };
  const std::vector<CheckWindow> windows = windows_of(p, 0_step, full, reference, 1e4);
  ASSERT_EQ(windows.size(), 2u);
  EXPECT_EQ(cut, 2u);
  expect_parts(windows, whole);
}

// Of a concatenation of channels: each part is.
TEST(Windows, AreWhatAConvolutionOfAConcatenationMakesThere) {
  const Conv c{{1, 1}, {1, 1}, {0, 0, 0, 0}, 1};
  const Dims a{1, 2, 40, 17}, b{1, 3, 40, 17}, x{1, 5, 40, 17}, w{4, 5, 1, 1}, y{1, 4, 40, 17};
  Problem first, second;
  first.params = MoveParams{.kind = MoveKind::kConcat, .axis = 1};
  first.num_main = 2;
  first.inputs = {described(a, false), described(b, false)};
  first.outputs = {described(x, false)};
  second.params = ConvParams{.strides = {1, 1}, .dilations = {1, 1}, .pads = {0, 0, 0, 0}};
  second.num_main = 2;
  second.inputs = {described(x, false), described(w, true), described(Dims{1}, false)};
  second.outputs = {described(y, false)};
  const Problem p = make_chain(first, second);
  std::vector<HostTensor> full;
  for (const TensorDesc& t : p.inputs) full.push_back(random_tensor(t.dtype, t.dims, test_seed()).value());
  const auto made = [&](const std::vector<HostTensor>& in) {
    const Dims& part = in[0].dims();
    HostTensor joined = HostTensor::allocate(DType::kF32, {1, 5, part[2], part[3]}).value();
    for (int64_t i = 0; i < joined.volume(); ++i)
      joined.set_f64(i, i < in[0].volume() ? in[0].get_f64(i) : in[1].get_f64(i - in[0].volume()));
    return convolve(c, {joined, in[2], in[3]});
  };
  const auto reference = [&](StepIndex, const std::vector<HostTensor>& in) -> Result<std::vector<HostTensor>> {
    EXPECT_LT(in[0].volume(), full[0].volume());
    return std::vector<HostTensor>{made(in)};
  };
  const std::vector<CheckWindow> windows = windows_of(p, 0_step, full, reference, 1e3);
  ASSERT_EQ(windows.size(), 2u);
  expect_parts(windows, made(full));
}

// y = a b + c, of matrices of a batch that the second may share.
HostTensor multiply(bool trans_a, const std::vector<HostTensor>& in) {
  const Dims &a = in[0].dims(), &b = in[1].dims();
  const size_t rank = a.size();
  const int64_t rows = a[rank - (trans_a ? 1 : 2)], depth = a[rank - (trans_a ? 2 : 1)], columns = b.back();
  Dims dims = a;
  dims[rank - 2] = rows, dims[rank - 1] = columns;
  HostTensor y = HostTensor::allocate(DType::kF32, dims).value();
  for (int64_t i = 0; i < y.volume(); ++i) {
    const int64_t column = i % columns, row = i / columns % rows, batch = i / columns / rows;
    double sum = in[2].get_f64(in[2].dims()[0] == 1 ? column : row * columns + column);
    for (int64_t k = 0; k < depth; ++k)
      sum += in[0].get_f64(batch * rows * depth + (trans_a ? k * rows + row : row * depth + k)) *
             in[1].get_f64((b.size() > 2 ? batch * depth * columns : 0) + k * columns + column);
    y.set_f64(i, sum);
  }
  return y;
}

TEST(Windows, AreWhatAProductMakesThere) {
  for (int form = 0; form < 8; ++form) {
    const bool trans_a = form & 1, shared = form & 2, rows = form & 4;
    const int64_t m = 100, k = 7, n = 5, batch = 3;
    Problem p;
    p.set_family(Family::kGemm);
    p.as<GemmParams>().trans_a = trans_a;
    p.as<GemmParams>().has_bias = true;
    p.num_main = 3;
    p.inputs = {described(trans_a ? Dims{batch, k, m} : Dims{batch, m, k}, false),
                described(shared ? Dims{k, n} : Dims{batch, k, n}, true), described(Dims{rows ? m : 1, n}, true)};
    p.outputs = {described(Dims{batch, m, n}, false)};
    std::vector<HostTensor> full;
    for (const TensorDesc& t : p.inputs) full.push_back(random_tensor(t.dtype, t.dims, test_seed()).value());
    size_t largest = 0;
    const auto reference = [&](StepIndex, const std::vector<HostTensor>& in) -> Result<std::vector<HostTensor>> {
      largest = std::max(largest, static_cast<size_t>(in[0].volume()));
      return std::vector<HostTensor>{multiply(trans_a, in)};
    };
    const std::vector<CheckWindow> windows = windows_of(p, 0_step, full, reference, 700);
    ASSERT_EQ(windows.size(), 2u);
    EXPECT_LE(largest, static_cast<size_t>(k * 8));
    expect_parts(windows, multiply(trans_a, full));
  }
}

// x less its mean over the last axes, as many as the weights have.
HostTensor centred(const std::vector<HostTensor>& in) {
  HostTensor y = HostTensor::allocate(DType::kF32, in[0].dims()).value();
  const int64_t row = in[1].volume();
  for (int64_t first = 0; first < y.volume(); first += row) {
    double sum = 0;
    for (int64_t i = 0; i < row; ++i) sum += in[0].get_f64(first + i);
    for (int64_t i = 0; i < row; ++i)
      y.set_f64(first + i, (in[0].get_f64(first + i) - sum / static_cast<double>(row)) * in[1].get_f64(i));
  }
  return y;
}

// Of rows that are normalized and multiplied: the rows of both results.
TEST(Windows, AreRowsOfANormAndItsProduct) {
  const Dims x{2, 30, 5}, y{2, 30, 4};
  Problem first, second;
  first.params = NormParams{.axis = 2, .has_scale = true};
  first.inputs = {described(x, false), described({5}, true)};
  first.num_main = 2;
  first.outputs = {described(x, false)};
  second.params = GemmParams{.has_bias = true};
  second.inputs = {described(x, false), described({5, 4}, true), described({1, 4}, true)};
  second.num_main = 3;
  second.outputs = {described(y, false)};
  first.acc_dtype = second.acc_dtype = DType::kF32;
  Problem p = make_chain(first, second);
  p.outputs.push_back(first.outputs[0]);
  std::vector<HostTensor> full;
  for (const TensorDesc& t : p.inputs) full.push_back(random_tensor(t.dtype, t.dims, test_seed()).value());
  const auto made = [](const std::vector<HostTensor>& in) {
    const HostTensor middle = centred({in[0], in[1]});
    return std::vector<HostTensor>{multiply(false, {middle, in[2], in[3]}), middle};
  };
  const auto reference = [&](StepIndex, const std::vector<HostTensor>& in) -> Result<std::vector<HostTensor>> {
    EXPECT_LT(in[0].volume(), full[0].volume());
    return made(in);
  };
  const std::vector<CheckWindow> windows = windows_of(p, 0_step, full, reference, 400);
  ASSERT_EQ(windows.size(), 2u);
  const std::vector<HostTensor> whole = made(full);
  expect_parts(windows, whole[0]);
  double error = 0;
  EXPECT_EQ(disagreement(p, windows, whole, &error), "");
  std::vector<HostTensor> wrong = whole;
  wrong[1] = HostTensor::allocate(DType::kF32, x).value();
  EXPECT_NE(disagreement(p, windows, wrong, &error), "");
  EXPECT_NE(disagreement(p, windows, {whole[0]}, &error), "");
}

TEST(Windows, AreRowsOfANorm) {
  for (const int64_t axis : {1, 2, 3}) {
    Problem p;
    p.set_family(Family::kNorm);
    p.params = NormParams{.axis = axis, .has_scale = true};
    p.num_main = 2;
    const Dims x{3, 90, 4, 5};
    p.inputs = {described(x, false), described(Dims(x.span().subspan(static_cast<size_t>(axis))), true)};
    p.outputs = {described(x, false)};
    std::vector<HostTensor> full;
    for (const TensorDesc& t : p.inputs) full.push_back(random_tensor(t.dtype, t.dims, test_seed()).value());
    const auto reference = [&](StepIndex, const std::vector<HostTensor>& in) -> Result<std::vector<HostTensor>> {
      return std::vector<HostTensor>{centred(in)};
    };
    const std::vector<CheckWindow> windows = windows_of(p, 0_step, full, reference, 2000);
    ASSERT_EQ(windows.size(), 2u);
    EXPECT_LT(windows[0].part.inputs[0].volume(), x.volume());
    expect_parts(windows, centred(full));
  }
}

// Kernels that are compiled for their extents are bound to those of the problem, and to no others.
TEST(Windows, SpareACompiledKernelTheSmallCase) {
  Fixture f({{"wrong", 10, Behavior::kWrongOnWhole},
             {"fixed", 60, Behavior::kWrongWhenSmall},
             {"unbound", 70, Behavior::kOnlyWhole},
             {"nan", 5, Behavior::kNan}});
  f.problem.set_family(Family::kGemm);
  f.options.against_rivals = true;
  const std::vector<EvaluatedCandidate> c = f.measure();
  ASSERT_EQ(c.size(), 4u);
  EXPECT_NE(c[0].refusal.find("element 3"), std::string::npos) << c[0].refusal;
  EXPECT_NE(c[3].refusal.find("NaN"), std::string::npos) << c[3].refusal;
  for (const size_t right : {1, 2}) {
    EXPECT_EQ(c[right].refusal, "");
    EXPECT_TRUE(c[right].measured);
    EXPECT_GE(c[right].error, 0);
  }
  EXPECT_EQ(f.stats.unchecked, 0u);
}

TEST(Windows, ProveAChoiceWithoutTheSmallCase) {
  for (const auto kind : {Behavior::kOnlyWhole, Behavior::kWrongOnWhole}) {
    Fixture f({{"only", 10, kind}});
    f.problem.set_family(Family::kGemm);
    f.options.against_rivals = true;
    Measurer measurer(f.options);
    std::vector<Candidate> offers;
    f.provider.tactics(f.problem, f.options.limits, &offers, nullptr);
    EvaluatedCandidate candidate;
    candidate.candidate = offers[0];
    ASSERT_TRUE(measurer.prove(f.problem, 0_step, &candidate).ok());
    EXPECT_EQ(candidate.refusal.empty(), kind == Behavior::kOnlyWhole) << candidate.refusal;
    EXPECT_GE(candidate.error, 0);
    EXPECT_EQ(measurer.stats().proved, 1u);
  }
}

}  // namespace
}  // namespace wootz
