// Attention whose operands the unit for tensors brings: how rows are divided, and that its sums stay in registers.
// (That it computes the right thing: kernels_e2e.)
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "backend/operand_dims.h"
#include "backends/cuda/generate/families.h"
#include "backends/cuda/jit/compiler.h"
#include "backends/cuda/jit/cubin.h"
#include "base/testing.h"

namespace wootz::cuda {
namespace {

struct Case {
  const char* name;
  int64_t batch, heads, rows, keys, size;
  bool masked = false, causal = false;
  bool divided = false;  // between two blocks
};
constexpr Case kCases[] = {{"vit_b32", 32, 12, 197, 197, 64},
                           {"vit_b1", 1, 12, 197, 197, 64},
                           {"bert_b32", 32, 12, 128, 128, 64},
                           {"bert_b1", 1, 12, 128, 128, 64},
                           {"bert_b1_divided", 1, 12, 128, 128, 64, true, false, true},
                           {"size_128_divided", 1, 12, 128, 128, 128, true, true, true},
                           {"keys_256", 32, 12, 256, 256, 64},
                           {"size_128", 32, 12, 128, 128, 128},
                           {"masked", 32, 12, 197, 197, 64, true},
                           {"whisper", 1, 8, 1500, 1500, 64},
                           {"long_3_teams", 8, 16, 1000, 1000, 64},
                           {"long_128", 8, 16, 2048, 2048, 128},
                           {"long_masked", 8, 16, 2048, 2048, 64, true},
                           {"long_causal", 8, 16, 2048, 2048, 64, false, true}};

Problem problem_of(const Case& c, DType type) {
  Problem p;
  AttentionParams params;
  params.scale = 0.125;
  params.has_mask = c.masked;
  params.causal = c.causal;
  p.params = params;
  const auto add = [&](std::vector<TensorDesc>* to, int64_t lines) {
    const Dims dims{c.batch, c.heads, lines, c.size};
    to->push_back({type, Layout::kLinear, dims, dims, false});
  };
  add(&p.inputs, c.rows);
  add(&p.inputs, c.keys);
  add(&p.inputs, c.keys);
  if (c.masked) p.inputs.push_back({type, Layout::kLinear, {c.rows, c.keys}, {c.rows, c.keys}, false});
  add(&p.outputs, c.rows);
  p.num_main = static_cast<int>(p.inputs.size());
  return p;
}

Result<std::string> source_of(const Case& c, DType type) {
  const Problem p = problem_of(c, type);
  const std::vector<Dims> in = operand_dims(p.inputs), out = operand_dims(p.outputs);
  std::vector<Launch> launches;
  const Generate generate = c.divided      ? generate_attention_fed_split
                            : c.keys > 256 ? generate_attention_fed_long
                                           : generate_attention_fed;
  WOOTZ_RETURN_IF_ERROR(generate(p, {in, out, {}}, &launches));
  return launches.at(0).source;
}

// With WOOTZ_TEST_OUT, sources are written to that folder.
TEST(AttentionFed, KeepsToRegisters) {
  if (!compiler_version().ok()) GTEST_SKIP() << "no NVRTC";
  const char* const folder = std::getenv("WOOTZ_TEST_OUT");
  for (const Case& c : kCases) {
    const Result<std::string> source = source_of(c, DType::kF16);
    ASSERT_TRUE(source.ok()) << c.name << ": " << source.status().to_string();
    if (folder != nullptr) std::ofstream(std::string(folder) + "/" + c.name + ".cu") << *source;
    const Result<std::vector<char>> code = compile_cuda(*source, "sm_90a");
    ASSERT_TRUE(code.ok()) << c.name << ": " << code.status().to_string();
    const auto stacks = stack_of_functions(*code);
    ASSERT_TRUE(stacks.ok()) << c.name << ": " << stacks.status().to_string();
    EXPECT_EQ(stacks->at("wootz_kernel"), 0u) << c.name;
  }
}

int64_t fixed_in(const std::string& source, const std::string& name) {
  const std::string before = "constexpr int " + name + " = ";
  const size_t at = source.find(before);
  return at == std::string::npos ? 0 : std::stoll(source.substr(at + before.size()));
}

// A stage that is filled again: the team that waits for that had a tile since the filling before the last.
TEST(AttentionFed, TeamsAreNoRingApart) {
  for (const int64_t size : {64, 128})
    for (const int64_t rows : {3, 70, 140, 260})
      for (const int64_t keys : {17, 128, 129, 200, 250})
        for (const int64_t heads : {100, 134, 500, 1500}) {
          const Case c{"", 1, heads, rows, keys, size};
          const Result<std::string> source = source_of(c, DType::kF16);
          ASSERT_TRUE(source.ok()) << source.status().to_string();
          const int64_t tiles = fixed_in(*source, "kTiles"), teams = fixed_in(*source, "kTeams");
          const int64_t stages = fixed_in(*source, "kStages");
          ASSERT_GE(std::min({tiles, teams, stages}), 1);
          const int64_t units = heads * (((rows + 63) / 64 + tiles - 1) / tiles),
                        blocks = std::min<int64_t>(132, units);
          const bool again = stages * blocks < units;
          EXPECT_TRUE(!again || teams <= stages * tiles)
              << heads << " heads of " << rows << " rows, " << keys << " keys of " << size << ": " << teams
              << " teams for " << stages << " stages of " << tiles << " tiles";
        }
}

}  // namespace
}  // namespace wootz::cuda
