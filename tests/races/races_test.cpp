// The emulator's search for races: kernels with one each, the line of which is to be found, and the same without it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "backends/cuda/device/gpu.h"
#include "backends/cuda/emulator/emulator.h"
#include "backends/cuda/emulator/memory.h"
#include "backends/cuda/emulator/races.h"
#include "backends/cuda/generate/kernel_files.h"
#include "backends/cuda/jit/module.h"

namespace wootz::cuda {
namespace {

using ::testing::HasSubstr;

class Races : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_EQ(setenv("WOOTZ_EMULATOR_RACES", "1", 1), 0);
    const Status status = use_emulator();
    ASSERT_TRUE(status.ok()) << status.to_string();
  }
  void SetUp() override {
    const Result<const Gpu*> found = gpu();
    ASSERT_TRUE(found.ok()) << found.status().to_string();
    gpu_ = *found;
    scope_ = std::make_unique<GpuScope>(*gpu_);
    for (CUdeviceptr* memory : {&x_, &y_}) ASSERT_EQ(gpu_->api->cuMemAlloc_v2(memory, kBytes), CUDA_SUCCESS);
  }
  void TearDown() override {
    for (const CUdeviceptr memory : {x_, y_}) gpu_->api->cuMemFree_v2(memory);
  }

  // What is found in a kernel of `body`, behind these files; its operands: x and y, kBytes each.
  std::string found(const std::string& body, const LaunchSize& size, const std::vector<std::string>& files = {}) {
    std::string source = prelude() + "typedef f16 X;\nstruct alignas(64) TensorMap {\n  u64 opaque[16];\n};\n";
    for (const std::string& file : files) source += kernel_text(file);
    const std::string cluster = size.cluster > 1 ? fmt::format("__cluster_dims__(1, 1, {}) ", size.cluster) : "";
    source += fmt::format(
        "constexpr int kCluster = {};\nextern \"C\" __global__ void {}wootz_kernel(u32* x, u32* y) {{\n"
        "  const int t = threadIdx.x;\n{}}}\n",
        size.cluster, cluster, body);
    const auto module = Module::get(*gpu_, source);
    if (!module.ok()) return module.status().to_string();
    void* arguments[] = {&x_, &y_};
    const Status launched = (*module)->launch(size, arguments, nullptr);
    if (!launched.ok()) return launched.to_string();
    return emulator_faults();
  }
  static LaunchSize threads(unsigned block, unsigned blocks = 1, unsigned cluster = 1) {
    LaunchSize size;
    size.block = block;
    size.grid_x = cluster > 1 ? 1 : blocks;
    size.grid_z = cluster > 1 ? blocks : 1;
    size.cluster = cluster;
    return size;
  }

  static constexpr size_t kBytes = 1 << 16;
  const Gpu* gpu_ = nullptr;
  CUdeviceptr x_ = 0, y_ = 0;

 private:
  std::unique_ptr<GpuScope> scope_;
};

// Both of `right` and `wrong`, of which a piece of the source is replaced.
#define EXPECT_RACE(source, piece, by, message, ...)                                     \
  do {                                                                                   \
    std::string wrong = source;                                                          \
    ASSERT_NE(wrong.find(piece), std::string::npos);                                     \
    wrong.replace(wrong.find(piece), std::strlen(piece), by);                            \
    EXPECT_EQ(found(source, __VA_ARGS__), "");                                           \
    EXPECT_THAT(found(wrong, __VA_ARGS__), HasSubstr(message)) << "without " << (piece); \
  } while (false)

TEST_F(Races, ReadsOfWhatAnotherThreadWrites) {
  const std::string source = "  __shared__ u32 s[64];\n  s[t] = t;\n  __syncthreads();\n  y[t] = s[t ^ 33];\n";
  EXPECT_RACE(source, "  __syncthreads();\n", "", "nothing orders after", threads(64));
  std::string wrong = source;
  wrong.replace(wrong.find("__syncthreads();"), 16, "");
  const std::string said = found(wrong, threads(64));
  EXPECT_THAT(said, HasSubstr("s[t] = t;"));
  EXPECT_THAT(said, HasSubstr("y[t] = s[t ^ 33];"));
}

