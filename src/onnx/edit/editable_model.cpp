#include "onnx/edit/editable_model.h"

#include <algorithm>

#include "base/limits.h"
#include "onnx/edit/convert.h"
#include "onnx/edit/prune.h"
#include "onnx/edit/write_model.h"
#include "onnx/model_file.h"
#include "onnx/text.h"

namespace wootz {
namespace {

using ::onnx::NodeProto;

struct FormatRow {
  NumberFormat format;
  const char* name;
  int opset;  // that has what it is written with
};
constexpr FormatRow kFormats[] = {{NumberFormat::kInt8, "int8", 13},   {NumberFormat::kInt8Dynamic, "int8-dynamic", 21},
                                  {NumberFormat::kFp8, "fp8", 19},     {NumberFormat::kInt4, "int4", 21},
                                  {NumberFormat::kNvfp4, "nvfp4", 23}, {NumberFormat::kMxfp8, "mxfp8", 24},
                                  {NumberFormat::kFp16, "fp16", 15},   {NumberFormat::kBf16, "bf16", 22},
                                  {NumberFormat::kFp32, "fp32", 1}};

const FormatRow& row_of(NumberFormat format) {
  return *std::find_if(std::begin(kFormats), std::end(kFormats), [&](const auto& row) { return row.format == format; });
}

bool quantizes(const NodeProto& node) {
  const std::string& op = node.op_type();
  return op == "QuantizeLinear" || op == "DequantizeLinear" || op == "DynamicQuantizeLinear" || op == "MatMulInteger" ||
         op == "ConvInteger" || op.rfind("QLinear", 0) == 0 || op == "MatMulNBits";
}

bool is_external(const ::onnx::TensorProto& tensor) { return tensor.data_location() == ::onnx::TensorProto::EXTERNAL; }

// Those of nodes and of bodies would not go along with a model that is written.
bool has_inner_external(const NodeProto& node, int depth = 0) {
  if (depth > limits::kMaxSubgraphDepth) return true;
  const auto in_body = [&](const ::onnx::GraphProto& body) {
    return std::any_of(body.initializer().begin(), body.initializer().end(), is_external) ||
           std::any_of(body.node().begin(), body.node().end(),
                       [&](const NodeProto& inner) { return has_inner_external(inner, depth + 1); });
  };
  for (const auto& attribute : node.attribute())
    if ((attribute.has_t() && is_external(attribute.t())) || (attribute.has_g() && in_body(attribute.g())) ||
        std::any_of(attribute.tensors().begin(), attribute.tensors().end(), is_external) ||
        std::any_of(attribute.graphs().begin(), attribute.graphs().end(), in_body))
      return true;
  return false;
}

int opset_of(const FormatRules& rules) {
  const auto of = [&](NumberFormat format) {
    return format == NumberFormat::kInt4 && rules.zero_points ? 21 : row_of(format).opset;
  };
  int least = of(rules.format);
  for (const auto& [layer, format] : rules.formats) least = std::max(least, of(format));
  return least;
}

std::string shown_name(const NodeProto& node) {
  return importer::printable(node.output_size() > 0 ? importer::layer_name(node) : node.name());
}

}  // namespace

Result<NumberFormat> number_format_from_name(std::string_view name) {
  for (const FormatRow& row : kFormats)
    if (name == row.name) return row.format;
  return invalid_argument(
      "there is no format '{}'; there are int8, int8-dynamic, fp8, int4, nvfp4, mxfp8, fp16, bf16 and fp32", name);
}

const char* number_format_name(NumberFormat format) { return row_of(format).name; }

EditableModel::EditableModel() : model_(std::make_unique<::onnx::ModelProto>()) {}
EditableModel::~EditableModel() = default;

Result<std::unique_ptr<EditableModel>> EditableModel::open(const std::string& path) {
  std::unique_ptr<EditableModel> made(new EditableModel);
  WOOTZ_RETURN_IF_ERROR(importer::read_model_file(path, made->model_.get()));
  made->folder_ = importer::folder_of(path);
  WOOTZ_RETURN_IF_ERROR(made->check().with_prefix(importer::printable(path)));
  return made;
}

Result<std::unique_ptr<EditableModel>> EditableModel::read(std::span<const std::byte> bytes,
                                                           const std::string& folder) {
  std::unique_ptr<EditableModel> made(new EditableModel);
  WOOTZ_RETURN_IF_ERROR(importer::read_model(bytes, made->model_.get()));
  made->folder_ = folder;
  WOOTZ_RETURN_IF_ERROR(made->check());
  return made;
}

Status EditableModel::check() const {
  for (const NodeProto& node : model_->graph().node()) {
    if (quantizes(node))
      return invalid_argument("it is quantized already: node '{}' ({})", shown_name(node),
                              importer::printable(node.op_type()));
    if (has_inner_external(node))
      return unsupported("node '{}' ({}) has external data inside of it", shown_name(node),
                         importer::printable(node.op_type()));
  }
  // External data that are not there are noticed before a long calibration.
  const importer::GraphEdit edit(*model_, folder_);
  for (const auto& tensor : model_->graph().initializer())
    if (is_external(tensor)) WOOTZ_RETURN_IF_ERROR(edit.read(tensor).status());
  return Status();
}

std::unique_ptr<EditableModel> EditableModel::copy() const {
  std::unique_ptr<EditableModel> made(new EditableModel);
  *made->model_ = *model_;
  made->folder_ = folder_;
  return made;
}

Status EditableModel::convert(const FormatRules& rules, std::vector<EditedLayer>* layers) {
  importer::GraphEdit edit(*model_, folder_);
  WOOTZ_RETURN_IF_ERROR(importer::raise_opset(edit, opset_of(rules), rules.ranks));
  if (rules.block < 1) return invalid_argument("blocks of {} elements", rules.block);
  layers->clear();
  std::vector<importer::PrunedLayer> pruned;
  if (rules.sparse) {
    WOOTZ_ASSIGN_OR_RETURN(pruned, importer::prune_layers(edit, rules));
  }
  if (rules.format == NumberFormat::kFp32)
    *layers = importer::layers_in_float(edit, pruned);
  else
    WOOTZ_RETURN_IF_ERROR(is_float_format(rules.format) ? importer::narrow_values(edit, rules, layers)
                                                        : importer::quantize_layers(edit, rules, layers));
  importer::settle_pruning(edit, pruned, layers);
  for (const std::string& name : rules.keep)
    if (std::none_of(layers->begin(), layers->end(), [&](const EditedLayer& layer) { return layer.name == name; }))
      return invalid_argument("'{}' is to stay in float, and is no convolution or product of the model", name);
  edit.finish();
  return Status();
}

Result<std::string> EditableModel::bytes() const {
  std::string bytes;
  if (model_->ByteSizeLong() > limits::kMaxModelBytes || !model_->SerializeToString(&bytes))
    return make_error(Code::kResourceExhausted, "the model is larger than an ONNX message: give it external data");
  return bytes;
}

Status EditableModel::write(const std::string& path) const { return importer::write_model(*model_, folder_, path); }

}  // namespace wootz
