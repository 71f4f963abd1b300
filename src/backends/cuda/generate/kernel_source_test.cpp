#include "backends/cuda/generate/kernel_source.h"

#include <gtest/gtest.h>

namespace wootz::cuda {
namespace {

bool has(const Launch& launch, const std::string& text) { return launch.source.find(text) != std::string::npos; }

Launch copy_of(int64_t count, bool arguments, int more = 0) {
  KernelSource source("move/spread.cuh", arguments);
  source.fixed("kThreads", 64);
  source.operand("u8* __restrict__", "y", {true, 0});
  source.operand("const u8*", "x", {false, 3});
  source.number("count", count);
  source.number("one", 1);
  for (int i = 0; i < more; ++i) source.number("more" + std::to_string(i), 7);
  std::vector<Launch> launches;
  EXPECT_TRUE(source.finish(64, 5, &launches, 12).ok());
  return launches.at(0);
}

TEST(KernelSource, NumbersAreKnownToTheCompiler) {
  const Launch launch = copy_of(300, false);
  EXPECT_TRUE(has(launch, "constexpr int kThreads = 64;\n"));
  EXPECT_TRUE(has(launch, "struct Operands {\n  u8* y;\n  const u8* x;\n};\n"));
  EXPECT_TRUE(has(launch, "  static constexpr int count = 300;\n"));
  EXPECT_TRUE(has(launch,
                  "wootz_kernel(u8* __restrict__ y, const u8* x) {\n"
                  "  kernel(Operands{y, x}, Constants{});\n"));
  EXPECT_TRUE(launch.numbers.empty());
  EXPECT_EQ(launch.size.grid_x, 5u);
  EXPECT_EQ(launch.size.block, 64u);
  EXPECT_EQ(launch.workspace, 12u);
  ASSERT_EQ(launch.pointers.size(), 2u);
  EXPECT_EQ(launch.pointers[1].index, 3);
}

TEST(KernelSource, OrArgumentsButForZeroAndOne) {
  const Launch launch = copy_of(5000000000, true);
  EXPECT_TRUE(has(launch, "  s64 count;\n  static constexpr int one = 1;\n"));
  EXPECT_TRUE(has(launch, ", s64 c_count) {\n  kernel(Operands{y, x}, Constants{(s64)c_count});\n"));
  EXPECT_EQ(launch.numbers, (std::vector<int64_t>{5000000000}));
  EXPECT_EQ(copy_of(300, true).source, copy_of(301, true).source);
  EXPECT_NE(copy_of(300, false).source, copy_of(301, false).source);
}

TEST(KernelSource, TooManyToBeArgumentsAreKnown) {
  EXPECT_EQ(copy_of(300, true, 100).numbers.size(), 101u);
  EXPECT_TRUE(copy_of(300, true, 600).numbers.empty());
}

// The compiler would read it ahead of the wait for the kernel that makes it.
TEST(KernelSource, RefusesToRestrictWhatIsRead) {
  KernelSource source("move/copies.cuh", false);
  source.operand("u8* __restrict__", "y", {true, 0});
  source.operand("const u8* __restrict__", "x", {false, 0});
  std::vector<Launch> launches;
  const Status status = source.finish(64, 5, &launches);
  EXPECT_EQ(status.message(), "move/copies.cuh: 'x' is read, and may not be declared as 'const u8* __restrict__'");
  EXPECT_TRUE(launches.empty());
}

TEST(KernelSource, WalksAreAsWideAsTheyMustBe) {
  for (const int64_t extent : {int64_t{1000}, int64_t{1} << 30}) {
    KernelSource source("move/copies.cuh", false);
    source.operand("u8*", "y", {true, 0});
    source.walk("At", "at", {{extent, {8, 1}}, {8, {1, 0}}}, {"y", "x"});
    std::vector<Launch> launches;
    ASSERT_TRUE(source.finish(64, 5, &launches).ok());
    EXPECT_TRUE(has(launches[0], extent == 1000 ? "struct At {\n  int y, x;\n};" : "struct At {\n  s64 y, x;\n};"));
  }
}

TEST(KernelSource, TooManyBlocksAreRefused) {
  std::vector<Launch> launches;
  EXPECT_FALSE(KernelSource("move/copies.cuh", false).finish(64, int64_t{1} << 31, &launches).ok());
}

TEST(KernelFiles, StandWithoutWhatThePreludeHas) {
  EXPECT_NE(prelude().find("W_FN float w_b2f("), std::string::npos);
  const std::string text = kernel_text("reduce/columns.cuh");
  EXPECT_EQ(text.find("w_b2f("), std::string::npos);
  EXPECT_EQ(text.find("#include"), std::string::npos);
  const size_t first = text.find("struct MeanOf");
  EXPECT_NE(first, std::string::npos);
  EXPECT_EQ(text.find("struct MeanOf", first + 1), std::string::npos);
}

}  // namespace
}  // namespace wootz::cuda
