// DepthToSpace and SpaceToDepth: blocks of channels against blocks of pixels. Attribute "mode" says how a channel
// number is composed: DCR (block row, block column, channel) or CRD (channel, block row, block column).
#include "ops/module_table.h"
#include "ops/support/copy.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status infer_depth_space(InferContext& ctx) {
  const bool to_space = ctx.node().is("DepthToSpace");
  const int64_t block = ctx.node().attr_int("blocksize");
  const std::string mode = ctx.node().attr_string("mode", "DCR");
  if (ctx.rank(0) != 4) return ctx.fail("input is {}, its rank must be 4", shape_to_string(ctx.shape(0)));
  if (block < 1 || block > INT32_MAX) return ctx.fail("blocksize is {}", block);
  if (mode != "DCR" && mode != "CRD") return ctx.fail("mode is '{}', it must be DCR or CRD", mode);
  Shape shape = ctx.shape(0);
  const auto divide = [&](size_t axis, int64_t by) -> Status {
    if (shape[axis].is_const() && shape[axis].value() % by != 0)
      return ctx.fail("axis {} of {} is not a multiple of {}", axis, shape_to_string(ctx.shape(0)), by);
    shape[axis] = floor_div(shape[axis], by);
    return Status();
  };
  if (to_space) {
    WOOTZ_RETURN_IF_ERROR(divide(1, block * block));
    shape[2] = shape[2] * block;
    shape[3] = shape[3] * block;
  } else {
    WOOTZ_RETURN_IF_ERROR(divide(2, block));
    WOOTZ_RETURN_IF_ERROR(divide(3, block));
    shape[1] = shape[1] * (block * block);
  }
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
  return Status();
}

Status depth_space_reference(EvalContext& ctx) {
  const bool to_space = ctx.node.is("DepthToSpace");
  const int64_t block = ctx.node.attr_int("blocksize");
  const bool dcr = ctx.node.attr_string("mode", "DCR") == "DCR";
  // The small side has many channels, the large side many pixels.
  const HostTensor& large = to_space ? ctx.outputs[0] : ctx.in(0);
  const HostTensor& small = to_space ? ctx.in(0) : ctx.outputs[0];
  const int64_t batch = large.dims()[0], channels = large.dims()[1];
  const int64_t height = small.dims()[2], width = small.dims()[3];
  const Dims ls = large.dims().strides(), ss = small.dims().strides();
  StridedCopy walk;
  const auto axis = [&](int64_t extent, int64_t in_small, int64_t in_large) {
    walk.axis(extent, to_space ? in_small : in_large, to_space ? in_large : in_small);
  };
  axis(batch, ss[0], ls[0]);
  axis(channels, ss[1] * (dcr ? 1 : block * block), ls[1]);
  axis(block, ss[1] * block * (dcr ? channels : 1), ls[2]);
  axis(block, ss[1] * (dcr ? channels : 1), ls[3]);
  axis(height, ss[2], ls[2] * block);
  axis(width, ss[3], ls[3] * block);
  strided_copy(ctx.in(0), ctx.outputs[0], walk);
  return Status();
}

OpDef make(const char* name) {
  return OpDef{.name = name,
               .attributes = {{"blocksize", AttrKind::kInt, true}, {"mode", AttrKind::kString}},
               .infer = infer_depth_space,
               .reference = depth_space_reference,
               .lowering = Lowering::kMove,
               .traits = {}};
}
const OpDef kDepthToSpace = make("DepthToSpace"), kSpaceToDepth = make("SpaceToDepth");
const OpDef* const kDepthSpaceDefs[] = {&kDepthToSpace, &kSpaceToDepth};

}  // namespace

std::span<const OpDef* const> depth_space_ops() { return kDepthSpaceDefs; }

}  // namespace wootz::ops
