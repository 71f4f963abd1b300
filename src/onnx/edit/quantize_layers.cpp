#include <algorithm>
#include <cmath>
#include <tuple>

#include "onnx/edit/block_formats.h"
#include "onnx/edit/convert.h"
#include "onnx/edit/narrow_weights.h"

namespace wootz::importer {
namespace {

using ::onnx::NodeProto;
using ::onnx::TensorProto;

constexpr int kPerTensor = -1;
constexpr double kInt8Steps = 127, kUnsignedSteps = 255, kLargestF8 = 448;

// What gives elements of its first input and nothing else, so that the input's range holds.
bool only_moves(const NodeProto& node) {
  constexpr std::string_view kMoving[] = {"Reshape",   "Flatten",  "Squeeze", "Unsqueeze",
                                          "Transpose", "Identity", "MaxPool"};
  return is_standard(node) && std::find(std::begin(kMoving), std::end(kMoving), node.op_type()) != std::end(kMoving);
}

// What an epilogue computes after a product, of one activation.
bool goes_on(const NodeProto& node) {
  constexpr std::string_view kOps[] = {"Relu",      "Clip", "LeakyRelu", "BatchNormalization",
                                       "Add",       "Mul",  "Sigmoid",   "HardSigmoid",
                                       "HardSwish", "Gelu", "PRelu"};
  return is_standard(node) && std::find(std::begin(kOps), std::end(kOps), node.op_type()) != std::end(kOps);
}

class LayerQuantizer {
 public:
  LayerQuantizer(GraphEdit& edit, const FormatRules& rules) : edit_(edit), rules_(rules) {}

  Status run(std::vector<EditedLayer>* layers) {
    auto& nodes = *edit_.graph().mutable_node();
    for (NodeProto& node : nodes) {
      if (!is_layer(node)) continue;
      EditedLayer layer = layer_of(node, format_of(layer_name(node)));
      Result<std::string> why = quantize(node, &layer);
      if (!why.ok()) return why.status().with_prefix(fmt::format("layer '{}'", layer.name));
      layer.why_not = std::move(why).value();
      if (layer.why_not.empty() && rounds_residuals(layer))
        quantized_.emplace(&node, Quantized{layers->size(), layer.format});
      layers->push_back(std::move(layer));
    }
    for (NodeProto& node : nodes)
      if (is_standard(node) && node.op_type() == "Add" && node.input_size() == 2) addition(node);
    return Status();
  }

 private:
  struct Quantized {
    size_t place = 0;  // in the model
    NumberFormat format = NumberFormat::kInt8;
  };

  // Products of FP8 have no epilogue that reads 8 bits, and transformers lose more by it than images.
  static bool rounds_residuals(const EditedLayer& layer) {
    return layer.format == NumberFormat::kInt8 || (layer.format == NumberFormat::kFp8 && layer.op == "Conv");
  }

  NumberFormat format_of(const std::string& layer) const {
    const auto own = rules_.formats.find(layer);
    return own == rules_.formats.end() ? rules_.format : own->second;
  }

