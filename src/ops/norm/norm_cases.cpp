#include "ops/cases.h"

namespace wootz::ops {

void norm_cases(CaseList& list) {
  for (const char* op : {"LayerNorm", "RMSNorm"}) {
    const std::string base = std::string("norm/") + op;
    const bool bias = op[0] == 'L';
    const auto add = [&](const std::string& name, DType type, const Dims& dims, int64_t axis, const Dims& parameters) {
      std::vector<HostTensor> inputs{list.random(type, dims), list.random(type, parameters)};
      if (bias) inputs.push_back(list.random(type, parameters));
      list.add(base + name, op, std::move(inputs), {{"axis", axis}, {"epsilon", 1e-5}}, 1, {false, true, true},
               parameters.volume());
    };
    add("_tokens", DType::kF32, {2, 17, 96}, -1, {96});
    add("_odd", DType::kF32, {5, 37}, 1, {37});
    add("_two_axes", DType::kF32, {3, 4, 5, 6}, 2, {5, 6});
    add("_broadcast_scale", DType::kF32, {3, 4, 8}, 1, {1, 8});
    add("_f16", DType::kF16, {4, 64}, -1, {64});
    add("_bf16", DType::kBF16, {4, 64}, -1, {64});
    list.add(base + "_plain", op, {list.random(DType::kF32, {4, 33})}, {{"epsilon", 1e-6}}, 1, {}, 33);
  }
  for (const DType type : {DType::kF32, DType::kF16}) {
    const std::string suffix = std::string("_") + dtype_name(type);
    const auto parameters = [&] { return list.random(type, {12}); };
    list.add("norm/InstanceNorm" + suffix, "InstanceNorm",
             {list.random(type, {2, 12, 7, 5}), parameters(), parameters()}, {{"epsilon", 1e-5}}, 1,
             {false, true, true}, 35);
    list.add("norm/L2Norm" + suffix, "L2Norm", {list.random(type, {3, 5, 40})},
             {{"axis", int64_t{-1}}, {"epsilon", 1e-4}}, 1, {}, 40);
    list.add("norm/GroupNorm" + suffix, "GroupNorm", {list.random(type, {2, 12, 7, 5}), parameters(), parameters()},
             {{"groups", int64_t{3}}, {"epsilon", 1e-5}}, 1, {false, true, true}, 140);
    HostTensor variance = list.random(type, {12, 1, 1});
    for (int64_t i = 0; i < 12; ++i) variance.set_f64(i, 0.5 + std::abs(variance.get_f64(i)));
    const auto beside = [&] { return list.random(type, {12, 1, 1}); };
    list.add("norm/BatchNorm" + suffix, "BatchNorm",
             {list.random(type, {2, 12, 7, 5}), beside(), beside(), beside(), variance}, {{"epsilon", 1e-5}}, 1,
             {false, true, true, true, true});
  }
}

}  // namespace wootz::ops