TEST_F(Races, WritesOfWhatAnotherThreadReads) {
  EXPECT_RACE(std::string("  __shared__ u32 s[64];\n  s[t] = t;\n  __syncthreads();\n  const u32 v = s[63 - t];\n"
                          "  __syncthreads();  // read\n  s[t] = v;\n  __syncthreads();\n  y[t] = s[t];\n"),
              "  __syncthreads();  // read\n", "", "nothing orders after", threads(64));
}

TEST_F(Races, NoneBetweenNeighbouringBytes) {
  EXPECT_EQ(found("  __shared__ u8 s[64];\n  s[t] = (u8)t;\n  y[t] = s[t];\n", threads(64)), "");
}

TEST_F(Races, LanesThatOnlyExchangeValues) {
  const std::string source =
      "  __shared__ u32 s[32];\n  s[t] = t;\n  __shfl_xor_sync(0xffffffffu, t, 1);\n  w_meet<32, 2>(0);\n  y[t] = s[t "
      "^ 1];\n";
  EXPECT_RACE(source, "  w_meet<32, 2>(0);\n", "", "nothing orders after", threads(32));
}

TEST_F(Races, GroupsOfABlock) {
  const std::string source =
      "  __shared__ u32 s[256];\n  s[t] = t;\n  w_meet<128, 2>(t / 128);\n  y[t] = s[t ^ 127];\n";
  EXPECT_RACE(source, "s[t ^ 127]", "s[t ^ 128]", "nothing orders after", threads(256));
  EXPECT_RACE(source, "(t / 128)", "(1 - t / 128)", "a group that it is not of", threads(256));
}

TEST_F(Races, CopiesOnTheirWay) {
  const std::string source =
      "  W_SHARED(s, 1024);\n  w_copy16(s + t * 16, x + t * 4, true);\n  w_commit();\n"
      "  w_copy16(s + 512 + t * 16, x + t * 4, true);\n  w_commit();\n  w_wait<1>();\n  y[t] = s[t * 16];\n";
  EXPECT_RACE(source, "w_wait<1>()", "w_wait<2>()", "nothing orders after the write", threads(32));
  EXPECT_RACE(source, "s[t * 16]", "s[512 + t * 16]", "nothing orders after the write", threads(32));
  EXPECT_RACE(source, "s[t * 16]", "s[(t ^ 1) * 16]", "nothing orders after the write", threads(32));
}

TEST_F(Races, OtherBlocks) {
  const std::string source = "  y[blockIdx.x * 32 + t] = x[t];\n";
  EXPECT_RACE(source, "blockIdx.x * 32 + t", "blockIdx.x * 31 + t", "another block of the launch writes",
              threads(32, 4));
  EXPECT_RACE(source, "= x[t]", "= y[t]", "another block of the launch", threads(32, 4));
}

TEST_F(Races, NeighboursInPlace) {
  EXPECT_RACE(std::string("  y[t] = y[t] + 1;\n"), "= y[t]", "= y[t ^ 1]", "nothing orders after", threads(64));
}

TEST_F(Races, Clusters) {
  const std::vector<std::string> files{"gemm/bars.cuh"};
  const std::string source =
      "  W_SHARED(s, 256);\n  w_begin();\n  const int other = 1 - (int)w_host->rank;\n  u64* const bar = (u64*)(s + "
      "128);\n"
      "  if (t == 0) w_bar_init(bar, 1), w_bar_expect(bar, 128);\n  w_cluster_begin();\n  w_cluster_wait();\n"
      "  w_send<256>((u32*)s + t, bar, other, Pack<u32, 1>{(u32)t});\n  w_bar_wait(bar, 0);\n"
      "  y[blockIdx.z * 32 + t] = ((u32*)s)[t];\n";
  const LaunchSize size = threads(32, 2, 2);
  EXPECT_RACE(source, "  w_bar_wait(bar, 0);\n", "", "nothing orders after", size, files);
  EXPECT_RACE(source, "  w_cluster_wait();\n", "", "a barrier that is not there", size, files);
  EXPECT_RACE(source, "w_bar_expect(bar, 128)", "w_bar_expect(bar, 256)", "wait at barriers for ever", size, files);
  // Blocks are there from a barrier on that orders nothing: what was written ahead of it may come later.
  EXPECT_RACE(source, "  w_cluster_begin();\n", "  ((u32*)s)[t] = 0;\n  w_cluster_begin();\n", "nothing orders after",
              size, files);
}

