// Equations of one or two operands become transposes, sums and a matrix product where sizes allow it.
#include <algorithm>
#include <numeric>
#include <set>

#include "ops/einsum/equation.h"
#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

using Labels = std::vector<int>;

bool has(const Labels& labels, int label) { return std::find(labels.begin(), labels.end(), label) != labels.end(); }

// A value whose axes carry labels, each once.
struct Operand {
  Value* value = nullptr;
  Labels labels;
  const Dim& extent(int label) const {
    return value->shape()[static_cast<size_t>(std::find(labels.begin(), labels.end(), label) - labels.begin())];
  }
};

Status transpose_to(ImportContext& ctx, Operand& x, const Labels& order) {
  if (x.labels == order) return Status();
  std::vector<int64_t> perm;
  for (int label : order) perm.push_back(std::find(x.labels.begin(), x.labels.end(), label) - x.labels.begin());
  WOOTZ_ASSIGN_OR_RETURN(x.value, ctx.emit("Transpose", {x.value}, {{"perm", std::move(perm)}}));
  x.labels = order;
  return Status();
}

// Sums over the labels that neither the output nor another operand has.
Status sum_out(ImportContext& ctx, Operand& x, const std::set<int>& wanted) {
  std::vector<int64_t> axes;
  Labels kept;
  for (size_t a = 0; a < x.labels.size(); ++a) {
    if (wanted.count(x.labels[a]) != 0)
      kept.push_back(x.labels[a]);
    else
      axes.push_back(static_cast<int64_t>(a));
  }
  if (axes.empty()) return Status();
  WOOTZ_ASSIGN_OR_RETURN(x.value,
                         ctx.emit("Reduce", {x.value},
                                  {{"kind", std::string("sum")}, {"axes", std::move(axes)}, {"keepdims", int64_t{0}}}));
  x.labels = std::move(kept);
  return Status();
}

// [batch..., a..., b...] seen as [batch..., |a|, |b|] or back. Entries that are not known numbers are 0 (kept, for the
// batch) or the one -1; nullopt when that does not suffice.
std::optional<std::vector<int64_t>> view_of(size_t batch, const std::vector<Dim>& rest) {
  std::vector<int64_t> shape(batch, 0);
  bool inferred = false;
  for (const Dim& d : rest) {
    if (d.is_const() && d.value() > 0) {
      shape.push_back(d.value());
    } else if (!inferred) {
      shape.push_back(-1);
      inferred = true;
    } else {
      return std::nullopt;
    }
  }
  return shape;
}

Dim extent_of(const Operand& x, const Labels& labels) {
  Dim all(1);
  for (int label : labels) all = all * x.extent(label);
  return all;
}

struct Product {
  Labels batch, left, right, summed;
};

// Elementwise: every label of the output is in one operand or in both.
Status multiply(ImportContext& ctx, Operand& a, Operand& b, const Labels& output) {
  for (Operand* x : {&a, &b}) {
    Labels own;
    std::vector<int64_t> missing;
    for (size_t i = 0; i < output.size(); ++i) {
      if (has(x->labels, output[i]))
        own.push_back(output[i]);
      else
        missing.push_back(static_cast<int64_t>(i));
    }
    WOOTZ_RETURN_IF_ERROR(transpose_to(ctx, *x, own));
    if (missing.empty()) continue;
    WOOTZ_ASSIGN_OR_RETURN(x->value, ctx.emit("Unsqueeze", {x->value}, {{"axes", std::move(missing)}}));
  }
  return import_as(ctx, "Mul", {a.value, b.value});
}

