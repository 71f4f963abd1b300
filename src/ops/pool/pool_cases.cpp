#include "ops/cases.h"

namespace wootz::ops {

void pool_cases(CaseList& list) {
  using Ints = std::vector<int64_t>;
  const AttrMap windows[] = {
      {{"kernel", Ints{2, 2}}, {"strides", Ints{2, 2}}},
      {{"kernel", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}},
      {{"kernel", Ints{3, 2}}, {"strides", Ints{2, 3}}, {"pads", Ints{1, 0, 0, 1}}, {"ceil_mode", int64_t{1}}},
      {{"kernel", Ints{3, 3}}, {"strides", Ints{1, 2}}, {"auto_pad", std::string("SAME_LOWER")}},
      {{"kernel", Ints{2, 3}}, {"dilations", Ints{2, 1}}},
      {{"global", int64_t{1}}},
  };
  const char* names[] = {"2x2", "3x3_pad", "ceil", "same", "dilated", "global"};
  for (const char* kind : {"max", "avg", "lp"}) {
    for (size_t i = 0; i < std::size(windows); ++i) {
      AttrMap attrs = windows[i];
      attrs["kind"] = std::string(kind);
      if (kind[0] == 'l') attrs["p"] = int64_t{static_cast<int64_t>(i % 3) + 1};
      const std::string name = std::string("pool/") + kind + "_" + names[i];
      list.add(name, "Pool", {list.random(DType::kF32, {2, 5, 9, 11})}, attrs, 1, {}, 9);
      if (kind[0] == 'm') list.add(name + "_indices", "Pool", {list.random(DType::kF32, {2, 3, 8, 7})}, attrs, 2);
      if (kind[0] == 'a') {
        attrs["count_include_pad"] = int64_t{1};
        list.add(name + "_include_pad", "Pool", {list.random(DType::kF32, {1, 4, 9, 11})}, attrs, 1, {}, 9);
      }
    }
    list.add(std::string("pool/") + kind + "_1d", "Pool", {list.random(DType::kF32, {2, 3, 17})},
             {{"kind", std::string(kind)}, {"kernel", Ints{4}}, {"strides", Ints{3}}, {"pads", Ints{1, 2}}});
    list.add(std::string("pool/") + kind + "_3d", "Pool", {list.random(DType::kF32, {1, 2, 5, 6, 7})},
             {{"kind", std::string(kind)}, {"kernel", Ints{2, 3, 2}}, {"strides", Ints{1, 2, 2}}});
    list.add(std::string("pool/") + kind + "_f16", "Pool", {list.random(DType::kF16, {1, 8, 6, 6})},
             {{"kind", std::string(kind)}, {"kernel", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}}, 1, {}, 9);
  }
  for (size_t i = 0; i < std::size(windows); ++i) {
    for (const DType type : {DType::kU8, DType::kI8}) {
      AttrMap attrs = windows[i];
      attrs["kind"] = std::string("avg");
      attrs["x_scale"] = std::vector<double>{0.02};
      attrs["x_zero"] = std::vector<double>{type == DType::kU8 ? 131.0 : -7.0};
      const std::string name = std::string("pool/avg_") + dtype_name(type) + "_" + names[i];
      list.add(name, "Pool", {list.random(type, {2, 21, 9, 11}, -128, 255)}, attrs, 1, {}, 9);
      attrs["count_include_pad"] = int64_t{1};
      list.add(name + "_include_pad", "Pool", {list.random(type, {1, 300, 5, 4}, -128, 255)}, attrs, 1, {}, 9);
    }
  }
  for (const DType type : {DType::kF8E4M3, DType::kF8E5M2})
    list.add(std::string("pool/avg_") + dtype_name(type), "Pool", {list.random(type, {2, 5, 6, 6})},
             {{"kind", std::string("avg")}, {"kernel", Ints{3, 3}}, {"x_scale", std::vector<double>{0.3}}}, 1, {}, 9);
  for (const DType type : {DType::kU8, DType::kI8, DType::kF8E4M3})
    list.add(std::string("pool/max_") + dtype_name(type), "Pool", {list.random(type, {1, 3, 6, 6}, -100, 100)},
             {{"kind", std::string("max")}, {"kernel", Ints{2, 2}}, {"strides", Ints{2, 2}}});
}

}  // namespace wootz::ops
