// Rows that are multiplied as planes of digits (kernels/gemm/row_planes.cuh): what they may be.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "backend/chain.h"
#include "backends/registry.h"
#include "base/testing.h"
#include "conformance/run_graph_on.h"
#include "kernels/lines.h"
#include "kernels/run.h"

namespace wootz::kernels {
namespace {

constexpr int64_t kRows = 2, kDepth = 2048, kColumns = 40, kBlock = 128, kSame = 256;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();

TensorDesc desc(DType type, const Dims& dims, bool constant = false) {
  return {type, Layout::kLinear, dims, dims, constant};
}

Problem product_of(DType type, DType weights) {
  Problem p;
  p.params = GemmParams{.w_block = kBlock};
  p.inputs = {desc(type, {kRows, kDepth}), desc(weights, {kDepth, kColumns}, true),
              desc(DType::kF32, {kDepth / kBlock, kColumns}, true)};
  p.outputs = {desc(type, {kRows, kColumns})};
  p.num_main = 3;
  p.acc_dtype = type;
  return p;
}

Problem normed(const Problem& product) {
  const DType type = product.inputs[0].dtype;
  Problem norm;
  norm.params = NormParams{.kind = NormKind::kLayer, .axis = 1};
  norm.inputs = norm.outputs = {desc(type, {kRows, kDepth})};
  norm.num_main = 1;
  norm.acc_dtype = type;
  return make_chain(norm, product);
}

class PlanesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(conformance::open_cuda().ok());
    const Result<const Backend*> backend = find_backend("cuda");
    ASSERT_TRUE(backend.ok()) << backend.status().to_string();
    Result<std::shared_ptr<Device>> device = (*backend)->open();
    ASSERT_TRUE(device.ok()) << device.status().to_string();
    device_ = *device;
    Result<std::unique_ptr<Stream>> stream = device_->create_stream();
    ASSERT_TRUE(stream.ok()) << stream.status().to_string();
    stream_ = std::move(stream).value();
  }

  // Random weights and scales, and rows of `value`.
  template <class Value>
  KernelCase case_of(const Problem& p, const Value& value) {
    KernelCase c;
    c.problem = p;
    for (const TensorDesc& t : p.inputs) {
      HostTensor made = HostTensor::allocate(t.dtype, t.dims).value();
      for (int64_t i = 0; i < made.volume(); ++i) {
        if (!t.constant)
          made.set_f64(i, value(i / kDepth, i % kDepth));
        else if (dtype_bits(t.dtype) < 8)
          made.set_i64(i, static_cast<int64_t>(rng_() % 16) - (dtype_info(t.dtype).is_signed ? 8 : 0));
        else
          made.set_f64(i, uniform(0.01, 0.1));
      }
      c.inputs.push_back(made);
    }
    return c;
  }
  double uniform(double least, double most) { return std::uniform_real_distribution<double>(least, most)(rng_); }

  std::vector<double> run(const char* kernel, const KernelCase& c) {
    for (const KernelLine& line : kernel_lines()) {
      if (line.kernel != kernel) continue;
      for (const Candidate& candidate : candidates_of(line, c.problem)) {
        Result<KernelRun> run = KernelRun::prepare(*line.provider, candidate.tactic, c.problem, c, limits_of(line),
                                                   *device_, stream_.get());
        if (!run.ok() || !run->run().ok()) break;
        const Result<std::vector<HostTensor>> results = run->results();
        if (!results.ok()) break;
        std::vector<double> values;
        for (int64_t i = 0; i < (*results)[0].volume(); ++i) values.push_back((*results)[0].get_f64(i));
        return values;
      }
    }
    ADD_FAILURE() << kernel << " did not run";
    return std::vector<double>(kRows * kColumns, kNaN);
  }

  std::mt19937_64 rng_{test_seed()};
  std::shared_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
};

// Row r of x by the weights, in double; and what planes may be off by: half a step for each weight, where kSame
// elements have one step, and what sums in float lose.
struct Exact {
  double value = 0, slack = 0;
};
std::vector<Exact> exact(const KernelCase& c, int64_t r, const std::vector<double>& x) {
  std::vector<double> largest(kDepth / kSame);
  for (int64_t k = 0; k < kDepth; ++k) {
    double& own = largest[static_cast<size_t>(k / kSame)];
    own = std::max(own, std::fabs(x[static_cast<size_t>(r * kDepth + k)]));
  }
  std::vector<Exact> all;
  for (int64_t m = 0; m < kColumns; ++m) {
    Exact e;
    for (int64_t k = 0; k < kDepth; ++k) {
      const double most = largest[static_cast<size_t>(k / kSame)];
      const double w =
          static_cast<double>(c.inputs[1].get_i64(k * kColumns + m)) * c.inputs[2].get_f64(k / kBlock * kColumns + m);
      const double product = w * x[static_cast<size_t>(r * kDepth + k)];
      e.value += product;
      e.slack += std::fabs(w) * most * 0x1p-21 + std::fabs(product) * 0x1p-20;
    }
    all.push_back(e);
  }
  return all;
}

std::vector<double> rows_of(const KernelCase& c) {
  std::vector<double> x;
  for (int64_t i = 0; i < kRows * kDepth; ++i) x.push_back(c.inputs[0].get_f64(i));
  return x;
}

constexpr double rounding(DType type) { return type == DType::kF16 ? 0x1p-11 : 0x1p-8; }

