#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status import_to(ImportContext& ctx, DType to) {
  if (ctx.input(0) == nullptr) return ctx.fail("the input is missing");
  if (to == DType::kString || ctx.input(0)->dtype() == DType::kString)
    return unsupported("casting from {} to {}: strings have no storage", dtype_name(ctx.input(0)->dtype()),
                       dtype_name(to));
  if (to == DType::kInvalid) return ctx.fail("the target type is not known");
  const int64_t saturate = ctx.attr_int("saturate", 1);
  if (to == DType::kF8E8M0 && ctx.input(0)->dtype() != to)
    return import_as(ctx, "CastE8M0", {ctx.input(0)},
                     {{"saturate", saturate}, {"round_mode", ctx.attr_string("round_mode", "up")}});
  AttrMap attrs{{"to", std::string(dtype_name(to))}};
  if (is_float(to) && dtype_bits(to) <= 8) attrs["saturate"] = saturate;
  return import_as(ctx, "Cast", {ctx.input(0)}, std::move(attrs));
}

// Before opset 6 the type was written as a name.
Status import_cast_1(ImportContext& ctx) {
  static constexpr struct {
    const char* name;
    DType dtype;
  } kNames[] = {{"FLOAT", DType::kF32},    {"FLOAT16", DType::kF16}, {"DOUBLE", DType::kF64}, {"INT8", DType::kI8},
                {"UINT8", DType::kU8},     {"INT16", DType::kI16},   {"UINT16", DType::kU16}, {"INT32", DType::kI32},
                {"UINT32", DType::kU32},   {"INT64", DType::kI64},   {"UINT64", DType::kU64}, {"BOOL", DType::kBool},
                {"STRING", DType::kString}};
  const std::string to = ctx.attr_string("to", "");
  for (const auto& entry : kNames)
    if (to == entry.name) return import_to(ctx, entry.dtype);
  return ctx.fail("attribute 'to' is '{}', no type has that name", to);
}

Status import_cast(ImportContext& ctx) { return import_to(ctx, ctx.attr_dtype("to", DType::kInvalid)); }

Status import_cast_like(ImportContext& ctx) {
  if (ctx.input(1) == nullptr) return ctx.fail("input 1 is missing");
  return import_to(ctx, ctx.input(1)->dtype());
}

Status import_bit_cast(ImportContext& ctx) {
  return import_as(ctx, "BitCast", {ctx.input(0)},
                   {{"to", std::string(dtype_name(ctx.attr_dtype("to", DType::kInvalid)))}});
}

constexpr OnnxImport kCastImports[] = {
    {"Cast", 1, import_cast_1},
    {"Cast", 6, import_cast},
    {"CastLike", 15, import_cast_like},
    {"BitCast", 26, import_bit_cast},
};

}  // namespace

std::span<const OnnxImport> cast_onnx() { return kCastImports; }

}  // namespace wootz::ops
