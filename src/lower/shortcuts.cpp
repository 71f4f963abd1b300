#include "lower/shortcuts.h"

#include <algorithm>
#include <cstring>

#include "backend/chain.h"
#include "base/expressions.h"

namespace wootz {
namespace {

// By constants, without a window, in one group.
bool is_of_pixels(const Problem& p) {
  const auto* const conv = p.as_if<ConvParams>();
  if (conv == nullptr || conv->transposed || conv->groups != 1 || !conv->x_scale.empty() || p.passing) return false;
  const auto all = [](const Ints& list, int64_t value) {
    return std::all_of(list.begin(), list.end(), [&](int64_t v) { return v == value; });
  };
  const Dims& w = p.inputs[1].dims;
  for (int i = 1; i < p.num_main; ++i)
    if (!p.inputs[static_cast<size_t>(i)].constant) return false;
  return p.outputs.size() == 1 && w.rank() == 4 && w[2] == 1 && w[3] == 1 && all(conv->strides, 1) &&
         all(conv->pads, 0);
}

// Constants one after the other along axis 1, row by row.
Result<HostTensor> beside(const PlanConstant& a, const PlanConstant& b) {
  Dims dims = a.dims;
  dims[1] += b.dims[1];
  WOOTZ_ASSIGN_OR_RETURN(HostTensor all, HostTensor::allocate(a.dtype, dims));
  auto* to = static_cast<char*>(all.mutable_data());
  const auto rows = static_cast<size_t>(dims[0]);
  for (size_t row = 0; row < rows; ++row)
    for (const PlanConstant* part : {&a, &b}) {
      const size_t bytes = part->bytes / rows;
      std::memcpy(to, static_cast<const char*>(part->data) + row * bytes, bytes);
      to += bytes;
    }
  return all;
}

Result<HostTensor> sum_of(const PlanConstant& a, const PlanConstant& b) {
  const HostTensor x = HostTensor::wrap(a.dtype, a.dims, a.data, nullptr);
  const HostTensor y = HostTensor::wrap(b.dtype, b.dims, b.data, nullptr);
  WOOTZ_ASSIGN_OR_RETURN(HostTensor sum, HostTensor::allocate(a.dtype, a.dims));
  for (int64_t i = 0; i < sum.volume(); ++i) sum.set_f64(i, x.get_f64(i) + y.get_f64(i));
  return sum;
}

struct Joined {
  Problem problem;
  uint16_t added = 0;  // operand of the last one's expression
};

// The problem that the steps are together.
std::optional<Joined> problem_of(const Step& shortcut, const Step& first, const Step& last) {
  const Problem &s = shortcut.problem, &p = last.problem;
  const bool fit = is_of_pixels(s) && is_of_pixels(p) && s.epilogue.empty() && !p.epilogue.empty() &&
                   s.inputs[0].dtype == p.inputs[0].dtype && s.outputs[0].dims == p.outputs[0].dims &&
                   s.outputs[0].max_dims == p.outputs[0].max_dims;
  if (!fit) return std::nullopt;
  const auto begin = last.inputs.begin() + p.num_main;
  const auto at = std::find(begin, last.inputs.end(), shortcut.outputs[0]);
  if (at == last.inputs.end() || std::count(begin, last.inputs.end(), *at) != 1) return std::nullopt;
  Joined made;
  made.added = static_cast<uint16_t>(at - begin + 1);
  const std::optional<PointwiseExpr> rest = without_addend(p.epilogue, made.added);
  const bool both = p.num_main == 3 && s.num_main == 3;
  if (!rest || (both && (p.inputs[2].dtype != s.inputs[2].dtype || !(p.inputs[2].dims == s.inputs[2].dims))))
    return std::nullopt;
  Problem concat;
  concat.params = MoveParams{.kind = MoveKind::kConcat, .axis = 1};
  concat.inputs = {first.problem.outputs[0], s.inputs[0]};
  concat.num_main = 2;
  concat.acc_dtype = s.inputs[0].dtype;
  concat.outputs = {concat.inputs[0]};
  Problem product = p;
  TensorDesc& w = product.inputs[1];
  for (Dims TensorDesc::*extents : {&TensorDesc::dims, &TensorDesc::max_dims}) {
    (concat.outputs[0].*extents)[1] += (s.inputs[0].*extents)[1];
    (w.*extents)[1] += (s.inputs[1].*extents)[1];
  }
  product.inputs[0] = concat.outputs[0];
  product.inputs.erase(product.inputs.begin() + (at - last.inputs.begin()));
  product.epilogue = *rest;
  product.as<ConvParams>().sparse = p.as<ConvParams>().sparse && s.as<ConvParams>().sparse;
  if (p.num_main < 3 && s.num_main == 3) {
    product.inputs.insert(product.inputs.begin() + 2, s.inputs[2]);
    product.num_main = 3;
    product.as<ConvParams>().has_bias = true;
  }
  made.problem = make_chain(first.problem, make_chain(concat, product));
  return made;
}

}  // namespace

bool adds_shortcut(std::span<const Step> steps) {
  if (steps.size() != 3) return false;
  for (const Step& step : steps)
    if (!step.problem.is(Family::kConv) || step.outputs.size() != 1) return false;
  const std::vector<TensorIndex>& read = steps[2].inputs;
  return read[0] == steps[1].outputs[0] && std::find(read.begin(), read.end(), steps[0].outputs[0]) != read.end();
}

Result<bool> join_shortcut(LowerContext& ctx, const Node& node, std::span<const Step> steps) {
  const Step &shortcut = steps[0], &first = steps[1], &last = steps[2];
  std::optional<Joined> joined = problem_of(shortcut, first, last);
  if (!joined) return false;
  Step made;
  made.name = node.name();
  made.provenance = node.provenance();
  made.problem = std::move(joined->problem);
  if (!ctx.offered(made)) return false;
  const auto constant = [&](const Step& step, size_t input) -> const PlanConstant& {
    return ctx.program().constants[ctx.program().tensors[step.inputs[input]].constant];
  };
  const auto name = [&](size_t input) { return ctx.program().tensors[last.inputs[input]].name + " and shortcut"; };
  made.inputs = first.inputs;
  made.inputs.push_back(shortcut.inputs[0]);
  WOOTZ_ASSIGN_OR_RETURN(const HostTensor weights, beside(constant(last, 1), constant(shortcut, 1)));
  made.inputs.push_back(ctx.add_constant(name(1), weights));
  const bool own = last.problem.num_main == 3;
  if (own && shortcut.problem.num_main == 3) {
    WOOTZ_ASSIGN_OR_RETURN(const HostTensor bias, sum_of(constant(last, 2), constant(shortcut, 2)));
    made.inputs.push_back(ctx.add_constant(name(2), bias));
  } else if (own || shortcut.problem.num_main == 3) {
    made.inputs.push_back(own ? last.inputs[2] : shortcut.inputs[2]);
  }
  for (size_t i = static_cast<size_t>(last.problem.num_main); i < last.inputs.size(); ++i)
    if (last.inputs[i] != shortcut.outputs[0]) made.inputs.push_back(last.inputs[i]);
  made.outputs = last.outputs;
  ctx.replace_last(3, node, std::move(made));
  return true;
}

}  // namespace wootz
