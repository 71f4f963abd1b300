// GEMMs and convolutions of dequantized floats of 8 bits by constants read the 8 bits themselves, as fuse_qdq has it of
// integers, and averages do: the scales of both operands become attributes (ops/support/quant_attrs.h). It is for
// devices that multiply such floats; on others the model's Dequantize is faster, and the build leaves this pass out.
#include <algorithm>
#include <cmath>

#include "base/fp8.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "passes/pass.h"
#include "passes/quantization/qdq.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

// What tensor cores' kernels want of rows and columns, and of an image's channels: with fewer, a convolution of 16-bit
// floats is the faster one.
constexpr int64_t kMultiple = 8;

struct Fp8Operand {
  Node* dequantize = nullptr;
  Value* data = nullptr;
  std::vector<double> scale;  // one, or one for each channel along the axis that was asked for
};

// `channels` along `axis`; 0: one scale only.
Result<Fp8Operand> read_operand(const Value* v, int axis, int64_t channels) {
  Node* const n = v == nullptr ? nullptr : v->producer();
  if (n == nullptr || !n->is("Dequantize") || !is_fp8(n->input(0)->dtype()))
    return unsupported("an operand is no float of 8 bits");
  Fp8Operand operand{n, n->input(0), {}};
  if (!is_model_float(v->dtype())) return unsupported("a result in {}", dtype_name(v->dtype()));
  if (operand.data->rank() < 2) return unsupported("an operand is no matrix");
  if (n->input(2) != nullptr && !all_zeros(*n->input(2))) return unsupported("a zero point is not 0");
  const Value* const scale = n->input(1);
  if (!scale->is_constant()) return unsupported("a scale is computed while running");
  if (scale->constant().volume() < 1) return unsupported("a scale is empty");
  if (scale->constant().volume() == 1)
    operand.scale = {scale->constant().get_f64(0)};
  else if (auto scales = per_channel(scale, operand.data->rank(), axis, channels); channels > 0 && scales)
    operand.scale = std::move(*scales);
  else
    return unsupported("its scales vary along another axis than the result's columns");
  for (const double s : operand.scale)
    if (!std::isfinite(s) || s < 0 || !std::isfinite(static_cast<float>(s)) || (s == 0 && channels == 0))
      return unsupported("the scale {} is no positive number", s);
  return operand;
}

struct Fp8Form {
  Fp8Operand x, w;
};

Status check_types(const Fp8Form& form) {
  if (form.x.data->dtype() != DType::kF8E5M2 || form.w.data->dtype() != DType::kF8E5M2) return Status();
  return unsupported("both operands are {}", dtype_name(DType::kF8E5M2));
}

Result<Fp8Form> convolution_form(const Node& node) {
  if (node.has_attr("auto_pad")) return unsupported("its padding follows from extents");
  if (node.attr_int("groups", 1) != 1) return unsupported("it is by groups of channels");
  Fp8Form form;
  WOOTZ_ASSIGN_OR_RETURN(form.x, read_operand(node.input(0), 0, 0));
  if (form.x.data->is_constant()) return unsupported("its first operand is a constant");
  const Node* const made = node.input(1)->producer();
  if (made == nullptr || !made->is("Dequantize") || !made->input(0)->is_constant())
    return unsupported("its weights are no constant floats of 8 bits");
  const Dims& dims = made->input(0)->constant().dims();
  if (dims.volume() == 0 || dims[1] % kMultiple != 0)
    return unsupported("{} channels are no multiple of {}", dims[1], kMultiple);
  WOOTZ_ASSIGN_OR_RETURN(form.w, read_operand(node.input(1), 0, dims[0]));
  WOOTZ_RETURN_IF_ERROR(check_types(form));
  return form;
}

