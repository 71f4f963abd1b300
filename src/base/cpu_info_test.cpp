#include "base/cpu_info.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

namespace wootz {
namespace {

struct CapGuard {
  Isa saved = isa_cap();
  ~CapGuard() { set_isa_cap(saved); }
};

TEST(CpuInfo, IsConsistent) {
  const CpuInfo& info = cpu_info();
  EXPECT_GE(info.cpus, 1);
  EXPECT_FALSE(info.name.empty());
  EXPECT_GT(info.memory, 0u);
  EXPECT_LE(info.l1d, info.l2);
  EXPECT_TRUE(info.avx2 || !info.avx512);
  EXPECT_TRUE(info.amx_tile || !info.amx_int8);
#if defined(__x86_64__) && defined(__GNUC__)
  EXPECT_EQ(info.avx2, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
  EXPECT_EQ(info.avx512, __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"));
#endif
}

// Tests of an instruction set are skipped where cpu_info() lacks it: it must not lack what the kernel lists.
TEST(CpuInfo, HasWhatTheKernelLists) {
  std::ifstream file("/proc/cpuinfo");
  std::set<std::string> flags;
  for (std::string line; flags.empty() && std::getline(file, line);) {
    if (line.rfind("flags", 0) != 0) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    for (std::string word; words >> word;) flags.insert(word);
  }
  if (flags.empty()) GTEST_SKIP() << "no flags in /proc/cpuinfo";
  const CpuInfo& info = cpu_info();
  const std::pair<const char*, bool> kReported[] = {{"avx2", info.avx2},
                                                    {"avx512f", info.avx512},
                                                    {"avx_vnni", info.avx_vnni},
                                                    {"avx512_vnni", info.avx512_vnni},
                                                    {"avx512_bf16", info.avx512_bf16},
                                                    {"avx512_fp16", info.avx512_fp16}};
  for (const auto& [flag, reported] : kReported) EXPECT_EQ(reported, flags.count(flag) != 0) << flag;
  // The tiles may be refused by the system although the processor has them.
  if (info.amx_tile) EXPECT_EQ(info.amx_bf16, flags.count("amx_bf16") != 0);
}

// The third level is that of a cluster of cores, which sysconf() multiplies by the clusters of some processors.
TEST(CpuInfo, HasTheCachesThatTheKernelLists) {
  std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index3/size");
  size_t kib = 0;
  if (!(file >> kib) || kib == 0) GTEST_SKIP() << "the system does not list caches";
  EXPECT_EQ(cpu_info().l3, kib * 1024);
}

TEST(CpuInfo, CapLowersWhatIsUsable) {
  CapGuard guard;
  set_isa_cap(Isa::kAvx512);
  EXPECT_EQ(usable_isa(), cpu_info().best());
  EXPECT_LE(usable_isa("avx2"), Isa::kAvx2);
  EXPECT_FALSE(amx_allowed());
  set_isa_cap(Isa::kAmx);
  EXPECT_EQ(usable_isa(), cpu_info().best());
  EXPECT_TRUE(amx_allowed() && amx_allowed("amx"));
  EXPECT_FALSE(amx_allowed("avx512") || amx_allowed("avx2"));
  EXPECT_EQ(isa_description() == "avx512_amx", cpu_info().amx_int8 && cpu_info().amx_bf16);
  set_isa_cap(Isa::kAvx2);
  EXPECT_LE(usable_isa(), Isa::kAvx2);
  EXPECT_LE(usable_isa("avx512"), Isa::kAvx2);
  EXPECT_EQ(isa_description(), cpu_info().avx2 ? "avx2" : "none");
  set_isa_cap(Isa::kNone);
  EXPECT_EQ(usable_isa("avx512"), Isa::kNone);
}

TEST(CpuInfo, NamesRoundTrip) {
  for (Isa isa : {Isa::kNone, Isa::kAvx2, Isa::kAvx512, Isa::kAmx})
    EXPECT_EQ(isa_from_name(isa_name(isa)).value(), isa);
  EXPECT_FALSE(isa_from_name("avx1024").ok());
}

}  // namespace
}  // namespace wootz
