// Trees of pointwise ops become one Pointwise node with one expression. Scalar constants move into the expression;
// an operand read twice is one operand.
#include <algorithm>
#include <bit>
#include <unordered_map>

#include "base/fp8.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "ops/support/pointwise.h"
#include "passes/pass.h"
#include "passes/support/rewrite.h"
#include "passes/support/simplify_expr.h"

namespace wootz {
namespace {

constexpr size_t kMaxInstructions = 48;
constexpr size_t kMaxOperands = 12;

bool is_pointwise(const Node& node) { return node.op().lowering == Lowering::kPointwise; }

bool only_shape_values(const Node& node) {
  return std::all_of(node.outputs().begin(), node.outputs().end(),
                     [](const Value* v) { return v->shape_values().has_value(); });
}

// An expression over operands in the making: equal operands are merged, scalar constants inlined.
struct Fused {
  PointwiseExpr expr;
  std::vector<Value*> operands;
};

// Renumbers `expr` (operand k is values[k]) so that operands are unique and scalar constants are instructions.
Fused normalize(const PointwiseExpr& expr, const std::vector<Value*>& values) {
  Fused out;
  std::unordered_map<const Value*, uint16_t> number;
  std::vector<uint16_t> map;
  for (const PwInstr& old : expr.code) {
    PwInstr in = old;
    if (in.op == PwOp::kInput) {
      Value* value = values[in.a];
      if (const std::optional<double> scalar = scalar_constant(value)) {
        in = PwInstr{PwOp::kConst, old.type, 0, 0, 0, *scalar, 0};
      } else {
        const auto [it, fresh] = number.try_emplace(value, static_cast<uint16_t>(out.operands.size()));
        if (fresh) out.operands.push_back(value);
        in.a = it->second;
      }
    } else if (in.op != PwOp::kConst) {
      const int arity = pw_op_arity(in.op);
      if (arity > 0) in.a = map[in.a];
      if (arity > 1) in.b = map[in.b];
      if (arity > 2) in.c = map[in.c];
    }
    map.push_back(static_cast<uint16_t>(out.expr.code.size()));
    out.expr.code.push_back(in);
  }
  for (uint16_t o : expr.outputs) out.expr.outputs.push_back(map[o]);
  out.expr.num_inputs = static_cast<uint16_t>(out.operands.size());
  out.expr = simplify_expression(out.expr);
  return out;
}

// The convolution or GEMM that could take the pointwise tree which ends in the value as its epilogue; null: there is
// none.
const Node* product_below(const Value* value) {
  if (value->producer() == nullptr) return nullptr;
  std::vector<const Node*> tree{value->producer()};
  for (size_t i = 0; i < tree.size() && i < kMaxInstructions; ++i) {
    for (const Value* operand : tree[i]->inputs()) {
      const Node* below = operand == nullptr ? nullptr : operand->producer();
      if (below == nullptr || only_user(operand) != tree[i] || !(operand->shape() == value->shape())) continue;
      if (multiplies(*below)) return below;
      if (is_pointwise(*below)) tree.push_back(below);
    }
  }
  return nullptr;
}

// Whether another operand of the reader is a product's result that it could be the epilogue of.
bool has_rival(const Value* value, const std::vector<Value*>& operands, const Node* reader) {
  return std::any_of(operands.begin(), operands.end(), [&](const Value* other) {
    const Node* const made = other->producer();
    if (other == value || made == nullptr || only_user(other) != reader || !(other->shape() == value->shape()))
      return false;
    return multiplies(*made) || (is_pointwise(*made) && product_below(other) != nullptr);
  });
}

// Whether the value is the 8-bit end of a tree that stands on a convolution or GEMM. That one takes the tree as its
// epilogue and writes 8 bits; its reader then starts from them. (Taken into the reader, the tree would have to read
// f32.) Floats of 8 bits are only written by what reads such, and where the reader has another product to stand on.
bool ends_in_bytes(const Value* value, const std::vector<Value*>& operands, const Node* reader) {
  if (!is_byte(value->dtype())) return false;
  const Node* const product = product_below(value);
  if (product == nullptr || is_int8(value->dtype())) return product != nullptr;
  return is_fp8(product->input(0)->dtype()) && has_rival(value, operands, reader);
}

// Whether the tree rooted at the operand, one of these, may be pulled into its reader.
bool may_absorb(const Value* operand, const std::vector<Value*>& operands, const Node* reader) {
  const Node* producer = operand->producer();
  if (producer == nullptr || !is_pointwise(*producer) || producer->num_outputs() != 1) return false;
  if (only_user(operand) != reader || only_shape_values(*producer)) return false;
  if (ends_in_bytes(operand, operands, reader)) return false;
  // A smaller result that is broadcast would be computed again and again.
  return operand->shape() == reader->output()->shape();
}

// Bit by bit: a constant that is no number equals itself here, or there would be something to do for ever.
bool same(const PointwiseExpr& a, const PointwiseExpr& b) {
  const auto bits = [](double v) { return std::bit_cast<uint64_t>(v); };
  const auto same_instruction = [&](PwInstr p, PwInstr q) {
    const bool constants = bits(p.imm0) == bits(q.imm0) && bits(p.imm1) == bits(q.imm1);
    p.imm0 = p.imm1 = q.imm0 = q.imm1 = 0;
    return constants && p == q;
  };
  return a.outputs == b.outputs && a.num_inputs == b.num_inputs &&
         std::equal(a.code.begin(), a.code.end(), b.code.begin(), b.code.end(), same_instruction);
}

// The fused node, or null when there was nothing to do.
Result<Node*> fuse_at(Graph& graph, Node* node) {
  WOOTZ_ASSIGN_OR_RETURN(const PointwiseExpr own, node_expression(*node));
  Fused fused = normalize(own, node->inputs());
  std::vector<Node*> absorbed;
  for (size_t k = 0; k < fused.operands.size();) {
    Value* operand = fused.operands[k];
    if (!may_absorb(operand, fused.operands, node)) {
      ++k;
      continue;
    }
    Node* producer = operand->producer();
    WOOTZ_ASSIGN_OR_RETURN(const PointwiseExpr raw, node_expression(*producer));
    const Fused inner = normalize(raw, producer->inputs());
    if (fused.expr.code.size() + inner.expr.code.size() > kMaxInstructions ||
        fused.operands.size() + inner.operands.size() > kMaxOperands + 1) {
      ++k;
      continue;
    }
    std::vector<Value*> operands = fused.operands;
    operands.erase(operands.begin() + static_cast<ptrdiff_t>(k));
    operands.insert(operands.end(), inner.operands.begin(), inner.operands.end());
    fused = normalize(substitute(fused.expr, static_cast<uint16_t>(k), inner.expr), operands);
    absorbed.push_back(producer);
    k = 0;  // numbering changed
  }
  const bool already =
      node->is("Pointwise") && absorbed.empty() && same(fused.expr, own) && fused.operands == node->inputs();
  if (already) return static_cast<Node*>(nullptr);
  // Everything constant: left to constant folding. An expression that is its operand: left to identity elimination.
  if (fused.operands.empty()) return static_cast<Node*>(nullptr);
  Node* made = graph.add_node(op("Pointwise"), graph.unique_name(node->name()), fused.operands, {{"expr", fused.expr}},
                              node->num_outputs(), node);
  for (Node* n : absorbed) made->add_provenance(*n);
  made->add_provenance(*node);
  WOOTZ_RETURN_IF_ERROR(infer_node(*made));
  for (int o = 0; o < node->num_outputs(); ++o) {
    // Inlined scalars may have carried the rank: keep the node as it was then.
    if (!(made->output(o)->shape() == node->output(o)->shape()) ||
        made->output(o)->dtype() != node->output(o)->dtype()) {
      graph.erase(made);
      return static_cast<Node*>(nullptr);
    }
  }
  for (int o = 0; o < node->num_outputs(); ++o) {
    std::string name = node->output(o)->name();
    node->output(o)->set_name(graph.unique_name(name));
    made->output(o)->set_name(std::move(name));
    graph.replace_all_uses(node->output(o), made->output(o));
  }
  erase_if_dead(graph, node);
  return made;
}

}  // namespace

Result<bool> fuse_pointwise(Graph& graph) {
  bool changed = false;
  // From the back, so that a tree is collected from its root. What a fusion absorbed lies before its root and is gone.
  for (Node* node = graph.last(); node != nullptr;) {
    Node* made = nullptr;
    if (is_pointwise(*node) && !only_shape_values(*node)) {
      WOOTZ_ASSIGN_OR_RETURN(made, fuse_at(graph, node));
    }
    // One call takes in the nodes right after the root; the fused node then stands in front of the next ones.
    changed = changed || made != nullptr;
    node = made != nullptr ? made : node->prev();
  }
  return changed;
}

}  // namespace wootz
