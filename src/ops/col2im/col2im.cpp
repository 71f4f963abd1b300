// Col2Im: sums sliding blocks back into an image. Input [N, C * block, L]; the image and block extents are inputs 1
// and 2.
#include "ops/module_table.h"
#include "ops/support/copy.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

struct Geometry {
  std::vector<int64_t> image, block, strides, dilations, begin, blocks;  // blocks: positions along each axis
  int64_t block_volume = 1, positions = 1;
};

Result<Geometry> geometry(const Node& node, std::vector<int64_t> image, std::vector<int64_t> block) {
  Geometry g;
  const size_t rank = image.size();
  if (rank < 1 || rank + 2 > static_cast<size_t>(limits::kMaxRank) || block.size() != rank)
    return invalid_argument("an image of {} axes and a block of {}", rank, block.size());
  g.strides = node.attr_ints("strides", std::vector<int64_t>(rank, 1));
  g.dilations = node.attr_ints("dilations", std::vector<int64_t>(rank, 1));
  const std::vector<int64_t> pads = node.attr_ints("pads", std::vector<int64_t>(2 * rank, 0));
  if (g.strides.size() != rank || g.dilations.size() != rank || pads.size() != 2 * rank)
    return invalid_argument("strides, dilations and pads do not fit an image of {} axes", rank);
  constexpr int64_t kFar = int64_t{1} << 30;
  for (size_t a = 0; a < rank; ++a) {
    for (int64_t v : {image[a], block[a], g.strides[a], g.dilations[a]})
      if (v < 1 || v > kFar) return invalid_argument("{} is not between 1 and {}", v, kFar);
    if (pads[a] < 0 || pads[a + rank] < 0 || pads[a] > kFar || pads[a + rank] > kFar)
      return invalid_argument("pads {} and {} are not between 0 and {}", pads[a], pads[a + rank], kFar);
    const int64_t space = image[a] + pads[a] + pads[a + rank] - g.dilations[a] * (block[a] - 1) - 1;
    if (space < 0) return invalid_argument("the block is larger than the image along axis {}", a);
    g.blocks.push_back(space / g.strides[a] + 1);
  }
  g.begin.assign(pads.begin(), pads.begin() + static_cast<ptrdiff_t>(rank));
  WOOTZ_ASSIGN_OR_RETURN(g.block_volume, checked_volume(block));
  WOOTZ_ASSIGN_OR_RETURN(g.positions, checked_volume(g.blocks));
  g.image = std::move(image);
  g.block = std::move(block);
  return g;
}

Status infer_col2im(InferContext& ctx) {
  if (!accepts(Accept::kNumeric, ctx.dtype(0)) || ctx.rank(0) != 3)
    return ctx.fail("input is {}{}, it must be [N, C * block, L]", dtype_name(ctx.dtype(0)),
                    shape_to_string(ctx.shape(0)));
  const std::optional<std::vector<int64_t>> block = ctx.ints_value(2);
  if (!block) {
    if (ctx.rank(2) != 1 || !ctx.shape(2)[0].is_const())
      return ctx.fail("the number of image axes must be known while building");
    Shape shape{ctx.shape(0)[0]};
    const int64_t rank = ctx.shape(2)[0].value() + 2;
    if (rank > limits::kMaxRank)
      return ctx.fail("the result would have rank {}, the limit is {}", rank, limits::kMaxRank);
    for (int64_t a = 1; a < rank; ++a) shape.push_back(ctx.data_dependent(0, static_cast<int>(a)));
    ctx.set_output(0, ctx.dtype(0), std::move(shape));
    return Status();
  }
  const std::optional<std::vector<Dim>> image = ctx.dims_value(1);
  Dim per_channel(1);
  for (int64_t b : *block) {
    if (b < 1) return ctx.fail("block extent {} is below 1", b);
    per_channel = per_channel * Dim(b);
  }
  const Dim &columns = ctx.shape(0)[1], &positions = ctx.shape(0)[2];
  if (columns.is_const() && per_channel.is_const() && columns.value() % per_channel.value() != 0)
    return ctx.fail("{} columns are not a multiple of the block's {} elements", columns.value(), per_channel.value());
  Shape shape{ctx.shape(0)[0], floor_div(columns, per_channel)};
  if (const std::optional<std::vector<int64_t>> known = ctx.ints_value(1)) {
    const Result<Geometry> g = geometry(ctx.node(), *known, *block);
    if (!g.ok()) return ctx.fail("{}", g.status().message());
    if (positions.is_const() && positions.value() != g->positions)
      return ctx.fail("{} blocks are given, the image has {}", positions.value(), g->positions);
  }
  for (size_t a = 0; a < block->size(); ++a)
    shape.push_back(image && a < image->size() ? (*image)[a] : ctx.data_dependent(0, static_cast<int>(a) + 2));
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
  return Status();
}

Status col2im_reference(EvalContext& ctx) {
  const HostTensor& x = ctx.in(0);
  HostTensor& y = ctx.outputs[0];
  WOOTZ_ASSIGN_OR_RETURN(const Geometry g, geometry(ctx.node, tensor_ints(ctx.in(1)), tensor_ints(ctx.in(2))));
  const size_t rank = g.image.size();
  const int64_t planes = y.dims()[0] * y.dims()[1], pixels = span_volume(y.dims(), 2, y.rank());
  const bool floats = is_float(x.dtype());
  std::vector<double> sums(static_cast<size_t>(pixels));
  std::vector<uint64_t> counts(static_cast<size_t>(pixels));
  for (int64_t plane = 0; plane < planes; ++plane) {
    sums.assign(sums.size(), 0);
    counts.assign(counts.size(), 0);
    for (int64_t b = 0; b < g.block_volume; ++b)
      for (int64_t p = 0; p < g.positions; ++p) {
        int64_t in_block = b, in_grid = p, pixel = 0, step = 1;
        bool inside = true;
        for (size_t a = rank; a-- > 0;) {
          const int64_t at = in_grid % g.blocks[a] * g.strides[a] + in_block % g.block[a] * g.dilations[a] - g.begin[a];
          in_grid /= g.blocks[a];
          in_block /= g.block[a];
          inside = inside && at >= 0 && at < g.image[a];
          pixel += at * step;
          step *= g.image[a];
        }
        if (!inside) continue;
        const int64_t from = (plane * g.block_volume + b) * g.positions + p;
        if (floats)
          sums[static_cast<size_t>(pixel)] += x.get_f64(from);
        else
          counts[static_cast<size_t>(pixel)] += static_cast<uint64_t>(x.get_i64(from));
      }
    for (int64_t i = 0; i < pixels; ++i) {
      if (floats)
        y.set_f64(plane * pixels + i, sums[static_cast<size_t>(i)]);
      else
        y.set_i64(plane * pixels + i, static_cast<int64_t>(counts[static_cast<size_t>(i)]));
    }
  }
  return Status();
}

const OpDef kCol2Im{
    .name = "Col2Im",
    .min_inputs = 3,
    .max_inputs = 3,
    .attributes = {{"strides", AttrKind::kInts}, {"dilations", AttrKind::kInts}, {"pads", AttrKind::kInts}},
    .infer = infer_col2im,
    .reference = col2im_reference,
    .traits = {}};
const OpDef* const kCol2imDefs[] = {&kCol2Im};

}  // namespace

std::span<const OpDef* const> col2im_ops() { return kCol2imDefs; }

}  // namespace wootz::ops
