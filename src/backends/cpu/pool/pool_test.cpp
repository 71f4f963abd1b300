#include <algorithm>
#include <cmath>

#include "backends/cpu/testing/kernel_runner.h"
#include "base/tolerance.h"

namespace wootz::cpu {
namespace {

using Ints = std::vector<int64_t>;

struct Case {
  Dims in;
  Ints kernel, strides, pads;
  Ints dilations;
  Dims out;  // spatial extents
};

HostTensor oracle(const std::string& kind, const Case& c, const HostTensor& x, bool include_pad, int64_t power,
                  const Dims& out) {
  HostTensor y = HostTensor::allocate(is_float(x.dtype()) ? DType::kF64 : DType::kI64, out).value();
  const size_t n = c.kernel.size();
  int64_t taps = 1;
  for (int64_t k : c.kernel) taps *= k;
  const Dims os = out.strides(), is = x.dims().strides();
  for (int64_t e = 0; e < y.volume(); ++e) {
    double sum = 0, best = -INFINITY, count = 0, padded = 0;
    for (int64_t t = 0; t < taps; ++t) {
      int64_t rest = t, at = e / os[0] % out[0] * is[0] + e / os[1] % out[1] * is[1];
      bool real = true, in_pad = true;
      for (size_t d = n; d-- > 0;) {
        const int64_t o = e / os[d + 2] % out[d + 2];
        const int64_t pos = o * c.strides[d] - c.pads[d] + rest % c.kernel[d] * c.dilations[d];
        rest /= c.kernel[d];
        real = real && pos >= 0 && pos < x.dims()[d + 2];
        in_pad = in_pad && pos < x.dims()[d + 2] + c.pads[d + n];
        at += pos * is[d + 2];
      }
      padded += in_pad;
      if (!real) continue;
      const double v = x.get_f64(at);
      count += 1;
      sum += kind == "lp" ? std::pow(std::fabs(v), static_cast<double>(power)) : v;
      best = std::isnan(best) || best > v ? best : v;
    }
    const double divisor = include_pad ? padded : count;
    const double v = kind == "max"  ? best
                     : kind == "lp" ? std::pow(sum, 1.0 / static_cast<double>(power))
                     : divisor == 0 ? 0
                                    : sum / divisor;
    if (is_float(x.dtype()))
      y.set_f64(e, v);
    else
      y.set_i64(e, static_cast<int64_t>(v));
  }
  return y;
}

void check_pool(const std::string& kind, const Case& c, const HostTensor& x, bool include_pad, bool global,
                bool epilogue, std::mt19937_64& rng) {
  Dims out{x.dims()[0], x.dims()[1]};
  for (int64_t d : c.out) out.push_back(d);
  const int64_t power = 1 + static_cast<int64_t>(rng() % 3);
  // Averages of bytes are of what the bytes stand for.
  const bool quantized = kind == "avg" && !is_float(x.dtype());
  const double scale = static_cast<float>(0.01 * static_cast<double>(1 + rng() % 9));
  const double zero = static_cast<double>(rng() % 100);
  HostTensor meant = quantized ? rig::converted(x, DType::kF64) : x;
  for (int64_t i = 0; quantized && i < x.volume(); ++i) meant.set_f64(i, scale * (x.get_f64(i) - zero));
  const DType acc = quantized ? DType::kF32 : x.dtype();
  HostTensor want = oracle(kind, c, meant, include_pad, power, out);
  Problem p;
  p.set_family(Family::kPool);
  p.num_main = 1;
  p.params = PoolParams{.kind = *choice_from_name<PoolKind>(kind),
                        .kernel = global ? Ints(c.kernel.size(), 0) : c.kernel,
                        .strides = c.strides,
                        .dilations = c.dilations,
                        .pads = c.pads,
                        .global = global,
                        .count_include_pad = include_pad,
                        .p = power};
  if (quantized) {
    p.as<PoolParams>().x_scale = {scale};
    p.as<PoolParams>().x_zero = {zero};
  }
  std::vector<HostTensor> inputs = {x};
  DType type = acc;
  if (epilogue) {
    type = DType::kF32;
    inputs.push_back(rig::random_tensor(rng, DType::kF32, out));
    p.epilogue = rig::test_epilogue(acc, type);
    want = rig::apply_epilogue(p.epilogue, want, {inputs[1]});
  } else if (is_float(type)) {
    want = rig::converted(want, type);
  } else {
    HostTensor narrow = HostTensor::allocate(type, out).value();
    for (int64_t i = 0; i < out.volume(); ++i) narrow.set_i64(i, want.get_i64(i));
    want = narrow;
  }
  for (const HostTensor& t : inputs) p.inputs.push_back(rig::desc_of(t));
  p.outputs = {rig::desc(type, out)};
  SCOPED_TRACE(p.key());
  const double noise = epilogue ? cancellation_noise(type, 4, 2) : 0;  // the epilogue adds two of these to each other
  rig::check(p, inputs, {want}, {.tolerance = tolerance_for(type, 64), .noise = noise, .misaligned = include_pad});
}

TEST(Pool, KindsTypesWindowsAndLayouts) {
  std::mt19937_64 rng(rig::seed());
  const Case cases[] = {{{2, 5, 9, 11}, {3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}, {5, 6}},
                        {{1, 3, 8, 8}, {2, 2}, {2, 2}, {0, 0, 0, 0}, {1, 1}, {4, 4}},
                        {{1, 70, 7, 7}, {7, 7}, {1, 1}, {0, 0, 0, 0}, {1, 1}, {1, 1}},
                        {{2, 4, 20}, {3}, {1}, {2, 2}, {2}, {20}},
                        {{1, 2, 5, 6, 7}, {2, 3, 2}, {1, 2, 2}, {0, 1, 0, 1, 1, 1}, {1, 1, 1}, {5, 3, 4}},
                        {{1, 3, 7, 7}, {3, 3}, {2, 2}, {0, 0, 0, 0}, {1, 1}, {3, 3}},
                        {{1, 3, 6, 6}, {3, 3}, {2, 2}, {0, 0, 0, 0}, {1, 1}, {3, 3}},
                        {{1, 1, 2, 2500}, {1, 1500}, {1, 30}, {0, 0, 0, 0}, {1, 1}, {2, 34}},
                        {{1, 2, 4, 3000}, {2, 3}, {2, 2}, {0, 1, 0, 1}, {1, 1}, {2, 1500}},
                        {{1, 2, 3, 3}, {1, 1}, {1, 1}, {2, 2, 2, 2}, {1, 1}, {7, 7}},
                        {{0, 2, 4, 4}, {2, 2}, {2, 2}, {0, 0, 0, 0}, {1, 1}, {2, 2}}};
  for (const Case& c : cases)
    for (DType type : {DType::kF32, DType::kF16, DType::kF64, DType::kI8, DType::kU8})
      for (const char* kind : {"max", "avg", "lp"}) {
        if (!is_float(type) && std::string_view(kind) == "lp") continue;
        if (c.in.volume() > 8000 && (type != DType::kF32 || std::string_view(kind) == "lp")) continue;
        // A maximum over padding alone is minus infinity, which the integers do not have.
        const bool average = std::string_view(kind) == "avg";
        if (c.kernel[0] == 1 && c.pads[0] > 0 && !is_float(type) && !average) continue;
        const HostTensor x = rig::random_tensor(rng, type, c.in, -20, 20);
        check_pool(kind, c, x, rng() % 2, false, (is_float(type) || average) && rng() % 2, rng);
      }
}

TEST(Pool, Global) {
  std::mt19937_64 rng(rig::seed());
  for (const Dims& dims : {Dims{2, 33, 7, 7}, Dims{1, 5, 60, 50}, Dims{3, 4, 11}, Dims{1, 2, 3, 4, 5}})
    for (DType type : {DType::kF32, DType::kBF16})
      for (const char* kind : {"max", "avg"}) {
        const size_t n = dims.size() - 2;
        Case c{dims, {}, Ints(n, 1), Ints(2 * n, 0), Ints(n, 1), Dims::filled(static_cast<int>(n), 1)};
        for (size_t d = 0; d < n; ++d) c.kernel.push_back(dims[d + 2]);
        check_pool(kind, c, rig::random_tensor(rng, type, dims), false, true, rng() % 2, rng);
      }
}

TEST(Pool, NaN) {
  std::mt19937_64 rng(rig::seed());
  for (const char* kind : {"max", "avg"}) {
    HostTensor x = rig::random_tensor(rng, DType::kF32, {1, 3, 6, 6});
    x.as_mutable<float>()[40] = NAN;
    x.as_mutable<float>()[41] = 100;
    x.as_mutable<float>()[80] = -INFINITY;
    check_pool(kind, {{1, 3, 6, 6}, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, {6, 6}}, x, false, false, false, rng);
  }
}

// Those with a sign, too, and in every vector of channels.
TEST(Pool, NaNsOfBothSignsWinAMaximum) {
  std::mt19937_64 rng(rig::seed());
  for (DType type : {DType::kF32, DType::kF16, DType::kBF16})
    for (const int64_t channels : {1, 9, 70}) {
      HostTensor x = rig::random_tensor(rng, type, {1, channels, 8, 7});
      for (size_t i = 0; i < static_cast<size_t>(x.volume()); i += 1 + rng() % 40) {
        const bool negative = rng() % 2 != 0;
        if (type == DType::kF32)
          x.as_mutable<uint32_t>()[i] = negative ? 0xff800001 : 0x7f800001;
        else
          x.as_mutable<uint16_t>()[i] =
              static_cast<uint16_t>((type == DType::kF16 ? 0x7c01 : 0x7f81) + 0x8000 * negative);
      }
      x.set_f64(x.volume() - 1, -INFINITY);
      check_pool("max", {{1, channels, 8, 7}, {2, 3}, {2, 1}, {0, 1, 0, 1}, {1, 1}, {4, 7}}, x, false, false,
                 rng() % 2 != 0, rng);
    }
}

TEST(Pool, RefusesWindowsFromOutside) {
  Problem p;
  p.set_family(Family::kPool);
  p.num_main = 1;
  p.inputs = {rig::desc(DType::kF32, {1, 1, 4, 4})};
  p.outputs = {rig::desc(DType::kF32, {1, 1, 2, 2})};
  const auto offered = [&](Ints kernel, Ints strides, Ints pads, Ints dilations) {
    p.params =
        PoolParams{.kind = PoolKind::kMax, .kernel = kernel, .strides = strides, .dilations = dilations, .pads = pads};
    return !rig::offers_for(p, "avx2").empty();
  };
  EXPECT_TRUE(offered({2, 2}, {2, 2}, {0, 0, 0, 0}, {1, 1}));
  EXPECT_FALSE(offered({2}, {2, 2}, {0, 0, 0, 0}, {1, 1}));
  EXPECT_FALSE(offered({2, 0}, {2, 2}, {0, 0, 0, 0}, {1, 1}));
  EXPECT_FALSE(offered({2, 2}, {0, 2}, {0, 0, 0, 0}, {1, 1}));
  EXPECT_FALSE(offered({2, 2}, {2, INT64_MAX}, {0, 0, 0, 0}, {1, 1}));
  EXPECT_FALSE(offered({2, 2}, {2, 2}, {0, -1, 0, 0}, {1, 1}));
}

}  // namespace
}  // namespace wootz::cpu
