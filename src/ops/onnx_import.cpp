#include "ops/onnx_import.h"

namespace wootz {

std::vector<int64_t> ImportContext::constant_ints(int i) const {
  std::vector<int64_t> values;
  if (const HostTensor* tensor = constant(i))
    for (int64_t e = 0; e < tensor->volume(); ++e) values.push_back(tensor->get_i64(e));
  return values;
}

Result<Value*> ImportContext::emit(std::string_view op, std::vector<Value*> inputs, AttrMap attrs) {
  WOOTZ_ASSIGN_OR_RETURN(Node * node, add(op, std::move(inputs), std::move(attrs), 1));
  return node->output();
}

Value* ImportContext::scalar_like(const Value* like, double value) {
  Result<HostTensor> tensor = HostTensor::allocate(like->dtype(), Dims{});
  if (!tensor.ok()) return nullptr;
  tensor->set_f64(0, value);
  return add_constant(std::move(tensor).value());
}

Value* ImportContext::ints(std::vector<int64_t> values) {
  const Dims dims{static_cast<int64_t>(values.size())};
  return add_constant(HostTensor::from<int64_t>(values, dims));
}

}  // namespace wootz
