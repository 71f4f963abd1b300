#include <numeric>

#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status import_binary(ImportContext& ctx) { return import_as(ctx, ctx.op_type(), {ctx.input(0), ctx.input(1)}); }

// Opsets 1 to 6: only with broadcast=1 may the second operand be smaller; `axis` says where its first axis stands
// (without it, its axes are the last ones, as in NumPy).
Status import_binary_1(ImportContext& ctx) {
  Value* b = ctx.input(1);
  if (ctx.attr_int("broadcast", 0) != 0 && ctx.has_attr("axis") && b != nullptr && ctx.input(0) != nullptr) {
    const int rank = ctx.input(0)->rank();
    WOOTZ_ASSIGN_OR_RETURN(const int axis, normalize_axis(ctx.attr_int("axis", 0), rank));
    const int missing = rank - axis - b->rank();
    if (missing < 0)
      return ctx.fail("input 1 of shape {} does not fit into {} from axis {}", shape_to_string(b->shape()),
                      shape_to_string(ctx.input(0)->shape()), axis);
    if (missing > 0) {
      std::vector<int64_t> axes(static_cast<size_t>(missing));
      std::iota(axes.begin(), axes.end(), b->rank());
      WOOTZ_ASSIGN_OR_RETURN(b, ctx.emit("Unsqueeze", {b}, {{"axes", std::move(axes)}}));
    }
  }
  return import_as(ctx, ctx.op_type(), {ctx.input(0), b});
}

// A slope of one value per channel belongs to axis 1 before opset 7; later it broadcasts to the right.
Status import_prelu_1(ImportContext& ctx) {
  Value* slope = ctx.input(1);
  const int rank = ctx.input(0)->rank();
  if (slope->rank() == 1 && rank > 2 && !(slope->shape()[0] == Dim(1))) {
    std::vector<int64_t> axes(static_cast<size_t>(rank - 2));
    std::iota(axes.begin(), axes.end(), 1);
    WOOTZ_ASSIGN_OR_RETURN(slope, ctx.emit("Unsqueeze", {slope}, {{"axes", std::move(axes)}}));
  }
  return import_as(ctx, "PRelu", {ctx.input(0), slope});
}

Status import_mod(ImportContext& ctx) {
  return import_as(ctx, "Mod", {ctx.input(0), ctx.input(1)}, {{"fmod", ctx.attr_int("fmod", 0)}});
}

Status import_bit_shift(ImportContext& ctx) {
  return import_as(ctx, "BitShift", {ctx.input(0), ctx.input(1)}, {{"direction", ctx.attr_string("direction", "")}});
}

// Max, Min, Sum, Mean: any number of operands, as a chain.
Status import_chain(ImportContext& ctx) {
  const std::string& type = ctx.op_type();
  const std::string_view op = type == "Max" || type == "Min" ? std::string_view(type) : "Add";
  if (ctx.num_inputs() < 1) return ctx.fail("no inputs");
  Value* value = ctx.input(0);
  for (int i = 1; i < ctx.num_inputs(); ++i) {
    WOOTZ_ASSIGN_OR_RETURN(value, ctx.emit(op, {value, ctx.input(i)}));
  }
  if (type == "Mean" && ctx.num_inputs() > 1)
    return import_as(ctx, "Div", {value, ctx.scalar_like(value, ctx.num_inputs())});
  if (ctx.num_inputs() == 1) return import_as(ctx, "Identity", {value});
  ctx.set_output(0, value);
  return Status();
}

constexpr OnnxImport kBinaryImports[] = {
    {"Add", 1, import_binary_1},      {"Add", 7, import_binary},          {"And", 1, import_binary_1},
    {"And", 7, import_binary},        {"BitShift", 11, import_bit_shift}, {"BitwiseAnd", 18, import_binary},
    {"BitwiseOr", 18, import_binary}, {"BitwiseXor", 18, import_binary},  {"Div", 1, import_binary_1},
    {"Div", 7, import_binary},        {"Equal", 1, import_binary_1},      {"Equal", 7, import_binary},
    {"Greater", 1, import_binary_1},  {"Greater", 7, import_binary},      {"GreaterOrEqual", 12, import_binary},
    {"Less", 1, import_binary_1},     {"Less", 7, import_binary},         {"LessOrEqual", 12, import_binary},
    {"Max", 1, import_chain},         {"Mean", 1, import_chain},          {"Min", 1, import_chain},
    {"Mod", 10, import_mod},          {"Mul", 1, import_binary_1},        {"Mul", 7, import_binary},
    {"Or", 1, import_binary_1},       {"Or", 7, import_binary},           {"PRelu", 1, import_prelu_1},
    {"PRelu", 7, import_binary},      {"Pow", 1, import_binary_1},        {"Pow", 7, import_binary},
    {"Sub", 1, import_binary_1},      {"Sub", 7, import_binary},          {"Sum", 1, import_chain},
    {"Xor", 1, import_binary_1},      {"Xor", 7, import_binary},
};

}  // namespace

std::span<const OnnxImport> binary_onnx() { return kBinaryImports; }

}  // namespace wootz::ops
