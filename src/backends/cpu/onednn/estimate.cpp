// The shares below are relative to an assumed peak and follow what README.md reports: brgemm convolution on
// channels_last first, direct convolution on blocked16 next, AVX2 on blocked8 and GEMM convolution on linear far slower
// (it writes out every window). The f32 first layer (3 channels) is the exception: slow on channels_last, fast from
// linear to blocked16.
#include "backends/cpu/onednn/estimate.h"

#include <algorithm>

#include "base/cpu_info.h"

namespace wootz::cpu::dnn {
namespace {

// Billions of operations a second of one core, assumed: about 3 GHz, two vector units.
double peak_gops(const Problem& p) {
  const CpuInfo& cpu = cpu_info();
  const bool wide = usable_isa() == Isa::kAvx512;
  const double f32 = wide ? 190 : 95;
  switch (p.inputs[0].dtype) {
    case DType::kBF16: return wide && cpu.amx_bf16 ? 10 * f32 : cpu.avx512_bf16 ? 2 * f32 : f32;
    case DType::kU8:
    case DType::kI8: return wide && cpu.amx_int8 ? 20 * f32 : 4 * f32;
    default: return f32;
  }
}

double share_of_peak(const Problem& p, std::string_view impl) {
  if (impl.starts_with("ref")) return 0.0005;
  const bool conv = p.family() == Family::kConv;
  const int64_t groups = conv ? std::max<int64_t>(p.as<ConvParams>().groups, 1) : 1;
  const int64_t channels = conv && p.inputs[0].dims.rank() > 1 ? p.inputs[0].dims[1] / groups : 16;
  if (impl.find("gemm") != std::string_view::npos) return !conv ? 0.75 : channels < 4 ? 0.01 : 0.35;
  if (channels <= 4 && groups == 1 && p.inputs[0].dtype == DType::kF32 && p.inputs[0].layout == Layout::kChannelsLast)
    return 0.06;
  if (groups > 1 && channels == 1) return 0.25;
  if (impl.starts_with("br")) return 0.85;
  return impl.find("avx512") != std::string_view::npos || usable_isa() < Isa::kAvx512 ? 0.77 : 0.5;
}

}  // namespace

double estimate_us(const Problem& p, double flops, std::string_view impl, int threads) {
  const double cores = std::max(threads, 1);
  double bytes = 0;
  for (const TensorDesc& t : p.inputs) bytes += static_cast<double>(dtype_bytes(t.dtype, t.dims.volume()));
  for (const TensorDesc& t : p.outputs) bytes += static_cast<double>(dtype_bytes(t.dtype, t.dims.volume()));
  const double compute = flops / (peak_gops(p) * share_of_peak(p, impl) * cores * 1e3);
  return 2 + std::max(compute, bytes / (20e3 * std::min(cores, 4.0)));
}

}  // namespace wootz::cpu::dnn
