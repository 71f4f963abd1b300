#include "backend/op_kernels.h"

#include "backend/param_table.h"

namespace wootz {
namespace {

// One list of fields for each block.
#define CHOICES(...)
#define OP_KERNEL(Name, ...) PARAM_FIELDS(Name, Name##OpParams)
#define PARAM PARAM_FIELD
#define END PARAM_FIELDS_END
#include "backend/op_kernels.def"
#undef OP_KERNEL
#undef PARAM
#undef END
#define PARAM(...)
#define END(...)

struct Entry {
  ParamTable table;
  OpKernelParams (*make)();
};
const Entry kEntries[] = {
#define OP_KERNEL(Name, text)                                         \
  {{text, fields_of(fields_##Name::all), &kDefaults<Name##OpParams>}, \
   []() -> OpKernelParams { return OpKernelParams(std::in_place_type<Name##OpParams>); }},
#include "backend/op_kernels.def"
#undef OP_KERNEL
#undef CHOICES
#undef PARAM
#undef END
};
static_assert(std::size(kEntries) == kOpKernelCount);

ParamSet set_of(OpKernelParams params) {
  const auto owner = std::make_shared<OpKernelBox>(OpKernelBox{std::move(params)});
  return {&op_kernel_table(owner->params.index()), params_address(owner->params), owner};
}
ParamSet make_set(std::string_view name) {
  const std::optional<size_t> index = op_kernel_index(name);
  return index ? set_of(default_op_params(*index)) : ParamSet();
}
ParamSet copy_set(const ParamsBox& box) { return set_of(static_cast<const OpKernelBox*>(box.owner())->params); }

}  // namespace

const BoxKind kOpBoxes{make_set, copy_set, [](const ParamTable&) { return false; }};

OpParamsBox box_params(OpKernelParams params) { return OpParamsBox(set_of(std::move(params))); }

const ParamTable& op_kernel_table(size_t index) { return kEntries[index].table; }
OpKernelParams default_op_params(size_t index) { return kEntries[index].make(); }

std::optional<size_t> op_kernel_index(std::string_view op) {
  for (size_t i = 0; i < kOpKernelCount; ++i)
    if (op == kEntries[i].table.name) return i;
  return std::nullopt;
}

const Ints* known_operand(const Problem& problem, size_t input) {
  const auto* op = problem.as_if<OpParams>();
  if (op == nullptr || input >= op->constants.size() || !op->constants[input]) return nullptr;
  return &*op->constants[input];
}

}  // namespace wootz