  // Why it stays in float; empty: it does not.
  Result<std::string> quantize(NodeProto& node, EditedLayer* layer) {
    if (rules_.keep.contains(layer->name)) return std::string("kept in float");
    const TensorProto* const tensor = node.input_size() < 2 ? nullptr : edit_.constant(node.input(1));
    if (tensor == nullptr) return std::string("its weights are no constant");
    if (edit_.constant(node.input(0)) != nullptr) return std::string("both operands are constants");
    if (tensor->data_type() != TensorProto::FLOAT) return std::string("its weights are not in FP32");
    if (tensor->dims_size() < 2) return std::string("its weights are no matrix");
    const bool dynamic = is_dynamic(layer->format);
    if (dynamic) {
      if (std::string why = not_by_rows(node, *tensor); !why.empty()) return why;
    }
    const std::string* const source = has_activation_scales(layer->format) ? scaled_source(node.input(0)) : nullptr;
    if (has_activation_scales(layer->format) && source == nullptr)
      return std::string("no range is known of its activation");
    WOOTZ_ASSIGN_OR_RETURN(const HostTensor weights, edit_.read(*tensor));
    const std::span<const float> values = weights.as<float>();
    if (values.empty()) return std::string("its weights are empty");
    if (!std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); }))
      return std::string("its weights are not all finite");
    std::string why;
    WOOTZ_ASSIGN_OR_RETURN(const std::string narrow, narrowed(node, weights, layer, &why));
    if (!why.empty()) return why;
    node.set_input(1, narrow);
    if (dynamic) node.set_input(0, rounded_by_rows(node.input(0), weights.dims()[transposes(node) ? 1 : 0]));
    if (source != nullptr) {
      const Grid grid = grid_of(*source, layer->format);
      node.set_input(0, rounded(node.input(0), grid, layer->format));
      layer->scale = grid.scale;
      layer->zero_point = grid.zero;
      layer->range = rules_.scales.find(*source)->second * kInt8Steps;
    }
    if (const auto found = rules_.corrections.find(layer->name); found != rules_.corrections.end())
      WOOTZ_RETURN_IF_ERROR(correct(node, found->second));
    return std::string();
  }

  static bool transposes(const NodeProto& node) {
    return node.op_type() == "Gemm" && int_attribute(node, "transB", 0) != 0;
  }

  // Why rows of the activation get no scales of their own; empty: they do.
  std::string not_by_rows(const NodeProto& node, const TensorProto& weights) const {
    if (node.op_type() != "MatMul" && node.op_type() != "Gemm")
      return "scales that are found while running are for products with a matrix";
    if (weights.dims_size() != 2) return "its weights are no matrix";
    if (node.op_type() == "Gemm" && int_attribute(node, "transA", 0) != 0) return "its activation is transposed";
    const auto rank = rules_.ranks.find(node.input(0));
    if (rank != rules_.ranks.end() && rank->second < 2) return "its activation has no rows";
    return std::string();
  }

  // The activation rounded to int8 and back, each row by its largest value. What is about nothing has some scale.
  std::string rounded_by_rows(const std::string& value, int64_t length) {
    std::string& made = rows_[value];
    if (!made.empty()) return made;
    constexpr float kLeastScale = 1e-20F;
    HostTensor last = HostTensor::scalar<int64_t>(-1).reshaped(Dims{1});
    const std::string axis = edit_.add_constant(value + "_rows_axis", last);
    const std::string steps =
        edit_.add_constant(value + "_rows_steps", HostTensor::scalar<float>(static_cast<float>(kInt8Steps)));
    const std::string least = edit_.add_constant(value + "_rows_least", HostTensor::scalar<float>(kLeastScale));
    const auto add = [&](const char* op, const std::vector<std::string>& inputs, const char* suffix) {
      std::string name = edit_.unique(value + suffix);
      return std::pair(edit_.add_after(value, op, inputs, name), name);
    };
    const std::string absolute = add("Abs", {value}, "_rows_abs").second;
    const std::string most = add("ReduceMax", {absolute, axis}, "_rows_max").second;
    const std::string step = add("Div", {most, steps}, "_rows_step").second;
    const std::string scale = add("Max", {step, least}, "_rows_scale").second;
    const auto [quantize, bytes] = add("QuantizeLinear", {value, scale}, "_rows_quantized");
    const auto [dequantize, floats] = add("DequantizeLinear", {bytes, scale}, "_rows_dequantized");
    for (NodeProto* const node : {quantize, dequantize}) {
      set_int(node, "axis", -1);
      set_int(node, "block_size", length);
    }
    set_int(quantize, "output_dtype", TensorProto::INT8);
    return made = floats;
  }

  struct Grid {
    double scale = 1;
    int zero = 0;
    DType type = DType::kI8;
  };

  // Of an activation whose range goes by this value.
  Grid grid_of(const std::string& source, NumberFormat format) const {
    const double step = rules_.scales.find(source)->second, range = step * kInt8Steps;
    if (format == NumberFormat::kFp8) return {range / kLargestF8, 0, DType::kF8E4M3};
    const auto least = rules_.least.find(source);
    if (!rules_.zero_points || least == rules_.least.end()) return {.scale = step};
    const double low = std::max(static_cast<double>(least->second), -range);
    constexpr double kHardlyNegative = -0.6;  // of the range: beyond it 255 steps gain less than a quarter
    if (low < kHardlyNegative * range) return {.scale = step};
    const double fine = (range - low) / kUnsignedSteps;
    return {fine, static_cast<int>(std::lround(-low / fine)), DType::kU8};
  }

  // Adds to the result, by channel: to a bias that is there, or by a node of its own.
  Status correct(NodeProto& node, const std::vector<float>& by_channel) {
    WOOTZ_ASSIGN_OR_RETURN(HostTensor added,
                           HostTensor::allocate(DType::kF32, Dims{static_cast<int64_t>(by_channel.size())}));
    std::copy(by_channel.begin(), by_channel.end(), added.as_mutable<float>().begin());
    const std::string name = layer_name(node) + "_correction";
    const bool convolution = node.op_type() == "Conv" || node.op_type() == "ConvTranspose";
    if (convolution && (node.input_size() < 3 || node.input(2).empty())) {
      while (node.input_size() < 3) node.add_input();
      node.set_input(2, edit_.add_constant(name, added));
      return Status();
    }
    const TensorProto* const bias = convolution ? edit_.constant(node.input(2)) : nullptr;
    if (bias != nullptr && bias->data_type() == TensorProto::FLOAT) {
      WOOTZ_ASSIGN_OR_RETURN(const HostTensor old, edit_.read(*bias));
      const size_t count = std::min(by_channel.size(), old.as<float>().size());
      for (size_t i = 0; i < count; ++i) added.as_mutable<float>()[i] += old.as<float>()[i];
      node.set_input(2, edit_.add_constant(node.input(2) + "_corrected", added));
      return Status();
    }
    if (convolution) return unsupported("its bias is computed while running");
    const std::string result = node.output(0), before = edit_.unique(result + "_uncorrected");
    node.set_output(0, before);
    edit_.add_after(result, "Add", {before, edit_.add_constant(name, added)}, result);
    return Status();
  }

  // Along which the output channels lie, or for blocks what a sum goes over.
  static int axis_of(const NodeProto& node, NumberFormat format, int rank) {
    const bool transposed = transposes(node);
    if (is_in_blocks(format)) return transposed ? rank - 1 : rank - 2;
    if (format == NumberFormat::kFp8) return kPerTensor;
    if (node.op_type() == "Conv") return 0;
    if (node.op_type() == "ConvTranspose") return int_attribute(node, "group", 1) == 1 ? 1 : kPerTensor;
    return transposed ? rank - 2 : rank - 1;
  }

  // Elements of a scale; 0: they are not in blocks.
  int block_of(NumberFormat format) const {
    return format == NumberFormat::kInt4    ? rules_.block
           : format == NumberFormat::kNvfp4 ? kNvfp4Block
           : format == NumberFormat::kMxfp8 ? kMxfp8Block
                                            : 0;
  }

  Result<NarrowWeights> made_narrow(const HostTensor& weights, int axis, NumberFormat format) const {
    switch (format) {
      case NumberFormat::kInt4: return narrow_blocks(weights, axis, rules_.block, rules_.zero_points);
      case NumberFormat::kNvfp4: return narrow_nvfp4(weights, axis);
      case NumberFormat::kMxfp8: return narrow_mxfp8(weights, axis);
      default: return narrow_channels(weights, format == NumberFormat::kFp8 ? DType::kF8E4M3 : DType::kI8, axis);
    }
  }

  // The name of the weights as they come back from few bits.
  Result<std::string> narrowed(const NodeProto& node, const HostTensor& weights, EditedLayer* layer, std::string* why) {
    const bool product = node.op_type() == "MatMul" || node.op_type() == "Gemm";
    const int block = block_of(layer->format);
    if (block > 0 && (!product || weights.rank() != 2)) {
      *why = "weights in blocks are for products with a matrix";
      return std::string();
    }
    const int axis = axis_of(node, layer->format, weights.rank());
    if (block > 0 && weights.dims()[axis] % block != 0) {
      *why = fmt::format("blocks of {} do not divide its sums of {}", block, weights.dims()[axis]);
      return std::string();
    }
    Made& made = weights_[{node.input(1), axis, layer->format}];
    if (made.name.empty()) {
      WOOTZ_ASSIGN_OR_RETURN(const NarrowWeights narrow, made_narrow(weights, axis, layer->format));
      made = dequantized(node.input(1), narrow, axis, block);
    }
    layer->weight_error = made.error;
    std::copy(std::begin(made.scales), std::end(made.scales), std::begin(layer->weight_scale));
    return made.name;
  }

  struct Made {
    std::string name;
    double error = 0, scales[2] = {};
  };

  // `block`: elements that have one scale along the axis; 0: all of it.
  Made dequantized(const std::string& name, const NarrowWeights& narrow, int axis, int block) {
    std::vector<std::string> inputs = {edit_.add_constant(name + "_quantized", narrow.values),
                                       edit_.add_constant(name + "_scale", narrow.scales)};
    if (narrow.tensor_scale.valid()) {
      const std::string of_all = edit_.add_constant(name + "_tensor_scale", narrow.tensor_scale);
      const std::string scale = edit_.unique(name + "_scale_dequantized");
      edit_.add_after("", "DequantizeLinear", {inputs[1], of_all}, scale);
      inputs[1] = scale;
    }
    if (narrow.zero_points.valid()) inputs.push_back(edit_.add_constant(name + "_zero_point", narrow.zero_points));
    Made made{edit_.unique(name + "_dequantized"), narrow.error, {narrow.least_scale, narrow.largest_scale}};
    NodeProto* const back = edit_.add_after("", "DequantizeLinear", inputs, made.name);
    if (axis != kPerTensor) set_int(back, "axis", axis);
    if (block > 0) set_int(back, "block_size", block);
    if (narrow.scales.dtype() == DType::kF8E8M0) set_int(back, "output_dtype", TensorProto::FLOAT);
    return made;
  }

  // The value with a scale that it has its elements from, itself as a rule; null: there is none.
  const std::string* scaled_source(std::string value) const {
    for (size_t steps = 0; steps < 64; ++steps) {
      if (const auto found = rules_.scales.find(value); found != rules_.scales.end()) return &found->first;
      const NodeProto* const node = edit_.producer(value);
      if (node == nullptr || !only_moves(*node) || node->input_size() == 0) return nullptr;
      value = node->input(0);
    }
    return nullptr;
  }

  // The activation rounded to the format and back. Readers in other formats have roundings of their own.
  std::string rounded(const std::string& value, const Grid& grid, NumberFormat format) {
    std::string& made = activations_[{value, format}];
    if (!made.empty()) return made;
    HostTensor zero = HostTensor::scalar<uint8_t>(static_cast<uint8_t>(grid.zero));  // 0 is the same byte in each type
    if (grid.type != DType::kU8)
      zero = HostTensor::wrap(grid.type, Dims{}, zero.data(), std::make_shared<HostTensor>(zero));
    const std::string scale =
        edit_.add_constant(value + "_scale", HostTensor::scalar<float>(static_cast<float>(grid.scale)));
    const std::string point = edit_.add_constant(value + "_zero_point", zero);
    const std::string narrow = edit_.unique(value + "_quantized");
    made = edit_.unique(value + "_dequantized");
    edit_.add_after(value, "QuantizeLinear", {value, scale, point}, narrow);
    edit_.add_after(value, "DequantizeLinear", {narrow, scale, point}, made);
    return made;
  }

  // The quantized product whose epilogue computes the value; null: none.
  const NodeProto* product_of(std::string value) const {
    for (int steps = 0; steps < 8; ++steps) {
      const NodeProto* const node = edit_.producer(value);
      if (node == nullptr || edit_.users(value).size() != 1 || edit_.is_output(value)) return nullptr;
      if (quantized_.count(node) != 0) return node;
      if (!goes_on(*node)) return nullptr;
      int activations = 0;
      for (const std::string& input : node->input())
        if (!input.empty() && edit_.constant(input) == nullptr) {
          value = input;
          ++activations;
        }
      if (activations != 1) return nullptr;
    }
    return nullptr;
  }

  // The operand that is not the product's own result would be read in float, in the product's epilogue.
  void addition(NodeProto& node) {
    const std::string a = node.input(0), b = node.input(1);
    if (a == b || edit_.constant(a) != nullptr || edit_.constant(b) != nullptr) return;
    const NodeProto *of_a = product_of(a), *of_b = product_of(b);
    if (of_a == nullptr && of_b == nullptr) return;
    const bool second = of_a == nullptr || (of_b != nullptr && quantized_.at(of_b).place > quantized_.at(of_a).place);
    const int index = second ? 0 : 1;
    const std::string& other = node.input(index);
    const NumberFormat format = quantized_.at(second ? of_b : of_a).format;
    const bool in_8_bits = activations_.count({other, format}) != 0;
    if (!in_8_bits && (second ? of_a : of_b) == nullptr) return;
    if (const std::string* const source = scaled_source(other); source != nullptr)
      node.set_input(index, rounded(other, grid_of(*source, format), format));
  }

  GraphEdit& edit_;
  const FormatRules& rules_;
  std::map<std::tuple<std::string, int, NumberFormat>, Made> weights_;
  std::map<std::pair<std::string, NumberFormat>, std::string> activations_;
  std::map<std::string, std::string> rows_;          // activations by rows
  std::map<const NodeProto*, Quantized> quantized_;  // whose residuals are rounded as well
};

}  // namespace

bool is_layer(const NodeProto& node) {
  constexpr std::string_view kLayers[] = {"Conv", "ConvTranspose", "MatMul", "Gemm"};
  return is_standard(node) && node.output_size() == 1 && node.input_size() >= 2 &&
         std::find(std::begin(kLayers), std::end(kLayers), node.op_type()) != std::end(kLayers);
}

EditedLayer layer_of(const NodeProto& node, NumberFormat format) {
  EditedLayer layer;
  layer.name = layer_name(node);
  layer.op = node.op_type();
  layer.input = node.input(0);
  layer.output = node.output(0);
  layer.format = format;
  return layer;
}

std::string layer_name(const NodeProto& node) { return node.name().empty() ? node.output(0) : node.name(); }

Status quantize_layers(GraphEdit& edit, const FormatRules& rules, std::vector<EditedLayer>* layers) {
  return LayerQuantizer(edit, rules).run(layers);
}

}  // namespace wootz::importer
