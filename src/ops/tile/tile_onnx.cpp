#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

// Opset 1 to 5: how often, and along which axis, as two numbers.
Status import_tile_1(ImportContext& ctx) {
  const HostTensor *tiles = ctx.constant(1), *axis = ctx.constant(2);
  if (tiles == nullptr || axis == nullptr || tiles->volume() != 1 || axis->volume() != 1)
    return unsupported("tiles and axis must be known while building, one number each");
  std::vector<int64_t> repeats(ctx.input(0)->shape().size(), 1);
  WOOTZ_ASSIGN_OR_RETURN(const int a, normalize_axis(axis->get_i64(0), ctx.input(0)->rank()));
  repeats[static_cast<size_t>(a)] = tiles->get_i64(0);
  return import_as(ctx, "Tile", {ctx.input(0)}, {{"repeats", std::move(repeats)}});
}

Status import_tile_6(ImportContext& ctx) {
  if (std::optional<std::vector<int64_t>> repeats = known_ints(ctx.input(1)))
    return import_as(ctx, "Tile", {ctx.input(0)}, {{"repeats", std::move(*repeats)}});
  return import_as(ctx, "Tile", {ctx.input(0), ctx.input(1)});
}

constexpr OnnxImport kTileImports[] = {{"Tile", 1, import_tile_1}, {"Tile", 6, import_tile_6}};

}  // namespace

std::span<const OnnxImport> tile_onnx() { return kTileImports; }

}  // namespace wootz::ops
