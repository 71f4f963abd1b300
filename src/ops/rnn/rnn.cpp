// LSTM, GRU and RNN: whole sequences, one or two directions.
#include <algorithm>

#include "ops/module_table.h"
#include "ops/rnn/rnn_cell.h"
#include "ops/support/ref_math.h"

namespace wootz::ops {
namespace {

RnnKind kind_of(const Node& node) {
  return node.is("LSTM") ? RnnKind::kLstm : node.is("GRU") ? RnnKind::kGru : RnnKind::kRnn;
}
int64_t gates_of(RnnKind kind) { return kind == RnnKind::kLstm ? 4 : kind == RnnKind::kGru ? 3 : 1; }

Result<int> directions_of(const Node& node) {
  const std::string direction = node.attr_string("direction", "forward");
  if (direction == "bidirectional") return 2;
  if (direction == "forward" || direction == "reverse") return 1;
  return at_node(node, invalid_argument("unknown direction '{}'", direction));
}

// Inputs x [S,B,I] (layout 1: [B,S,I]), w [D,G*H,I], r [D,G*H,H], [b [D,2*G*H]], [lengths i32 [B]], [h0 [D,B,H]],
// LSTM also [c0], [p [D,3*H]]. Outputs y [S,D,B,H], y_h [D,B,H], LSTM also y_c. With layout 1 the batch comes first.
Status infer_rnn(InferContext& ctx) {
  const Node& node = ctx.node();
  const RnnKind kind = kind_of(node);
  WOOTZ_ASSIGN_OR_RETURN(const int directions, directions_of(node));
  WOOTZ_RETURN_IF_ERROR(read_activations(node, kind, directions).status());
  const int64_t hidden = node.attr_int("hidden");
  if (hidden < 1 || hidden >= (int64_t{1} << 31)) return ctx.fail("hidden is {}", hidden);
  if (ctx.rank(0) != 3) return ctx.fail("input {}; three axes are needed", shape_to_string(ctx.shape(0)));
  const bool batch_first = node.attr_int("layout") != 0;
  const Shape& x = ctx.shape(0);
  const Dim &steps = x[batch_first ? 1 : 0], &batch = x[batch_first ? 0 : 1];
  const Dim h(hidden), d(directions), width(hidden * gates_of(kind));
  const auto check = [&](int i, Shape expected) -> Status {
    if (!ctx.has(i)) return {};
    bool fits = ctx.shape(i).size() == expected.size();
    for (size_t a = 0; fits && a < expected.size(); ++a)
      fits = !ctx.shape(i)[a].is_const() || !expected[a].is_const() || ctx.shape(i)[a].value() == expected[a].value();
    if (!fits)
      return ctx.fail("input {} of shape {}; {} is needed", i, shape_to_string(ctx.shape(i)),
                      shape_to_string(expected));
    return {};
  };
  const Shape state = batch_first ? Shape{batch, d, h} : Shape{d, batch, h};
  WOOTZ_RETURN_IF_ERROR(check(1, {d, width, x[2]}));
  WOOTZ_RETURN_IF_ERROR(check(2, {d, width, h}));
  WOOTZ_RETURN_IF_ERROR(check(3, {d, Dim(2) * width}));
  WOOTZ_RETURN_IF_ERROR(check(4, {batch}));
  WOOTZ_RETURN_IF_ERROR(check(5, state));
  WOOTZ_RETURN_IF_ERROR(check(6, state));
  WOOTZ_RETURN_IF_ERROR(check(7, {d, Dim(3) * h}));
  const DType type = ctx.dtype(0);
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    if (!ctx.has(i)) continue;
    if (i == 4 ? ctx.dtype(i) != DType::kI32 && ctx.dtype(i) != DType::kI64 : !is_float(type) || ctx.dtype(i) != type)
      return ctx.fail("input {} of type {}", i, dtype_name(ctx.dtype(i)));
  }
  ctx.set_output(0, type, batch_first ? Shape{batch, steps, d, h} : Shape{steps, d, batch, h});
  ctx.set_output(1, type, state);
  ctx.set_output(2, type, state);
  return {};
}

// [first, second, rest] to [second, first, rest].
std::vector<double> swap_first_axes(const std::vector<double>& in, int64_t first, int64_t second, int64_t rest) {
  std::vector<double> out(in.size());
  for (int64_t i = 0; i < first; ++i)
    for (int64_t j = 0; j < second; ++j)
      std::copy_n(in.begin() + (i * second + j) * rest, rest, out.begin() + (j * first + i) * rest);
  return out;
}

// The operands of the reference as numbers, time first.
struct RnnOperands {
  std::vector<double> x, w, r, b, p, h0, c0;
  std::vector<int64_t> lengths;
};

Result<RnnOperands> load_operands(const EvalContext& ctx, const RnnDirection& sizes, int directions, bool batch_first) {
  const auto load = [&](size_t i) { return ctx.has(i) ? load_f64(ctx.in(i)) : std::vector<double>(); };
  const auto load_state = [&](size_t i) {
    std::vector<double> s = load(i);
    if (s.empty()) s.assign(static_cast<size_t>(directions * sizes.batch * sizes.hidden), 0.0);
    return batch_first ? swap_first_axes(s, sizes.batch, directions, sizes.hidden) : s;
  };
  RnnOperands all;
  all.x = load(0);
  all.w = load(1);
  all.r = load(2);
  all.b = load(3);
  all.p = load(7);
  if (batch_first) all.x = swap_first_axes(all.x, sizes.batch, sizes.steps, sizes.inputs);
  all.h0 = load_state(5);
  all.c0 = load_state(6);
  all.lengths.assign(static_cast<size_t>(sizes.batch), sizes.steps);
  for (int64_t n = 0; ctx.has(4) && n < sizes.batch; ++n) {
    const int64_t length = ctx.in(4).get_i64(n);
    if (length < 0 || length > sizes.steps)
      return invalid_argument("a sequence length of {} with {} steps", length, sizes.steps);
    all.lengths[static_cast<size_t>(n)] = length;
  }
  return all;
}

// What all directions of a node have in common.
RnnDirection settings_of(const Node& node, const Dims& x, bool batch_first) {
  RnnDirection run;
  run.kind = kind_of(node);
  run.linear_before_reset = node.attr_int("linear_before_reset") != 0;
  run.input_forget = node.attr_int("input_forget") != 0;
  run.clip = node.attr_float("clip");
  run.steps = x[batch_first ? 1 : 0];
  run.batch = x[batch_first ? 0 : 1];
  run.inputs = x[2];
  run.hidden = node.attr_int("hidden");
  return run;
}

// Direction `d`, at its place among the weights and the initial states.
RnnDirection direction_of(const RnnDirection& common, const RnnOperands& operands, int64_t d) {
  RnnDirection run = common;
  const int64_t width = run.hidden * gates_of(run.kind), state = run.batch * run.hidden;
  run.w = operands.w.data() + d * width * run.inputs;
  run.r = operands.r.data() + d * width * run.hidden;
  run.b = operands.b.empty() ? nullptr : operands.b.data() + d * 2 * width;
  run.p = operands.p.empty() ? nullptr : operands.p.data() + d * 3 * run.hidden;
  run.lengths = operands.lengths;
  run.h.assign(operands.h0.begin() + d * state, operands.h0.begin() + (d + 1) * state);
  run.c.assign(operands.c0.begin() + d * state, operands.c0.begin() + (d + 1) * state);
  return run;
}

Status reference_rnn(EvalContext& ctx) {
  const Node& node = ctx.node;
  WOOTZ_ASSIGN_OR_RETURN(const int directions, directions_of(node));
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<RnnActivation> activations,
                         read_activations(node, kind_of(node), directions));
  const bool batch_first = node.attr_int("layout") != 0;
  const RnnDirection common = settings_of(node, ctx.in(0).dims(), batch_first);
  const int64_t steps = common.steps, batch = common.batch, hidden = common.hidden, state = batch * hidden;
  WOOTZ_ASSIGN_OR_RETURN(const RnnOperands operands, load_operands(ctx, common, directions, batch_first));
  std::vector<double> y(static_cast<size_t>(steps * directions * state)), final_h, final_c;
  for (int64_t d = 0; d < directions; ++d) {
    RnnDirection run = direction_of(common, operands, d);
    run.reverse = d == 1 || node.attr_string("direction") == "reverse";
    const auto each = static_cast<ptrdiff_t>(activations.size()) / directions;
    run.activations.assign(activations.begin() + d * each, activations.begin() + (d + 1) * each);
    const std::vector<double> part = run_direction(&run, operands.x);
    for (int64_t t = 0; t < steps; ++t)
      std::copy_n(part.begin() + t * state, state, y.begin() + (t * directions + d) * state);
    final_h.insert(final_h.end(), run.h.begin(), run.h.end());
    final_c.insert(final_c.end(), run.c.begin(), run.c.end());
  }
  if (batch_first) {  // [S, D, B, H] to [B, S, D, H]
    y = swap_first_axes(y, steps * directions, batch, hidden);
    final_h = swap_first_axes(final_h, directions, batch, hidden);
    final_c = swap_first_axes(final_c, directions, batch, hidden);
  }
  const std::vector<double>* results[] = {&y, &final_h, &final_c};
  for (size_t i = 0; i < ctx.outputs.size(); ++i) store_f64(&ctx.outputs[i], 0, *results[i]);
  return {};
}

