#include "base/cpu_info.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#endif

namespace wootz {
namespace {

#if defined(__x86_64__)
struct Regs {
  unsigned a = 0, b = 0, c = 0, d = 0;
};

Regs cpuid(unsigned leaf, unsigned sub) {
  Regs r;
  if (static_cast<unsigned>(__get_cpuid_max(leaf & 0x80000000u, nullptr)) >= leaf)
    __cpuid_count(leaf, sub, r.a, r.b, r.c, r.d);
  return r;
}

bool bit(unsigned word, int n) { return (word >> n) & 1u; }

uint64_t enabled_states() {
  unsigned low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<uint64_t>(high) << 32) | low;
}

// Linux hands out the tile registers only on request.
bool request_amx() {
  constexpr long kArchReqXcompPerm = 0x1023, kXtileData = 18;
  return syscall(SYS_arch_prctl, kArchReqXcompPerm, kXtileData) == 0;
}

void detect_features(CpuInfo* info) {
  const Regs l1 = cpuid(1, 0), l7 = cpuid(7, 0), l7b = cpuid(7, 1);
  if (!bit(l1.c, 27)) return;  // OSXSAVE
  const uint64_t states = enabled_states();
  const bool os_avx = (states & 0x6) == 0x6;
  const bool os_avx512 = os_avx && (states & 0xe0) == 0xe0;
  const bool os_amx = (states & 0x60000) == 0x60000;
  info->avx2 = os_avx && bit(l7.b, 5) && bit(l1.c, 12) && bit(l1.c, 29) && bit(l7.b, 3) && bit(l7.b, 8);
  info->avx512 =
      info->avx2 && os_avx512 && bit(l7.b, 16) && bit(l7.b, 17) && bit(l7.b, 28) && bit(l7.b, 30) && bit(l7.b, 31);
  info->avx_vnni = info->avx2 && bit(l7b.a, 4);
  info->avx512_vbmi = info->avx512 && bit(l7.c, 1);
  info->avx512_vnni = info->avx512 && bit(l7.c, 11);
  info->avx512_bf16 = info->avx512 && bit(l7b.a, 5);
  info->avx512_fp16 = info->avx512 && bit(l7.d, 23);
  info->amx_tile = info->avx512 && os_amx && bit(l7.d, 24) && request_amx();
  info->amx_int8 = info->amx_tile && bit(l7.d, 25);
  info->amx_bf16 = info->amx_tile && bit(l7.d, 22);
}

std::string brand() {
  if (static_cast<unsigned>(__get_cpuid_max(0x80000000u, nullptr)) < 0x80000004u) return "x86-64";
  char text[49] = {};
  for (unsigned i = 0; i < 3; ++i) {
    const Regs r = cpuid(0x80000002u + i, 0);
    std::memcpy(text + 16 * i, &r, 16);
  }
  std::string name = text;
  const size_t first = name.find_first_not_of(' ');
  const size_t last = name.find_last_not_of(' ');
  return first == std::string::npos ? "x86-64" : name.substr(first, last - first + 1);
}
#else
void detect_features(CpuInfo*) {}
std::string brand() { return "unknown"; }
#endif

void cache_size(int name, size_t* out) {
  const long value = sysconf(name);
  if (value > 0) *out = static_cast<size_t>(value);
}

// The system's own table, of the processor that this thread is on.
void caches_listed(CpuInfo* info) {
  const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(std::max(0, sched_getcpu())) + "/cache";
  for (int index = 0; index < 8; ++index) {
    const std::string at = folder + "/index" + std::to_string(index);
    std::string type;
    int level = 0;
    size_t kib = 0;
    if (!(std::ifstream(at + "/type") >> type) || !(std::ifstream(at + "/level") >> level)) return;
    if (!(std::ifstream(at + "/size") >> kib) || kib == 0 || type == "Instruction") continue;
    size_t* const sizes[] = {&info->l1d, &info->l2, &info->l3};
    if (level >= 1 && level <= 3) *sizes[level - 1] = kib * 1024;  // sizes are written as 32768K
  }
}

void detect_caches(CpuInfo* info) {
#ifdef _SC_LEVEL1_DCACHE_SIZE
  // On AMD's processors glibc gives the third-level cache of all clusters together.
  cache_size(_SC_LEVEL1_DCACHE_SIZE, &info->l1d);
  cache_size(_SC_LEVEL2_CACHE_SIZE, &info->l2);
  cache_size(_SC_LEVEL3_CACHE_SIZE, &info->l3);
#endif
  caches_listed(info);
}

int cpus_in_mask() {
  // Machines with more processors than a cpu_set_t holds need a larger mask.
  for (int count = CPU_SETSIZE; count <= (1 << 20); count *= 4) {
    cpu_set_t* set = CPU_ALLOC(count);
    if (set == nullptr) break;
    const size_t bytes = CPU_ALLOC_SIZE(count);
    const int found = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (found > 0) return found;
  }
  return 1;
}

CpuInfo detect() {
  CpuInfo info;
  info.name = brand();
  detect_features(&info);
  detect_caches(&info);
  info.cpus = cpus_in_mask();
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0) info.memory = static_cast<size_t>(pages) * static_cast<size_t>(page);
  return info;
}

Isa cap_from_environment() {
  const char* text = std::getenv("WOOTZ_ISA");
  if (text == nullptr || *text == 0) return Isa::kAmx;
  const Result<Isa> isa = isa_from_name(text);
  if (isa.ok()) return isa.value();
  std::fprintf(stderr, "wootz: WOOTZ_ISA=%s is ignored: expected avx2, avx512 or amx\n", text);
  return Isa::kAmx;
}

std::atomic<Isa>& cap() {
  static std::atomic<Isa> value{cap_from_environment()};
  return value;
}

}  // namespace

const char* isa_name(Isa isa) {
  constexpr const char* kNames[] = {"none", "avx2", "avx512", "amx"};
  return kNames[static_cast<int>(isa)];
}

Result<Isa> isa_from_name(std::string_view name) {
  if (name.empty() || name == "amx") return Isa::kAmx;
  if (name == "avx512") return Isa::kAvx512;
  if (name == "avx2") return Isa::kAvx2;
  if (name == "none") return Isa::kNone;
  return invalid_argument("unknown instruction set '{}': expected avx2, avx512 or amx", name);
}

const CpuInfo& cpu_info() {
  static const CpuInfo info = detect();
  return info;
}

Isa isa_cap() { return cap().load(std::memory_order_relaxed); }
void set_isa_cap(Isa value) { cap().store(value, std::memory_order_relaxed); }

Isa usable_isa(std::string_view cap) {
  Isa isa = cpu_info().best() < isa_cap() ? cpu_info().best() : isa_cap();
  const Result<Isa> wanted = isa_from_name(cap);
  if (wanted.ok() && wanted.value() < isa) isa = wanted.value();
  return isa;
}

bool amx_allowed(std::string_view cap) {
  const Result<Isa> wanted = isa_from_name(cap);
  return isa_cap() == Isa::kAmx && (!wanted.ok() || wanted.value() == Isa::kAmx);
}

std::string isa_description() {
  const CpuInfo& info = cpu_info();
  const Isa isa = usable_isa();
  if (isa != Isa::kAvx512) return isa_name(isa);
  if (info.amx_int8 && info.amx_bf16 && amx_allowed()) return "avx512_amx";
  if (info.avx512_bf16) return "avx512_bf16";
  return info.avx512_vnni ? "avx512_vnni" : "avx512";
}

}  // namespace wootz
