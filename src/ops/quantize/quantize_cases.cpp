#include <cmath>

#include "ops/cases.h"

namespace wootz::ops {

void quantize_cases(CaseList& list) {
  const auto scales = [&](DType type, const Dims& dims) {
    HostTensor t = list.random(type, dims);
    for (int64_t i = 0; i < t.volume(); ++i) t.set_f64(i, 0.01 + 0.02 * std::abs(t.get_f64(i)));
    return t;
  };
  const DType whole[] = {DType::kU8, DType::kI8, DType::kU16, DType::kI16,
                         DType::kU4, DType::kI4, DType::kU2,  DType::kI2};
  for (const DType type : whole) {
    const double low = dtype_info(type).is_signed ? -1 : 0;
    const std::string suffix = std::string("_") + dtype_name(type);
    const AttrMap to{{"to", std::string(dtype_name(type))}};
    list.add("quantize/per_tensor" + suffix, "Quantize",
             {list.random(DType::kF32, {3, 5, 4, 6}), scales(DType::kF32, {}), list.random(type, {}, low, 1)}, to, 1,
             {false, true, true});
    list.add(
        "quantize/per_channel" + suffix, "Quantize",
        {list.random(DType::kF32, {3, 5, 4, 6}), scales(DType::kF32, {5, 1, 1}), list.random(type, {5, 1, 1}, low, 1)},
        to, 1, {false, true, true});
    list.add("dequantize/per_tensor" + suffix, "Dequantize",
             {list.random(type, {3, 5, 4, 6}, -100, 100), scales(DType::kF32, {}), list.random(type, {}, low, 1)}, {},
             1, {false, true, true});
    list.add("dequantize/per_channel" + suffix, "Dequantize",
             {list.random(type, {5, 4, 6}, -100, 100), scales(DType::kF32, {5, 1, 1})}, {}, 1, {true, true});
    if (dtype_bits(type) >= 8) continue;
    // Blocks along the last axis, as weights are kept; rows that are whole vectors.
    list.add(
        "quantize/blocked" + suffix, "Quantize",
        {list.random(DType::kF32, {6, 4, 16}), scales(DType::kF32, {6, 4, 1}), list.random(type, {6, 4, 1}, low, 1)},
        to, 1, {false, true, true});
    list.add("dequantize/blocked" + suffix, "Dequantize",
             {list.random(type, {6, 4, 16}, -100, 100), scales(DType::kF16, {6, 4, 1}),
              list.random(type, {6, 4, 1}, low, 1)},
             {}, 1, {false, true, true});
  }
  const DType narrow[] = {DType::kF8E4M3, DType::kF8E4M3Fnuz, DType::kF8E5M2, DType::kF8E5M2Fnuz, DType::kF4E2M1};
  for (const DType type : narrow) {
    const std::string suffix = std::string("_") + dtype_name(type);
    list.add("quantize/per_tensor" + suffix, "Quantize", {list.random(DType::kF32, {7, 9}), scales(DType::kF32, {})},
             {{"to", std::string(dtype_name(type))}}, 1, {false, true});
    list.add("dequantize/per_tensor" + suffix, "Dequantize", {list.random(type, {7, 9}), scales(DType::kF32, {})}, {},
             1, {false, true});
    list.add("quantize/per_channel" + suffix, "Quantize",
             {list.random(DType::kF16, {5, 4, 8}), scales(DType::kF16, {5, 1, 1})},
             {{"to", std::string(dtype_name(type))}, {"saturate", int64_t{0}}}, 1, {false, true});
    list.add("dequantize/blocked" + suffix, "Dequantize",
             {list.random(type, {6, 4, 16}), scales(DType::kBF16, {6, 4, 1})}, {}, 1, {false, true});
  }
  HostTensor gaps = list.random(DType::kF32, {7, 9});
  for (int64_t i = 0; i < gaps.volume(); i += 4) gaps.set_f64(i, std::nan(""));
  for (const DType type : {DType::kU8, DType::kI16, DType::kU4})  // of what is no number: 0, whatever the zero point
    list.add(std::string("quantize/nan_") + dtype_name(type), "Quantize",
             {gaps, scales(DType::kF32, {}), list.random(type, {}, 3, 3)}, {}, 1, {false, true, true});
  // Quotients that lie between two integers, or next to there, and those that are far outside.
  HostTensor ends = HostTensor::allocate(DType::kF32, {4, 130}).value(), tenth = list.random(DType::kF32, {}, 0.1, 0.1);
  const auto step = static_cast<float>(tenth.get_f64(0));
  for (int64_t i = 0; i < ends.volume(); ++i) {
    const float half = (static_cast<float>(i / 4 - 64) + 0.5F) * step, far[] = {3e38F, INFINITY, 1e-44F, 1e9F};
    const float sides[] = {half, std::nextafter(half, 1e9F), std::nextafter(half, -1e9F),
                           i % 8 < 4 ? far[i / 8 % 4] : -far[i / 8 % 4]};
    ends.set_f64(i, static_cast<double>(sides[i % 4]));
  }
  for (const DType type : {DType::kU8, DType::kI8})
    list.add(std::string("quantize/ends_") + dtype_name(type), "Quantize",
             {ends, tenth, list.random(type, {}, type == DType::kU8 ? 40 : 0, type == DType::kU8 ? 40 : 0)}, {}, 1,
             {false, true, true});
  // Rows by scales of their own; one of zeros, one that holds a NaN, and ones next to the ends of what floats hold.
  HostTensor rows = list.random(DType::kF32, {7, 37});
  const float sizes[] = {1, 0, NAN, 1e-38F, 1e36F, 1e-42F, 300};
  for (int64_t i = 0; i < rows.volume(); ++i) {
    const auto size = static_cast<double>(sizes[i / 37]);
    rows.set_f64(i, std::isnan(size) ? (i % 37 == 5 ? NAN : rows.get_f64(i)) : rows.get_f64(i) * size);
  }
  list.add("quantize/rows_ends", "QuantizeRows", {rows}, {{"empty", 1.0}}, 2);
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16}) {
    const std::string suffix = std::string("_") + dtype_name(type);
    list.add("quantize/rows" + suffix, "QuantizeRows", {list.random(type, {3, 5, 96})}, {}, 2);
    list.add("quantize/rows_factor" + suffix, "QuantizeRows", {list.random(type, {4, 33})},
             {{"factor", 0.007874015718698502}, {"least", 0.02}}, 2);
    list.add("quantize/rows_f8" + suffix, "QuantizeRows", {list.random(type, {2, 130})},
             {{"to", std::string("f8e4m3")}, {"divisor", 448.0}}, 2);
  }
  HostTensor positive = list.random(DType::kF32, {5, 31}), negative = list.random(DType::kF32, {4099});
  for (int64_t i = 0; i < positive.volume(); ++i) positive.set_f64(i, std::fabs(positive.get_f64(i)) + 3);
  for (int64_t i = 0; i < negative.volume(); ++i) negative.set_f64(i, -std::fabs(negative.get_f64(i)));
  list.add("quantize/dynamic", "DynamicQuantize", {list.random(DType::kF32, {3, 1025, 7})}, {}, 3);
  list.add("quantize/dynamic_positive", "DynamicQuantize", {positive}, {}, 3);
  list.add("quantize/dynamic_negative", "DynamicQuantize", {negative}, {}, 3);
  list.add("quantize/dynamic_zeros", "DynamicQuantize", {*HostTensor::allocate(DType::kF32, {17})}, {}, 3);
  list.add("quantize/f16", "Quantize", {list.random(DType::kF16, {7, 9}), scales(DType::kF16, {})},
           {{"to", std::string("i8")}}, 1, {false, true});
  list.add("dequantize/i32", "Dequantize", {list.random(DType::kI32, {7, 9}, -9000, 9000), scales(DType::kF32, {})}, {},
           1, {false, true});
  list.add("dequantize/to_f16", "Dequantize", {list.random(DType::kI8, {7, 9}, -99, 99), scales(DType::kF32, {})},
           {{"to", std::string("f16")}}, 1, {false, true});
}

}  // namespace wootz::ops
