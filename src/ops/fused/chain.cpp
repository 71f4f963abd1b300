// Chain: consecutive nodes that one step may compute, piece by piece, so that what is between them need never
// be whole; or nodes alike over the same operand, each with a result of its own. The body says what it means; each
// operand of a node in it is an input of the body or an earlier result.
#include "ops/fused/chain.h"

#include <unordered_map>

#include "ops/infer.h"
#include "ops/interpreter.h"

namespace wootz::ops {
namespace {

Status infer_chain(InferContext& ctx) {
  const auto body = ctx.node().attr_graph("body");
  if (body == nullptr || body->outputs().empty()) return ctx.fail("a body with an output is missing");
  if (static_cast<int>(body->inputs().size()) != ctx.num_inputs())
    return ctx.fail("the body takes {} inputs, {} are given", body->inputs().size(), ctx.num_inputs());
  std::unordered_map<const Value*, TypeInfo> known;
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    if (!ctx.has(i)) return ctx.fail("input {} is missing", i);
    known[body->inputs()[static_cast<size_t>(i)]] = ctx.in(i);
  }
  for (const Node* node = body->first(); node != nullptr; node = node->next()) {
    std::vector<TypeInfo> inputs;
    for (const Value* v : node->inputs()) {
      const auto found = known.find(v);
      if (v != nullptr && found == known.end()) return ctx.fail("its body reads '{}', which is no operand", v->name());
      inputs.push_back(v == nullptr ? TypeInfo{} : found->second);
    }
    if (node->op().traits.data_dependent) return ctx.fail("its body has data-dependent sizes");
    WOOTZ_ASSIGN_OR_RETURN(const auto outputs, infer_outputs(*node, std::move(inputs), nullptr));
    for (int o = 0; o < node->num_outputs(); ++o) {
      TypeInfo info;
      info.present = true;
      info.dtype = outputs[static_cast<size_t>(o)].dtype;
      info.shape = outputs[static_cast<size_t>(o)].shape;
      known[node->output(o)] = std::move(info);
    }
  }
  if (ctx.node().num_outputs() != static_cast<int>(body->outputs().size()))
    return ctx.fail("its body has {} outputs, the node {}", body->outputs().size(), ctx.node().num_outputs());
  for (int o = 0; o < ctx.node().num_outputs(); ++o) {
    const auto result = known.find(body->outputs()[static_cast<size_t>(o)]);
    if (result == known.end()) return ctx.fail("its body computes nothing");
    ctx.set_output(o, result->second.dtype, result->second.shape);
  }
  return {};
}

Status reference_chain(EvalContext& ctx) {
  const auto body = ctx.node.attr_graph("body");
  std::unordered_map<const Value*, HostTensor> known;
  for (size_t i = 0; i < body->inputs().size(); ++i) known[body->inputs()[i]] = ctx.in(i);
  for (const Node* node = body->first(); node != nullptr; node = node->next()) {
    std::vector<const HostTensor*> inputs;
    for (const Value* v : node->inputs()) inputs.push_back(v == nullptr ? nullptr : &known.at(v));
    WOOTZ_ASSIGN_OR_RETURN(std::vector<HostTensor> results, run_node(*node, inputs));
    for (int o = 0; o < node->num_outputs(); ++o) known[node->output(o)] = std::move(results[static_cast<size_t>(o)]);
  }
  for (size_t o = 0; o < ctx.outputs.size(); ++o) ctx.outputs[o] = known.at(body->outputs()[o]);
  return {};
}

}  // namespace

const OpDef& chain_op() {
  static const OpDef kChain{.name = "Chain",
                            .min_inputs = 1,
                            .max_inputs = -1,
                            .max_outputs = -1,
                            .attributes = {{"body", AttrKind::kGraph, true}},
                            .infer = infer_chain,
                            .reference = reference_chain,
                            .lowering = Lowering::kChain,
                            .traits = {}};
  return kChain;
}

}  // namespace wootz::ops