Result<Fp8Form> fp8_form(const Node& node) {
  const bool conv = node.is("Conv");
  if (!conv && !node.is("MatMul")) return unsupported("{} has no form in floats of 8 bits", node.op().name);
  if (node.has_attr("x_scale") || node.has_attr("epilogue")) return unsupported("it is fused already");
  if (conv) return convolution_form(node);
  if (node.attr_int("trans_a", 0) != 0) return unsupported("its first operand is transposed");
  Fp8Form form;
  WOOTZ_ASSIGN_OR_RETURN(form.x, read_operand(node.input(0), 0, 0));
  if (form.x.data->is_constant()) return unsupported("its first operand is a constant");
  const Value& w = *node.input(1);
  const Node* const made = w.producer();
  if (w.rank() < 2 || made == nullptr || !made->is("Dequantize") || !made->input(0)->is_constant())
    return unsupported("its second operand is no constant matrix of floats of 8 bits");
  const bool transposed = node.attr_int("trans_b", 0) != 0;
  const Dims& dims = made->input(0)->constant().dims();
  const auto last = dims.size() - 1;
  const int64_t depth = dims[transposed ? last : last - 1], columns = dims[transposed ? last - 1 : last];
  if (dims.volume() != depth * columns || node.input(0)->rank() < w.rank())
    return unsupported("its second operand is several matrices");
  if (columns == 0 || depth == 0 || columns % kMultiple != 0 || depth % kMultiple != 0)
    return unsupported("{} columns of {} elements are no multiples of {}", columns, depth, kMultiple);
  WOOTZ_ASSIGN_OR_RETURN(form.w, read_operand(&w, static_cast<int>(transposed ? last - 1 : last), columns));
  WOOTZ_RETURN_IF_ERROR(check_types(form));
  return form;
}

// A convolution's bias is part of its sum, which is in f32.
bool is_part_of_sum(const Node& node, DType type) { return type == DType::kF32 || node.is("Conv"); }

// What reads it goes on in the type that the model has there; the product itself is in f32.
Status apply(Graph& graph, Node* node, const Fp8Form& form) {
  const auto emit = [&](const char* name, std::vector<Value*> inputs, AttrMap attrs) -> Result<Value*> {
    Node* made =
        graph.add_node(op(name), graph.unique_name(node->name()), std::move(inputs), std::move(attrs), 1, node);
    made->add_provenance(*node);
    made->add_provenance(*form.x.dequantize);
    made->add_provenance(*form.w.dequantize);
    WOOTZ_RETURN_IF_ERROR(infer_node(*made));
    return made->output();
  };
  const DType type = node->output()->dtype();
  Value* const bias = node->input(2);
  AttrMap attrs = node->attrs();
  attrs["x_scale"] = form.x.scale;
  attrs["w_scale"] = form.w.scale;
  Value* weights = form.w.data;
  if (const HostTensor& data = weights->constant();
      data.rank() > 2 && !node->is("Conv")) {  // axes of extent 1 in front
    const Dims matrix{data.dims()[data.dims().size() - 2], data.dims().back()};
    weights = graph.add_constant(graph.unique_name(weights->name()), data.reshaped(matrix));
  }
  std::vector<Value*> inputs{form.x.data, weights};
  const bool in_sum = bias != nullptr && is_part_of_sum(*node, type);
  if (in_sum && bias->dtype() != DType::kF32) {
    WOOTZ_ASSIGN_OR_RETURN(Value * wide, emit("Cast", {bias}, {{"to", std::string(dtype_name(DType::kF32))}}));
    inputs.push_back(wide);
  } else if (in_sum) {
    inputs.push_back(bias);
  }
  WOOTZ_ASSIGN_OR_RETURN(Value * y, emit(node->op().name, std::move(inputs), std::move(attrs)));
  if (type != DType::kF32) {
    WOOTZ_ASSIGN_OR_RETURN(y, emit("Cast", {y}, {{"to", std::string(dtype_name(type))}}));
    if (bias != nullptr && !in_sum) {
      WOOTZ_ASSIGN_OR_RETURN(y, emit("Add", {y, bias}, {}));
    }
  }
  take_place(graph, node->output(), y);
  return Status();
}

}  // namespace

Status computes_in_fp8(const Node& node) {
  if (node.has_attr("x_scale") && is_fp8(node.input(0)->dtype())) return Status();
  return fp8_form(node).status();
}

Result<bool> fuse_fp8(Graph& graph) {
  bool changed = false;
  std::vector<Node*> products;  // what goes with one of them is a Dequantize
  for (Node* node = graph.first(); node != nullptr; node = node->next())
    if (node->is("MatMul") || node->is("Conv")) products.push_back(node);
  for (Node* node : products) {
    Result<Fp8Form> form = fp8_form(*node);
    if (!form.ok()) continue;
    WOOTZ_RETURN_IF_ERROR(apply(graph, node, *form));
    changed = true;
  }
  for (Node* node : graph.nodes()) {
    WOOTZ_ASSIGN_OR_RETURN(const bool fused, fuse_average(graph, node, read_fp8_grid));
    changed = changed || fused;
  }
  return changed;
}

}  // namespace wootz
