// A few ops without meaning, for the tests and fuzz targets of this folder.
#pragma once

#include "ir/op_def.h"

namespace wootz {

inline const std::vector<OpDef>& test_ops() {
  static const std::vector<OpDef> kOps = [] {
    std::vector<OpDef> ops;
    const auto add = [&](const char* name, int min_inputs, int max_inputs, int max_outputs, std::vector<AttrSpec> attrs,
                         bool commutative) {
      OpDef op{};
      op.name = name;
      op.min_inputs = min_inputs;
      op.max_inputs = max_inputs;
      op.max_outputs = max_outputs;
      op.attributes = std::move(attrs);
      op.traits.commutative = commutative;
      ops.push_back(std::move(op));
    };
    add("Add", 2, 2, 1, {}, true);
    add("Mul", 2, 2, 1, {}, true);
    add("Sub", 2, 2, 1, {}, false);
    add("Div", 2, 2, 1, {}, false);
    add("Sqrt", 1, 1, 1, {}, false);
    add("Erf", 1, 1, 1, {}, false);
    add("Sigmoid", 1, 1, 1, {}, false);
    add("Cast", 1, 1, 1, {{"to", AttrKind::kDType, true}}, false);
    add("Mean", 1, 1, 1, {{"axes", AttrKind::kInts, true}, {"keepdims", AttrKind::kInt}}, false);
    add("Conv", 2, 3, 1, {{"strides", AttrKind::kInts}, {"groups", AttrKind::kInt}}, false);
    add("Clip", 1, 3, 1, {}, false);
    add("Concat", 1, -1, 1, {{"axis", AttrKind::kInt, true}}, false);
    add("TopK", 2, 2, 2, {{"axis", AttrKind::kInt}}, false);
    add("If", 1, -1, -1, {{"then", AttrKind::kGraph, true}, {"else", AttrKind::kGraph, true}}, false);
    add("Any", 0, -1, -1,
        {{"i", AttrKind::kInt},
         {"f", AttrKind::kFloat},
         {"s", AttrKind::kString},
         {"is", AttrKind::kInts},
         {"fs", AttrKind::kFloats},
         {"t", AttrKind::kTensor},
         {"g", AttrKind::kGraph},
         {"e", AttrKind::kExpr},
         {"d", AttrKind::kDType}},
        false);
    ops.back().min_outputs = 0;
    return ops;
  }();
  return kOps;
}

inline const OpDef* find_test_op(std::string_view name) {
  for (const OpDef& op : test_ops())
    if (name == op.name) return &op;
  return nullptr;
}
inline const OpDef& test_op(std::string_view name) { return *find_test_op(name); }

}  // namespace wootz
