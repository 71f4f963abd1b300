#include "api/io_formats.h"

#include <algorithm>

#include "api/runtime/tensor_formats.h"
#include "base/json.h"

namespace wootz::api {

using nvinfer1::TensorFormat;

namespace {

bool allows(const TensorImpl& tensor, const TensorFormatInfo& format) {
  return (tensor.getAllowedFormats() >> static_cast<uint32_t>(format.format) & 1U) != 0;
}

// Why a value cannot be in a format; empty: it can.
std::string refusal(const TensorFormatInfo& format, const Value& value) {
  if (format.layout == Layout::kOpaque) return "it is for DLA, which is not here";
  const auto rank = static_cast<int>(value.shape().size());
  if (format.rank != 0 && rank < format.rank - 1)  // the batch may be missing, for TensorRT
    return fmt::format("it is for tensors of {} dimensions or more", format.rank - 1);
  if (format.rank != 0 && rank != format.rank)
    return fmt::format(
        "it is had for tensors of {} dimensions here, batch and channels first: put an extent of 1 in front, or make "
        "one of those in front",
        format.rank);
  return format.layout != Layout::kLinear && dtype_bits(value.dtype()) < 8 ? "it is for elements of whole bytes" : "";
}

Layout layout_in(const TensorFormatInfo& format, const Shape& shape) {
  return layout_of(format, shape.size() >= 2 && shape[1].is_const() ? shape[1].value() : -1);
}

Result<BorderWish> wish_of(const TensorImpl& tensor, const Value& value, bool direct, bool settled) {
  BorderWish wish{tensor.name(), {}, direct};
  std::string why;
  for (const TensorFormatInfo& format : tensor_formats()) {
    if (!allows(tensor, format)) continue;
    const std::string refused = refusal(format, value);
    const Layout layout = refused.empty() ? layout_in(format, value.shape()) : Layout::kOpaque;
    if (!refused.empty())
      why += fmt::format("; {}: {}", format.name, refused);
    else if (std::find(wish.allowed.begin(), wish.allowed.end(), layout) == wish.allowed.end())
      wish.allowed.push_back(layout);
  }
  if (wish.allowed.empty())
    return unsupported("tensor '{}' of shape {} has none of the formats that are allowed for it{}: allow {}",
                       tensor.name(), shape_to_string(value.shape()), why, tensor_formats()[0].name);
  // What layers may take comes first.
  std::stable_partition(wish.allowed.begin(), wish.allowed.end(), [](Layout l) { return !at_border_only(l); });
  if (settled) wish.allowed.resize(1);
  return wish;
}

const Value* value_of(const Graph& graph, const std::string& name) {
  for (const auto* list : {&graph.inputs(), &graph.outputs()})
    for (const Value* value : *list)
      if (value->name() == name) return value;
  return nullptr;
}

}  // namespace

Result<std::vector<BorderWish>> border_wishes(const NetworkImpl& network, const Graph& graph, bool direct,
                                              bool settled) {
  std::vector<BorderWish> wishes;
  for (const auto* list : {&network.inputs(), &network.outputs()})
    for (const TensorImpl* tensor : *list) {
      const Value* value = value_of(graph, tensor->name());
      if (value == nullptr || !tensor->formats_are_set()) continue;
      if (allows(*tensor, tensor_formats()[0]) && !direct) continue;
      WOOTZ_ASSIGN_OR_RETURN(BorderWish wish, wish_of(*tensor, *value, direct, settled));
      wishes.push_back(std::move(wish));
    }
  return wishes;
}

std::string formats_json(const NetworkImpl& network, const Program& program) {
  OrderedJson json;
  const auto add = [&](const std::vector<IoTensor>& ios, const std::vector<TensorImpl*>& tensors) {
    for (const IoTensor& io : ios) {
      const PlanTensor& made = program.tensors[io.tensor];
      const auto tensor =
          std::find_if(tensors.begin(), tensors.end(), [&](const TensorImpl* t) { return t->name() == made.name; });
      if (made.layout == Layout::kLinear || tensor == tensors.end()) continue;
      for (const TensorFormatInfo& format : tensor_formats()) {
        const bool rank = format.rank == static_cast<int>(made.dims.size());
        if (!allows(**tensor, format) || !rank || layout_of(format, program, made) != made.layout) continue;
        json[made.name] = static_cast<int>(format.format);
        break;
      }
    }
  };
  add(program.inputs, network.inputs());
  add(program.outputs, network.outputs());
  return json.is_null() ? "" : json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace wootz::api