// One thread feeds, a warp group reads: a ring of two stages of a line each.
const char kRing[] =
    "  W_SHARED(memory, 2048);\n  u8* const s = memory;\n  u64* const full = (u64*)(s + 1024);\n  u64* const empty = "
    "full + 2;\n"
    "  if (t == 0)\n    for (int i = 0; i < 2; ++i) {\n      w_bar_init(full + i, 1);\n      w_bar_init(empty + i, "
    "128);\n    }\n"
    "  __syncthreads();\n"
    "  const auto read = [&](int at) {\n    W_EVENT(Products, nullptr, 1, 0);\n"
    "    W_EVENT(Read, s + at * kLineBytes, kLineBytes, (long)&&here);\n  here:\n"
    "    W_EVENT(Products, nullptr, 0, 0);\n    W_EVENT(ProductsDone, nullptr, 0, 0);\n  };\n"
    "  for (int i = 0; i < 6; ++i) {\n    const int at = i % 2, turn = i / 2 % 2;\n"
    "    if (t == 0) {\n      w_bar_wait(empty + at, turn ^ 1);\n      w_bar_expect(full + at, kLineBytes);\n"
    "      W_EVENT(Fetch, s + at * kLineBytes, (long)(full + at), (long)x);\n    }\n"
    "    if (t >= 128) {\n      w_bar_wait(full + at, turn);\n      read(at);\n      w_wide_left<0>();\n"
    "      w_bar_arrive(empty + at);\n    }\n  }\n";

TEST_F(Races, RingsFedByTheUnitForTensors) {
  const std::vector<std::string> files{"gemm/feed.cuh"};
  const std::string source = kRing;
  EXPECT_RACE(source, "w_bar_wait(full + at, turn);", "read(at), w_bar_wait(full + at, turn);", "nothing orders after",
              threads(256), files);
  EXPECT_RACE(source, "      w_bar_wait(empty + at, turn ^ 1);\n", "", "nothing orders after", threads(256), files);
  EXPECT_RACE(source, "w_wide_left<0>()", "w_wide_left<1>()", "by the unit for tensors writes", threads(256), files);
  EXPECT_RACE(source, "w_bar_expect(full + at, kLineBytes)", "w_bar_expect(full + at, 2 * kLineBytes)",
              "wait at barriers for ever", threads(256), files);
  EXPECT_RACE(source, "w_bar_init(empty + i, 128)", "w_bar_init(empty + i, 129)", "wait at barriers for ever",
              threads(256), files);
}

// What comes late is not there yet when a thread goes on that waited for a turn before.
TEST_F(Races, WaitsOfAnotherParity) {
  const std::string source = kRing;
  EXPECT_RACE(source, "w_bar_wait(full + at, turn);",
              "w_bar_wait(full + at, i == 0 ? 1 : turn), read(at), w_bar_wait(full + at, turn);",
              "nothing orders after", threads(256), {"gemm/feed.cuh"});
}

TEST_F(Races, CopiesThatNobodyWaitsFor) {
  const std::vector<std::string> files{"gemm/feed.cuh"};
  const std::string source = kRing;
  EXPECT_RACE(source, "if (t >= 128)", "if (t >= 128 && i < 4)",
              "128 bytes that block (0, 0, 0) asked for come to a block", threads(256), files);
  EXPECT_RACE(source, "      w_bar_expect(full + at, kLineBytes);\n", "", "wait at barriers for ever", threads(256),
              files);
  const char* const expect = "      w_bar_expect(full + at, kLineBytes);\n";
  std::string wrong = source;
  wrong.replace(wrong.find(expect), std::strlen(expect), "");
  wrong.insert(wrong.find("    }\n", wrong.find("Fetch")), "      w_bar_arrive(full + at);\n");
  EXPECT_THAT(found(wrong, threads(256), files), HasSubstr("come to a turn of their barrier that is over"));
}

