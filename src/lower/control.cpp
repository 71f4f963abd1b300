// If, Loop and Scan: each body is optimized and lowered as a program of its own, and one step runs them.
#include "backend/control.h"

#include <algorithm>

#include "lower/body.h"
#include "lower/context.h"
#include "lower/lower.h"

namespace wootz {
namespace {

// Entry i of an attribute with an axis or a direction for each sequence or result; 0 where the list is shorter.
int64_t listed(const Node& node, const char* attr, size_t i) {
  const std::vector<int64_t> list = node.attr_ints(attr);
  return i < list.size() ? list[i] : 0;
}

Status read_axes(const Node& node, ControlForm* form) {
  for (size_t k = 0; k < form->scans; ++k) {
    const Value* x = node.input(static_cast<int>(form->states + k));
    WOOTZ_ASSIGN_OR_RETURN(const int axis, normalize_axis(listed(node, "input_axes", k), x->rank()));
    form->input_axes.push_back(axis);
    form->input_reversed.push_back(listed(node, "input_directions", k) != 0);
  }
  for (size_t o = form->states; o < static_cast<size_t>(node.num_outputs()); ++o) {
    const size_t k = o - form->states;
    WOOTZ_ASSIGN_OR_RETURN(const int axis,
                           normalize_axis(listed(node, "output_axes", k), node.output(static_cast<int>(o))->rank()));
    form->output_axes.push_back(axis);
    form->output_reversed.push_back(listed(node, "output_directions", k) != 0);
  }
  return {};
}

struct Part {
  std::shared_ptr<Graph> graph;
  int first;  // of the node's inputs, that is the body's first one
};

std::vector<Part> parts_of(const Node& node) {
  if (!node.is("If")) return {{node.attr_graph("body"), 0}};
  const auto then = node.attr_graph("then_branch"), other = node.attr_graph("else_branch");
  return {{then, 1}, {other, 1 + (then == nullptr ? 0 : static_cast<int>(then->inputs().size()))}};
}

// For the choice of kernels only: a body runs on whatever comes.
void widen_profiles(Program* program) {
  for (PlanProfile& profile : program->profiles)
    for (const SymbolIndex s : profile.symbols.indices()) {
      SymbolRange& range = profile.symbols[s];
      if (program->symbols[s].source == SymbolSource::kDataDependent) continue;
      range = {0, range.opt, limits::kMaxElements};
    }
}

// A body runs as often as it finds while it runs, which the other ranks need not find as well.
Status check_ranks(const Graph& body) {
  for (const Node* n = body.first(); n != nullptr; n = n->next()) {
    if (!n->is("Collective")) continue;
    const size_t groups = n->attr_ints("groups").size();
    if ((groups == 0 ? n->attr_int("ranks", 1) : static_cast<int64_t>(groups)) != 1)
      return at_node(*n, unsupported("a layer that spans devices cannot be in the body of a loop or conditional"));
  }
  return {};
}

}  // namespace

Status LowerContext::lower_body(const Node& node, const Graph& graph, int first, ControlBody* body) {
  const ExtentFunction of = [this](const Dim& d, bool max) { return extent(d, max); };
  WOOTZ_ASSIGN_OR_RETURN(LoneBody lone, lone_body(graph, node, first, of, options_.optimize_body));
  LowerOptions inner = options_;
  inner.profiles = {std::move(lone.ranges)};
  WOOTZ_ASSIGN_OR_RETURN(Lowered lowered, lower_graph(*lone.graph, inner));
  lowered.graph = std::move(lone.graph);
  widen_profiles(&lowered.program);
  lowered.program.name = node.name();
  body->program = static_cast<int32_t>(lowered_.bodies.size());
  body->operands = std::move(lone.operands);
  program().bodies.push_back(lowered.program);
  lowered_.bodies.push_back(std::move(lowered));
  return {};
}

Result<bool> lower_control(LowerContext& ctx, const Node& node) {
  for (const Part& part : parts_of(node))
    if (part.graph != nullptr) WOOTZ_RETURN_IF_ERROR(check_ranks(*part.graph));
  if (!ctx.options().optimize_body || node.attr_int("batched") != 0) return false;
  ControlForm form;
  form.op = node.is("If") ? ControlForm::Op::kIf : node.is("Loop") ? ControlForm::Op::kLoop : ControlForm::Op::kScan;
  form.states = static_cast<size_t>(node.attr_int("states"));
  form.scans = static_cast<size_t>(node.attr_int("scans"));
  if (form.op == ControlForm::Op::kScan) WOOTZ_RETURN_IF_ERROR(read_axes(node, &form));
  std::vector<uint8_t> read(static_cast<size_t>(node.num_inputs()), 0);
  for (size_t i = 0; i < form.states + form.scans + 2 && i < read.size(); ++i)
    read[i] = form.op != ControlForm::Op::kIf || i == 0;
  for (const Part& part : parts_of(node)) {
    if (part.graph == nullptr) return internal_error("a body is missing");
    ControlBody body;
    WOOTZ_RETURN_IF_ERROR(ctx.lower_body(node, *part.graph, part.first, &body));
    for (const int32_t o : body.operands) read[static_cast<size_t>(o)] = 1;
    form.bodies.push_back(std::move(body));
  }
  WOOTZ_ASSIGN_OR_RETURN(Step step, ctx.start_step(node, Family::kControl, node.num_inputs()));
  for (size_t i = 0; i < read.size(); ++i)
    if (!read[i]) step.inputs[i] = {};
  write_control(form, &step.problem);
  WOOTZ_RETURN_IF_ERROR(ctx.finish_step(&node, std::move(step)));
  return true;
}

}  // namespace wootz
