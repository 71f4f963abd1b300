// A kernel whose bind() is one function of the problem and the extents: what most modules need.
#pragma once

#include "backend/operand_dims.h"
#include "backends/cpu/kernel_entry.h"
#include "base/thread_pool.h"

namespace wootz::cpu {

using BindFn = Result<std::unique_ptr<Call>> (*)(const Problem& problem, const KernelOptions& options,
                                                 const BindArgs& args);
using InPlaceFn = int (*)(const Problem& problem, int output);

class FunctionKernel final : public Kernel {
 public:
  FunctionKernel(const Problem& problem, const KernelOptions& options, BindFn bind, InPlaceFn in_place)
      : problem_(problem), options_(options), bind_(bind), in_place_(in_place) {}
  Result<std::unique_ptr<Call>> bind(const BindArgs& args) const override {
    if (args.inputs.size() != problem_.inputs.size() || args.outputs.size() != problem_.outputs.size())
      return invalid_argument("{} inputs and {} outputs to bind, the problem has {} and {}", args.inputs.size(),
                              args.outputs.size(), problem_.inputs.size(), problem_.outputs.size());
    return bind_(problem_, options_, args);
  }
  int in_place(int output) const override { return in_place_ == nullptr ? -1 : in_place_(problem_, output); }

 private:
  Problem problem_;
  KernelOptions options_;
  BindFn bind_;
  InPlaceFn in_place_;
};

template <BindFn kBind, InPlaceFn kInPlace = nullptr>
Result<std::unique_ptr<Kernel>> make_function_kernel(const Problem& problem, const KernelOptions& options) {
  return std::unique_ptr<Kernel>(std::make_unique<FunctionKernel>(problem, options, kBind, kInPlace));
}

// Does it bind at the problem's own extents?
inline Status try_bind(BindFn bind, const Problem& p) {
  const std::vector<Dims> in = operand_dims(p.inputs), out = operand_dims(p.outputs);
  return bind(p, {Isa::kAvx2, 1}, {in, out, {}}).status();
}

inline Status check_counts(const Problem& p, size_t inputs, size_t outputs) {
  if (static_cast<size_t>(p.num_main) != inputs || p.inputs.size() < inputs || p.outputs.size() != outputs)
    return invalid_argument("{}: {} inputs and {} outputs; {} and {} are needed", family_name(p.family()), p.num_main,
                            p.outputs.size(), inputs, outputs);
  for (size_t i = 0; i < inputs; ++i)
    if (p.inputs[i].dtype == DType::kInvalid)
      return invalid_argument("{}: input {} is missing", family_name(p.family()), i);
  return {};
}
// All operands row-major and no epilogue.
inline Status check_linear(const Problem& p, bool epilogue_allowed) {
  for (const TensorDesc& t : p.inputs)
    if (t.layout != Layout::kLinear)
      return unsupported("{} in layout {}", family_name(p.family()), layout_name(t.layout));
  for (const TensorDesc& t : p.outputs)
    if (t.layout != Layout::kLinear)
      return unsupported("{} in layout {}", family_name(p.family()), layout_name(t.layout));
  if (!epilogue_allowed && !p.epilogue.empty()) return unsupported("{} with an epilogue", family_name(p.family()));
  return {};
}

// parallel_for for kernels with scratch memory of their own for each thread: f(slot, begin, end), slot < slots, and no
// two calls with one slot at the same time.
inline void parallel_slots(int64_t total, int64_t grain, int slots,
                           FunctionRef<void(int slot, int64_t begin, int64_t end)> f) {
  if (total <= 0) return;
  const int wanted = parallel_pieces(total, grain), pieces = wanted < slots ? wanted : slots;
  if (pieces <= 1) return f(0, 0, total);
  ThreadPool::process().run(pieces, [&](int index, int n) {
    for (int p = index; p < pieces; p += n) f(index, piece_begin(total, pieces, p), piece_begin(total, pieces, p + 1));
  });
}

}  // namespace wootz::cpu
