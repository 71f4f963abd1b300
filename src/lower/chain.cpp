// A chain is lowered as the nodes of its body one by one, and put together again where a provider offers to compute the
// steps as one.
#include "backend/chain.h"

#include <algorithm>
#include <cstring>

#include "backend/cached_attention.h"
#include "backend/chain_sum.h"
#include "backend/embedding.h"
#include "backend/siblings.h"
#include "backend/squeeze_excite.h"
#include "lower/concats.h"
#include "lower/context.h"
#include "lower/shortcuts.h"

namespace wootz {
namespace {

// Each reads the one result of the step before, as its first operand.
bool follow_each_other(std::span<const Step> steps) {
  for (size_t i = 0; i < steps.size(); ++i)
    if (steps[i].outputs.size() != 1 || steps[i].inputs.empty() ||
        (i > 0 && steps[i].inputs[0] != steps[i - 1].outputs[0]))
      return false;
  return true;
}

std::optional<Problem> problem_of(std::span<const Step> steps) {
  if (steps.size() == 2) return make_chain(steps[0].problem, steps[1].problem);
  std::vector<Problem> problems;
  for (const Step& step : steps) problems.push_back(step.problem);
  return make_squeeze_excite(problems);
}

// A concatenation with the expression on its result, which the second step reads as some operand.
std::optional<Step> concat_with_expression(std::span<const Step> steps) {
  if (steps.size() != 2 || steps[0].outputs.size() != 1 || !steps[1].problem.is(Family::kPointwise))
    return std::nullopt;
  const auto* move = steps[0].problem.as_if<MoveParams>();
  if (move == nullptr || move->kind != MoveKind::kConcat || !steps[0].problem.epilogue.empty()) return std::nullopt;
  const Step& expression = steps[1];
  Step made = steps[0];
  made.problem.passing = made.problem.passing || expression.problem.passing;
  made.problem.outputs = expression.problem.outputs;
  made.problem.epilogue = expression.problem.epilogue;
  made.problem.acc_dtype = steps[0].problem.outputs[0].dtype;
  made.outputs = expression.outputs;
  std::vector<uint16_t> number;  // by operand of the expression; the concatenation is 0
  uint16_t next = 1;
  for (size_t i = 0; i < expression.inputs.size(); ++i) {
    const bool whole = expression.inputs[i] == steps[0].outputs[0];
    number.push_back(whole ? uint16_t{0} : next++);
    if (whole) continue;
    made.inputs.push_back(expression.inputs[i]);
    made.problem.inputs.push_back(expression.problem.inputs[i]);
  }
  for (PwInstr& in : made.problem.epilogue.code)
    if (in.op == PwOp::kInput) in.a = number[in.a];
  made.problem.epilogue.num_inputs = next;
  return made;
}

// Two convolutions, the second one of which adds what the first one makes.
std::optional<Step> added_up(std::span<const Step> steps) {
  if (steps.size() != 2 || steps[0].outputs.size() != 1 || steps[1].outputs.size() != 1) return std::nullopt;
  const std::vector<TensorIndex>& read = steps[1].inputs;
  const auto at = std::find(read.begin(), read.end(), steps[0].outputs[0]);
  const auto added = at - read.begin() - steps[1].problem.num_main + 1;
  if (at == read.end() || added < 1 || std::count(read.begin(), read.end(), *at) != 1) return std::nullopt;
  std::optional<Problem> sum = make_sum(steps[0].problem, steps[1].problem, static_cast<uint16_t>(added));
  if (!sum) return std::nullopt;
  Step step;
  step.problem = std::move(*sum);
  step.inputs = steps[0].inputs;
  std::copy_if(read.begin(), read.end(), std::back_inserter(step.inputs), [&](TensorIndex t) { return t != *at; });
  step.outputs = steps[1].outputs;
  return step;
}

// The steps as one, without its name.
std::optional<Step> joined(std::span<const Step> steps) {
  if (steps.size() < 2) return std::nullopt;
  if (std::optional<Step> sum = added_up(steps)) return sum;
  if (std::optional<Step> embedding = make_embedding(steps)) return embedding;
  if (std::optional<Step> concat = concat_with_expression(steps)) return concat;
  if (!follow_each_other(steps)) return std::nullopt;
  std::optional<Problem> problem = problem_of(steps);
  if (!problem) return std::nullopt;
  Step step;
  step.problem = std::move(*problem);
  step.inputs = steps[0].inputs;
  for (const Step& each : steps.subspan(1))
    step.inputs.insert(step.inputs.end(), each.inputs.begin() + 1, each.inputs.end());
  step.outputs = steps.back().outputs;
  return step;
}

// The first step's result, which others read too, as the second one. False: the chain's is something else.
bool keep_first(const Node& node, std::span<const Step> made, Step* step) {
  const std::shared_ptr<Graph> body = node.attr_graph("body");
  if (made.size() != 2 || node.num_outputs() != 2 || !step->problem.is(Family::kChain)) return false;
  if (body->outputs()[1] != body->first()->output()) return false;
  step->outputs.push_back(made[0].outputs[0]);
  step->problem.outputs.push_back(made[0].problem.outputs[0]);
  return true;
}

// A concatenation that an earlier step has made already, for another reader of it, is not made again.
void share_concat(LowerContext& ctx, const Node& reader, std::span<const Step> made, StepIndex first) {
  if (made.size() != 2 || !made[0].problem.is(Family::kMove) || made[1].inputs[0] != made[0].outputs[0]) return;
  const std::string key = made[0].problem.key();
  for (StepIndex s = StepIndex(0); s != first; s = s.next()) {
    const Step& step = ctx.program().steps[s];
    if (step.inputs != made[0].inputs || !step.problem.is(Family::kMove) || step.problem.key() != key) continue;
    Step alone = made[1];
    alone.inputs[0] = step.outputs[0];
    return ctx.replace_last(2, reader, std::move(alone));
  }
}

// The constants that the steps read as operand `input`, one after the other along the axis.
Result<TensorIndex> stacked(LowerContext& ctx, std::span<const Step> steps, size_t input, size_t axis,
                            const Dims& dims) {
  const Program& program = ctx.program();
  const TensorIndex first = steps[0].inputs[input];
  WOOTZ_ASSIGN_OR_RETURN(HostTensor all, HostTensor::allocate(program.tensors[first].dtype, dims));
  auto* to = static_cast<char*>(all.mutable_data());
  size_t outer = 1;
  for (size_t a = 0; a < axis; ++a) outer *= static_cast<size_t>(dims[a]);
  for (size_t o = 0; o < outer; ++o)
    for (const Step& step : steps) {
      const PlanConstant& part = program.constants[program.tensors[step.inputs[input]].constant];
      const size_t bytes = part.bytes / outer;
      std::memcpy(to, static_cast<const char*>(part.data) + o * bytes, bytes);
      to += bytes;
    }
  return ctx.add_constant(program.tensors[first].name + " and siblings", all);
}

// Whether the part of a constant that lies together there is of whole bytes.
bool lies_in_bytes(const TensorDesc& t, size_t axis) {
  int64_t elements = 1;
  for (size_t a = axis; a < t.dims.size(); ++a) elements *= t.dims[a];
  return elements * dtype_bits(t.dtype) % 8 == 0;
}

// Steps alike of the same operands as one, where a provider offers to compute that; false: they are not. `norm`: the
// step in front of them, to be part of it; or null.
Result<bool> join_alike(LowerContext& ctx, const Node& node, const Step* norm, std::span<const Step> steps) {
  std::vector<Problem> problems;
  for (const Step& step : steps)
    problems.push_back(norm == nullptr ? step.problem : make_chain(norm->problem, step.problem));
  std::optional<Problem> problem = make_siblings(problems);
  if (!problem) return false;
  const SiblingAxes axes = *sibling_axes(problems[0]);
  const size_t own = norm == nullptr ? axes.shared : 1;  // operands that they share
  const auto shared = static_cast<ptrdiff_t>(own);
  for (size_t i = 0; i < axes.inputs.size(); ++i)
    for (const Problem& each : problems)
      if (!lies_in_bytes(each.inputs[axes.shared + i], axes.inputs[i])) return false;
  Step made;
  made.name = node.name();
  made.provenance = node.provenance();
  made.problem = std::move(*problem);
  made.inputs.assign(steps[0].inputs.begin(), steps[0].inputs.begin() + shared);
  for (const Step& step : steps) {
    if (!std::equal(made.inputs.begin(), made.inputs.end(), step.inputs.begin())) return false;
    made.outputs.push_back(step.outputs[0]);
  }
  if (norm != nullptr) made.inputs = norm->inputs;
  if (!ctx.offered(made)) return false;
  for (size_t i = axes.shared; i < made.problem.inputs.size(); ++i) {
    const size_t part = i - axes.shared;
    WOOTZ_ASSIGN_OR_RETURN(const TensorIndex all,
                           stacked(ctx, steps, own + part, axes.inputs[part], made.problem.inputs[i].dims));
    made.inputs.push_back(all);
  }
  ctx.replace_last(steps.size() + (norm == nullptr ? 0 : 1), node, std::move(made));
  return true;
}

// The same with the normalization of what all of them read in front, where a provider takes that in.
Result<bool> join_siblings(LowerContext& ctx, const Node& node, std::span<const Step> steps) {
  const auto is_reader = [&](const Step& s) { return !s.inputs.empty() && s.inputs[0] == steps[0].outputs[0]; };
  const bool normed = steps.size() > 2 && steps[0].problem.is(Family::kNorm) && steps[0].outputs.size() == 1 &&
                      std::all_of(steps.begin() + 1, steps.end(), is_reader);
  if (!normed) return join_alike(ctx, node, nullptr, steps);
  WOOTZ_ASSIGN_OR_RETURN(const bool whole, join_alike(ctx, node, &steps[0], steps.subspan(1)));
  if (whole) return true;
  return join_alike(ctx, node, nullptr, steps.subspan(1));
}

// Concatenations as one step, where a provider offers to make that; false: they are not.
Result<bool> join_concats(LowerContext& ctx, const Node& node, std::span<const Step> steps) {
  if (steps.size() < 2) return false;
  std::vector<TensorIndex> results;
  for (const Value* value : node.outputs()) {
    WOOTZ_ASSIGN_OR_RETURN(const TensorIndex tensor, ctx.tensor(value));
    results.push_back(tensor);
  }
  std::optional<Step> made = concats_as_one(steps, results);
  if (!made) return false;
  made->name = node.name();
  made->provenance = node.provenance();
  if (!ctx.offered(*made)) return false;
  ctx.replace_last(steps.size(), node, std::move(*made));
  return true;
}

// An attention with the concatenations that it reads as one step, where a provider offers to compute that; false: they
// are not.
bool join_caches(LowerContext& ctx, const Node& node, std::span<const Step> steps) {
  std::optional<Step> made = make_cached_attention(steps, node.num_outputs() > 1);
  if (!made || made->outputs.size() != static_cast<size_t>(node.num_outputs())) return false;
  made->name = node.name();
  made->provenance = node.provenance();
  if (!ctx.offered(*made)) return false;
  ctx.replace_last(steps.size(), node, std::move(*made));
  return true;
}

}  // namespace

Result<bool> lower_chain(LowerContext& ctx, const Node& node) {
  const std::shared_ptr<Graph> body = node.attr_graph("body");
  if (body == nullptr || body->inputs().size() != static_cast<size_t>(node.num_inputs()) ||
      body->outputs().size() != static_cast<size_t>(node.num_outputs()))
    return false;
  std::vector<const Node*> inside;
  for (const Node* n = body->first(); n != nullptr; n = n->next()) inside.push_back(n);
  for (int i = 0; i < node.num_inputs(); ++i)
    WOOTZ_RETURN_IF_ERROR(ctx.stand_for(body->inputs()[static_cast<size_t>(i)], node.input(i)));
  for (int o = 0; o < node.num_outputs(); ++o)
    WOOTZ_RETURN_IF_ERROR(ctx.stand_for(body->outputs()[static_cast<size_t>(o)], node.output(o)));
  const StepIndex before = ctx.program().steps.next();
  for (const Node* n : inside) WOOTZ_RETURN_IF_ERROR(ctx.lower(*n));
  std::vector<Step> made;
  for (StepIndex s = before; s != ctx.program().steps.next(); s = s.next()) made.push_back(ctx.program().steps[s]);
  if (join_caches(ctx, node, made)) return true;
  if (node.num_outputs() > 1 && made.size() == inside.size()) {
    WOOTZ_ASSIGN_OR_RETURN(const bool together, join_siblings(ctx, node, made));
    if (together) return true;
  }
  WOOTZ_ASSIGN_OR_RETURN(const bool concats, join_concats(ctx, node, made));
  if (concats) return true;
  std::optional<Step> step = made.size() == inside.size() ? joined(made) : std::nullopt;
  if (node.num_outputs() == 1 && adds_shortcut(made)) {
    WOOTZ_ASSIGN_OR_RETURN(const bool with_shortcut, join_shortcut(ctx, node, made));
    if (with_shortcut) return true;
    made.erase(made.begin());  // the two after it by themselves
    step = joined(made);
  }
  if (!step || (node.num_outputs() > 1 && !keep_first(node, made, &*step))) return true;
  step->name = node.name();
  step->provenance = node.provenance();
  if (ctx.offered(*step))
    ctx.replace_last(made.size(), node, std::move(*step));
  else
    share_concat(ctx, *inside.back(), made, before);
  return true;
}

}  // namespace wootz
