// Point clouds: voxels of points, and maps of voxels.
#include <cmath>

#include "stock/tables.h"

namespace wootz::stock {
namespace {

Value* number(GraphBuilder& b, int64_t value) { return b.scalar(DType::kI64, static_cast<double>(value)); }

// Rows x [N, R, ..] at index [N, R] of a table of `count` rows, the others 0: [N, count, ..]. What has no place is sent
// to a row behind them.
Value* put_rows(GraphBuilder& b, Value* x, Value* index, Value* valid, int64_t count) {
  if (b.failed()) return nullptr;
  Value* const row = where(b, valid, index, number(b, count));
  Value* const image = b.add(b.mul(row, number(b, 0)), b.unsqueeze(count_up(b, row, 0), {1}));
  std::vector<Value*> extents{b.extent(x, 0), b.ints({count + 1})};
  for (int a = 2; a < x->rank(); ++a) extents.push_back(b.extent(x, a));
  Value* const empty = expand_to(b, b.scalar(x->dtype(), 0), extents);
  Value* const at = b.concat({b.unsqueeze(image, {2}), b.unsqueeze(row, {2})}, 2);
  return b.slice(b.op("ScatterND", {empty, at, x}, {{"reduction", std::string("none")}}), 1, 0, count);
}

// Whether row r of R is one of the first `counts` [N]: [N, R].
Value* first_rows(GraphBuilder& b, Value* of, Value* counts) {
  Value* const flat = b.reshape(b.cast(counts, DType::kI64), std::vector<int64_t>{-1, 1});
  return b.op("Less", {b.unsqueeze(count_up(b, of, 1), {0}), flat});
}

// Features [N, P, C] of pillars at coordinates [N, P, 4] (image, z, y, x), of which the first `count` [N] are there.
Status expand_pillar_scatter(Layer& l) {
  WOOTZ_RETURN_IF_ERROR(l.need(0, {3}));
  WOOTZ_RETURN_IF_ERROR(l.need(1, {3}, false));
  WOOTZ_RETURN_IF_ERROR(l.need(2, {1, 2}, false));
  const std::vector<int64_t> shape = l.integers("dense_shape");
  if (shape.size() != 2) return l.fail("dense_shape is not a height and a width");
  WOOTZ_RETURN_IF_ERROR(l.bounded("dense_shape", {shape[0], shape[1]}));
  const int64_t height = shape[0], width = shape[1];
  GraphBuilder& b = l.b;
  Value* const coordinates = b.cast(l.in(1), DType::kI64);
  const auto coordinate = [&](int64_t i) { return b.squeeze(columns(b, coordinates, i, i + 1), {2}); };
  Value *y = coordinate(2), *x = coordinate(3);
  Value* valid = first_rows(b, l.in(0), l.in(2));
  for (const auto& [v, most] : {std::pair{y, height}, {x, width}}) {
    valid = b.op("And", {valid, b.op("GreaterOrEqual", {v, number(b, 0)})});
    valid = b.op("And", {valid, b.op("Less", {v, number(b, most)})});
  }
  Value* const cell = b.add(b.mul(y, number(b, width)), x);
  Value* const map = b.transpose(put_rows(b, l.in(0), cell, valid, height * width), {0, 2, 1});
  l.out(0, b.reshape(map, std::vector<int64_t>{0, 0, height, width}));
  return b.status();
}

struct Grid {
  std::vector<double> low, high, size;
  int64_t points = 0, voxels = 0, features = 0, given = 0;
  int64_t extent[3] = {};
};

Result<Grid> read_grid(Layer& l) {
  Grid g;
  const std::vector<double> range = l.numbers("point_cloud_range");
  g.size = l.numbers("voxel_size");
  if (range.size() != 6 || g.size.size() != 3)
    return l.fail("point_cloud_range and voxel_size have {} and {} values, not 6 and 3", range.size(), g.size.size());
  g.low.assign(range.begin(), range.begin() + 3);
  g.high.assign(range.begin() + 3, range.end());
  for (size_t a = 0; a < 3; ++a) {
    if (!(g.size[a] > 0)) return l.fail("voxel_size has the value {}", g.size[a]);
    const double count = std::round((g.high[a] - g.low[a]) / g.size[a]);
    if (!(count >= 1 && count <= static_cast<double>(Layer::kMostMade)))
      return l.fail("point_cloud_range holds {} voxels along axis {}", count, a);
    g.extent[a] = static_cast<int64_t>(count);
  }
  g.points = l.integer("max_num_points_per_voxel");
  g.voxels = l.integer("max_voxels");
  g.features = l.integer("voxel_feature_num");
  WOOTZ_ASSIGN_OR_RETURN(g.given, l.fixed(0, 2));
  WOOTZ_RETURN_IF_ERROR(l.bounded("max_num_points_per_voxel times max_voxels", {g.points, g.voxels}));
  if (g.given != 4 && g.given != 5) return l.fail("points have {} values; 4 and 5 are offered", g.given);
  if (g.features < 1 || g.features > g.given + 6)
    return l.fail("voxel_feature_num is {}; 1 to {} follow from points of {} values", g.features, g.given + 6, g.given);
  return g;
}

// Points by the voxel that they are in: those of one come one after another, as they were given.
struct Sorted {
  Value *points, *cell, *inside;  // [N, M, C], and [N, M]
};

Sorted by_voxel(GraphBuilder& b, const Grid& g, Value* points, Value* counts) {
  const auto floats3 = [&](const std::vector<double>& v) { return floats(b, v, Dims{1, 1, 3}); };
  Value* const at = columns(b, points, 0, 3);
  Value* const over = b.op("GreaterOrEqual", {at, floats3(g.low)});
  Value* const under = b.op("Less", {at, floats3(g.high)});
  Value* const all = b.reduce("min", b.cast(b.op("And", {over, under}), DType::kF32), {2}, false);
  Value* const kept = b.op("And", {b.cast(all, DType::kBool), first_rows(b, points, counts)});
  const auto place = [&](int64_t a) {
    const auto i = static_cast<size_t>(a);
    Value* const v = b.squeeze(columns(b, points, a, a + 1), {2});
    if (b.failed()) return v;
    Value* const cells = b.div(b.sub(v, b.scalar(DType::kF32, g.low[i])), b.scalar(DType::kF32, g.size[i]));
    return clip(b, b.op("Floor", {cells}), 0, static_cast<double>(g.extent[a] - 1));
  };
  Value* const cell =
      b.add(b.mul(b.cast(place(1), DType::kI64), number(b, g.extent[0])), b.cast(place(0), DType::kI64));
  Value* const nowhere = number(b, g.extent[0] * g.extent[1]);
  Value* const key = where(b, kept, cell, nowhere);
  // Places among equals are kept: the key of each is a number of its own.
  Value* const order = b.op("Neg", {b.add(b.mul(key, b.extent(points, 1)), b.unsqueeze(count_up(b, points, 1), {0}))});
  if (b.failed()) return {};
  Node* const sorted = b.node("TopK", {order, b.extent(points, 1)},
                              {{"axis", int64_t{1}}, {"largest", int64_t{1}}, {"sorted", int64_t{1}}}, 2);
  if (sorted == nullptr) return {};
  Value* const from = sorted->output(1);
  Value* const cells = b.op("GatherElements", {key, from}, {{"axis", int64_t{1}}});
  return {rows_of(b, points, from), cells, b.op("Less", {cells, nowhere})};
}

// Of sorted points: which voxel each is in, by numbers from 0, and which point of it.
std::pair<Value*, Value*> numbered(GraphBuilder& b, const Sorted& s) {
  Value* const length = b.extent(s.cell, 1);
  Value* const padded =
      b.op("Pad", {s.cell},
           {{"pads", std::vector<int64_t>{0, 1, 0, 0}}, {"mode", std::string("constant")}, {"value", -1.0}});
  Value* const before = b.op("Slice", {padded, b.ints({0}), length, b.ints({1}), b.ints({1})});
  Value* const begins = b.op("Not", {b.op("Equal", {s.cell, before})});
  const AttrMap along{{"axis", int64_t{1}}};
  Value* const voxel = b.sub(b.op("CumSum", {b.cast(begins, DType::kI64)}, along), number(b, 1));
  Value* const position = b.add(b.mul(voxel, number(b, 0)), b.unsqueeze(count_up(b, voxel, 1), {0}));
  // The place of the first point of each voxel, looked up for all points: equal numbers write the least of them.
  Value* const far = expand_to(b, b.scalar(DType::kI64, 1e15), {b.shape_of(voxel)});
  Value* const starts =
      b.op("ScatterElements", {far, voxel, position}, {{"axis", int64_t{1}}, {"reduction", std::string("min")}});
  return {voxel, b.sub(position, b.op("GatherElements", {starts, voxel}, along))};
}

Status expand_voxels(Layer& l) {
  WOOTZ_RETURN_IF_ERROR(l.need(0, {3}));
  WOOTZ_RETURN_IF_ERROR(l.need(1, {1, 2}, false));
  WOOTZ_ASSIGN_OR_RETURN(const Grid g, read_grid(l));
  GraphBuilder& b = l.b;
  const Sorted s = by_voxel(b, g, b.cast(l.in(0), DType::kF32), l.in(1));
  if (b.failed()) return b.status();
  const auto [voxel, point] = numbered(b, s);
  const auto less = [&](Value* v, int64_t most) { return b.op("Less", {v, number(b, most)}); };
  Value* const room = b.op("And", {b.op("And", {s.inside, less(voxel, g.voxels)}), less(point, g.points)});
  Value* const slot = b.add(b.mul(voxel, number(b, g.points)), point);
  const std::vector<int64_t> shape{0, g.voxels, g.points, -1};
  Value* const points = b.reshape(put_rows(b, s.points, slot, room, g.voxels * g.points), shape);
  Value* const there = b.cast(room, DType::kF32);
  Value* const filled = b.reshape(put_rows(b, b.unsqueeze(there, {2}), slot, room, g.voxels * g.points), shape);
  Value* const cell = b.squeeze(put_rows(b, b.unsqueeze(s.cell, {2}), voxel, room, g.voxels), {2});
  if (b.failed()) return b.status();
  Value* const x = b.op("Mod", {cell, number(b, g.extent[0])});
  Value* const y = b.div(cell, number(b, g.extent[0]));
  Value* const none = b.mul(cell, number(b, 0));
  // Where the points are against their mean, and against the middle of the voxel.
  Value* const at = columns(b, points, 0, 3);
  Value* const held = b.op("Max", {b.reduce("sum", filled, {2}, true), b.scalar(DType::kF32, 1)});
  Value* const mean = b.div(b.reduce("sum", b.mul(at, filled), {2}, true), held);
  const auto column = [&](Value* v) { return b.unsqueeze(v, {2}); };
  Value* const numbers = b.cast(b.concat({column(x), column(y), column(none)}, 2), DType::kF32);
  std::vector<double> first(3);
  for (size_t a = 0; a < 3; ++a) first[a] = g.low[a] + g.size[a] / 2;
  Value* const middle = b.add(b.mul(numbers, floats(b, g.size, Dims{1, 1, 3})), floats(b, first, Dims{1, 1, 3}));
  Value* const all = b.concat({points, b.sub(at, mean), b.sub(at, b.unsqueeze(middle, {2}))}, 3);
  l.out(0, b.mul(columns(b, all, 0, g.features), filled));
  Value* const used = b.reduce("max", b.squeeze(filled, {3}), {2}, false);
  Value* const coordinates = b.concat({column(none), column(none), column(y), column(x)}, 2);
  l.out(1, b.cast(b.mul(coordinates, column(b.cast(used, DType::kI64))), DType::kI32));
  l.out(2, b.cast(b.reduce("sum", used, {1}, false), DType::kI32));
  return b.status();
}

using enum FieldType;
constexpr Field kScatter[] = {{"dense_shape", kInt, nullptr}};
constexpr Field kVoxels[] = {{"max_num_points_per_voxel", kInt, nullptr},
                             {"max_voxels", kInt, nullptr},
                             {"point_cloud_range", kFloat, nullptr},
                             {"voxel_feature_num", kInt, nullptr},
                             {"voxel_size", kFloat, nullptr}};

}  // namespace

std::span<const Plugin> point_plugins() {
  static constexpr Plugin kPointsPlugins[] = {
      {"PillarScatterPlugin", "1", Interface::kV2, kScatter, 3, 3, 1, expand_pillar_scatter,
       "features of pillars, put where their coordinates say"},
      {"VoxelGeneratorPlugin", "1", Interface::kV2, kVoxels, 2, 2, 3, expand_voxels,
       "points by voxel: voxels come in the order of their places, points in that of the input"},
  };
  return kPointsPlugins;
}

}  // namespace wootz::stock
