// Which kernels of attention are offered for few rows over long keys. (That they compute the right thing: kernels_e2e.)
#include <gtest/gtest.h>

#include <algorithm>

#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/launches.h"
#include "backends/cuda/providers.h"
#include "backends/cuda/targets/devices.h"

namespace wootz::cuda {
namespace {

struct Case {
  DType queries, keys;
  int64_t heads, kv_heads, rows, length, size;
};

Problem problem_of(const Case& c) {
  Problem p;
  AttentionParams params;
  params.scale = 0.1;
  if (c.queries != c.keys) {
    params.k_scale = {0.02};
    params.v_scale = {0.03};
  }
  p.params = params;
  const Dims q{1, c.heads, c.rows, c.size}, k{1, c.kv_heads, c.length, c.size};
  p.inputs = {{c.queries, Layout::kLinear, q, q, false},
              {c.keys, Layout::kLinear, k, k, false},
              {c.keys, Layout::kLinear, k, k, false}};
  p.outputs = {{c.queries, Layout::kLinear, q, q, false}};
  p.num_main = 3;
  return p;
}

// The kernel of the smallest estimate, where nothing is measured.
std::string chosen(const Case& c, const char* isa = "sm_90") {
  Limits limits;
  limits.tf32 = true;
  const std::vector<DeviceDescription> devices = known_devices();
  for (const DeviceDescription& d : devices)
    if (d.isa == isa) limits.device = &d;
  std::vector<Candidate> offers;
  std::vector<Refusal> refusals;
  generated_provider().tactics(problem_of(c), limits, &offers, &refusals);
  const auto least = std::min_element(offers.begin(), offers.end(), [](const Candidate& a, const Candidate& b) {
    return a.estimate_us < b.estimate_us;
  });
  return least == offers.end() ? "none" : least->tactic.kernel;
}

constexpr const char* kFew = "attention_generated_few";

TEST(AttentionOfFewRows, IsChosenInFp32OverLongKeysOfAnyType) {
  for (const DType keys : {DType::kF32, DType::kI8, DType::kU8, DType::kF8E4M3, DType::kF8E5M2})
    for (const int64_t length : {512, 4096, 16384})
      for (const char* isa : {"sm_80", "sm_89", "sm_90"}) {
        EXPECT_EQ(chosen({DType::kF32, keys, 16, 16, 1, length, 128}, isa), kFew) << dtype_name(keys) << length << isa;
        EXPECT_EQ(chosen({DType::kF32, keys, 32, 4, 1, length, 64}, isa), kFew) << dtype_name(keys) << length << isa;
      }
}

TEST(AttentionOfFewRows, IsChosenOfHalvesAsWell) {
  for (const DType type : {DType::kF16, DType::kBF16})
    for (const int64_t length : {4096, 16384}) {
      EXPECT_EQ(chosen({type, type, 16, 16, 1, length, 128}), kFew) << dtype_name(type) << length;
      EXPECT_EQ(chosen({type, type, 32, 8, 1, length, 128}), kFew) << dtype_name(type) << length;
      EXPECT_EQ(chosen({type, type, 64, 8, 1, length, 128}), "attention_generated_few_halves") << dtype_name(type);
    }
}

TEST(AttentionOfFewRows, IsNotChosenForMany) {
  for (const DType type : {DType::kF32, DType::kF16})
    EXPECT_NE(chosen({type, type, 16, 16, 128, 4096, 128}), kFew) << dtype_name(type);
  EXPECT_NE(chosen({DType::kF16, DType::kI8, 16, 16, 1, 4096, 128}), kFew);  // tensor cores take these
}

// Memory that the largest extents take is enough for all others.
TEST(AttentionOfFewRows, TakesNoMoreMemoryForFewerKeys) {
  for (const int64_t batch : {1, 3}) {
    size_t least = 0;
    for (int64_t length = 0; length < 3000; length += 37) {
      const Problem p = problem_of({DType::kF32, DType::kI8, 16, 4, 1, length, 128});
      std::vector<Dims> in = {p.inputs[0].dims, p.inputs[1].dims, p.inputs[2].dims}, out = {p.outputs[0].dims};
      for (Dims* d : {&in[0], &in[1], &in[2], &out[0]}) (*d)[0] = batch;
      std::vector<Launch> launches;
      ASSERT_TRUE(generate_attention_few(p, {in, out, {}}, &launches).ok());
      const size_t bytes = launches.size() > 1 ? workspace_of(launches) : 0;
      EXPECT_GE(bytes, least) << length;
      least = std::max(least, bytes);
    }
    EXPECT_GT(least, 0u);
  }
}

}  // namespace
}  // namespace wootz::cuda
