#include <algorithm>

#include "ops/module_table.h"
#include "ops/support/compose.h"

namespace wootz::ops {
namespace {

// How scale and zero point lie over the input.
struct Granularity {
  int axis = 0;
  int64_t block = 0;           // 0: not blocked
  bool whole = false;          // one block: scales broadcast as they are
  bool reshape = false;        // blocked, and the axis splits evenly: x is taken as [..., blocks, block, ...]
  std::vector<int64_t> split;  // that shape of x
};

Result<Granularity> granularity(ImportContext& ctx, const Value* x, const Value* scale) {
  Granularity g;
  g.block = ctx.attr_int("block_size", 0);
  const bool blocked = g.block > 0 || (scale->rank() == x->rank() && scale->rank() > 1);
  if (g.block < 0) return ctx.fail("block_size is {}", g.block);
  if (scale->rank() == 0 || (scale->rank() == 1 && (x->rank() <= 1 || scale->shape()[0] == Dim(1)) && !blocked))
    return g;
  Result<int> axis = normalize_axis(ctx.attr_int("axis", 1), x->rank());
  if (!axis.ok()) return ctx.fail("{} of input {}", axis.status().message(), shape_to_string(x->shape()));
  g.axis = *axis;
  if (!blocked) {
    if (scale->rank() != 1)
      return ctx.fail("scale {} for input {}", shape_to_string(scale->shape()), shape_to_string(x->shape()));
    return g;
  }
  const auto at = static_cast<size_t>(g.axis);
  if (scale->rank() != x->rank())
    return ctx.fail("blocked scale {} for input {}", shape_to_string(scale->shape()), shape_to_string(x->shape()));
  const Dim &extent = x->shape()[at], &blocks = scale->shape()[at];
  if (!extent.is_const() || !blocks.is_const() || blocks.value() < 1)
    return ctx.fail("blocked scale {} for input {}: extents of axis {} must be known", shape_to_string(scale->shape()),
                    shape_to_string(x->shape()), g.axis);
  if (g.block == 0) g.block = (extent.value() + blocks.value() - 1) / blocks.value();
  if ((extent.value() + g.block - 1) / g.block != blocks.value())
    return ctx.fail("block_size {} with scale {} for input {}", g.block, shape_to_string(scale->shape()),
                    shape_to_string(x->shape()));
  g.whole = blocks.value() == 1;
  g.reshape = !g.whole && extent.value() % g.block == 0 && x->rank() < limits::kMaxRank &&
              std::all_of(x->shape().begin(), x->shape().end(), [](const Dim& d) { return d.is_const(); });
  for (size_t a = 0; g.reshape && a < x->shape().size(); ++a) {
    g.split.push_back(a == at ? blocks.value() : x->shape()[a].value());
    if (a == at) g.split.push_back(g.block);
  }
  return g;
}

// A scale or zero point so that it broadcasts to x (or to x in blocks).
Value* aligned(ImportContext& ctx, Composer& c, const Granularity& g, const Value* x, Value* v) {
  if (c.failed() || v == nullptr || v->rank() == 0 || g.whole) return v;
  if (g.block > 0) {
    if (g.reshape) return c.unsqueeze(v, {g.axis + 1});
    std::vector<int64_t> rows;
    for (int64_t i = 0; i < x->shape()[static_cast<size_t>(g.axis)].value(); ++i) rows.push_back(i / g.block);
    return c.op("Gather", {v, ctx.ints(std::move(rows))}, {{"axis", int64_t{g.axis}}});
  }
  if (v->rank() == 1 && v->shape()[0] == Dim(1)) return c.as_scalar(v);
  if (v->rank() != 1 || g.axis == x->rank() - 1) return v;
  std::vector<int64_t> dims(static_cast<size_t>(x->rank() - g.axis), 1);
  dims[0] = -1;
  if (v->is_constant()) {
    Dims to = Dims::filled(x->rank() - g.axis, 1);
    to[0] = v->constant().volume();
    return ctx.add_constant(v->constant().reshaped(to));
  }
  return c.reshape(v, dims);
}

Status import_form(ImportContext& ctx, const char* op, AttrMap attrs) {
  Value *x = ctx.input(0), *scale = ctx.input(1);
  if (x == nullptr || scale == nullptr) return ctx.fail("input and scale are required");
  WOOTZ_ASSIGN_OR_RETURN(const Granularity g, granularity(ctx, x, scale));
  Composer c(ctx);
  std::vector<Value*> inputs{g.reshape ? c.reshape(x, g.split) : x, aligned(ctx, c, g, x, scale)};
  if (ctx.has_input(2)) inputs.push_back(aligned(ctx, c, g, x, ctx.input(2)));
  Value* y = c.op(op, std::move(inputs), std::move(attrs));
  if (g.reshape) y = c.reshape(y, x->shape(), {x});
  return c.output(0, y);
}

Status import_quantize(ImportContext& ctx) {
  AttrMap attrs;
  const DType to = ctx.attr_dtype("output_dtype", DType::kInvalid);
  if (ctx.has_input(2) && to != DType::kInvalid && to != ctx.input(2)->dtype())
    return ctx.fail("output_dtype {} with a zero point of type {}", dtype_name(to), dtype_name(ctx.input(2)->dtype()));
  attrs["to"] = std::string(dtype_name(ctx.has_input(2)        ? ctx.input(2)->dtype()
                                       : to == DType::kInvalid ? DType::kU8
                                                               : to));
  if (ctx.attr_int("saturate", 1) == 0) attrs["saturate"] = int64_t{0};
  if (const DType precision = ctx.attr_dtype("precision", DType::kInvalid); precision != DType::kInvalid)
    attrs["precision"] = std::string(dtype_name(precision));
  return import_form(ctx, "Quantize", std::move(attrs));
}

Status import_dequantize(ImportContext& ctx) {
  AttrMap attrs;
  if (const DType to = ctx.attr_dtype("output_dtype", DType::kInvalid); to != DType::kInvalid)
    attrs["to"] = std::string(dtype_name(to));
  return import_form(ctx, "Dequantize", std::move(attrs));
}

Status import_dynamic(ImportContext& ctx) {
  Value* x = ctx.input(0);
  if (x == nullptr) return ctx.fail("input is required");
  Composer c(ctx);
  const Node* const made = c.node("DynamicQuantize", {x}, {}, 3);
  for (int o = 0; o < 3; ++o) WOOTZ_RETURN_IF_ERROR(c.output(o, made == nullptr ? nullptr : made->output(o)));
  return Status();
}

}  // namespace

std::span<const OnnxImport> quantize_onnx() {
  static constexpr OnnxImport kQuantizeImports[] = {
      {"DequantizeLinear", 10, import_dequantize},
      {"DynamicQuantizeLinear", 11, import_dynamic},
      {"QuantizeLinear", 10, import_quantize},
  };
  return kQuantizeImports;
}

}  // namespace wootz::ops
