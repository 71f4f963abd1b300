// What kernels need of ops that are no kernel family, as structs, one for each block of op_kernels.def. Only such
// kernels, and lowering, include this.
#pragma once

#include "backend/families.h"
#include "backend/problem.h"

namespace wootz {

#define CHOICES(Type, names, ...)            \
  enum class Type : uint8_t { __VA_ARGS__ }; \
  constexpr std::string_view choice_names(Type) { return names; }
#define OP_KERNEL(Name, ...) struct Name##OpParams {
#define PARAM(type, name, value, range, meaning) type name = value;
#define END(Name)                                         \
  bool operator==(const Name##OpParams&) const = default; \
  }                                                       \
  ;
#include "backend/op_kernels.def"
#undef CHOICES
#undef OP_KERNEL
#undef PARAM
#undef END

using OpKernelParams = CollectVariant<std::variant<>,
#define CHOICES(...)
#define PARAM(...)
#define END(...)
#define OP_KERNEL(Name, ...) Name##OpParams,
#include "backend/op_kernels.def"
#undef CHOICES
#undef OP_KERNEL
#undef PARAM
#undef END
                                      void>::type;
inline constexpr size_t kOpKernelCount = std::variant_size_v<OpKernelParams>;

// What an OpParamsBox holds.
struct OpKernelBox {
  OpKernelParams params;
};
OpParamsBox box_params(OpKernelParams params);

const ParamTable& op_kernel_table(size_t index);
std::optional<size_t> op_kernel_index(std::string_view op);
OpKernelParams default_op_params(size_t index);

// The problem is such an op: its parameters. Null otherwise, and where no kernel can know the node.
template <typename P>
const P* op_params(const Problem& problem) {
  const auto* op = std::get_if<OpParams>(&problem.params);
  const OpKernelBox* kernel = op == nullptr ? nullptr : op->kernel.get();
  return kernel == nullptr ? nullptr : std::get_if<P>(&kernel->params);
}

// What a small integer constant at this operand says; null: nothing is known.
const Ints* known_operand(const Problem& problem, size_t input);

}  // namespace wootz
