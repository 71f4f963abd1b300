// What the build capabilities of V3 plugins and of Quick ones are asked alike. `kind` is the capability, for messages.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "api/plugins/expressions.h"
#include "api/runtime/convert.h"
#include "api/runtime/plugins/describe.h"
#include "base/function_ref.h"

namespace wootz::api {

struct OutputTypes {
  nvinfer1::DataType* out;
  int32_t outputs;
  const nvinfer1::DataType* in;
  const int32_t* ranks;
  int32_t inputs;
};

// Types and extents of the results. `types` calls getOutputDataTypes, and gives what it answered.
template <class Build>
Result<CustomResults> ask_results(Build& build, const char* kind, const std::vector<TypeInfo>& operands,
                                  const std::vector<std::vector<Dim>>& shape_operands,
                                  FunctionRef<int32_t(const OutputTypes&)> types) {
  using nvinfer1::DataType;
  using nvinfer1::DimsExprs;
  ExprBuilder builder;
  std::vector<DimsExprs> in, values, out(static_cast<size_t>(build.getNbOutputs()));
  std::vector<DataType> in_types, out_types(out.size(), DataType::kFLOAT);
  std::vector<int32_t> ranks;
  for (const TypeInfo& info : operands) {
    WOOTZ_ASSIGN_OR_RETURN(in.emplace_back(), builder.exprs(info.shape));
    in_types.push_back(info.present ? to_api(info.dtype) : DataType::kFLOAT);
    ranks.push_back(in.back().nbDims);
  }
  for (const std::vector<Dim>& list : shape_operands) {
    WOOTZ_ASSIGN_OR_RETURN(values.emplace_back(), builder.exprs(list));
  }
  const auto count = [](const auto& list) { return static_cast<int32_t>(list.size()); };
  const auto call = [&](const char* name) { return fmt::format("{}::{}", kind, name); };
  const int32_t typed = types({out_types.data(), count(out), in_types.data(), ranks.data(), count(in_types)});
  WOOTZ_RETURN_IF_ERROR(answer(call("getOutputDataTypes").c_str(), typed));
  for (DimsExprs& exprs : out) exprs.nbDims = -1;
  const int32_t code =
      build.getOutputShapes(in.data(), count(in), values.data(), count(values), out.data(), count(out), builder);
  WOOTZ_RETURN_IF_ERROR(builder.refused());
  WOOTZ_RETURN_IF_ERROR(answer(call("getOutputShapes").c_str(), code));
  CustomResults results;
  for (size_t o = 0; o < out.size(); ++o) {
    Result<Shape> shape = builder.shape_of(out[o]);
    if (!shape.ok())
      return shape.status().with_prefix(fmt::format("{} gave for output {}", call("getOutputShapes"), o));
    results.shapes.push_back(std::move(shape).value());
    results.types.push_back(from_api(out_types[o]));
    if (results.types.back() == DType::kInvalid)
      return invalid_argument("{} gave type {} for output {}", call("getOutputDataTypes"),
                              static_cast<int>(out_types[o]), o);
  }
  results.sizes = builder.sizes();
  return results;
}

template <class Build>
Result<std::vector<int32_t>> ask_tactics(Build& build, const char* kind) {
  constexpr int32_t kMost = 10'000;
  const int32_t count = build.getNbTactics();
  if (count < 0 || count > kMost) return invalid_argument("{}::getNbTactics answered {}", kind, count);
  if (count == 0) return std::vector<int32_t>{0};
  std::vector<int32_t> tactics(static_cast<size_t>(count), 0);
  const std::string call = fmt::format("{}::getValidTactics", kind);
  WOOTZ_RETURN_IF_ERROR(answer(call.c_str(), build.getValidTactics(tactics.data(), count)));
  std::vector<int32_t> seen;
  for (const int32_t t : tactics) {
    if (t <= 0) return invalid_argument("{} gave tactic {}; they are positive", call, t);
    if (std::find(seen.begin(), seen.end(), t) != seen.end())
      return invalid_argument("{} gave tactic {} twice", call, t);
    seen.push_back(t);
  }
  return tactics;
}

// Errors: names that are too long or missing, a number of outputs that there may not be.
template <class Core, class Build>
Status check_identity(Core& core, Build& build, const char* kind) {
  constexpr size_t kMostNameBytes = 1024;
  for (const nvinfer1::AsciiChar* name : {core.getPluginName(), core.getPluginVersion(), core.getPluginNamespace()})
    if (text_of(name).size() >= kMostNameBytes)
      return invalid_argument("a name, version or namespace of {} bytes; the limit is {}", text_of(name).size(),
                              kMostNameBytes);
  if (text_of(core.getPluginName()).empty()) return invalid_argument("a plugin without a name");
  const int32_t outputs = build.getNbOutputs();
  if (outputs < 1 || outputs > limits::kMaxInputsPerNode)
    return invalid_argument("{}::getNbOutputs answered {}", kind, outputs);
  return Status();
}

}  // namespace wootz::api
