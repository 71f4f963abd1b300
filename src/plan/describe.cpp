#include "plan/describe.h"

#include <fmt/format.h>

#include "backend/control.h"
#include "backend/params_text.h"
#include "backend/plugin.h"
#include "backend/quantized.h"
#include "backend/sparsity.h"
#include "backend/work.h"
#include "base/json.h"

namespace wootz {
namespace {

using Json = OrderedJson;

// By Layout.
constexpr const char* kFormats[] = {"Row major linear",
                                    "Channels last",
                                    "Blocks of 8 channels",
                                    "Blocks of 16 channels",
                                    "Packed",
                                    "Blocks of 2 channels",
                                    "Blocks of 4 channels",
                                    "Blocks of 16 channels",
                                    "Blocks of 32 channels",
                                    "Channels last, filled up to 8",
                                    "Channels last, filled up to 16"};
static_assert(std::size(kFormats) == kLayoutCount);

struct TypeName {
  DType dtype;
  const char* name;
};
constexpr TypeName kTypeNames[] = {{DType::kF32, "FP32"},  {DType::kF16, "FP16"},   {DType::kBF16, "BF16"},
                                   {DType::kF64, "FP64"},  {DType::kI8, "Int8"},    {DType::kU8, "UInt8"},
                                   {DType::kI32, "Int32"}, {DType::kI64, "Int64"},  {DType::kBool, "Bool"},
                                   {DType::kI4, "Int4"},   {DType::kF8E4M3, "FP8"}, {DType::kF4E2M1, "FP4"}};

std::string type_name(DType dtype) {
  for (const TypeName& t : kTypeNames)
    if (t.dtype == dtype) return t.name;
  return dtype_name(dtype);
}

// A number for a tactic's text, the same in every build (FNV-1a): tools compare tactics by it.
uint64_t tactic_value(const Tactic& tactic) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : tactic.to_string()) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

// A value of a parameter, as JSON has it.
struct ParamJson {
  template <typename T>
  Json operator()(const T* v) const {
    return *v;
  }
  Json operator()(const bool* v) const { return *v ? 1 : 0; }
  Json operator()(const DType* v) const { return dtype_name(*v); }
  Json operator()(const PointwiseExpr* v) const { return v->to_string(); }
  Json operator()(const ChoiceRef& v) const { return choice_name(v.names, *v.value); }
  Json operator()(const ChoicesRef& v) const {
    Json list = Json::array();
    for (size_t i = 0; i < v.size(v.list); ++i) list.push_back(choice_name(v.names, v.at(v.list, i)));
    return list;
  }
  template <typename T>
  Json operator()(const std::optional<T>* v) const {
    return *v ? Json(**v) : Json();
  }
  Json operator()(const MaybeIntLists* v) const {
    Json list = Json::array();
    for (const MaybeInts& each : *v) list.push_back((*this)(&each));
    return list;
  }
  Json operator()(const BoxRef& v) const {
    std::string text;
    append_value(v, &text);
    return text;
  }
};

const char* layer_type(const Problem& problem) {
  return is_plugin(problem) ? "Plugin" : family_layer(problem.family());
}

// Those that are not as they are by default, but what kind of a thing it is always.
void add_parameters(const Problem& problem, Json* json) {
  FamilyParams params = problem.params;
  if (const Result<PluginParams> plugin = read_plugin(problem); plugin.ok()) {
    (*json)["Parameters"] = {{"plugin", plugin->name}, {"version", plugin->version}, {"namespace", plugin->space}};
    return;
  }
  const ParamTable& table = family_table(problem.family());
  for (const ParamField& field : table.fields) {
    const ParamRef ref = field.of(params_address(params));
    if (!std::holds_alternative<ChoiceRef>(ref) && is_default(table, field, params_address(params))) continue;
    (*json)["Parameters"][field.name] = std::visit(ParamJson(), ref);
  }
  if (problem.passing) (*json)["Parameters"]["passing"] = 1;
}

class Describer {
 public:
  Describer(const Program& program, const DescribeOptions& options) : p_(program), names_only_(options.names_only) {
    if (options.shapes != nullptr) {
      shapes_ = options.shapes;
      return;
    }
    const std::vector<int64_t> none(program.symbols.size(), -1);
    known_ = evaluate_shapes(program, none, &own_).ok();
    shapes_ = &own_;
  }

