// Products and convolutions of our own against plain loops in double, over extents on both sides of every block size.
#include <array>
#include <cmath>

#include "backends/cpu/dense/blocks.h"
#include "backends/cpu/native_provider.h"
#include "backends/cpu/testing/kernel_runner.h"

namespace wootz::cpu {
namespace {

using rig::desc_of;

HostTensor values(std::mt19937_64& rng, const Dims& dims) { return rig::random_tensor(rng, DType::kF32, dims, -1, 1); }
int64_t pick(std::mt19937_64& rng, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(rng);
}

struct Kernels {
  const char *name, *gemm, *conv;
  DType type;  // f32, BF16 or i8
  Needs needs = Needs::kNothing;
  bool weight_zero = true;
  bool quantized() const { return type == DType::kI8; }
};
constexpr Kernels kKernels[] = {
    {"f32", "gemm_f32_tiled", "conv_f32_channels_last_tiled", DType::kF32},
    {"i8", "gemm_i8_pairs", "conv_i8_channels_last_pairs", DType::kI8},
    {"i8_quads", "gemm_i8_quads", "conv_i8_channels_last_quads", DType::kI8, Needs::kNothing, false},
    {"i8_crossed", "gemm_i8_crossed", "conv_i8_channels_last_crossed", DType::kI8, Needs::kNothing, false},
    {"i8_vnni", "gemm_i8_vnni", "conv_i8_channels_last_vnni", DType::kI8, Needs::kVnni, false},
    {"i8_amx", "gemm_i8_amx", "conv_i8_channels_last_amx", DType::kI8, Needs::kAmxInt8, false},
    {"bf16", "gemm_bf16_tiled", "conv_bf16_channels_last_tiled", DType::kBF16},
    {"bf16_amx", "gemm_bf16_amx", "conv_bf16_channels_last_amx", DType::kBF16, Needs::kAmxBf16},
};

// Operands in f32, BF16, or in 8 bits with zero points. Scales and biases of the latter are powers of two and multiples
// of such, so that a quantization after the sums rounds the same number here and there.
class Operands {
 public:
  Operands(std::mt19937_64& rng, const Kernels& k, int64_t columns, Problem* p)
      : rng_(rng), quantized_(k.quantized()), float_type_(k.type) {
    if (!quantized_) return;
    x_type_ = pick(rng, 0, 1) == 0 ? DType::kU8 : DType::kI8;
    x_zero_ = static_cast<double>(x_type_ == DType::kU8 ? pick(rng, 0, 255) : pick(rng, -128, 127));
    w_zero_ = static_cast<double>(k.weight_zero && pick(rng, 0, 2) == 0 ? pick(rng, -128, 127) : 0);
    scale_.resize(static_cast<size_t>(pick(rng, 0, 3) == 0 ? 1 : columns));
    for (double& s : scale_) s = std::ldexp(1.0, static_cast<int>(pick(rng, -9, -6)));
    const auto quantize = [&](auto* params) {
      params->x_scale = {kScale};
      params->x_zero = {x_zero_};
      params->w_scale = scale_;
      if (w_zero_ != 0) params->w_zero = {w_zero_};
    };
    if (p->is(Family::kConv))
      quantize(&p->as<ConvParams>());
    else
      quantize(&p->as<GemmParams>());
  }
  HostTensor x(const Dims& d) { return quantized_ ? rig::random_tensor(rng_, x_type_, d, -128, 255) : floats(d); }
  HostTensor w(const Dims& d) { return quantized_ ? rig::random_tensor(rng_, DType::kI8, d, -128, 127) : floats(d); }
  HostTensor bias(int64_t n) {
    HostTensor b = values(rng_, {n});
    for (int64_t i = 0; quantized_ && i < n; ++i) b.set_f64(i, std::round(b.get_f64(i) * 64) / 64);
    return b;
  }
  double product(double x, double w, int64_t column) const {
    if (!quantized_) return x * w;
    return (x - x_zero_) * (w - w_zero_) * kScale * scale_[scale_.size() > 1 ? static_cast<size_t>(column) : 0];
  }

 private:
  HostTensor floats(const Dims& d) { return rig::converted(values(rng_, d), float_type_); }

