// The text form of graphs: for people, tests, dumps, and for the steps of a plan that the reference runs.
//
//   graph "name" {
//     sym N = input_dim %x 0;
//     sym s1 "n/2" = data_dependent %y 0 <= 100;        // a symbol whose name is no plain word
//     %x: f32[N,3,224,224] = input;
//     %w: f32[2] = const [1, 0.5];                      // or hex"0000803f0000003f", splat(1)
//     %y: f32[N,64,112,112], %i: i64[2] {N,64} = Op(%x, _, %w) {axis = 1, scale = 0.5, body = graph { ... }} "node"
//     from ["a"]; return %y;
//   }
//
// "_" is an omitted input, {...} after a type are the tracked shape values, `from` is the provenance. A value's name is
// what follows %, in quotes where it is no plain word, followed by #2, #3, ... where several values have the same
// name. Attributes: integers, floats (with a point, an exponent, inf or nan), "text", lists of either number (floats[]
// when empty), const TYPE DATA, graph, custom "name", expr "..." (base/pointwise.h). Comments begin with // and end
// with the line.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace wootz {

struct PrintOptions {
  size_t elide_bytes = SIZE_MAX;  // constants larger than this are written as `elided`, which cannot be read back, or,
  // with `store`, as `elided "name"`: by the name that it gave the constant, and by which a ConstantLoader finds it.
  std::function<std::string(const HostTensor&)> store;
  // An op of the application's own, which is written as what it is, and so cannot be read back, or, with this, as
  // `custom "name"`: by the name that it gave the op, and by which a CustomLoader finds it.
  std::function<std::string(const std::shared_ptr<const CustomOp>&)> custom;
  bool provenance = true;
};

// Exact unless constants are elided: parse_graph() makes an equal graph, which prints the same. Ids are not kept.
std::string print_graph(const Graph& graph, const PrintOptions& options = {});

// One node as a graph of its own: each distinct input a graph input (constants too), no names of the model in it,
// symbols numbered in order of appearance, so that equal nodes give equal text.
Result<std::string> print_node(const Node& node);

using OpLookup = const OpDef* (*)(std::string_view name);  // null: no such op

// Reads the text form; a refusal names line and column. The text may come from outside: every limit of base/limits.h is
// kept, and nothing is allocated that the text does not pay for (splats: limits::kMaxFoldedBytes in all). What it means
// is not checked: verify_graph() does that. Types of node outputs may be left out (`%y = Relu(%x)`), for infer_graph()
// to fill in; so may node names. Integers are taken where the op's attribute is a float.
Result<std::unique_ptr<Graph>> parse_graph(std::string_view text, OpLookup lookup);
// The same for a text whose large constants are elsewhere: asked by name, for a constant of that type and extents.
using ConstantLoader = std::function<Result<HostTensor>(const std::string& name, DType dtype, const Dims& dims)>;
using CustomLoader = std::function<Result<std::shared_ptr<const CustomOp>>(const std::string& name)>;
Result<std::unique_ptr<Graph>> parse_graph(std::string_view text, OpLookup lookup, const ConstantLoader& loader,
                                           const CustomLoader& custom = {});

}  // namespace wootz
