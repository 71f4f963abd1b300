#include "backend/collective.h"

#include "backend/op_kernels.h"
#include "base/limits.h"

namespace wootz {

bool is_collective(const Problem& problem) {
  return problem.family() == Family::kOp && problem.as<OpParams>().op == "Collective";
}

Result<Collective> read_collective(const Problem& problem) {
  const auto* const params = op_params<CollectiveOpParams>(problem);
  const bool fits = params != nullptr && problem.inputs.size() == 1 && problem.outputs.size() == 1 &&
                    problem.inputs[0].dtype == problem.outputs[0].dtype;
  if (!fits) return corrupt("a step that is no collective operation");
  Collective c;
  c.kind = find_collective(name_of(params->operation));
  if (c.kind == nullptr) return internal_error("collective operation {}", static_cast<int>(params->operation));
  c.reduction = rank_reductions()[static_cast<size_t>(params->reduction)];
  c.ranks = params->ranks;
  c.root = params->root;
  c.groups = params->groups;
  WOOTZ_RETURN_IF_ERROR(check_collective(c));
  WOOTZ_RETURN_IF_ERROR(check_collective_type(c, problem.inputs[0].dtype));
  return c;
}

bool spans_devices(const Problem& problem) {
  if (!is_collective(problem)) return false;
  const Result<Collective> c = read_collective(problem);
  return !c.ok() || c->participants() != 1;
}

Status on_one_device(const Problem& problem) {
  const Result<Collective> c = read_collective(problem);
  if (!c.ok()) return c.status();
  return unsupported("{} of {} ranks: layers that span devices run on GPUs (backend cuda), through NCCL", c->kind->name,
                     c->participants());
}

Status check_collective_extents(const Collective& c, const Dims& input, const Dims& output) {
  const int64_t count = c.participants();
  Dims want = input;
  if (c.kind->first != FirstExtent::kSame) {
    if (input.rank() == 0) return invalid_argument("{} of a scalar", c.kind->name);
    if (c.kind->first != FirstExtent::kTimes && input[0] % count != 0)
      return invalid_argument("the first extent of the input, {}, is no multiple of the {} ranks that take part in {}",
                              input.to_string(), count, c.kind->name);
    if (c.kind->first == FirstExtent::kTimes && input[0] > limits::kMaxElements / count)
      return invalid_argument("{} of {} by {} ranks is too large", c.kind->name, input.to_string(), count);
    if (c.kind->first == FirstExtent::kTimes) want[0] = input[0] * count;
    if (c.kind->first == FirstExtent::kPart) want[0] = input[0] / count;
  }
  if (want == output) return Status();
  return invalid_argument("{} by {} ranks makes {} of {}, not {}", c.kind->name, count, want.to_string(),
                          input.to_string(), output.to_string());
}

}  // namespace wootz
