// OpDef: everything the rest of the system asks about an op. Instances live in src/ops/<module>/.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace wootz {

// What is known of one input while a node's output types are worked out.
struct TypeInfo {
  DType dtype = DType::kInvalid;
  Shape shape;
  const HostTensor* constant = nullptr;            // the value itself, when known
  const std::vector<Dim>* shape_values = nullptr;  // or its elements as expressions (small integer tensors)
  bool present = false;                            // false: an omitted optional input
};

// Handed to OpDef::infer. The same rule serves the symbolic graph and one concrete run (every dimension a constant,
// every input a known constant).
class InferContext {
 public:
  InferContext(const Node& node, std::vector<TypeInfo> inputs, Graph* graph);

  const Node& node() const { return node_; }
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  bool has(int i) const { return i < num_inputs() && inputs_[static_cast<size_t>(i)].present; }
  const TypeInfo& in(int i) const { return inputs_[static_cast<size_t>(i)]; }
  DType dtype(int i) const { return in(i).dtype; }
  const Shape& shape(int i) const { return in(i).shape; }
  int rank(int i) const { return static_cast<int>(in(i).shape.size()); }
  const HostTensor* constant(int i) const { return has(i) ? in(i).constant : nullptr; }
  // Elements of an integer tensor as expressions, from a constant or from tracked shape values; nullopt when unknown.
  std::optional<std::vector<Dim>> dims_value(int i) const;
  // Elements of a constant integer tensor; nullopt when not constant.
  std::optional<std::vector<int64_t>> ints_value(int i) const;

  // A data-dependent size: a fresh symbol (one per output axis, stable under repeated inference).
  Dim data_dependent(int output, int axis, int64_t upper_bound = -1);

  void set_output(int i, DType dtype, Shape shape);
  void set_output_values(int i, std::vector<Dim> values);  // tracked shape values of an integer output

  // A refusal in the house style: "node 'name' (Op): <what>".
  template <typename... Args>
  Status fail(fmt::format_string<Args...> format, Args&&... args) const {
    return place(fmt::format(format, std::forward<Args>(args)...));
  }

  struct Output {
    DType dtype = DType::kInvalid;
    Shape shape;
    std::optional<std::vector<Dim>> values;
  };
  std::vector<Output>& outputs() { return outputs_; }

 private:
  Status place(std::string what) const;
  const Node& node_;
  std::vector<TypeInfo> inputs_;
  Graph* graph_;
  std::vector<Output> outputs_;
};

// Handed to OpDef::reference: plain loops, wide accumulation, no cleverness.
struct EvalContext {
  const Node& node;
  std::vector<const HostTensor*> inputs;  // null: omitted
  // Made beforehand with the inferred type and shape; where a size is data-dependent the tensor is invalid and the
  // op calls allocate() with the real extents.
  std::vector<HostTensor> outputs;

  const HostTensor& in(size_t i) const { return *inputs[i]; }
  bool has(size_t i) const { return i < inputs.size() && inputs[i] != nullptr; }
  Status allocate(size_t output, const Dims& dims);
};

enum class AttrKind : uint8_t { kInt, kFloat, kString, kInts, kFloats, kTensor, kGraph, kExpr, kDType, kCustom };

struct AttrSpec {
  const char* name;
  AttrKind kind;
  bool required = false;
};

// What an op becomes: the lines of ir/lowerings.def.
enum class Lowering : uint8_t {
#define LOWERING(Name, function, traits) k##Name,
#include "ir/lowerings.def"
#undef LOWERING
};

enum LoweringTraits : unsigned {
  kNarrows = 1,          // may be computed in a narrower type
  kCannotFail = 2,       // on operands that it was not meant for neither, whatever they hold
  kCarriesEpilogue = 4,  // an expression may follow in the same step
  kLinearWork = 8,       // the work grows with the elements read and written
  kOwnSizes = 16,        // its results' extents may be known only after the run
};
inline bool has_trait(Lowering lowering, LoweringTraits trait) {
  constexpr unsigned kTraits[] = {
#define LOWERING(Name, function, traits) (traits),
#include "ir/lowerings.def"
#undef LOWERING
  };
  return (kTraits[static_cast<size_t>(lowering)] & trait) != 0;
}

struct OpTraits {
  bool foldable = true;      // may be computed while building when its inputs are constant
  bool commutative = false;  // first two inputs may swap
  bool has_side_effects = false;
  bool data_dependent = false;  // output sizes depend on input values
  bool host_shape = false;  // its outputs are shape values: computed symbolically, needs no step when they are known
};

struct OpDef {
  const char* name;
  int min_inputs = 1;
  int max_inputs = 1;  // -1: any number
  int min_outputs = 1;
  int max_outputs = 1;
  std::vector<AttrSpec> attributes;
  Status (*infer)(InferContext&) = nullptr;
  Status (*reference)(EvalContext&) = nullptr;
  Lowering lowering = Lowering::kReference;
  // Pointwise ops: the expression over the node's inputs (operand k = input k). infer and reference then follow from
  // it (ops/support/pointwise.h) and may be left null.
  Result<PointwiseExpr> (*pointwise)(const Node&) = nullptr;
  // Compositions: rewrites the node into simpler ops in place; run before every other pass. Null: not a composition.
  Status (*expand)(Graph&, Node&) = nullptr;
  OpTraits traits;
};

// The failure, at a node: "node 'name' (Op): <what>".
inline Status at_node(const Node& node, const Status& status) {
  return status.at(PlaceKind::kNode, node.name(), fmt::format("({})", node.op().name));
}

}  // namespace wootz