  Json step(StepIndex index) const {
    const Step& step = p_.steps[index];
    if (names_only_) return step.name;
    const char* type = layer_type(step.problem);
    Json json = {{"Name", step.name}, {"LayerType", type}};
    json["Inputs"] = tensors(step.inputs);
    json["Outputs"] = tensors(step.outputs);
    json["ParameterType"] = type;
    add_parameters(step.problem, &json);
    add_weights(step, &json);
    if (const std::string_view text = sparsity_text(step.problem, step.tactic); !text.empty()) json["Sparsity"] = text;
    if (!step.problem.epilogue.empty()) json["Epilogue"] = step.problem.epilogue.to_string();
    json["TacticName"] = step.tactic.to_string();
    json["TacticValue"] = fmt::format("{:#018x}", tactic_value(step.tactic));
    if (step.measured_us >= 0) json["TacticTimeUs"] = step.measured_us;
    const Work work = work_of(step.problem);
    json["BytesRead"] = work.bytes_read;
    json["BytesWritten"] = work.bytes_written;
    if (work.flops >= 0) json["Flops"] = work.flops;
    json["WorkspaceBytes"] = step.workspace;
    json["StreamId"] = step.stream;
    std::string metadata;
    for (const std::string& name : step.provenance)
      metadata += fmt::format("{}[ONNX Layer: {}]", metadata.empty() ? "" : "\x1e", name);
    json["Metadata"] = std::move(metadata);
    each_body(step, [&](const Program& body) { json["Bodies"].push_back(describe_program(body)["Layers"]); });
    return json;
  }

  std::string line(StepIndex index) const {
    const Step& step = p_.steps[index];
    if (names_only_) return step.name;
    std::string s = fmt::format("{} [{}] {} -> {}, {}", step.name, layer_type(step.problem), brief(step.inputs),
                                brief(step.outputs), step.tactic.to_string());
    if (const std::string_view text = sparsity_text(step.problem, step.tactic); !text.empty())
      s += fmt::format(", {}", text);
    if (step.measured_us >= 0) s += fmt::format(", {:.1f} us", step.measured_us);
    size_t number = 0;
    each_body(step, [&](const Program& body) {
      for (const StepIndex k : body.steps.indices())
        s += fmt::format("\n  body {}: {}", number, indented(describe_step_line(body, k)));
      ++number;
    });
    return s;
  }

 private:
  // What a control step runs.
  template <class F>
  void each_body(const Step& step, F f) const {
    if (!is_control(step)) return;
    const Result<ControlForm> form = read_control(step.problem);
    if (!form.ok()) return;
    for (const ControlBody& body : form->bodies)
      if (static_cast<size_t>(body.program) < p_.bodies.size()) f(p_.bodies[static_cast<size_t>(body.program)]);
  }
  static std::string indented(std::string text) {
    for (size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1)) text.insert(at + 1, "  ");
    return text;
  }

  // What TensorRT writes of convolutions and products, under its names.
  static void add_weights(const Step& step, Json* json) {
    const Problem& p = step.problem;
    if ((p.family() != Family::kConv && p.family() != Family::kGemm) || p.inputs.size() < 2) return;
    if (p.family() == Family::kConv) {
      const Dims& w = p.inputs[1].dims;
      const bool transposed = p.as<ConvParams>().transposed;
      const int64_t groups = p.as<ConvParams>().groups;
      std::vector<int64_t> pads = p.as<ConvParams>().pads;
      const auto half = static_cast<ptrdiff_t>(pads.size() / 2);
      (*json)["Kernel"] = std::vector<int64_t>(w.begin() + std::min(2, w.rank()), w.end());
      (*json)["PrePadding"] = std::vector<int64_t>(pads.begin(), pads.begin() + half);
      (*json)["PostPadding"] = std::vector<int64_t>(pads.begin() + half, pads.end());
      (*json)["Stride"] = p.as<ConvParams>().strides;
      (*json)["Dilation"] = p.as<ConvParams>().dilations;
      (*json)["OutMaps"] = w.rank() < 2 ? 0 : transposed ? w[1] * groups : w[0];
      (*json)["Groups"] = groups;
    }
    const auto operand = [&](const char* name, size_t i) {
      if (i < p.inputs.size() && p.inputs[i].constant)
        (*json)[name] = {{"Type", type_name(p.inputs[i].dtype)}, {"Count", p.inputs[i].dims.volume()}};
    };
    operand("Weights", 1);
    const bool bias = has_bias(p);
    if (bias) operand("Bias", 2);
    (*json)["HasBias"] = bias ? 1 : 0;
  }

