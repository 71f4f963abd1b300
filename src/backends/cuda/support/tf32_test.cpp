#include "backends/cuda/support/tf32.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "backends/cuda/support/workspace.h"
#include "base/testing.h"

namespace wootz::cuda {
namespace {

HostTensor random_weights(const Dims& dims, std::mt19937_64* random) {
  std::normal_distribution<float> normal;
  HostTensor made = HostTensor::allocate(DType::kF32, dims).value();
  for (float& v : made.as_mutable<float>()) v = normal(*random);
  return made;
}

std::vector<float> rounded(const Problem& p, int input, const HostTensor& source) {
  const std::vector<std::byte> bytes = round_to_tf32(p, input, source);
  std::vector<float> made(bytes.size() / sizeof(float));
  std::memcpy(made.data(), bytes.data(), bytes.size());
  return made;
}

// Sums of the errors over `depth` elements that lie `stride` apart, against those of rounding to the nearest.
double left_of_sums(const HostTensor& source, const std::vector<float>& q, int64_t depth, int64_t stride) {
  const std::span<const float> w = source.as<float>();
  double left = 0, nearest = 0;
  for (int64_t first = 0; first < source.volume(); ++first) {
    if (first / stride % depth != 0) continue;
    double sum = 0, plain = 0;
    for (int64_t k = 0; k < depth; ++k) {
      const auto i = static_cast<size_t>(first + k * stride);
      const float step = std::ldexp(1.0f, std::ilogb(w[i]) - 10);
      EXPECT_EQ(std::bit_cast<uint32_t>(q[i]) & 0x1fffu, 0u);
      EXPECT_LT(std::fabs(q[i] - w[i]), step);
      sum += static_cast<double>(q[i]) - w[i];
      plain += static_cast<double>(std::nearbyint(w[i] / step) * step) - w[i];
    }
    left += std::fabs(sum);
    nearest += std::fabs(plain);
  }
  return left / nearest;
}

TEST(Tf32, OperandsAreRoundedByWhatAResultSumsUp) {
  const uint64_t seed = test_seed();
  std::mt19937_64 random(seed);
  Problem gemm;
  gemm.set_family(Family::kGemm);
  const HostTensor matrices = random_weights({2, 96, 80}, &random);
  for (const int64_t transposed : {0, 1}) {
    gemm.as<GemmParams>().trans_a = gemm.as<GemmParams>().trans_b = transposed;
    EXPECT_LT(left_of_sums(matrices, rounded(gemm, 1, matrices), transposed ? 80 : 96, transposed ? 1 : 80), 0.2);
    EXPECT_LT(left_of_sums(matrices, rounded(gemm, 0, matrices), transposed ? 96 : 80, transposed ? 80 : 1), 0.2);
  }
  Problem conv;
  conv.set_family(Family::kConv);
  const HostTensor filters = random_weights({24, 16, 3, 3}, &random);
  EXPECT_LT(left_of_sums(filters, rounded(conv, 1, filters), 16 * 9, 1), 0.2);
  EXPECT_GT(left_of_sums(filters, rounded(conv, 0, filters), 16 * 9, 1), 0.999);  // an image: each to the nearest
  conv.as<ConvParams>().transposed = true;
  EXPECT_LT(left_of_sums(filters.reshaped({24, 144}), rounded(conv, 1, filters.reshaped({24, 144})), 24, 144), 0.5);
}

TEST(Workspace, LeavesWhatWasAskedForBehindTheAlignment) {
  alignas(256) static std::byte memory[1024];
  for (size_t start = 0; start < 512; start += 64) {
    for (const size_t bytes : {size_t{1}, size_t{200}}) {
      auto* const given = static_cast<std::byte*>(aligned_workspace(memory + start));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(given) % kWorkspaceAlignment, 0u);
      EXPECT_LE(given + bytes, memory + start + workspace_room(bytes));
    }
  }
  EXPECT_EQ(workspace_room(0), 0u);
}

}  // namespace
}  // namespace wootz::cuda
