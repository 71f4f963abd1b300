#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status import_unary(ImportContext& ctx) { return import_as(ctx, ctx.op_type(), {ctx.input(0)}); }

Status import_is_inf(ImportContext& ctx) {
  return import_as(ctx, "IsInf", {ctx.input(0)},
                   {{"detect_negative", ctx.attr_int("detect_negative", 1)},
                    {"detect_positive", ctx.attr_int("detect_positive", 1)}});
}

constexpr OnnxImport kUnaryImports[] = {
    {"Abs", 1, import_unary},   {"Acos", 7, import_unary},        {"Acosh", 9, import_unary},
    {"Asin", 7, import_unary},  {"Asinh", 9, import_unary},       {"Atan", 7, import_unary},
    {"Atanh", 9, import_unary}, {"BitwiseNot", 18, import_unary}, {"Ceil", 1, import_unary},
    {"Cos", 7, import_unary},   {"Cosh", 9, import_unary},        {"Erf", 9, import_unary},
    {"Exp", 1, import_unary},   {"Floor", 1, import_unary},       {"IsInf", 10, import_is_inf},
    {"IsNaN", 9, import_unary}, {"Log", 1, import_unary},         {"Neg", 1, import_unary},
    {"Not", 1, import_unary},   {"Reciprocal", 1, import_unary},  {"Round", 11, import_unary},
    {"Sign", 9, import_unary},  {"Sin", 7, import_unary},         {"Sinh", 9, import_unary},
    {"Sqrt", 1, import_unary},  {"Tan", 7, import_unary},
};

}  // namespace

std::span<const OnnxImport> unary_onnx() { return kUnaryImports; }

}  // namespace wootz::ops
