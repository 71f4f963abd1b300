#include <string>

#include "ops/cases.h"

namespace wootz::ops {

void activation_cases(CaseList& list) {
  for (DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}) {
    const std::string suffix = std::string("_") + dtype_name(dtype);
    for (const char* name : {"Celu", "Elu", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu", "Mish", "Relu", "Selu",
                             "Shrink", "Sigmoid", "Softplus", "Softsign", "Swish", "Tanh", "ThresholdedRelu"})
      list.add("activation/" + std::string(name) + suffix, name, {list.random(dtype, {2, 3, 19})});
    list.add("activation/Gelu_tanh" + suffix, "Gelu", {list.random(dtype, {5, 33})},
             {{"approximate", std::string("tanh")}});
    list.add("activation/LeakyRelu_alpha" + suffix, "LeakyRelu", {list.random(dtype, {65})}, {{"alpha", 0.3}});
    list.add("activation/Swish_alpha" + suffix, "Swish", {list.random(dtype, {7, 9})}, {{"alpha", 0.5}});
    list.add("activation/Elu_alpha" + suffix, "Elu", {list.random(dtype, {7, 9})}, {{"alpha", 2.0}});
    list.add("activation/Celu_alpha" + suffix, "Celu", {list.random(dtype, {7, 9})}, {{"alpha", 2.0}});
    list.add("activation/HardSigmoid_attrs" + suffix, "HardSigmoid", {list.random(dtype, {7, 9})},
             {{"alpha", 0.5}, {"beta", 0.25}});
    list.add("activation/Shrink_attrs" + suffix, "Shrink", {list.random(dtype, {7, 9})},
             {{"lambd", 0.75}, {"bias", 0.5}});
  }
  for (DType dtype : {DType::kI8, DType::kI16, DType::kI32, DType::kI64})
    list.add(std::string("activation/Relu_") + dtype_name(dtype), "Relu", {list.random(dtype, {4, 6})});
  list.add("activation/Shrink_i32", "Shrink", {list.random(DType::kI32, {4, 6})}, {{"lambd", 1.5}, {"bias", 1.5}});
}

}  // namespace wootz::ops
