// Collective: what the ranks of a communicator compute together, each with its own input. One rank alone keeps what it
// has; for more there is no reference, since this process has the data of one.
#include "base/collective.h"

#include "ops/module_table.h"
#include "ops/support/copy.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Result<Collective> collective_of(const Node& node) {
  Collective c;
  const std::string operation = node.attr_string("operation"), reduction = node.attr_string("reduction");
  c.kind = find_collective(operation);
  if (c.kind == nullptr) return invalid_argument("operation '{}' is not known", operation);
  for (const std::string_view known : rank_reductions())
    if (reduction == known) c.reduction = known;
  if (!reduction.empty() && reduction != c.reduction)
    return invalid_argument("the reduction '{}' is not known", reduction);
  c.ranks = node.attr_int("ranks", 1);
  c.root = node.attr_int("root", -1);
  c.groups = node.attr_ints("groups");
  WOOTZ_RETURN_IF_ERROR(check_collective(c));
  return c;
}

Status infer_collective(InferContext& ctx) {
  const Result<Collective> c = collective_of(ctx.node());
  if (!c.ok()) return ctx.fail("{}", c.status().message());
  if (const Status status = check_collective_type(*c, ctx.dtype(0)); !status.ok())
    return ctx.fail("{}", status.message());
  Shape shape = ctx.shape(0);
  const Dim count(c->participants());
  if (c->kind->first != FirstExtent::kSame) {
    if (shape.empty()) return ctx.fail("{} of a scalar: the first extent is what the ranks share", c->kind->name);
    if (c->kind->first != FirstExtent::kTimes && shape[0].is_const() && shape[0].value() % c->participants() != 0)
      return ctx.fail("the first extent of the input, {}, is no multiple of the {} ranks that take part in {}",
                      shape_to_string(shape), c->participants(), c->kind->name);
  }
  if (c->kind->first == FirstExtent::kTimes) shape[0] = shape[0] * count;
  if (c->kind->first == FirstExtent::kPart) shape[0] = floor_div(shape[0], count);
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
  return Status();
}

Status collective_reference(EvalContext& ctx) {
  WOOTZ_ASSIGN_OR_RETURN(const Collective c, collective_of(ctx.node));
  if (c.participants() != 1)
    return unsupported("{} of {} ranks: the others' data is not here", c.kind->name, c.participants());
  share_elements(ctx.in(0), ctx.outputs[0]);
  return Status();
}

// Every rank has to take part as often as the others: none is merged with another one, or left out.
const OpDef kCollective{.name = "Collective",
                        .attributes = {{"operation", AttrKind::kString, true},
                                       {"reduction", AttrKind::kString},
                                       {"ranks", AttrKind::kInt},
                                       {"root", AttrKind::kInt},
                                       {"groups", AttrKind::kInts}},
                        .infer = infer_collective,
                        .reference = collective_reference,
                        .traits = {.foldable = false, .has_side_effects = true}};
const OpDef* const kCollectiveDefs[] = {&kCollective};

}  // namespace

std::span<const OpDef* const> collective_ops() { return kCollectiveDefs; }

}  // namespace wootz::ops
