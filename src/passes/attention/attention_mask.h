// The masks between the first GEMM of attention and its softmax, as one operand of an Attention node.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace wootz {

class MaskParts {
 public:
  // Takes the mask that `node` puts on scores (`logits` is the node's result): the scores before it, or null when the
  // node is something else.
  Value* take(const Node& node, const Value* logits);
  bool empty() const { return parts_.empty(); }

  // Whether every part broadcasts to scores of that shape ([batch, heads, queries, keys]).
  bool usable(const Shape& scores) const;
  // Takes out parts that say "query i sees keys j <= i"; true when there was one.
  bool causal(const Shape& scores);
  bool may_hide() const { return !parts_.empty(); }
  // Bool (true: seen) or additive; null when nothing is left. New nodes stand in front of `before`.
  Result<Value*> build(Graph& graph, const Shape& scores, Node* before) const;

 private:
  enum class Kind : uint8_t { kAdd, kKeep, kHide };
  struct Part {
    Kind kind = Kind::kAdd;
    Value* value = nullptr;
    bool finite = false;  // hidden scores get a very negative number rather than -inf
    Shape at;             // shape of the scores it is put on
  };
  static bool says_causal(const Part& part);
  static bool says_nothing(const Part& part);
  std::vector<Part> parts_;
};

}  // namespace wootz
