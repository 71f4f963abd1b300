#include "ops/cases.h"

#include <algorithm>

#include "base/tolerance.h"
#include "ops/infer.h"
#include "ops/registry.h"

namespace wootz {

double noise_of(const OpCase& c) {
  if (c.reduction <= 1) return 0;
  DType sums = DType::kF32;
  double term = 1;
  int operands = 0;
  for (const HostTensor& t : c.inputs) {
    if (!t.valid() || !is_float(t.dtype()) || operands == 2) continue;
    ++operands;
    if (t.dtype() == DType::kF64) sums = DType::kF64;
    term *= std::max(1.0, largest_magnitude(t));
  }
  return cancellation_noise(sums, term, c.reduction);
}

HostTensor CaseList::filled(DType dtype, const Dims& dims, FunctionRef<double()> real, double low, double high) {
  Result<HostTensor> made = HostTensor::allocate(dtype, dims);
  if (!made.ok()) return {};
  HostTensor tensor = std::move(made).value();
  std::uniform_int_distribution<int64_t> integer(static_cast<int64_t>(low), static_cast<int64_t>(high));
  std::uniform_int_distribution<int> coin(0, 1);
  for (int64_t i = 0; i < tensor.volume(); ++i) {
    if (is_float(dtype))
      tensor.set_f64(i, real());
    else if (dtype == DType::kBool)
      tensor.set_i64(i, coin(rng_));
    else
      tensor.set_i64(i, dtype_info(dtype).is_signed ? integer(rng_) : std::abs(integer(rng_)));
  }
  return tensor;
}

HostTensor CaseList::random(DType dtype, const Dims& dims) {
  std::normal_distribution<double> normal(0, 1);
  return filled(
      dtype, dims, [&] { return normal(rng_); }, -4, 4);
}

HostTensor CaseList::random(DType dtype, const Dims& dims, double low, double high) {
  std::uniform_real_distribution<double> uniform(low, high);
  return filled(
      dtype, dims, [&] { return uniform(rng_); }, low, high);
}

void CaseList::add(std::string name, std::string_view op_name, std::vector<HostTensor> inputs, AttrMap attrs,
                   int num_outputs, std::vector<bool> constants, int64_t reduction) {
  OpCase c;
  c.name = std::move(name);
  c.graph = std::make_shared<Graph>(c.name);
  c.reduction = reduction;
  std::vector<Value*> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].valid()) {
      values.push_back(nullptr);
    } else if (i < constants.size() && constants[i]) {
      values.push_back(c.graph->add_constant("c" + std::to_string(i), inputs[i]));
    } else {
      values.push_back(c.graph->add_input("x" + std::to_string(i), inputs[i].dtype(), to_shape(inputs[i].dims())));
      c.inputs.push_back(inputs[i]);
    }
  }
  Node* node = c.graph->add_node(op(op_name), c.name, std::move(values), std::move(attrs), num_outputs);
  for (Value* out : node->outputs()) c.graph->mark_output(out);
  cases_.push_back(std::move(c));
}

std::vector<OpCase> all_cases(uint64_t seed) {
  CaseList list(seed);
#define MODULE(module) ops::module##_cases(list);
#include "ops/ops.def"
#undef MODULE
  return list.cases();
}

}  // namespace wootz
