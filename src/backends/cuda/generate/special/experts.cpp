// The product of a mixture of experts.
#include "backends/cuda/generate/special/special.h"

namespace wootz::cuda {

Status generate_expert_product(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 3));
  const Dims &x = args.inputs[0], &chosen = args.inputs[1], &w = args.inputs[2], &y = args.outputs[0];
  const DType type = p.inputs[0].dtype;
  const bool own = x.rank() == chosen.rank() + 1, biased = has_operand(p, 3);
  bool fits = chosen.rank() >= 1 && w.rank() == 3 && y.rank() == chosen.rank() + 1 && y.back() == w[2] &&
              (own || x.rank() == chosen.rank()) && x.back() == w[1] && is_integer(p.inputs[1].dtype) &&
              is_float(type) && p.inputs[2].dtype == type && p.outputs[0].dtype == type &&
              (!biased || (p.inputs[3].dtype == type && args.inputs[3] == Dims{w[0], w[2]}));
  for (size_t a = 0; fits && a < chosen.size(); ++a)
    fits = y[a] == chosen[a] && (a + 1 >= x.size() || x[a] == chosen[a]);
  if (!fits)
    return invalid_argument("rows {}, experts {} and weights {} give {}", x.to_string(), chosen.to_string(),
                            w.to_string(), y.to_string());
  const int64_t count = y.volume();
  if (count == 0) return Status();
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source, source_of_each("experts/product.cuh", p, args, count));
  source.type("A", type == DType::kF64 ? "double" : "float");
  source.fixed("kOwn", own);
  source.number("slots", chosen.back());
  source.number("experts", w[0]);
  source.number("depth", w[1]);
  source.number("columns", w[2]);
  source.code(fmt::format("W_FN A bias(const Operands& p, s64 i) {{\n  return {};\n}}\n",
                          biased ? "(A)w_get(p.x3[i])" : "(A)0"));
  return finish_each(count, &source, launches);
}

}  // namespace wootz::cuda
