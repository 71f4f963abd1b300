#include <algorithm>

#include "onnx/edit/convert.h"
#include "onnx/edit/narrow_weights.h"
#include "onnx/tensor_reader.h"

namespace wootz::importer {
namespace {

using ::onnx::AttributeProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

// Operators that take no 16 bits in one of ONNX's versions, that count or place, or make numbers of nothing.
constexpr std::string_view kStayInFloat[] = {"NonMaxSuppression",
                                             "Range",
                                             "CumSum",
                                             "RandomNormal",
                                             "RandomUniform",
                                             "RandomNormalLike",
                                             "RandomUniformLike",
                                             "Bernoulli",
                                             "Multinomial",
                                             "EyeLike",
                                             "TfIdfVectorizer",
                                             "Upsample",
                                             "MelWeightMatrix",
                                             "STFT",
                                             "DFT",
                                             "QuantizeLinear",
                                             "DequantizeLinear",
                                             "ConstantOfShape",
                                             "Constant",
                                             "Celu",
                                             "If",
                                             "Loop",
                                             "Scan"};

// Results that are integers or truths, whatever the operands are.
constexpr std::string_view kNotOfOperands[] = {"Shape", "Size",    "ArgMax", "ArgMin", "NonZero",        "Equal",
                                               "Less",  "Greater", "IsNaN",  "IsInf",  "GreaterOrEqual", "LessOrEqual"};

// Inputs that are in FP32 whatever the others are. Variances are beyond the largest of FP16's numbers, or next to 0.
constexpr struct {
  const char* op;
  int input;
} kFloatInputs[] = {{"Resize", 1},
                    {"Resize", 2},
                    {"BatchNormalization", 1},
                    {"BatchNormalization", 2},
                    {"BatchNormalization", 3},
                    {"BatchNormalization", 4}};

class ValueNarrower {
 public:
  ValueNarrower(GraphEdit& edit, const FormatRules& rules)
      : edit_(edit), rules_(rules), type_(rules.format == NumberFormat::kFp16 ? DType::kF16 : DType::kBF16) {
    for (const auto& function : edit.model().functions()) functions_.insert(function.name());
  }

  Status run(std::vector<EditedLayer>* layers) {
    for (NodeProto& node : *edit_.graph().mutable_node()) WOOTZ_RETURN_IF_ERROR(take(&node, layers));
    for (auto& value : *edit_.graph().mutable_value_info())
      if (narrow_.count(value.name()) != 0 && value.type().has_tensor_type())
        value.mutable_type()->mutable_tensor_type()->set_elem_type(dtype_to_onnx(type_));
    return Status();
  }

 private:
  bool stays(const NodeProto& node) const {
    if (!is_standard(node) || functions_.count(node.op_type()) != 0) return true;
    if (node.op_type().find("Sequence") != std::string::npos || node.op_type().find("Optional") != std::string::npos)
      return true;
    if (is_layer(node) && rules_.keep.contains(layer_name(node))) return true;
    for (const AttributeProto& each : node.attribute())
      if (each.has_g() || each.graphs_size() > 0) return true;
    return std::find(std::begin(kStayInFloat), std::end(kStayInFloat), node.op_type()) != std::end(kStayInFloat);
  }

  Status take(NodeProto* node, std::vector<EditedLayer>* layers) {
    const bool wide = stays(*node);
    EditedLayer layer;
    if (is_layer(*node)) {
      layer = layer_of(*node, rules_.format);
      if (wide) layer.why_not = "kept in float";
    }
    for (int i = 0; i < node->input_size(); ++i) {
      const std::string input = node->input(i);
      if (input.empty()) continue;
      const bool float_input = std::any_of(std::begin(kFloatInputs), std::end(kFloatInputs), [&](const auto& row) {
        return node->op_type() == row.op && i == row.input;
      });
      if (wide || float_input) {
        if (narrow_.count(input) != 0) node->set_input(i, cast(input, DType::kF32));
        continue;
      }
      WOOTZ_ASSIGN_OR_RETURN(const std::string narrow, narrowed(input, i == 1 ? &layer.weight_error : nullptr));
      node->set_input(i, narrow);
    }
    if (!layer.name.empty()) layers->push_back(std::move(layer));
    if (!wide) narrow_outputs(node);
    return Status();
  }

