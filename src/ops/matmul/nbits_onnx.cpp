// MatMulNBits of ONNX Runtime: weights of 4 or 8 bits in blocks, each column's one after the other.
#include <algorithm>

#include "ops/matmul/weight_only.h"
#include "ops/support/compose.h"

namespace wootz::ops {
namespace {

struct Packing {
  int64_t depth = 0, columns = 0, bits = 4, block = 0;
  int64_t blocks() const { return (depth + block - 1) / block; }
  DType type(bool is_signed) const {
    return bits == 4 ? (is_signed ? DType::kI4 : DType::kU4) : (is_signed ? DType::kI8 : DType::kU8);
  }
};

// Element `at` of a row of bytes.
int64_t element(const uint8_t* row, int64_t bits, int64_t at) {
  return bits == 8 ? row[at] : row[at / 2] >> (at % 2 * 4) & 15;
}

// [N, K]. Without zero points the middle stands for 0: then the numbers are signed.
Result<HostTensor> weights(const Packing& p, const HostTensor& packed, bool is_signed) {
  WOOTZ_ASSIGN_OR_RETURN(HostTensor w, HostTensor::allocate(p.type(is_signed), Dims{p.columns, p.depth}));
  const auto* const from = static_cast<const uint8_t*>(packed.data());
  const int64_t row = p.blocks() * p.block * p.bits / 8;
  if (p.depth == p.blocks() * p.block) {  // as it lies
    const uint8_t flip = is_signed ? (p.bits == 4 ? 0x88 : 0x80) : 0;
    auto* const to = static_cast<uint8_t*>(w.mutable_data());
    std::transform(from, from + row * p.columns, to, [&](uint8_t v) { return static_cast<uint8_t>(v ^ flip); });
    return w;
  }
  const int64_t middle = is_signed ? int64_t{1} << (p.bits - 1) : 0;
  for (int64_t n = 0; n < p.columns; ++n)
    for (int64_t k = 0; k < p.depth; ++k) w.set_i64(n * p.depth + k, element(from + n * row, p.bits, k) - middle);
  return w;
}

Result<HostTensor> scales(const Packing& p, const HostTensor& given) {
  WOOTZ_ASSIGN_OR_RETURN(HostTensor made, HostTensor::allocate(given.dtype(), Dims{p.blocks(), p.columns}));
  for (int64_t b = 0; b < p.blocks(); ++b)
    for (int64_t n = 0; n < p.columns; ++n) made.set_f64(b * p.columns + n, given.get_f64(n * p.blocks() + b));
  return made;
}

Result<HostTensor> zero_points(const Packing& p, const HostTensor& given) {
  WOOTZ_ASSIGN_OR_RETURN(HostTensor made, HostTensor::allocate(p.type(false), Dims{p.blocks(), p.columns}));
  const int64_t row = (p.blocks() * p.bits + 7) / 8;
  const auto* const from = static_cast<const uint8_t*>(given.data());
  for (int64_t b = 0; b < p.blocks(); ++b)
    for (int64_t n = 0; n < p.columns; ++n) made.set_i64(b * p.columns + n, element(from + n * row, p.bits, b));
  return made;
}

Result<Packing> read_packing(ImportContext& ctx) {
  Packing p{ctx.attr_int("K", 0), ctx.attr_int("N", 0), ctx.attr_int("bits", 4), ctx.attr_int("block_size", 0)};
  constexpr int64_t kMost = int64_t{1} << 24;
  if (p.depth < 1 || p.columns < 1 || p.depth > kMost || p.columns > kMost || p.block < 16 || p.block > kMost ||
      (p.block & (p.block - 1)) != 0)
    return ctx.fail("K {}, N {} and blocks of {}", p.depth, p.columns, p.block);
  if (p.bits != 4 && p.bits != 8) return ctx.fail("weights of {} bits: 4 and 8 are known", p.bits);
  if (ctx.has_input(4)) return ctx.fail("g_idx is not known");
  for (const int i : {1, 2, 3})
    if ((i < 3 || ctx.has_input(i)) && ctx.constant(i) == nullptr) return ctx.fail("input {} is no constant", i);
  const HostTensor &w = *ctx.constant(1), &scale = *ctx.constant(2);
  if (w.dtype() != DType::kU8 || w.volume() != p.columns * p.blocks() * p.block * p.bits / 8)
    return ctx.fail("weights {}{} for K {}, N {}", dtype_name(w.dtype()), w.dims().to_string(), p.depth, p.columns);
  if (!is_float(scale.dtype()) || scale.volume() != p.columns * p.blocks())
    return ctx.fail("scales {}{} for {} blocks of {} columns", dtype_name(scale.dtype()), scale.dims().to_string(),
                    p.blocks(), p.columns);
  if (const HostTensor* zero = ctx.has_input(3) ? ctx.constant(3) : nullptr;
      zero != nullptr && (zero->dtype() != DType::kU8 || zero->volume() != p.columns * ((p.blocks() * p.bits + 7) / 8)))
    return ctx.fail("zero points {}{}: packed ones of {} blocks are known", dtype_name(zero->dtype()),
                    zero->dims().to_string(), p.blocks());
  return p;
}

}  // namespace

Status import_matmul_nbits(ImportContext& ctx) {
  WOOTZ_ASSIGN_OR_RETURN(const Packing p, read_packing(ctx));
  const bool zeros = ctx.has_input(3);
  WOOTZ_ASSIGN_OR_RETURN(HostTensor w, weights(p, *ctx.constant(1), !zeros));
  WOOTZ_ASSIGN_OR_RETURN(HostTensor scale, scales(p, *ctx.constant(2)));
  std::vector<Value*> inputs{ctx.input(0), ctx.add_constant(std::move(w)), ctx.add_constant(std::move(scale))};
  if (zeros) {
    WOOTZ_ASSIGN_OR_RETURN(HostTensor zero, zero_points(p, *ctx.constant(3)));
    inputs.push_back(ctx.add_constant(std::move(zero)));
  }
  Composer c(ctx);
  Value* y = c.op("WeightOnlyMatMul", std::move(inputs), {{"block", p.block}, {"trans_b", int64_t{1}}});
  if (ctx.has_input(5)) y = c.op("Add", {y, ctx.input(5)});
  return c.output(0, y);
}

}  // namespace wootz::ops
