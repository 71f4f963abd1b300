// Products and convolutions of our own against plain loops in double, over extents on both sides of every block size.
#include <array>
#include <cmath>

#include "backends/cpu/dense/blocks.h"
#include "backends/cpu/testing/kernel_runner.h"

namespace wootz::cpu {
namespace {

using rig::desc_of;

HostTensor values(std::mt19937_64& rng, const Dims& dims) { return rig::random_tensor(rng, DType::kF32, dims, -1, 1); }
int64_t pick(std::mt19937_64& rng, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(rng);
}

// Nothing, a residual and bounds that the tile itself finishes, and what goes through the engine.
PointwiseExpr epilogue(int kind) {
  PointwiseExpr e;
  if (kind == 0) return e;
  uint16_t v = e.input(0, DType::kF32);
  if (kind == 1 || kind == 3) v = e.push(PwOp::kAdd, DType::kF32, e.input(1, DType::kF32), v);
  if (kind == 1) v = e.push(PwOp::kRelu, DType::kF32, v);
  if (kind == 2) v = e.push(PwOp::kClip, DType::kF32, v, 0, 0, -20, 30);
  if (kind == 4) v = e.push(PwOp::kSilu, DType::kF32, v, 0, 0, 1);
  e.outputs = {v};
  return e;
}
bool reads_residual(int kind) { return kind == 1 || kind == 3; }

void finish(Problem* p, std::vector<HostTensor>* inputs, const HostTensor& sums, int kind, std::mt19937_64& rng,
            const char* kernel) {
  p->num_main = static_cast<int>(inputs->size());
  p->epilogue = epilogue(kind);
  p->outputs = {rig::desc(DType::kF32, sums.dims())};
  std::vector<HostTensor> operands;
  if (reads_residual(kind)) {
    operands.push_back(values(rng, sums.dims()));
    inputs->push_back(operands[0]);
    p->inputs.push_back(desc_of(operands[0]));
  }
  const HostTensor want =
      kind == 0 ? rig::converted(sums, DType::kF32) : rig::apply_epilogue(p->epilogue, sums, operands);
  rig::Options options;
  options.kernel = kernel;
  options.tolerance = 2e-5;
  rig::check(*p, *inputs, {want}, options);
}

TEST(DenseTest, Products) {
  std::mt19937_64 rng(rig::seed());
  SCOPED_TRACE("seed " + std::to_string(rig::seed()));
  for (int i = 0; i < 40; ++i) {
    // Depths beyond one part, rows beyond one unit, columns that fill no panel.
    const int64_t batch = pick(rng, 1, 3), m = i % 4 == 0 ? pick(rng, 90, 210) : pick(rng, 1, 30);
    const int64_t k = i % 3 == 0 ? pick(rng, 250, 600) : pick(rng, 1, 70),
                  n = i % 5 == 0 ? pick(rng, 200, 300) : pick(rng, 1, 70);
    const bool trans_b = pick(rng, 0, 1) == 1, bias = pick(rng, 0, 1) == 1;
    Problem p;
    p.family = Family::kGemm;
    p.params = {{"trans_a", int64_t{0}}, {"trans_b", int64_t{trans_b}}, {"alpha", 1.0}, {"has_bias", int64_t{bias}}};
    std::vector<HostTensor> in{values(rng, {batch, m, k}), values(rng, trans_b ? Dims{n, k} : Dims{k, n})};
    p.inputs = {desc_of(in[0]), desc_of(in[1], true)};
    if (bias) {
      in.push_back(values(rng, {n}));
      p.inputs.push_back(desc_of(in[2], true));
    }
    HostTensor sums = *HostTensor::allocate(DType::kF64, {batch, m, n});
    for (int64_t r = 0; r < batch * m; ++r)
      for (int64_t c = 0; c < n; ++c) {
        double sum = bias ? in[2].get_f64(c) : 0;
        for (int64_t e = 0; e < k; ++e)
          sum += in[0].get_f64(r * k + e) * in[1].get_f64(trans_b ? c * k + e : e * n + c);
        sums.set_f64(r * n + c, sum);
      }
    finish(&p, &in, sums, i % 5, rng, "gemm_f32_tiled");
    if (HasFatalFailure()) return;
  }
}

TEST(DenseTest, Convolutions) {
  std::mt19937_64 rng(rig::seed() + 1);
  SCOPED_TRACE("seed " + std::to_string(rig::seed()));
  for (int i = 0; i < 60; ++i) {
    const auto spatial = static_cast<size_t>(pick(rng, 1, 3));
    const int64_t batch = pick(rng, 1, 2), depth = i % 6 == 0 ? pick(rng, 257, 300) : pick(rng, 1, 40);
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
    p.family = Family::kConv;
    p.params = {{"strides", strides},
                {"dilations", dilations},
                {"pads", begins},
                {"groups", int64_t{1}},
                {"has_bias", int64_t{bias}}};
    std::vector<HostTensor> tensors{values(rng, x), values(rng, w)};
    p.inputs = {desc_of(tensors[0]), desc_of(tensors[1], true)};
    if (bias) {
      tensors.push_back(values(rng, {channels}));
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
                      sum += tensors[0].get_f64((((n * depth + e) * in[0] + i0) * in[1] + i1) * in[2] + i2) *
                             tensors[1].get_f64((((c * depth + e) * filter[0] + f0) * filter[1] + f1) * filter[2] + f2);
                    }
              sums.set_f64(at++, sum);
            }
    finish(&p, &tensors, sums, i % 5, rng, "conv_f32_tiled");
    if (HasFatalFailure()) return;
  }
}

// Parts and units cover everything once, whatever the extents.
TEST(DenseTest, DividesEverything) {
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
TEST(DenseTest, RefusesWeightsOfAnotherSize) {
  Problem p;
  p.family = Family::kGemm;
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
