// What rounding moves the means of layers' results by is added to their biases: one layer after the other, each
// measured with the layers in front of it corrected. All at once, each would correct what the layers in front of it
// still cause.
#include <cmath>

#include "api/tools/quantizer.h"
#include "build/calibration_run.h"
#include "quant/bias_inputs.h"

namespace wootz::api {
namespace {

struct Corrected {
  const EditedLayer* layer;
  BiasInput bias;
  int rank = 0;
  std::vector<float> in_float;  // means of the result
};

// An inference that is ended where its value has come says so as an error, which is none. What else fails is kept.
class LastError final : public nvinfer1::ILogger {
 public:
  void log(Severity severity, const char* text) noexcept override {
    if (severity > Severity::kERROR || text == nullptr) return;
    try {
      text_ = text;
    } catch (...) {
      text_.clear();
    }
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Of one value, over all batches; what comes after it is not computed.
Result<ChannelMeans> means_of(EngineRun& run, const Corrected& layer, const std::vector<Batch>& batches,
                              const Batch& biases, const LastError& errors) {
  const std::string& name = layer.bias.value;
  ChannelMeans means;
  WOOTZ_RETURN_IF_ERROR(run.show({name}));
  for (const Batch& batch : batches) {
    Batch given = batch;
    given.insert(biases.begin(), biases.end());
    bool seen = false;
    const Status ran = run.run(given, [&](const std::string& of, HostTensor value) -> Status {
      if (of != name) return Status();
      seen = true;
      WOOTZ_RETURN_IF_ERROR(means.add(value, result_channel_axis(layer.bias.op, layer.rank)));
      return make_error(Code::kCancelled, "'{}' is there", name);
    });
    if (seen && ran.code() == Code::kCancelled) continue;
    if (!ran.ok()) return Status(ran).with_prefix(errors.text());
    return make_error(Code::kInternal, "value '{}' was not computed", name);
  }
  WOOTZ_RETURN_IF_ERROR(run.show({name}, false));
  return means;
}

double root_mean_square(std::span<const float> values) {
  double sum = 0;
  for (const float v : values) sum += static_cast<double>(v) * static_cast<double>(v);
  return values.empty() ? 0 : std::sqrt(sum / static_cast<double>(values.size()));
}

std::set<std::string> results_of(const std::vector<EditedLayer>& layers) {
  std::set<std::string> names;
  for (const EditedLayer& layer : layers)
    if (layer.why_not.empty() && layer.format == NumberFormat::kInt8) names.insert(layer.output);
  return names;
}

// Results that the engine does not hold in a tensor of floats are left out.
Result<std::vector<Corrected>> means_in_float(EngineRun& run, const std::vector<EditedLayer>& layers,
                                              const std::vector<Batch>& batches) {
  const std::set<std::string> wanted = results_of(layers);
  std::set<std::string> names;
  for (const std::string& name : wanted)
    if (run.values().contains(name)) names.insert(name);
  WOOTZ_RETURN_IF_ERROR(run.show(names));
  std::map<std::string, const EditedLayer*> by_result;
  for (const EditedLayer& layer : layers) by_result[layer.output] = &layer;
  std::map<std::string, ChannelMeans> means;
  std::map<std::string, int> ranks;
  for (const Batch& batch : batches)
    WOOTZ_RETURN_IF_ERROR(run.run(batch, [&](const std::string& name, HostTensor value) -> Status {
      if (!names.contains(name) || value.dtype() != DType::kF32 || value.rank() == 0) return Status();
      ranks[name] = value.rank();
      return means[name].add(value, result_channel_axis(by_result.at(name)->op, value.rank()));
    }));
  std::vector<Corrected> found;
  for (const EditedLayer& layer : layers) {
    const auto at = means.find(layer.output);
    if (at == means.end()) continue;
    Corrected& one =
        found.emplace_back(Corrected{.layer = &layer, .rank = ranks[layer.output], .in_float = at->second.means()});
    one.bias = {layer.output, layer.op, static_cast<int64_t>(one.in_float.size())};
  }
  return found;
}

}  // namespace

Status Quantizer::correct_biases() {
  BuildSettings whole = settings_;
  for (const std::string& name : results_of(layers_)) whole.debug_tensors.insert(name);
  const std::shared_ptr<Graph> in_float = copy_of_network(*graph_);
  WOOTZ_ASSIGN_OR_RETURN(const ToolEngine exact, make_engine(*in_float, whole, services_, reporter_));
  WOOTZ_ASSIGN_OR_RETURN(const std::unique_ptr<EngineRun> floats, EngineRun::create(exact.engine.get()));
  const std::vector<EditedLayer> layers = layers_;
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<Corrected> all, means_in_float(*floats, layers, batches_));
  WOOTZ_ASSIGN_OR_RETURN(const std::shared_ptr<Graph> narrow, converted_graph(options_.rules.keep));
  std::vector<BiasInput> inputs;
  for (const Corrected& each : all) inputs.push_back(each.bias);
  WOOTZ_RETURN_IF_ERROR(add_bias_inputs(*narrow, inputs));
  LastError errors;
  const Reporter reporter(AppLogger{&errors, ApiLevel::k10});
  WOOTZ_ASSIGN_OR_RETURN(const ToolEngine rounded, make_engine(*narrow, whole, services_, reporter));
  WOOTZ_ASSIGN_OR_RETURN(const std::unique_ptr<EngineRun> run, EngineRun::create(rounded.engine.get()));
  Batch biases;
  for (const Corrected& each : all) {
    const std::vector<float> none(each.in_float.size(), 0.F);
    WOOTZ_ASSIGN_OR_RETURN(biases[bias_input_name(each.bias)], bias_array(each.bias, each.rank, none));
  }
  ProgressPhase phase(services_.progress, "Correct biases", "Quantize", static_cast<int>(all.size()));
  for (size_t i = 0; i < all.size(); ++i) {
    const Corrected& each = all[i];
    WOOTZ_ASSIGN_OR_RETURN(const ChannelMeans means, means_of(*run, each, batches_, biases, errors));
    std::vector<float> missing = each.in_float;
    const std::vector<float> here = means.means();
    for (size_t c = 0; c < missing.size() && c < here.size(); ++c) missing[c] -= here[c];
    WOOTZ_ASSIGN_OR_RETURN(biases[bias_input_name(each.bias)], bias_array(each.bias, each.rank, missing));
    options_.rules.corrections[each.layer->name] = std::move(missing);
    if (!phase.step(static_cast<int>(i))) return phase.status();
  }
  return phase.status();
}

// The corrections are made for the means of the layers' results; what counts is the error of the network's outputs.
Status Quantizer::correct_if_better() {
  WOOTZ_ASSIGN_OR_RETURN(const double before, error_with(options_.rules.keep));
  WOOTZ_RETURN_IF_ERROR(correct_biases());
  WOOTZ_ASSIGN_OR_RETURN(const double after, error_with(options_.rules.keep));
  report_.uncorrected = before;
  report_.corrected = after < before;
  if (!report_.corrected) options_.rules.corrections.clear();
  return Status();
}

std::optional<double> Quantizer::correction_of(const std::string& layer) const {
  const auto found = options_.rules.corrections.find(layer);
  if (found == options_.rules.corrections.end()) return std::nullopt;
  return root_mean_square(found->second);
}

}  // namespace wootz::api
