#include "report/quantized_layers.h"

#include <algorithm>

namespace wootz {
namespace {

Json layer_json(const QuantizedLayer& layer) {
  Json json = {{"name", layer.name}, {"op", layer.op}, {"input", layer.input}, {"output", layer.output}};
  json["in_format"] = layer.why_not.empty();
  if (!layer.why_not.empty()) json["why_not"] = layer.why_not;
  if (layer.scale > 0) {
    json["scale"] = layer.scale;
    json["range"] = layer.range;
    if (layer.zero_point != 0) json["zero_point"] = layer.zero_point;
  }
  if (layer.weight_scale[1] > 0) json["weight_scales"] = {layer.weight_scale[0], layer.weight_scale[1]};
  if (layer.why_not.empty()) json["weight_error"] = layer.weight_error;
  if (layer.pruned) json["pruned"] = *layer.pruned;
  if (!layer.not_pruned.empty()) json["not_pruned"] = layer.not_pruned;
  if (layer.correction) json["correction"] = *layer.correction;
  if (layer.error) json["error"] = *layer.error;
  if (layer.sensitivity) json["sensitivity"] = *layer.sensitivity;
  if (layer.why_not.empty()) json["format"] = layer.format;
  for (const auto& [format, us] : layer.times) json["times_us"][format] = us;
  return json;
}

std::string figure(const Json& layer, const char* key) {
  return layer.contains(key) ? fmt::format("{:.3g}", layer[key].get<double>()) : "";
}

std::string cut(const std::string& name, size_t most) {
  return name.size() <= most ? name : "..." + name.substr(name.size() - most + 3);
}

std::string layer_row(const Json& layer, bool sparse) {
  const bool narrow = layer["in_format"].get<bool>();
  std::string text = fmt::format("{:<34} {:<9} {:<5} {:>9} {:>9}", cut(layer["name"].get<std::string>(), 34),
                                 layer["op"].get<std::string>(), narrow ? layer["format"].get<std::string>() : "float",
                                 figure(layer, "range"), figure(layer, "scale"));
  if (sparse) text += fmt::format(" {:>9}", figure(layer, "pruned"));
  for (const char* key : {"weight_error", "error", "sensitivity"}) text += fmt::format(" {:>9}", figure(layer, key));
  if (!narrow) text += "  " + layer["why_not"].get<std::string>();
  if (layer.contains("not_pruned")) text += "  not pruned: " + layer["not_pruned"].get<std::string>();
  return text + "\n";
}

}  // namespace

double largest_error(const std::vector<OutputError>& outputs) {
  double largest = 0;
  for (const OutputError& output : outputs) largest = std::max(largest, output.error);
  return largest;
}

Json quantization_json(const QuantizationReport& report) {
  Json json = {{"model", report.model}, {"output", report.output}, {"format", report.format}};
  if (!report.ranges.empty()) json["ranges"] = report.ranges;
  json["batches"] = report.batches;
  size_t narrow = 0, pruned = 0;
  for (const QuantizedLayer& layer : report.layers) {
    narrow += layer.why_not.empty() ? 1 : 0;
    pruned += layer.pruned ? 1 : 0;
  }
  json["layers_in_format"] = narrow;
  if (!report.sparse.empty()) {
    json["sparse"] = report.sparse;
    json["layers_pruned"] = pruned;
  }
  json["error"] = largest_error(report.outputs);
  if (report.budget) json["budget"] = *report.budget;
  if (report.uncorrected) {
    json["biases_corrected"] = report.corrected;
    json["error_uncorrected"] = *report.uncorrected;
  }
  for (const OutputError& output : report.outputs)
    json["outputs"].push_back({{"name", output.name},
                               {"error", output.error},
                               {"largest_difference", output.largest_difference},
                               {"cosine", output.cosine}});
  for (const auto& point : report.curve)
    json["curve"].push_back({{"layers_in_float", point.in_float}, {"moves", point.moves}, {"error", point.error}});
  Json& layers = json["layers"] = Json::array();
  for (const QuantizedLayer& layer : report.layers) layers.push_back(layer_json(layer));
  return json;
}

std::string quantization_text(const Json& report) {
  const std::string format = report["format"];
  const bool sparse = report.contains("sparse");
  std::string text = fmt::format("{:<34} {:<9} {:<5} {:>9} {:>9}{} {:>9} {:>9} {:>9}\n", "layer", "op", "in", "range",
                                 "scale", sparse ? "    pruned" : "", "weights", "result", "alone");
  for (const Json& layer : report["layers"]) text += layer_row(layer, sparse);
  text +=
      "(errors are root mean squares as parts of the values': of the weights, of the layer's result, of the "
      "network's outputs by it alone)\n";
  if (sparse) text += "(pruned: the weights that became 0, as such a part; rounding is of those that are left)\n";
  if (report.contains("curve"))
    for (const Json& point : report["curve"])
      text += fmt::format("{} layers in float: error {:.3g}\n", point["layers_in_float"].get<size_t>(),
                          point["error"].get<double>());
  if (report.contains("outputs"))
    for (const Json& output : report["outputs"])
      text += fmt::format("output '{}': error {:.3g}, cosine {:.6f}\n", output["name"].get<std::string>(),
                          output["error"].get<double>(), output["cosine"].get<double>());
  if (report.contains("biases_corrected"))
    text +=
        fmt::format("biases {}: error {:.3g} without a correction\n",
                    report["biases_corrected"].get<bool>() ? "corrected" : "as they were, a correction gains nothing",
                    report["error_uncorrected"].get<double>());
  text +=
      fmt::format("{} of {} layers in {}", report["layers_in_format"].get<size_t>(), report["layers"].size(), format);
  if (sparse && report.contains("layers_pruned"))
    text += fmt::format(", {} pruned {}", report["layers_pruned"].get<size_t>(), report["sparse"].get<std::string>());
  return text + "\n";
}

}  // namespace wootz
