// Scan: a body that runs once per element of its scanned inputs.
#include <algorithm>

#include "ops/control/control.h"
#include "ops/interpreter.h"

namespace wootz::ops {
namespace {

// Axes and directions as written (normalized later, when ranks are known); 0 where the list is shorter.
int64_t listed(const Node& node, const char* attr, size_t i) {
  const std::vector<int64_t> list = node.attr_ints(attr);
  return i < list.size() ? list[i] : 0;
}

// Inputs: `states` initial states, `scans` sequences, what the body reads. With `batched` every state and sequence has
// a leading batch axis (opset 8), which the body does not see. Body: (states..., elements..., captured...) ->
// (states..., elements...).
struct ScanForm {
  std::shared_ptr<Graph> body;
  size_t states = 0, scans = 0, outputs = 0;
  bool batched = false;
  int extra() const { return batched ? 1 : 0; }
};

Result<ScanForm> read_form(const Node& node, size_t inputs) {
  ScanForm f;
  f.body = node.attr_graph("body");
  const int64_t states = node.attr_int("states"), scans = node.attr_int("scans");
  f.batched = node.attr_int("batched") != 0;
  f.outputs = static_cast<size_t>(node.num_outputs());
  if (f.body == nullptr || f.body->inputs().size() != inputs || states < 0 || scans < 1 ||
      static_cast<size_t>(states + scans) > inputs || f.body->outputs().size() != f.outputs ||
      f.outputs < static_cast<size_t>(states))
    return at_node(node, invalid_argument("{} states, {} sequences, {} inputs and {} outputs do not fit the body",
                                          states, scans, inputs, f.outputs));
  f.states = static_cast<size_t>(states);
  f.scans = static_cast<size_t>(scans);
  return f;
}

Status infer_scan(InferContext& ctx) {
  WOOTZ_ASSIGN_OR_RETURN(const ScanForm f, read_form(ctx.node(), static_cast<size_t>(ctx.num_inputs())));
  for (size_t s = 0; s < f.states; ++s) {
    const auto i = static_cast<int>(s);
    const Value *in = f.body->inputs()[s], *out = f.body->outputs()[s];
    if (!ctx.has(i) || in->dtype() != out->dtype() || in->rank() != out->rank() || ctx.dtype(i) != in->dtype() ||
        ctx.rank(i) != in->rank() + f.extra())
      return ctx.fail("state {} changes its type or rank", s);
    ctx.set_output(i, ctx.dtype(i), ctx.shape(i));
  }
  Dim length(0);
  for (size_t k = 0; k < f.scans; ++k) {
    const auto i = static_cast<int>(f.states + k);
    if (!ctx.has(i)) return ctx.fail("sequence {} is missing", k);
    const Result<int> axis = normalize_axis(listed(ctx.node(), "input_axes", k), ctx.rank(i) - f.extra());
    if (!axis.ok()) return ctx.fail("sequence {}: {}", k, axis.status().message());
    const Dim& extent = ctx.shape(i)[static_cast<size_t>(*axis + f.extra())];
    if (k > 0 && extent.is_const() && length.is_const() && extent.value() != length.value())
      return ctx.fail("sequences of lengths {} and {}", length.to_string(), extent.to_string());
    if (k == 0 || extent.is_const()) length = extent;
  }
  std::vector<SymbolId> known;
  for (int i = 0; i < ctx.num_inputs(); ++i)
    for (size_t a = 0; ctx.has(i) && a < ctx.shape(i).size(); ++a) ctx.shape(i)[a].collect_symbols(&known);
  for (size_t o = f.states; o < f.outputs; ++o) {
    const Value* element = f.body->outputs()[o];
    const auto at = static_cast<int>(o);
    const Result<int> axis = normalize_axis(listed(ctx.node(), "output_axes", o - f.states), element->rank() + 1);
    if (!axis.ok()) return ctx.fail("output {}: {}", o, axis.status().message());
    Shape shape;
    for (int i = 0; i < element->rank(); ++i) {
      const Dim& d = element->shape()[static_cast<size_t>(i)];
      std::vector<SymbolId> used;
      d.collect_symbols(&used);
      const bool outer = std::all_of(used.begin(), used.end(),
                                     [&](SymbolId s) { return std::count(known.begin(), known.end(), s) > 0; });
      shape.push_back(outer ? d : ctx.data_dependent(at, i + (i >= *axis ? 1 : 0) + f.extra()));
    }
    shape.insert(shape.begin() + *axis, length);
    if (f.batched) shape.insert(shape.begin(), ctx.shape(0)[0]);
    ctx.set_output(at, element->dtype(), std::move(shape));
  }
  return {};
}

// One sequence: states in `carried`, the sequences, `length` steps. Gives the stacked outputs.
Result<std::vector<HostTensor>> run_sequence(const Node& node, const ScanForm& f, std::vector<HostTensor>* carried,
                                             const std::vector<HostTensor>& sequences,
                                             const std::vector<HostTensor>& captured, int64_t length) {
  std::vector<std::vector<HostTensor>> elements(f.outputs - f.states);
  for (int64_t t = 0; t < length; ++t) {
    std::vector<HostTensor> inputs = *carried;
    for (size_t k = 0; k < f.scans; ++k) {
      WOOTZ_ASSIGN_OR_RETURN(const int axis, normalize_axis(listed(node, "input_axes", k), sequences[k].rank()));
      const bool reverse = listed(node, "input_directions", k) != 0;
      WOOTZ_ASSIGN_OR_RETURN(HostTensor element, take_element(sequences[k], axis, reverse ? length - 1 - t : t));
      inputs.push_back(std::move(element));
    }
    inputs.insert(inputs.end(), captured.begin(), captured.end());
    WOOTZ_ASSIGN_OR_RETURN(std::vector<HostTensor> results, run_graph(*f.body, inputs));
    for (size_t s = 0; s < f.states; ++s) (*carried)[s] = std::move(results[s]);
    for (size_t o = 0; o < elements.size(); ++o) elements[o].push_back(std::move(results[f.states + o]));
  }
  std::vector<HostTensor> outputs;
  for (size_t o = 0; o < elements.size(); ++o) {
    if (listed(node, "output_directions", o) != 0) std::reverse(elements[o].begin(), elements[o].end());
    const Value& type = *f.body->outputs()[f.states + o];
    WOOTZ_ASSIGN_OR_RETURN(const int axis, normalize_axis(listed(node, "output_axes", o), type.rank() + 1));
    WOOTZ_ASSIGN_OR_RETURN(HostTensor stacked, stack_elements(elements[o], axis, type));
    outputs.push_back(std::move(stacked));
  }
  return outputs;
}

Status reference_scan(EvalContext& ctx) {
  WOOTZ_ASSIGN_OR_RETURN(const ScanForm f, read_form(ctx.node, ctx.inputs.size()));
  const size_t first_captured = f.states + f.scans;
  std::vector<HostTensor> captured;
  for (size_t i = first_captured; i < ctx.inputs.size(); ++i) captured.push_back(ctx.in(i));
  const HostTensor& first = ctx.in(f.states);
  WOOTZ_ASSIGN_OR_RETURN(const int axis, normalize_axis(listed(ctx.node, "input_axes", 0), first.rank() - f.extra()));
  const int64_t length = first.dims()[static_cast<size_t>(axis + f.extra())];
  if (!f.batched) {
    std::vector<HostTensor> carried, sequences;
    for (size_t i = 0; i < first_captured; ++i) (i < f.states ? carried : sequences).push_back(ctx.in(i));
    WOOTZ_ASSIGN_OR_RETURN(std::vector<HostTensor> outputs,
                           run_sequence(ctx.node, f, &carried, sequences, captured, length));
    ctx.outputs = std::move(carried);
    ctx.outputs.insert(ctx.outputs.end(), outputs.begin(), outputs.end());
    return {};
  }
  std::vector<std::vector<HostTensor>> results(f.outputs);
  for (int64_t b = 0; b < ctx.in(0).dims()[0]; ++b) {
    std::vector<HostTensor> carried, sequences;
    for (size_t i = 0; i < first_captured; ++i) {
      WOOTZ_ASSIGN_OR_RETURN(HostTensor one, take_element(ctx.in(i), 0, b));
      (i < f.states ? carried : sequences).push_back(std::move(one));
    }
    WOOTZ_ASSIGN_OR_RETURN(const std::vector<HostTensor> outputs,
                           run_sequence(ctx.node, f, &carried, sequences, captured, length));
    for (size_t s = 0; s < f.states; ++s) results[s].push_back(carried[s]);
    for (size_t o = 0; o < outputs.size(); ++o) results[f.states + o].push_back(outputs[o]);
  }
  for (size_t o = 0; o < f.outputs; ++o) {
    WOOTZ_ASSIGN_OR_RETURN(ctx.outputs[o], stack_elements(results[o], 0, *f.body->outputs()[o]));
  }
  return {};
}

}  // namespace

const OpDef& scan_op() {
  static const OpDef kScan{.name = "Scan",
                           .min_inputs = 1,
                           .max_inputs = -1,
                           .max_outputs = -1,
                           .attributes = {{"body", AttrKind::kGraph, true},
                                          {"states", AttrKind::kInt, true},
                                          {"scans", AttrKind::kInt, true},
                                          {"input_axes", AttrKind::kInts},
                                          {"input_directions", AttrKind::kInts},
                                          {"output_axes", AttrKind::kInts},
                                          {"output_directions", AttrKind::kInts},
                                          {"batched", AttrKind::kInt}},
                           .infer = infer_scan,
                           .reference = reference_scan,
                           .lowering = Lowering::kControl,
                           .traits = {.data_dependent = true}};
  return kScan;
}

}  // namespace wootz::ops