  static constexpr double kScale = 1.0 / 64;
  std::mt19937_64& rng_;
  bool quantized_;
  DType float_type_;
  DType x_type_ = DType::kF32;
  double x_zero_ = 0, w_zero_ = 0;
  std::vector<double> scale_;
};

class DenseTest : public testing::TestWithParam<Kernels> {
  void SetUp() override {
    const Needs needs = GetParam().needs;
    if (needs != Needs::kNothing)
      WOOTZ_NEEDS_ISA(check_needs(needs, {.isa = usable_isa(), .amx = amx_allowed()}).ok(),
                      needs == Needs::kVnni ? "avx512_vnni" : "amx");
  }
};

// The type of a residual; kInvalid: there is none.
DType residual_of(int kind) {
  constexpr DType kNo = DType::kInvalid, kF32 = DType::kF32, kI8 = DType::kI8, kU8 = DType::kU8;
  constexpr DType kResiduals[] = {kNo, kF32, kNo, kF32, kNo, kNo, kI8, kU8, kNo, kI8, kNo, kU8, kNo, kU8};
  return kResiduals[kind];
}

// Q and DQ, then what the kinds from 9 on have after them: a residual and another such pair; an activation; a residual
// in float; bounds; and a pair after a residual alone.
uint16_t rounded(PointwiseExpr* e, uint16_t v, DType type, double scale, double zero) {
  const uint16_t step = e->constant(scale, DType::kF32), offset = e->constant(zero, DType::kF32);
  const uint16_t q = e->push(PwOp::kCast, DType::kF32, e->push(PwOp::kQuantize, type, v, step, offset));
  return e->push(PwOp::kMul, DType::kF32, e->push(PwOp::kSub, DType::kF32, q, offset), step);
}
uint16_t with_roundings(PointwiseExpr* e, int kind, uint16_t v) {
  const auto number = [&](double x) { return e->constant(x, DType::kF32); };
  if (kind != 13)
    v = rounded(e, v, kind == 11 ? DType::kI8 : DType::kU8, kind == 10 ? 0.0625 : 0.5, kind == 11 ? -3 : 120);
  if (residual_of(kind) != DType::kInvalid) {
    const uint16_t read = e->push(PwOp::kCast, DType::kF32, e->input(1, residual_of(kind)));
    v = e->push(PwOp::kAdd, DType::kF32, v, e->push(PwOp::kMul, DType::kF32, read, number(0.25)));
  }
  if (kind == 11) return e->push(PwOp::kRelu, DType::kF32, v);
  if (kind == 9 || kind == 13) v = rounded(e, v, DType::kU8, 1, 128);
  if (kind == 9 || kind == 12) v = e->push(PwOp::kRelu, DType::kF32, v);
  if (kind == 10) v = e->push(PwOp::kGeluErf, DType::kF32, v);
  return e->push(PwOp::kQuantize, kind == 10 ? DType::kI8 : DType::kU8, v, number(0.5), number(kind == 9 ? 0 : 5));
}

// Nothing, a residual and bounds that the tile itself finishes, and what goes through the engine; kinds from 5 on give
// bytes: of a residual in bytes, of the result's own type or not, and of an activation; but for one of those with
// roundings between.
constexpr int kFloatKinds = 5, kRoundings = 9, kKinds = 14;
PointwiseExpr epilogue(int kind, bool quantized) {
  PointwiseExpr e;
  if (kind == 0) return e;
  uint16_t v = e.input(0, DType::kF32);
  const auto number = [&](double x) { return e.constant(x, DType::kF32); };
  if (kind >= kRoundings) v = with_roundings(&e, kind, v);
  if (kind == 6 || kind == 7) {
    const uint16_t read = e.push(PwOp::kCast, DType::kF32, e.input(1, residual_of(kind)));
    const uint16_t moved = e.push(PwOp::kSub, DType::kF32, read, number(kind == 6 ? -3 : 100));
    v = e.push(PwOp::kAdd, DType::kF32, v, e.push(PwOp::kMul, DType::kF32, moved, number(0.25)));
  }
  if (kind == 6) v = e.push(PwOp::kRelu, DType::kF32, v);
  if (kind == 6 || kind == 7) v = e.push(PwOp::kQuantize, DType::kU8, v, number(0.5), number(kind == 6 ? 0 : 7));
  if (kind == 8) v = e.push(PwOp::kGeluErf, DType::kF32, v);
  if (kind == 8) v = e.push(PwOp::kQuantize, DType::kI8, v, number(0.25), number(-5));
  if (kind == 1 || kind == 3) v = e.push(PwOp::kAdd, DType::kF32, e.input(1, DType::kF32), v);
  if (kind == 1) v = e.push(PwOp::kRelu, DType::kF32, v);
  if (kind == 2) v = e.push(PwOp::kClip, DType::kF32, v, 0, 0, -20, 30);
  const double slope = quantized ? 1.0 / 1024 : 1;  // sums of bytes are large
  if (kind == 4) v = e.push(PwOp::kSilu, DType::kF32, v, 0, 0, slope);
  if (kind == 5) v = e.push(PwOp::kQuantize, DType::kU8, v, e.constant(0.5, DType::kF32), e.constant(9, DType::kF32));
  e.outputs = {v};
  return e;
}
void finish(Problem* p, std::vector<HostTensor>* inputs, const HostTensor& sums, int kind, std::mt19937_64& rng,
            const Kernels& kernels, const char* kernel) {
  p->num_main = static_cast<int>(inputs->size());
  p->epilogue = epilogue(kind, kernels.quantized());
  p->outputs = {rig::desc(kind == 0 ? DType::kF32 : p->epilogue.output_type(), sums.dims())};
  std::vector<HostTensor> operands;
  if (const DType type = residual_of(kind); type != DType::kInvalid) {
    operands.push_back(type == DType::kF32 ? values(rng, sums.dims())
                                           : rig::random_tensor(rng, type, sums.dims(), -128, 255));
    inputs->push_back(operands[0]);
    p->inputs.push_back(desc_of(operands[0]));
  }
  const HostTensor want =
      kind == 0 ? rig::converted(sums, DType::kF32) : rig::apply_epilogue(p->epilogue, sums, operands);
  rig::Options options;
  options.kernel = kernel;
  options.tolerance = kind >= kFloatKinds ? 0 : 2e-5;
  // Activations of BF16 kernels are right to 2^-12; what lies next to a border between two bytes may become either.
  if (kind == 4 && kernels.type == DType::kBF16) options.tolerance = 5e-4;
  if (kind == 8 || kind == 10) {
    double largest = 1;
    for (int64_t i = 0; i < want.volume(); ++i) largest = std::max(largest, std::fabs(want.get_f64(i)));
    options.tolerance = 1.001 / largest;
  }
  rig::check(*p, *inputs, {want}, options);
}

TEST_P(DenseTest, Products) {
  std::mt19937_64 rng(rig::seed());
  SCOPED_TRACE("seed " + std::to_string(rig::seed()));
  for (int i = 0; i < 40; ++i) {
    // Depths beyond one part, rows beyond one unit, columns that fill no panel.
    const int64_t batch = pick(rng, 1, 3), m = i % 4 == 0 ? pick(rng, 90, 210) : pick(rng, 1, 30);
    const int64_t k = i % 3 == 0   ? pick(rng, 250, 600)
                      : i % 3 == 1 ? pick(rng, 1, 4) * 64
                                   : pick(rng, 1, 70),
                  n = i % 5 == 0 ? pick(rng, 200, 300) : pick(rng, 1, 70);
    const bool trans_b = pick(rng, 0, 1) == 1, bias = pick(rng, 0, 1) == 1;
    Problem p;
    p.set_family(Family::kGemm);
    p.params = GemmParams{.trans_a = false, .trans_b = trans_b, .alpha = 1.0, .has_bias = bias};
    Operands of(rng, GetParam(), n, &p);
    std::vector<HostTensor> in{of.x({batch, m, k}), of.w(trans_b ? Dims{n, k} : Dims{k, n})};
    p.inputs = {desc_of(in[0]), desc_of(in[1], true)};
    if (bias) {
      in.push_back(of.bias(n));
      p.inputs.push_back(desc_of(in[2], true));
    }
    HostTensor sums = *HostTensor::allocate(DType::kF64, {batch, m, n});
    for (int64_t r = 0; r < batch * m; ++r)
      for (int64_t c = 0; c < n; ++c) {
        double sum = bias ? in[2].get_f64(c) : 0;
        for (int64_t e = 0; e < k; ++e)
          sum += of.product(in[0].get_f64(r * k + e), in[1].get_f64(trans_b ? c * k + e : e * n + c), c);
        sums.set_f64(r * n + c, sum);
      }
    finish(&p, &in, sums, i % (GetParam().quantized() ? kKinds : kFloatKinds), rng, GetParam(), GetParam().gemm);
    if (HasFatalFailure()) return;
  }
}

TEST_P(DenseTest, Convolutions) {
  std::mt19937_64 rng(rig::seed() + 1);
  SCOPED_TRACE("seed " + std::to_string(rig::seed()));
  for (int i = 0; i < 60; ++i) {
    const auto spatial = static_cast<size_t>(pick(rng, 1, 3));
    const int64_t batch = pick(rng, 1, 2), depth = i % 6 == 0   ? pick(rng, 257, 300)
                                                   : i % 6 == 1 ? 64
                                                                : pick(rng, 1, 40);
    const int64_t channels = pick(rng, 1, 50);
    std::array<int64_t, 3> in{1, 1, 1}, filter{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1}, begin{0, 0, 0},
        end{0, 0, 0}, out{1, 1, 1};
    Dims x{batch, depth}, w{channels, depth}, y{batch, channels};
    std::vector<int64_t> strides, dilations, begins, ends;
    for (size_t a = 3 - spatial; a < 3; ++a) {
      filter[a] = pick(rng, 1, 3);
      stride[a] = pick(rng, 1, 2);
      dilation[a] = pick(rng, 1, 2);
      begin[a] = pick(rng, 0, 3);
      end[a] = pick(rng, 0, 3);
      in[a] = pick(rng, (filter[a] - 1) * dilation[a] + 1, spatial == 3 ? 7 : 12);
      out[a] = (in[a] + begin[a] + end[a] - (filter[a] - 1) * dilation[a] - 1) / stride[a] + 1;
      x.push_back(in[a]);
      w.push_back(filter[a]);
      y.push_back(out[a]);
      strides.push_back(stride[a]);
      dilations.push_back(dilation[a]);
      begins.push_back(begin[a]);
      ends.push_back(end[a]);
    }
    begins.insert(begins.end(), ends.begin(), ends.end());
    const bool bias = pick(rng, 0, 1) == 1;
    Problem p;
    p.set_family(Family::kConv);
    p.params = ConvParams{.strides = strides, .dilations = dilations, .pads = begins, .groups = 1, .has_bias = bias};
    Operands of(rng, GetParam(), channels, &p);
    std::vector<HostTensor> tensors{of.x(x), of.w(w)};
    p.inputs = {desc_of(tensors[0]), desc_of(tensors[1], true)};
    if (bias) {
      tensors.push_back(of.bias(channels));
      p.inputs.push_back(desc_of(tensors[2], true));
    }
    HostTensor sums = *HostTensor::allocate(DType::kF64, y);
    int64_t at = 0;
    for (int64_t n = 0; n < batch; ++n)
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t o0 = 0; o0 < out[0]; ++o0)
          for (int64_t o1 = 0; o1 < out[1]; ++o1)
            for (int64_t o2 = 0; o2 < out[2]; ++o2) {
              double sum = bias ? tensors[2].get_f64(c) : 0;
              for (int64_t e = 0; e < depth; ++e)
                for (int64_t f0 = 0; f0 < filter[0]; ++f0)
                  for (int64_t f1 = 0; f1 < filter[1]; ++f1)
                    for (int64_t f2 = 0; f2 < filter[2]; ++f2) {
                      const int64_t i0 = o0 * stride[0] - begin[0] + f0 * dilation[0];
                      const int64_t i1 = o1 * stride[1] - begin[1] + f1 * dilation[1];
                      const int64_t i2 = o2 * stride[2] - begin[2] + f2 * dilation[2];
                      if (i0 < 0 || i0 >= in[0] || i1 < 0 || i1 >= in[1] || i2 < 0 || i2 >= in[2]) continue;
                      const int64_t from = (((n * depth + e) * in[0] + i0) * in[1] + i1) * in[2] + i2;
                      const int64_t by = (((c * depth + e) * filter[0] + f0) * filter[1] + f1) * filter[2] + f2;
                      sum += of.product(tensors[0].get_f64(from), tensors[1].get_f64(by), c);
                    }
              sums.set_f64(at++, sum);
            }
    finish(&p, &tensors, sums, i % (GetParam().quantized() ? kKinds : kFloatKinds), rng, GetParam(), GetParam().conv);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, DenseTest, testing::ValuesIn(kKernels),
                         [](const auto& which) { return which.param.name; });

// Sums that an int32 might not hold, zero points outside the type.
TEST(DenseInt8Test, Refuses) {
  const auto offers = [](int64_t depth, double zero) {
    Problem p;
    p.set_family(Family::kGemm);
    p.inputs = {rig::desc(DType::kU8, {4, depth}), rig::desc(DType::kI8, {depth, 5}, true)};
    p.outputs = {rig::desc(DType::kF32, {4, 5})};
    p.num_main = 2;
    p.params = GemmParams{.x_scale = {0.5}, .x_zero = {zero}};
    return gemm_i8_pairs.applies(p).ok();
  };
  EXPECT_TRUE(offers(30000, 255));
  EXPECT_FALSE(offers(40000, 255));
  EXPECT_FALSE(offers(30, 256));
  EXPECT_FALSE(offers(30, 1.5));
}

// Parts and units cover everything once, whatever the extents.
TEST(DenseBlocksTest, DividesEverything) {
  std::mt19937_64 rng(rig::seed() + 2);
  SCOPED_TRACE("seed " + std::to_string(rig::seed()));
  for (int i = 0; i < 500; ++i) {
    const DenseShape s{pick(rng, 1, 5000), pick(rng, 1, 3000), pick(rng, 1, 50), pick(rng, 1, 2000)};
    const DenseOps& ops = dense_ops(Isa::kAvx2);
    const DenseBlocks b = divide(s, ops, static_cast<int>(pick(rng, 1, 9)));
    int64_t next = 0;
    for (const DenseBlocks::Part& part : b.parts) {
      EXPECT_EQ(part.offset, next);
      EXPECT_EQ(part.offset, part.tap * s.depth + part.first);
      EXPECT_TRUE(part.taps == 1 || (part.first == 0 && part.length == s.depth));
      next += part.taps * part.length;
    }
    EXPECT_EQ(next, s.taps * s.depth);
    EXPECT_EQ(b.unit_columns % ops.panel, 0);
    EXPECT_GE(b.row_units * b.unit_rows, s.rows);
    EXPECT_LT((b.row_units - 1) * b.unit_rows, s.rows);
    EXPECT_GE(b.column_units * b.unit_columns, s.columns);
    EXPECT_LT((b.column_units - 1) * b.unit_columns, s.columns);
  }
}

// Packed weights of another size than these kernels read, as a plan file may hold them.
TEST(DenseBlocksTest, RefusesWeightsOfAnotherSize) {
  Problem p;
  p.set_family(Family::kGemm);
  p.inputs = {rig::desc(DType::kF32, {4, 8}), rig::desc(DType::kF32, {8, 5}, true)};
  p.outputs = {rig::desc(DType::kF32, {4, 5})};
  p.num_main = 2;
  const Result<std::unique_ptr<Kernel>> kernel = gemm_f32_tiled.create(p, {Isa::kAvx2, 1});
  ASSERT_TRUE(kernel.ok());
  const std::array<Dims, 2> in{Dims{4, 8}, Dims{8, 5}};
  const std::array<Dims, 1> out{Dims{4, 5}};
  const std::array<const void*, 2> constants{};
  const std::array<size_t, 2> wrong{0, 8 * 5 * 4}, right{0, 8 * 16 * 4};
  EXPECT_FALSE((*kernel)->bind({in, out, constants, wrong}).ok());
  EXPECT_TRUE((*kernel)->bind({in, out, constants, right}).ok());
}

}  // namespace
}  // namespace wootz::cpu
