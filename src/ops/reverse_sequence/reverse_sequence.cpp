// ReverseSequence: the first sequence_lens[b] elements along the time axis in reverse, for every batch entry b.
#include "ops/module_table.h"
#include "ops/support/copy.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status infer_reverse_sequence(InferContext& ctx) {
  const int64_t time = ctx.node().attr_int("time_axis", 0), batch = ctx.node().attr_int("batch_axis", 1);
  if (ctx.rank(0) < 2 || time < 0 || time > 1 || batch < 0 || batch > 1 || time == batch)
    return ctx.fail("time_axis {} and batch_axis {} must be 0 and 1 of input {}", time, batch,
                    shape_to_string(ctx.shape(0)));
  if (!is_integer(ctx.dtype(1)) || ctx.rank(1) != 1)
    return ctx.fail("the lengths are {}{}, they must be a list of integers", dtype_name(ctx.dtype(1)),
                    shape_to_string(ctx.shape(1)));
  const Dim &entries = ctx.shape(0)[static_cast<size_t>(batch)], &lengths = ctx.shape(1)[0];
  if (entries.is_const() && lengths.is_const() && !(entries == lengths))
    return ctx.fail("{} lengths for the batch of {}", lengths.to_string(), shape_to_string(ctx.shape(0)));
  ctx.set_output(0, ctx.dtype(0), ctx.shape(0));
  return Status();
}

Status reverse_sequence_reference(EvalContext& ctx) {
  const HostTensor& x = ctx.in(0);
  const auto time = static_cast<size_t>(ctx.node.attr_int("time_axis", 0));
  const size_t batch = 1 - time;
  const int64_t inner = span_volume(x.dims(), 2, x.rank());
  const int64_t stride[2] = {x.dims()[1] * inner, inner};
  for (int64_t b = 0; b < x.dims()[batch]; ++b) {
    const int64_t length = ctx.in(1).get_i64(b);
    if (length < 0 || length > x.dims()[time])
      return invalid_argument("length {} of batch entry {} is outside [0, {}]", length, b, x.dims()[time]);
    for (int64_t t = 0; t < x.dims()[time]; ++t) {
      const int64_t from = t < length ? length - 1 - t : t;
      copy_elements(x, b * stride[batch] + from * stride[time], ctx.outputs[0], b * stride[batch] + t * stride[time],
                    inner);
    }
  }
  return Status();
}

const OpDef kReverseSequence{.name = "ReverseSequence",
                             .min_inputs = 2,
                             .max_inputs = 2,
                             .attributes = {{"time_axis", AttrKind::kInt}, {"batch_axis", AttrKind::kInt}},
                             .infer = infer_reverse_sequence,
                             .reference = reverse_sequence_reference,
                             .traits = {}};
const OpDef* const kReverseSequenceDefs[] = {&kReverseSequence};

}  // namespace

std::span<const OpDef* const> reverse_sequence_ops() { return kReverseSequenceDefs; }

}  // namespace wootz::ops