std::vector<AttrSpec> attributes(std::initializer_list<AttrSpec> more) {
  std::vector<AttrSpec> all{{"hidden", AttrKind::kInt, true},
                            {"direction", AttrKind::kString},
                            {"activations", AttrKind::kString},
                            {"activation_alpha", AttrKind::kFloats},
                            {"activation_beta", AttrKind::kFloats},
                            {"clip", AttrKind::kFloat},
                            {"layout", AttrKind::kInt}};
  all.insert(all.end(), more);
  return all;
}

const OpDef kLstm{.name = "LSTM",
                  .min_inputs = 3,
                  .max_inputs = 8,
                  .max_outputs = 3,
                  .attributes = attributes({{"input_forget", AttrKind::kInt}}),
                  .infer = infer_rnn,
                  .reference = reference_rnn,
                  .lowering = Lowering::kRnn};
const OpDef kGru{.name = "GRU",
                 .min_inputs = 3,
                 .max_inputs = 6,
                 .max_outputs = 2,
                 .attributes = attributes({{"linear_before_reset", AttrKind::kInt}}),
                 .infer = infer_rnn,
                 .reference = reference_rnn,
                 .lowering = Lowering::kRnn};
const OpDef kRnn{.name = "RNN",
                 .min_inputs = 3,
                 .max_inputs = 6,
                 .max_outputs = 2,
                 .attributes = attributes({}),
                 .infer = infer_rnn,
                 .reference = reference_rnn,
                 .lowering = Lowering::kRnn};

}  // namespace

std::span<const OpDef* const> rnn_ops() {
  static const OpDef* const kRnnDefs[] = {&kLstm, &kGru, &kRnn};
  return kRnnDefs;
}

}  // namespace wootz::ops
