// Attention whose operands the unit for tensors brings: what it takes, and that its sums stay in registers. (That it
// computes the right thing: kernels_e2e.)
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "backends/cuda/generate/families.h"
#include "backends/cuda/jit/compiler.h"
#include "backends/cuda/jit/cubin.h"
#include "base/testing.h"

namespace wootz::cuda {
namespace {

struct Case {
  const char* name;
  int64_t batch, heads, rows, keys, size;
};
constexpr Case kCases[] = {{"vit_b32", 32, 12, 197, 197, 64},  {"vit_b1", 1, 12, 197, 197, 64},
                           {"bert_b32", 32, 12, 128, 128, 64}, {"bert_b1", 1, 12, 128, 128, 64},
                           {"keys_256", 32, 12, 256, 256, 64}, {"size_128", 32, 12, 197, 197, 128}};

Problem problem_of(const Case& c, DType type) {
  Problem p;
  p.params = AttentionParams{};
  const auto add = [&](std::vector<TensorDesc>* to, int64_t lines) {
    const Dims dims{c.batch, c.heads, lines, c.size};
    to->push_back({type, Layout::kLinear, dims, dims, false});
  };
  add(&p.inputs, c.rows);
  add(&p.inputs, c.keys);
  add(&p.inputs, c.keys);
  add(&p.outputs, c.rows);
  p.num_main = 3;
  return p;
}

Result<std::string> source_of(const Case& c, DType type) {
  const Problem p = problem_of(c, type);
  const std::vector<Dims> in{p.inputs[0].dims, p.inputs[1].dims, p.inputs[2].dims}, out{p.outputs[0].dims};
  std::vector<Launch> launches;
  WOOTZ_RETURN_IF_ERROR(generate_attention_fed(p, {in, out, {}}, &launches));
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

}  // namespace
}  // namespace wootz::cuda
