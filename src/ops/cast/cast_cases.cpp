#include <cmath>
#include <limits>
#include <string>

#include "base/half.h"
#include "ops/cases.h"
#include "ops/registry.h"

namespace wootz::ops {
namespace {

// The bits of what a cast gives: the tolerance of a narrow float would let its neighbours
// pass.
void add_bits(CaseList& list, const std::string& name, const HostTensor& x, const AttrMap& attrs, DType bits) {
  OpCase c;
  c.name = name;
  c.graph = std::make_shared<Graph>(name);
  Value* in = c.graph->add_input("x", x.dtype(), to_shape(x.dims()));
  Node* cast = c.graph->add_node(op("Cast"), name, {in}, attrs);
  Node* taken =
      c.graph->add_node(op("BitCast"), name + "/bits", {cast->output()}, {{"to", std::string(dtype_name(bits))}});
  c.graph->mark_output(taken->output());
  c.inputs = {x};
  list.add(std::move(c));
}

HostTensor every_f16() {
  HostTensor x = *HostTensor::allocate(DType::kF16, {256, 256});
  for (size_t i = 0; i < 65536; ++i) {
    const bool nan = (i & 0x7fff) > 0x7c00;  // whose sign and payload conversions need not keep
    static_cast<uint16_t*>(x.mutable_data())[i] = static_cast<uint16_t>(nan ? 0 : i);
  }
  return x;
}

HostTensor every_code(DType type) {
  const int64_t count = int64_t{1} << dtype_bits(type);
  HostTensor x = *HostTensor::allocate(type, {count});
  auto* bytes = static_cast<uint8_t*>(x.mutable_data());
  for (int64_t i = 0; i < count; ++i) {
    const auto code = static_cast<uint8_t>(i);
    if (dtype_bits(type) == 4)
      bytes[i / 2] = static_cast<uint8_t>(bytes[i / 2] | code << (i % 2 * 4));
    else
      bytes[i] = std::isnan(small_float_to_f32(type, code)) ? 0 : code;
  }
  return x;
}

void narrow_float_cases(CaseList& list) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  // Infinities, what rounds to the largest values and what does not, and far below the smallest.
  const float edges[] = {0.0f,     -0.0f,  inf,      -inf,    nan,    1e-40f,  -1e-40f, 3e38f,
                         -3e38f,   464.0f, 464.1f,   -480.0f, 247.9f, 248.0f,  -248.1f, 61439.9f,
                         61440.0f, -1e6f,  57344.0f, 5.0f,    5.1f,   7.5f,    0.25f,   0.26f,
                         0.75f,    -0.75f, 1e-3f,    9.8e-4f, -2e-3f, 7.6e-6f, 2.3e-5f};
  const HostTensor edge = HostTensor::from<float>(edges, Dims{static_cast<int64_t>(std::size(edges))});
  const HostTensor halves = every_f16();
  for (DType type : {DType::kF8E4M3, DType::kF8E4M3Fnuz, DType::kF8E5M2, DType::kF8E5M2Fnuz, DType::kF4E2M1}) {
    const std::string name = dtype_name(type);
    const DType bits = dtype_bits(type) == 4 ? DType::kU4 : DType::kU8;
    for (int64_t saturate : {0, 1}) {
      const AttrMap attrs{{"to", name}, {"saturate", saturate}};
      const std::string suffix = "_to_" + name + (saturate != 0 ? "" : "_open");
      add_bits(list, "cast/edges" + suffix, edge, attrs, bits);
      add_bits(list, "cast/every_f16" + suffix, halves, attrs, bits);
    }
    add_bits(list, "cast/every_" + name, every_code(type), {{"to", std::string("f32")}}, DType::kI32);
  }
  list.add("cast/f8e4m3_to_f8e5m2", "Cast", {every_code(DType::kF8E4M3)}, {{"to", std::string("f8e5m2")}});
  list.add("cast/f8e8m0_to_f32", "Cast", {every_code(DType::kF8E8M0)}, {{"to", std::string("f32")}});
  list.add("cast/f8e5m2_to_i32", "Cast", {list.random(DType::kF8E5M2, {5, 7})}, {{"to", std::string("i32")}});
  list.add("cast/i4_to_bool", "Cast", {list.random(DType::kI4, {5, 7}, -7, 7)}, {{"to", std::string("bool")}});
  list.add("cast/i4_to_u2", "Cast", {list.random(DType::kI4, {5, 7}, -7, 7)}, {{"to", std::string("u2")}});
  list.add("cast/u4_to_f16_wide", "Cast", {list.random(DType::kU4, {6, 64}, 0, 15)}, {{"to", std::string("f16")}});
}

}  // namespace

void cast_cases(CaseList& list) {
  const DType plain[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI8,
                         DType::kU8,  DType::kI32, DType::kI64,  DType::kU32, DType::kBool};
  for (DType from : plain)
    for (DType to : plain) {
      if (from == to) continue;
      HostTensor x = list.random(from, {3, 19});
      // A negative float has no value in an unsigned type: kernels may differ there.
      if (is_float(from) && is_integer(to) && !dtype_info(to).is_signed)
        for (int64_t i = 0; i < x.volume(); ++i) x.set_f64(i, x.get_f64(i) < 0 ? -x.get_f64(i) : x.get_f64(i));
      list.add(std::string("cast/") + dtype_name(from) + "_to_" + dtype_name(to), "Cast", {x},
               {{"to", std::string(dtype_name(to))}});
    }
  for (DType narrow : {DType::kF8E4M3, DType::kF8E4M3Fnuz, DType::kF8E5M2, DType::kF8E5M2Fnuz, DType::kF4E2M1,
                       DType::kI4, DType::kU4, DType::kI2, DType::kU2}) {
    const double top = dtype_bits(narrow) == 2 ? 1 : 7;
    const double bottom = dtype_info(narrow).is_signed ? -top : 0;
    list.add(std::string("cast/f32_to_") + dtype_name(narrow), "Cast", {list.random(DType::kF32, {5, 7})},
             {{"to", std::string(dtype_name(narrow))}});
    list.add(std::string("cast/i32_to_") + dtype_name(narrow), "Cast", {list.random(DType::kI32, {5, 7}, bottom, top)},
             {{"to", std::string(dtype_name(narrow))}});
    list.add(std::string("cast/f16_from_") + dtype_name(narrow), "Cast", {list.random(narrow, {5, 7}, bottom, top)},
             {{"to", std::string("f16")}});
  }
  for (const char* mode : {"up", "down", "nearest"})
    list.add(std::string("cast/f32_to_f8e8m0_") + mode, "CastE8M0", {list.random(DType::kF32, {5, 7})},
             {{"round_mode", std::string(mode)}});
  list.add("cast/bits_f32_to_i32", "BitCast", {list.random(DType::kF32, {5, 7})}, {{"to", std::string("i32")}});
  list.add("cast/bits_i4_to_u4", "BitCast", {list.random(DType::kI4, {3, 3})}, {{"to", std::string("u4")}});
  narrow_float_cases(list);
}

}  // namespace wootz::ops