  std::vector<int64_t> extents(const PlanTensor& tensor) const {
    std::vector<int64_t> list;
    for (const ExpressionIndex e : tensor.dims) list.push_back(known_ && shapes_->known[e] ? shapes_->values[e] : -1);
    return list;
  }

  Json tensors(const std::vector<TensorIndex>& list) const {
    Json json = Json::array();
    for (const TensorIndex t : list) {
      if (!t.exists()) continue;  // omitted
      const PlanTensor& tensor = p_.tensors[t];
      json.push_back({{"Name", tensor.name},
                      {"Location", tensor.kind == TensorKind::kShape ? "Host" : "Device"},
                      {"Dimensions", extents(tensor)},
                      {"Format/Datatype",
                       fmt::format("{} {}", kFormats[static_cast<size_t>(tensor.layout)], type_name(tensor.dtype))}});
      if (tensor.kind == TensorKind::kConstant) json.back()["WeightBytes"] = p_.constants[tensor.constant].bytes;
    }
    return json;
  }

  std::string brief(const std::vector<TensorIndex>& list) const {
    std::string s;
    for (size_t i = 0; i < list.size(); ++i) {
      if (i != 0) s += ", ";
      if (!list[i].exists()) {
        s += "-";
        continue;
      }
      const PlanTensor& tensor = p_.tensors[list[i]];
      s += fmt::format("{} {}[", tensor.name, dtype_name(tensor.dtype));
      const std::vector<int64_t> dims = extents(tensor);
      for (size_t a = 0; a < dims.size(); ++a) {
        if (a != 0) s += 'x';
        s += dims[a] < 0 ? "?" : std::to_string(dims[a]);
      }
      s += ']';
      if (tensor.layout != Layout::kLinear) s += fmt::format("@{}", layout_name(tensor.layout));
    }
    return s;
  }

  const Program& p_;
  bool names_only_;
  ShapeValues own_;
  const ShapeValues* shapes_ = nullptr;
  bool known_ = true;
};

}  // namespace

Json describe_program(const Program& program, const DescribeOptions& options) {
  const Describer describer(program, options);
  Json json = {{"Layers", Json::array()}, {"Bindings", Json::array()}};
  for (const StepIndex s : program.steps.indices()) json["Layers"].push_back(describer.step(s));
  for (const auto* list : {&program.inputs, &program.outputs})
    for (const IoTensor& io : *list) json["Bindings"].push_back(program.tensors[io.tensor].name);
  for (size_t p = 0; p < program.profiles.size(); ++p) {
    const Program& own = *program_of(program, p).program;
    if (&own == &program) continue;
    Json layers = Json::array();
    const Describer its_own(own, {nullptr, options.names_only});
    for (const StepIndex s : own.steps.indices()) layers.push_back(its_own.step(s));
    json["Profiles"].push_back({{"Profile", p}, {"Layers", std::move(layers)}});
  }
  return json;
}

Json describe_step(const Program& program, StepIndex step, const DescribeOptions& options) {
  return Describer(program, options).step(step);
}

std::string describe_step_line(const Program& program, StepIndex step, const DescribeOptions& options) {
  return Describer(program, options).line(step);
}

}  // namespace wootz