// Three stages, which two groups of readers take by turns: each skips every other filling of a stage.
const char kSharedRing[] =
    "  W_SHARED(memory, 2048);\n  u8* const s = memory;\n  u64* const full = (u64*)(s + 1024);\n  u64* const empty = "
    "full + 3;\n"
    "  if (t == 0)\n    for (int i = 0; i < 3; ++i) {\n      w_bar_init(full + i, 1);\n      w_bar_init(empty + i, "
    "128);\n    }\n"
    "  __syncthreads();\n"
    "  for (int i = 0; i < 12; ++i) {\n    const int at = i % 3, turn = i / 3 % 2;\n"
    "    if (t == 0) {\n      w_bar_wait(empty + at, turn ^ 1);\n      w_bar_expect(full + at, kLineBytes);\n"
    "      W_EVENT(Fetch, s + at * kLineBytes, (long)(full + at), (long)x);\n    }\n"
    "    if (t / 128 == 1 + i % 2) {\n      w_bar_wait(empty + at, turn ^ 1);  // skipped\n"
    "      w_bar_wait(full + at, turn);\n      W_EVENT(Read, s + at * kLineBytes, kLineBytes, (long)&&here);\n"
    "    here:\n      w_bar_arrive(empty + at);\n    }\n  }\n";

TEST_F(Races, ReadersThatSkipTurns) {
  const std::vector<std::string> files{"gemm/feed.cuh"};
  EXPECT_EQ(found(kSharedRing, threads(384), files), "");
  const char* const wait = "      w_bar_wait(empty + at, turn ^ 1);  // skipped\n";
  std::string wrong = kSharedRing, all;
  wrong.replace(wrong.find(wait), std::strlen(wait), "");
  // Copies arrive in one order or another: the wait is over too early, or could have been. Either is found.
  const auto has = [&](const char* what) { return all.find(what) != std::string::npos; };
  const char *const early = "nothing orders after", *const could = "nothing tells that the turn before it is over";
  for (int i = 0; i < 50 && !(has(early) && has(could)); ++i) {
    const std::string said = found(wrong + fmt::format("  // {}\n", i), threads(384), files);
    EXPECT_NE(said, "");
    all += said;
  }
  EXPECT_THAT(all, HasSubstr(early));
  EXPECT_THAT(all, HasSubstr(could));
}

TEST_F(Races, ProductsOfWhatWasWrittenWithoutAFence) {
  const std::string source =
      "  W_SHARED(s, 4096);\n  w_begin();\n  s[t] = 0;\n  w_group_fence();\n  __syncthreads();\n  W_EVENT(Products, "
      "nullptr, 1, 0);\n"
      "  y[t] = s[t ^ 1];\n  W_EVENT(Products, nullptr, 0, 0);\n";
  EXPECT_RACE(source, "  w_group_fence();\n", "", "without a fence", threads(128), {"gemm/group_mma.cuh"});
}

TEST_F(Races, WhatTheKernelAheadMakes) {
  const std::string waits = "/* griddepcontrol.wait */";
  mark_as_made(host_address(x_), kBytes);
  const std::string source = "  w_begin();" + waits + "\n  y[t] = x[t];\n";
  EXPECT_RACE(source, "w_begin();", "", "before the kernel ahead has ended", threads(64));
  // A barrier behind one thread's wait is enough.
  EXPECT_EQ(found("  if (t == 0) w_after();" + waits + "\n  __syncthreads();\n  y[t] = x[t];\n", threads(64)), "");
  forget_made(host_address(x_));
  EXPECT_EQ(found("  u32 v = x[t];\n  w_begin();" + waits + "\n  y[t] = v;\n", threads(64)), "");
}

}  // namespace
}  // namespace wootz::cuda
