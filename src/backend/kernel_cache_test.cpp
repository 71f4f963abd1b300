#include "backend/kernel_cache.h"

#include <gtest/gtest.h>

namespace wootz {
namespace {

class CountingProvider final : public Provider {
 public:
  const char* name() const override { return "counting"; }
  std::string version() const override { return "1"; }
  void tactics(const Problem&, const Limits&, std::vector<Candidate>*, std::vector<Refusal>*) const override {}
  Result<std::unique_ptr<Kernel>> create(const Tactic& tactic, const Problem&, const Limits&) const override {
    if (tactic.kernel == "none") return unsupported("no such kernel");
    ++created;
    return std::unique_ptr<Kernel>(std::make_unique<Nothing>());
  }
  mutable int created = 0;

 private:
  struct Nothing final : Kernel {
    Result<std::unique_ptr<Call>> bind(const BindArgs&) const override { return unsupported("nothing to bind"); }
  };
};

Step step(const char* name, int64_t extent, const char* kernel = "k") {
  Step s;
  s.name = name;
  s.tactic = {"counting", kernel, ""};
  TensorDesc d;
  d.dtype = DType::kF32;
  d.dims = d.max_dims = Dims{extent};
  s.problem.inputs = s.problem.outputs = {d};
  return s;
}

TEST(KernelCache, OneKernelForEqualSteps) {
  const CountingProvider provider;
  KernelCache cache({&provider}, {});
  const auto first = cache.get(step("a", 4)), again = cache.get(step("b", 4));
  ASSERT_TRUE(first.ok() && again.ok());
  EXPECT_EQ(first->get(), again->get());
  EXPECT_NE(cache.get(step("c", 5))->get(), first->get());        // another problem
  EXPECT_NE(cache.get(step("d", 4, "k2"))->get(), first->get());  // another tactic
  Step packed = step("e", 4);
  packed.problem.inputs[0].layout = Layout::kOpaque;
  EXPECT_NE(cache.get(packed)->get(), first->get());
  EXPECT_EQ(provider.created, 4);
}

TEST(KernelCache, RefusalsNameTheStep) {
  const CountingProvider provider;
  KernelCache cache({&provider}, {});
  EXPECT_NE(cache.get(step("a", 4, "none")).status().message().find("layer 'a' (counting:none)"), std::string::npos);
  Step other = step("b", 4);
  other.tactic.provider = "elsewhere";
  const std::string missing = cache.get(other).status().message();
  EXPECT_EQ(missing.find("layer 'b' (elsewhere:"), 0u) << missing;
  EXPECT_NE(missing.find("this runtime has no tactic source 'elsewhere'"), std::string::npos) << missing;
}

TEST(KernelCache, TrialsAreKeptOnRequestOnly) {
  const CountingProvider provider;
  KernelCache cache({&provider}, {});
  const Step a = step("a", 4), b = step("b", 5);
  const auto first = cache.find_or_create(a.tactic, a.problem);
  ASSERT_TRUE(first.ok());
  EXPECT_NE(cache.find_or_create(a.tactic, a.problem)->get(), first->get()) << "nothing was kept";
  cache.keep(a.tactic, a.problem, *first);
  EXPECT_EQ(cache.get(a)->get(), first->get());
  cache.drop(a.tactic, a.problem);
  EXPECT_NE(cache.get(a)->get(), first->get());
  EXPECT_EQ(cache.created(), 3u);
  EXPECT_EQ(provider.created, 3);

  // Of two kernels, the one that a program still has.
  const auto of_b = cache.get(b);
  Program program;
  program.steps = {b};
  cache.keep_only({&program});
  EXPECT_EQ(cache.get(b)->get(), of_b->get());
  EXPECT_EQ(cache.created(), 4u);
  ASSERT_TRUE(cache.get(a).ok());
  EXPECT_EQ(cache.created(), 5u);
}

}  // namespace
}  // namespace wootz