Result<bool> matrix_product(ImportContext& ctx, Operand& a, Operand& b, const Product& p, const Labels& output) {
  const auto joined = [](std::initializer_list<const Labels*> parts) {
    Labels all;
    for (const Labels* part : parts) all.insert(all.end(), part->begin(), part->end());
    return all;
  };
  const size_t batch = p.batch.size();
  const bool plain = p.left.size() == 1 && p.right.size() == 1 && p.summed.size() == 1;
  std::optional<std::vector<int64_t>> view_a, view_b, view_y;
  if (!plain) {
    view_a = view_of(batch, {extent_of(a, p.left), extent_of(a, p.summed)});
    view_b = view_of(batch, {extent_of(b, p.summed), extent_of(b, p.right)});
    std::vector<Dim> rest;
    for (int label : p.left) rest.push_back(a.extent(label));
    for (int label : p.right) rest.push_back(b.extent(label));
    view_y = view_of(batch, rest);
    if (!view_a || !view_b || !view_y) return false;
  }
  WOOTZ_RETURN_IF_ERROR(transpose_to(ctx, a, joined({&p.batch, &p.left, &p.summed})));
  WOOTZ_RETURN_IF_ERROR(transpose_to(ctx, b, joined({&p.batch, &p.summed, &p.right})));
  if (!plain) {
    WOOTZ_ASSIGN_OR_RETURN(a.value, ctx.emit("Reshape", {a.value, ctx.ints(*view_a)}));
    WOOTZ_ASSIGN_OR_RETURN(b.value, ctx.emit("Reshape", {b.value, ctx.ints(*view_b)}));
  }
  Operand y{nullptr, joined({&p.batch, &p.left, &p.right})};
  WOOTZ_ASSIGN_OR_RETURN(y.value, ctx.emit("MatMul", {a.value, b.value}));
  if (!plain) {
    WOOTZ_ASSIGN_OR_RETURN(y.value, ctx.emit("Reshape", {y.value, ctx.ints(*view_y)}));
  }
  WOOTZ_RETURN_IF_ERROR(transpose_to(ctx, y, output));
  ctx.set_output(0, y.value);
  return true;
}

// True when the equation was written with simpler ops.
Result<bool> decompose(ImportContext& ctx, const Equation& equation) {
  std::vector<Operand> x;
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    const Labels& labels = equation.terms[static_cast<size_t>(i)];
    if (std::set<int>(labels.begin(), labels.end()).size() != labels.size()) return false;  // a diagonal
    x.push_back({ctx.input(i), labels});
  }
  if (x.size() > 2 || !is_float(x[0].value->dtype())) return false;
  std::set<int> wanted(equation.output.begin(), equation.output.end());
  for (int label : equation.output)
    if (std::none_of(x.begin(), x.end(), [&](const Operand& o) { return has(o.labels, label); })) return false;
  if (x.size() == 1) {
    WOOTZ_RETURN_IF_ERROR(sum_out(ctx, x[0], wanted));
    WOOTZ_RETURN_IF_ERROR(transpose_to(ctx, x[0], equation.output));
    WOOTZ_RETURN_IF_ERROR(import_as(ctx, "Identity", {x[0].value}));
    return true;
  }
  Operand &a = x[0], &b = x[1];
  Product p;
  for (int label : a.labels) {
    if (!has(b.labels, label)) continue;
    if (!(a.extent(label) == b.extent(label))) return false;  // broadcasting, or not known to be equal
    wanted.insert(label);
  }
  WOOTZ_RETURN_IF_ERROR(sum_out(ctx, a, wanted));
  WOOTZ_RETURN_IF_ERROR(sum_out(ctx, b, wanted));
  for (int label : equation.output)
    (has(a.labels, label) ? has(b.labels, label) ? p.batch : p.left : p.right).push_back(label);
  for (int label : a.labels)
    if (has(b.labels, label) && !has(equation.output, label)) p.summed.push_back(label);
  if (p.summed.empty()) {
    WOOTZ_RETURN_IF_ERROR(multiply(ctx, a, b, equation.output));
    return true;
  }
  return matrix_product(ctx, a, b, p, equation.output);
}

Status import_einsum(ImportContext& ctx) {
  const std::string text = ctx.attr_string("equation", "");
  std::vector<Value*> inputs;
  std::vector<int> ranks;
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    if (!ctx.has_input(i)) return ctx.fail("operand {} is missing", i);
    inputs.push_back(ctx.input(i));
    ranks.push_back(ctx.input(i)->rank());
  }
  WOOTZ_ASSIGN_OR_RETURN(const Equation equation, parse_equation(text, ranks));
  const bool one_type =
      std::all_of(inputs.begin(), inputs.end(), [&](Value* v) { return v->dtype() == inputs[0]->dtype(); });
  if (one_type) {
    WOOTZ_ASSIGN_OR_RETURN(const bool done, decompose(ctx, equation));
    if (done) return Status();
  }
  return import_as(ctx, "Einsum", std::move(inputs), {{"equation", text}});
}

constexpr OnnxImport kEinsumImports[] = {{"Einsum", 12, import_einsum}};

}  // namespace

std::span<const OnnxImport> einsum_onnx() { return kEinsumImports; }

}  // namespace wootz::ops
