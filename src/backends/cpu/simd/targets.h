// Which instruction sets our kernels are compiled for: AVX2 and AVX-512, whatever the compiler's own flags are. Include
// before any Highway header. Dispatch is ours (a kernel is made for one Isa), not Highway's: the cap is per problem,
// and Highway's choice is shared with all its users in the process.
#pragma once

#define HWY_BASELINE_TARGETS HWY_AVX2
#define HWY_DISABLED_TARGETS (~(HWY_AVX2 | HWY_AVX3))

#include "base/cpu_info.h"

// In the part of a file that is compiled once, after foreach_target.h: N_AVX3::f or N_AVX2::f.
#define WOOTZ_BY_ISA(isa, f) ((isa) == ::wootz::Isa::kAvx512 ? N_AVX3::f : N_AVX2::f)
