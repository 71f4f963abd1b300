// What the processor can do, and how much of it we may use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace wootz {

// The two vector widths that our own kernels are compiled for. Finer features (VNNI, BF16, AMX) are flags in CpuInfo.
// kAmx is a cap alone: AVX-512, and tiles where there are any.
enum class Isa : uint8_t { kNone, kAvx2, kAvx512, kAmx };
const char* isa_name(Isa isa);  // "none", "avx2", "avx512" (the last part of a kernel's name), "amx"
// "" and "none" mean what they say: no cap and no vector unit. Errors: an unknown name.
Result<Isa> isa_from_name(std::string_view name);

struct CpuInfo {
  std::string name;     // "AMD EPYC 9355"
  bool avx2 = false;    // with FMA, F16C, BMI1 and BMI2
  bool avx512 = false;  // F, CD, BW, DQ, VL
  bool avx_vnni = false, avx512_vnni = false, avx512_vbmi = false, avx512_bf16 = false, avx512_fp16 = false;
  bool amx_tile = false, amx_int8 = false, amx_bf16 = false;       // permission to use the tiles is asked for here
  size_t l1d = 32 * 1024, l2 = 1024 * 1024, l3 = 8 * 1024 * 1024;  // bytes, of one core (l3: of its cluster)
  int cpus = 1;                                                    // in the process's affinity mask when first asked
  size_t memory = 0;                                               // of the machine
  Isa best() const { return avx512 ? Isa::kAvx512 : avx2 ? Isa::kAvx2 : Isa::kNone; }
};

// Detected once, with the operating system's support checked. Not reduced by the cap.
const CpuInfo& cpu_info();

// The upper bound on instruction sets for the process: from the environment variable WOOTZ_ISA (avx2, avx512, amx)
// until set_isa_cap() replaces it. An unknown name in the environment is ignored with a line on stderr.
Isa isa_cap();
void set_isa_cap(Isa cap);
// min(best of the processor, process cap, `cap` when not empty): what a kernel may use. An unknown cap counts as none.
Isa usable_isa(std::string_view cap = {});
// Whether both caps allow tiles of AMX, where the processor has them.
bool amx_allowed(std::string_view cap = {});
// Short text for device descriptions: "avx512_amx", "avx512_bf16", "avx512_vnni", "avx512", "avx2", "none"; with the
// cap.
std::string isa_description();

}  // namespace wootz
