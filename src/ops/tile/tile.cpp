// Tile: the data repeated along every axis. Repeats are attribute "repeats" when constant, else input 1.
#include "ops/module_table.h"
#include "ops/support/copy.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status infer_tile(InferContext& ctx) {
  Shape shape = ctx.shape(0);
  if (!has_list(ctx, "repeats", 1)) return ctx.fail("repeats are required");
  const std::optional<std::vector<Dim>> repeats = dims_list(ctx, "repeats", 1);
  if (repeats && repeats->size() != shape.size())
    return ctx.fail("{} repeats for the axes of {}", repeats->size(), shape_to_string(shape));
  for (size_t a = 0; a < shape.size(); ++a) {
    if (repeats && (*repeats)[a].is_const() && (*repeats)[a].value() < 0)
      return ctx.fail("repeat {} of axis {} is negative", (*repeats)[a].value(), a);
    shape[a] = repeats ? shape[a] * (*repeats)[a] : ctx.data_dependent(0, static_cast<int>(a));
  }
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
  const std::optional<std::vector<Dim>> values = ctx.rank(0) == 1 ? ctx.dims_value(0) : std::nullopt;
  if (!values || !repeats || !(*repeats)[0].is_const()) return Status();
  const int64_t count = (*repeats)[0].value();
  if (count > limits::kMaxShapeValues || count * static_cast<int64_t>(values->size()) > limits::kMaxShapeValues)
    return Status();
  std::vector<Dim> all;
  for (int64_t r = 0; r < count; ++r) all.insert(all.end(), values->begin(), values->end());
  ctx.set_output_values(0, std::move(all));
  return Status();
}

Status tile_reference(EvalContext& ctx) {
  const Dims &from = ctx.in(0).dims(), &to = ctx.outputs[0].dims();
  if (ctx.in(0).volume() == 0) return Status();
  StridedCopy walk;
  for (size_t a = 0; a < from.size(); ++a) {
    walk.axis(to[a] / from[a], 0, to.strides()[a] * from[a]);
    walk.axis(from[a], from.strides()[a], to.strides()[a]);
  }
  strided_copy(ctx.in(0), ctx.outputs[0], walk);
  return Status();
}

const OpDef kTile{.name = "Tile",
                  .max_inputs = 2,
                  .attributes = {{"repeats", AttrKind::kInts}},
                  .infer = infer_tile,
                  .reference = tile_reference,
                  .lowering = Lowering::kMove,
                  .traits = {}};
const OpDef* const kTileDefs[] = {&kTile};

}  // namespace

std::span<const OpDef* const> tile_ops() { return kTileDefs; }

}  // namespace wootz::ops