void expect_near(const KernelCase& c, const std::vector<double>& y, const std::vector<double>& x, double more) {
  for (int64_t r = 0; r < kRows; ++r) {
    const std::vector<Exact> all = exact(c, r, x);
    for (int64_t m = 0; m < kColumns; ++m) {
      const Exact& e = all[static_cast<size_t>(m)];
      const double allowed = e.slack + std::fabs(e.value) * rounding(c.problem.inputs[0].dtype) + more;
      EXPECT_LE(std::fabs(y[static_cast<size_t>(r * kColumns + m)] - e.value), allowed) << "row " << r << ", " << m;
    }
  }
}

// Elements of a chunk that are up to 2^24 times as large as others of it.
TEST_F(PlanesTest, RowsOfAnyRange) {
  for (const DType type : {DType::kF16, DType::kBF16})
    for (const DType weights : {DType::kI4, DType::kU4}) {
      const KernelCase c = case_of(product_of(type, weights), [&](int64_t, int64_t) {
        return std::ldexp(uniform(-1, 1), -static_cast<int>(rng_() % 25));
      });
      expect_near(c, run("gemm_generated_weight_planes", c), rows_of(c), 1e-6);
    }
}

// The largest values that there are, and the smallest.
TEST_F(PlanesTest, RowsAtTheEndsOfTheirType) {
  for (const auto& [type, most, least] :
       {std::tuple{DType::kF16, 65504.0, 0x1p-24}, std::tuple{DType::kBF16, 0x1.fep120, 0x1p-80}}) {
    for (const double size : {most, least}) {
      KernelCase c = case_of(product_of(type, DType::kI4), [&](int64_t, int64_t k) {
        return k % 3 == 0 ? -size : k % 7 == 0 ? 0 : size;
      });
      c.problem.outputs[0].dtype = type;
      for (int64_t i = 0; i < c.inputs[2].volume(); ++i) c.inputs[2].set_f64(i, 0x1p-10);
      const std::vector<double> y = run("gemm_generated_weight_planes", c);
      expect_near(c, y, rows_of(c), type == DType::kF16 ? 0x1p-24 : 0);
    }
  }
}

TEST_F(PlanesTest, ZerosGiveZeros) {
  for (const DType weights : {DType::kI4, DType::kU4}) {
    const KernelCase c =
        case_of(product_of(DType::kF16, weights), [](int64_t r, int64_t) { return r == 0 ? 0.0 : -0.0; });
    for (const double y : run("gemm_generated_weight_planes", c)) EXPECT_EQ(y, 0);
  }
}

// What is no number, or infinite, makes its row's results none; the other row's stay.
TEST_F(PlanesTest, WhatIsNoNumberReachesTheResult) {
  for (const DType type : {DType::kF16, DType::kBF16})
    for (const bool norm : {false, true})
      for (const double bad : {kNaN, -kNaN, kInfinity, -kInfinity}) {
        const Problem product = product_of(type, DType::kI4);
        const int64_t row = static_cast<int64_t>(rng_() % kRows), at = static_cast<int64_t>(rng_() % kDepth);
        const KernelCase c = case_of(norm ? normed(product) : product,
                                     [&](int64_t r, int64_t k) { return r == row && k == at ? bad : uniform(-1, 1); });
        const std::vector<double> y = run(norm ? "chain_generated_weight_planes" : "gemm_generated_weight_planes", c);
        for (int64_t i = 0; i < kRows * kColumns; ++i)
          EXPECT_EQ(std::isfinite(y[static_cast<size_t>(i)]), i / kColumns != row)
              << bad << " at " << at << " of row " << row << ": result " << i;
      }
}

// Rows far from 0 and rows that begin with an element unlike the others, normalized: as near as by two sums.
TEST_F(PlanesTest, NormalizedRowsFarFromZero) {
  constexpr double kEpsilon = 1e-5;
  struct Kind {
    double mean, first;
  };
  for (const Kind& kind : {Kind{0, 0}, Kind{30, 0}, Kind{1000, 0}, Kind{0, 1000}, Kind{0, 60000}, Kind{-1000, 5}}) {
    const KernelCase c = case_of(normed(product_of(DType::kF16, DType::kI4)), [&](int64_t, int64_t k) {
      return k == 0 && kind.first != 0 ? kind.first : kind.mean + uniform(-1.7, 1.7);
    });
    std::vector<double> x = rows_of(c);
    double most = 0;
    for (int64_t r = 0; r < kRows; ++r) {
      double sum = 0, squares = 0;
      const auto row = [&](int64_t k) -> double& { return x[static_cast<size_t>(r * kDepth + k)]; };
      for (int64_t k = 0; k < kDepth; ++k) sum += row(k);
      const double mean = sum / kDepth;
      for (int64_t k = 0; k < kDepth; ++k) squares += (row(k) - mean) * (row(k) - mean);
      for (int64_t k = 0; k < kDepth; ++k) row(k) = (row(k) - mean) / std::sqrt(squares / kDepth + kEpsilon);
      for (int64_t k = 0; k < kDepth; ++k) most = std::max(most, std::fabs(row(k)));
    }
    // The normalized row is rounded to 16 bits: of each element half a unit, of the sum the root of their number.
    const double more = 0x1p-11 * 8 * 0.1 * std::sqrt(static_cast<double>(kDepth)) * 2 + most * 0x1p-11 * 8 * 0.1;
    const KernelCase plain = [&] {
      KernelCase p = c;
      p.problem = product_of(DType::kF16, DType::kI4);
      return p;
    }();
    expect_near(plain, run("chain_generated_weight_planes", c), x, more);
    expect_near(plain, run("chain_generated_weight_tiles", c), x, more);
  }
}

}  // namespace
}  // namespace wootz::kernels
