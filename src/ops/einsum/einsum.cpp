// Einsum: products of operands summed over the labels that the output does not name. The importer writes most equations
// as matrix products; this op takes every other one.
#include <algorithm>

#include "ops/einsum/equation.h"
#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status infer_einsum(InferContext& ctx) {
  std::vector<int> ranks;
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    if (!ctx.has(i)) return ctx.fail("operand {} is missing", i);
    if (ctx.dtype(i) != ctx.dtype(0) || !accepts(Accept::kNumeric, ctx.dtype(i)))
      return ctx.fail("operand {} is {} and operand 0 is {}", i, dtype_name(ctx.dtype(i)), dtype_name(ctx.dtype(0)));
    ranks.push_back(ctx.rank(i));
  }
  const Result<Equation> equation = parse_equation(ctx.node().attr_string("equation"), ranks);
  if (!equation.ok()) return ctx.fail("{}", equation.status().message());
  Shape extents(static_cast<size_t>(equation->num_labels), Dim(1));
  for (int i = 0; i < ctx.num_inputs(); ++i)
    for (size_t a = 0; a < ctx.shape(i).size(); ++a) {
      Dim& extent = extents[static_cast<size_t>(equation->terms[static_cast<size_t>(i)][a])];
      const Result<Shape> both = broadcast_shapes({extent}, {ctx.shape(i)[a]});
      if (!both.ok())
        return ctx.fail("axis {} of operand {} ({}) does not fit the other operands: {}", a, i,
                        shape_to_string(ctx.shape(i)), both.status().message());
      extent = both->front();
    }
  Shape shape;
  for (int label : equation->output) shape.push_back(extents[static_cast<size_t>(label)]);
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
  return Status();
}

Status einsum_reference(EvalContext& ctx) {
  std::vector<int> ranks;
  for (const HostTensor* x : ctx.inputs) ranks.push_back(x->rank());
  WOOTZ_ASSIGN_OR_RETURN(const Equation equation, parse_equation(ctx.node.attr_string("equation"), ranks));
  const auto labels = static_cast<size_t>(equation.num_labels);
  const size_t operands = ctx.inputs.size();
  // Labels in the order of the loops: the output's, then those summed over.
  std::vector<int> loops = equation.output;
  for (int label = 0; label < equation.num_labels; ++label)
    if (std::find(equation.output.begin(), equation.output.end(), label) == equation.output.end())
      loops.push_back(label);
  std::vector<int64_t> extents(labels, 1);
  std::vector<std::vector<int64_t>> strides(operands, std::vector<int64_t>(labels, 0));
  for (size_t i = 0; i < operands; ++i) {
    const Dims &dims = ctx.in(i).dims(), dense = dims.strides();
    for (size_t a = 0; a < dims.size(); ++a) {
      const auto label = static_cast<size_t>(equation.terms[i][a]);
      if (dims[a] != 1) extents[label] = dims[a];
      if (dims[a] != 1) strides[i][label] += dense[a];  // a repeated label walks the diagonal
    }
  }
  int64_t sums = 1;
  for (size_t l = equation.output.size(); l < loops.size(); ++l) sums *= extents[static_cast<size_t>(loops[l])];
  HostTensor& y = ctx.outputs[0];
  const bool floats = is_float(y.dtype());
  std::vector<int64_t> index(loops.size(), 0), offset(operands, 0);
  for (int64_t o = 0; o < y.volume(); ++o) {
    double f = 0;
    uint64_t n = 0;
    for (int64_t s = 0; s < std::max<int64_t>(sums, 1); ++s) {
      if (sums > 0) {
        double product = 1;
        uint64_t whole = 1;
        for (size_t i = 0; i < operands; ++i) {
          if (floats)
            product *= ctx.in(i).get_f64(offset[i]);
          else
            whole *= static_cast<uint64_t>(ctx.in(i).get_i64(offset[i]));
        }
        f += product;
        n += whole;
      }
      for (size_t l = loops.size(); l-- > 0;) {
        if (sums == 0 && l >= equation.output.size()) continue;
        const auto label = static_cast<size_t>(loops[l]);
        for (size_t i = 0; i < operands; ++i) offset[i] += strides[i][label];
        if (++index[l] < extents[label]) break;
        for (size_t i = 0; i < operands; ++i) offset[i] -= strides[i][label] * extents[label];
        index[l] = 0;
      }
    }
    if (floats)
      y.set_f64(o, f);
    else
      y.set_i64(o, static_cast<int64_t>(n));
  }
  return Status();
}

const OpDef kEinsum{.name = "Einsum",
                    .max_inputs = -1,
                    .attributes = {{"equation", AttrKind::kString, true}},
                    .infer = infer_einsum,
                    .reference = einsum_reference,
                    .traits = {}};
const OpDef* const kEinsumDefs[] = {&kEinsum};

}  // namespace

std::span<const OpDef* const> einsum_ops() { return kEinsumDefs; }

}  // namespace wootz::ops
