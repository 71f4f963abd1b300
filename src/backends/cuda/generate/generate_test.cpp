// Generated kernels without a GPU: they compile for the architectures that are built for, and keep to registers.
// (That they compute the right thing is the conformance suite's business, which runs them on the processor.)
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <set>

#include "backends/cuda/compiler.h"
#include "backends/cuda/generate/families.h"
#include "backends/cuda/providers.h"
#include "lower/lower.h"
#include "ops/cases.h"
#include "ops/infer.h"

namespace wootz::cuda {
namespace {

struct Sample {
  std::string name, source;
};

Problem with_images(Problem p, Layout layout) {
  const int rank = p.outputs.empty() ? 0 : p.outputs[0].dims.rank();
  for (TensorDesc& t : p.inputs) t.layout = !t.constant && t.dims.rank() == rank ? layout : Layout::kLinear;
  for (TensorDesc& t : p.outputs) t.layout = layout;
  return p;
}

// Every distinct source that the ops' cases lead to, in either layout of images.
std::vector<Sample> all_sources(uint64_t seed) {
  std::vector<Sample> samples;
  std::set<std::string> seen;
  for (const OpCase& c : all_cases(seed)) {
    if (!infer_graph(*c.graph).ok()) continue;
    LowerOptions options;
    options.backend = "cuda";
    options.providers = {&generated_provider()};
    options.profiles = {std::vector<SymbolRange>(c.graph->symbols().size(), SymbolRange{1, 8, 64})};
    const Result<Lowered> lowered = lower_graph(*c.graph, options);
    if (!lowered.ok()) continue;
    for (const Step& step : lowered->program.steps) {
      const bool images = !step.problem.outputs.empty() && step.problem.outputs[0].dims.rank() >= 3 &&
                          step.problem.family != Family::kReformat;
      for (const Layout layout : {Layout::kLinear, Layout::kChannelsLast}) {
        if (layout == Layout::kChannelsLast && !images) continue;
        std::vector<Launch> launches;
        if (!generate_at_optimum(images ? with_images(step.problem, layout) : step.problem, &launches).ok()) continue;
        for (Launch& l : launches)
          if (seen.insert(l.source).second) samples.push_back({c.name, std::move(l.source)});
      }
    }
  }
  return samples;
}

std::string spills(const std::vector<char>& code) {
  if (std::system("command -v cuobjdump >/dev/null 2>&1 || test -x /usr/local/cuda/bin/cuobjdump") != 0) return "";
  char path[] = "/tmp/wootz_cubin_XXXXXX";
  const int file = mkstemp(path);
  if (file < 0) return "";
  std::FILE* out = fdopen(file, "wb");
  std::fwrite(code.data(), 1, code.size(), out);
  std::fclose(out);
  std::string text;
  const std::string command = std::string("PATH=$PATH:/usr/local/cuda/bin cuobjdump -res-usage ") + path + " 2>&1";
  if (std::FILE* pipe = popen(command.c_str(), "r")) {
    char line[512];
    while (std::fgets(line, sizeof line, pipe) != nullptr) text += line;
    pclose(pipe);
  }
  std::remove(path);
  const size_t stack = text.find("STACK:");
  return stack == std::string::npos || text.compare(stack, 8, "STACK:0 ") == 0 ? "" : text.substr(stack, 80);
}

TEST(Generated, CompilesForEveryArchitectureWithoutSpilling) {
  if (const Result<std::string> version = compiler_version(); !version.ok())
    GTEST_SKIP() << version.status().to_string();
  const uint64_t seed = std::random_device{}();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::vector<Sample> samples = all_sources(seed);
  ASSERT_GT(samples.size(), 300u);
  std::mt19937_64 random(seed);
  std::shuffle(samples.begin(), samples.end(), random);
  const char* wanted = std::getenv("WOOTZ_TEST_KERNELS");
  const size_t count = wanted == nullptr ? 24 : std::strtoul(wanted, nullptr, 10);
  ::setenv("WOOTZ_CUDA_CACHE", "", 1);
  size_t local = 0;
  for (size_t i = 0; i < std::min(count, samples.size()); ++i) {
    const Sample& s = samples[i];
    for (const char* arch : {"sm_80", "sm_90a"}) {
      const Result<std::vector<char>> code = compile_cuda(s.source, arch);
      ASSERT_TRUE(code.ok()) << s.name << " " << arch << ": " << code.status().to_string() << "\n" << s.source;
      if (std::string_view(arch) != "sm_90a") continue;
      const std::string used = spills(*code);
      // Range reduction of the trigonometric functions keeps its table on the stack, and so do f64's power and tangent.
      const bool allowed = s.source.find("w_sin(") != std::string::npos ||
                           s.source.find("= w_cos(") != std::string::npos ||
                           s.source.find("= w_tan(") != std::string::npos;
      local += !used.empty();
      EXPECT_TRUE(used.empty() || allowed) << s.name << ": " << used;
    }
  }
  std::printf("%zu of %zu kernels compiled, %zu use a stack\n", std::min(count, samples.size()), samples.size(), local);
}

}  // namespace
}  // namespace wootz::cuda
