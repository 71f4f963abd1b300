// Small helpers that modules share: tables of pointwise ops, axes, list parameters that are an attribute when constant
// and an input otherwise.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/onnx_import.h"

namespace wootz::ops {

// A refusal of a node in the house style, where there is no InferContext.
Status refuse(const Node& node, std::string_view what);

// What element types an op takes.
enum class Accept : uint8_t { kFloat, kNumeric, kInteger, kBool, kBoolOrInteger, kAny };
bool accepts(Accept accept, DType dtype);
const char* accept_name(Accept accept);
// Input i of a pointwise node: present, of an accepted type.
Status check_operand(const Node& node, int i, Accept accept);

// Axes of a tensor of `rank`: each in [-rank, rank), none twice; gives them in [0, rank), in the given order.
Result<std::vector<int64_t>> normalize_axes(const std::vector<int64_t>& axes, int rank);

std::vector<int64_t> tensor_ints(const HostTensor& tensor);

// A list parameter given as attribute `attr` or, failing that, as input `i`. Expressions (or nullopt: unknown) while
// inferring; numbers while running. has_list: whether either is there.
bool has_list(const InferContext& ctx, std::string_view attr, int i);
std::optional<std::vector<Dim>> dims_list(const InferContext& ctx, std::string_view attr, int i);
std::optional<std::vector<int64_t>> ints_list(const InferContext& ctx, std::string_view attr, int i);
std::vector<int64_t> ints_list(const EvalContext& ctx, std::string_view attr, size_t i,
                               std::vector<int64_t> fallback = {});

// Elements of a list as far as they are known: all of them, or those of the parts that a Concat joins. Empty: not even
// their number is known.
std::vector<std::optional<Dim>> known_elements(const InferContext& ctx, int i);

// Whether an expression can be shown to be at least zero: sizes are, values of input shape tensors need not be.
bool never_negative(const Dim& dim, const Graph* graph);

// While importing: the elements of a value when they are numbers, from a constant or from tracked shape values.
std::optional<std::vector<int64_t>> known_ints(const Value* value);
// Emits one op and names output 0 of the ONNX node after its result.
Status import_as(ImportContext& ctx, std::string_view op, std::vector<Value*> inputs, AttrMap attrs = {});

// A module's table from its definitions, which must outlive it.
std::vector<const OpDef*> op_pointers(const std::vector<OpDef>& defs);

}  // namespace wootz::ops