  // Its results in 16 bits. Who must have them in FP32 gets them so under the name that they have.
  void narrow_outputs(NodeProto* node) {
    const bool makes_float = node->op_type() != "Cast" || int_attribute(*node, "to", 0) == TensorProto::FLOAT;
    if (node->op_type() == "Cast" && makes_float) set_int(node, "to", dtype_to_onnx(type_));
    for (int i = 0; i < node->output_size(); ++i) {
      const std::string output = node->output(i);
      if (output.empty() || !makes_float || !is_float32(output)) continue;
      if (!edit_.is_output(output) && !edit_.is_captured(output)) {
        narrow_.insert(output);
        continue;
      }
      // The node whose result it was is found under the old name still.
      const std::string own = edit_.unique(output + suffix());
      NodeProto* const back = edit_.add_after(output, "Cast", {own}, output);
      set_int(back, "to", TensorProto::FLOAT);
      node->set_output(i, own);
      casts_[{output, true}] = own;
    }
  }

  // Values that the import folded are not among the types: they are what their operands are.
  bool is_float32(const std::string& value, int depth = 0) const {
    const auto found = rules_.types.find(value);
    if (found != rules_.types.end()) return found->second == DType::kF32;
    if (const TensorProto* const constant = edit_.constant(value); constant != nullptr)
      return constant->data_type() == TensorProto::FLOAT;
    const NodeProto* const node = edit_.producer(value);
    if (node == nullptr || depth > 256) return false;
    if (node->op_type() == "Cast") return int_attribute(*node, "to", 0) == TensorProto::FLOAT;
    if (std::find(std::begin(kNotOfOperands), std::end(kNotOfOperands), node->op_type()) != std::end(kNotOfOperands))
      return false;
    const int first = node->op_type() == "Where" ? 1 : 0;
    return node->input_size() > first && is_float32(node->input(first), depth + 1);
  }

  const char* suffix() const { return type_ == DType::kF16 ? "_f16" : "_bf16"; }

  // The name of the value in 16 bits.
  Result<std::string> narrowed(const std::string& value, double* error) {
    if (narrow_.count(value) != 0) return value;
    const TensorProto* const constant = edit_.constant(value);
    if (constant == nullptr) return is_float32(value) ? cast(value, type_) : value;
    if (constant->data_type() != TensorProto::FLOAT) return value;
    Rounded& made = constants_[value];
    if (made.name.empty()) {
      WOOTZ_ASSIGN_OR_RETURN(const HostTensor wide, edit_.read(*constant));
      WOOTZ_ASSIGN_OR_RETURN(const HostTensor rounded, rounded_to(wide, type_, &made.error));
      made.name = edit_.add_constant(value + suffix(), rounded);
    }
    if (error != nullptr) *error = made.error;
    return made.name;
  }

  std::string cast(const std::string& value, DType type) {
    std::string& made = casts_[{value, type != DType::kF32}];
    if (!made.empty()) return made;
    made = edit_.unique(value + (type == DType::kF32 ? "_f32" : suffix()));
    set_int(edit_.add_after(value, "Cast", {value}, made), "to", dtype_to_onnx(type));
    return made;
  }

  struct Rounded {
    std::string name;
    double error = 0;
  };
  GraphEdit& edit_;
  const FormatRules& rules_;
  DType type_;
  std::set<std::string> narrow_, functions_;  // names of values that are in 16 bits now
  std::map<std::string, Rounded> constants_;
  std::map<std::pair<std::string, bool>, std::string> casts_;  // true: to 16 bits
};

}  // namespace

Status narrow_values(GraphEdit& edit, const FormatRules& rules, std::vector<EditedLayer>* layers) {
  return ValueNarrower(edit, rules).run(layers);
}

}  // namespace wootz::importer
