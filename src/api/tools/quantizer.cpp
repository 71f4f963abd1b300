#include "api/tools/quantizer.h"

#include <algorithm>

#include "api/tools/compare_engines.h"
#include "backends/registry.h"
#include "build/find_scales.h"
#include "onnx/import.h"
#include "quant/calibration_source.h"

namespace wootz::api {
namespace {

// The batches, one after the other.
class BatchSource final : public CalibrationSource {
 public:
  BatchSource(const std::vector<Batch>& batches, const RangeRule& rule) : batches_(batches), rule_(rule) {}
  RangeRule rule() const override { return rule_; }
  int batch_size() const override {
    const HostTensor& first = batches_.front().begin()->second;
    return first.rank() == 0 ? 1 : static_cast<int>(first.dims()[0]);
  }
  Result<bool> next_batch(const std::vector<std::string>& inputs, CalibrationBatch* batch) override {
    if (next_ == batches_.size()) return false;
    const Batch& here = batches_[next_++];
    batch->on_host = true;
    for (const std::string& name : inputs) {
      const HostTensor& array = here.at(name);
      batch->addresses.push_back(array.data());
      batch->bytes.push_back(array.bytes());
    }
    return true;
  }
  Result<std::string> read_cache() override { return std::string(); }
  Status write_cache(const std::string&) override { return Status(); }

 private:
  const std::vector<Batch>& batches_;
  RangeRule rule_;
  size_t next_ = 0;
};

// What differs between the two networks is the format alone: nothing else is rounded.
BuildSettings plain(BuildSettings settings) {
  settings.fp16 = settings.bf16 = settings.int8 = settings.tf32 = false;
  settings.scales.clear();
  settings.layer_types.clear();
  settings.refit.reset();
  settings.border.clear();
  settings.native = KeepNative::kNone;
  settings.keep_values = true;
  settings.portable = false;
  settings.measure = false;
  settings.level = 0;
  settings.aux_streams = 0;
  return settings;
}

std::string first_reason(const std::vector<EditedLayer>& layers) {
  if (layers.empty()) return "the model has no convolution and no product in its main graph";
  return fmt::format("layer '{}': {}", layers.front().name, layers.front().why_not);
}

}  // namespace

Quantizer::Quantizer(const std::vector<Batch>& batches, QuantizeOptions options, BuildSettings settings,
                     BuildServices services, const Reporter& reporter)
    : batches_(batches),
      options_(std::move(options)),
      asked_to_keep_(options_.rules.keep),
      settings_(plain(std::move(settings))),
      services_(services),
      reporter_(reporter) {
  settings_.sparse_weights = options_.rules.sparse;  // what is measured to be the fastest has such tactics
}

Result<std::unique_ptr<Quantizer>> Quantizer::open(const std::string& path, const std::vector<Batch>& batches,
                                                   QuantizeOptions options, BuildSettings settings,
                                                   BuildServices services, const Reporter& reporter) {
  std::unique_ptr<Quantizer> made(new Quantizer(batches, std::move(options), std::move(settings), services, reporter));
  made->path_ = path;
  WOOTZ_ASSIGN_OR_RETURN(made->model_, EditableModel::open(path));
  WOOTZ_ASSIGN_OR_RETURN(made->graph_, import_file(path));
  WOOTZ_RETURN_IF_ERROR(check_batches(*made->graph_, batches));
  made->settings_.profiles = profile_of(*made->graph_, batches.front());
  return made;
}

Status Quantizer::run() {
  FormatRules& rules = options_.rules;
  const bool searches = options_.budget >= 0 || options_.sensitivity || options_.best;
  const std::vector<NumberFormat>& formats = options_.formats;
  const bool int8 = std::count(formats.begin(), formats.end(), NumberFormat::kInt8) != 0;
  const bool corrects = int8 && options_.correct_biases;
  ProgressPhase phase(services_.progress, "Quantize", nullptr, 3 + (searches ? 1 : 0) + (corrects ? 1 : 0));
  int done = 0;
  WOOTZ_ASSIGN_OR_RETURN(const Backend* backend, find_backend(settings_.backend));
  rules.zero_points = options_.zero_points.value_or(int8 && formats.size() == 1 && backend->can.unsigned_bytes);
  if (std::any_of(formats.begin(), formats.end(), has_activation_scales)) WOOTZ_RETURN_IF_ERROR(calibrate());
  const auto note = [&](const Value& value) {
    rules.types[value.name()] = value.dtype();
    rules.ranks[value.name()] = value.rank();
  };
  for (const Value* input : graph_->inputs()) note(*input);
  for (const Node* node = graph_->first(); node != nullptr; node = node->next())
    for (const Value* value : node->outputs()) note(*value);
  if (!phase.step(done++)) return phase.status();
  WOOTZ_RETURN_IF_ERROR(run_in_float());
  if (!phase.step(done++)) return phase.status();
  WOOTZ_RETURN_IF_ERROR(choose_formats());
  if (searches) {
    if (options_.best) WOOTZ_RETURN_IF_ERROR(time_formats());
    WOOTZ_RETURN_IF_ERROR(measure_sensitivity());
    if (options_.budget >= 0) WOOTZ_RETURN_IF_ERROR(meet_budget());
    if (!phase.step(done++)) return phase.status();
  }
  if (corrects) {
    WOOTZ_RETURN_IF_ERROR(correct_if_better());
    if (!phase.step(done++)) return phase.status();
  }
  WOOTZ_RETURN_IF_ERROR(compare_all());
  phase.step(done);
  return phase.status();
}

Status Quantizer::calibrate() {
  BatchSource source(batches_, options_.ranges);
  BuildServices services = services_;
  services.calibration = &source;
  // The graph stays as it is for what follows.
  const std::shared_ptr<Graph> graph = copy_of_network(*graph_);
  WOOTZ_ASSIGN_OR_RETURN(CalibrationResult found, find_scales(*graph, settings_, services));
  options_.rules.scales.insert(found.scales.begin(), found.scales.end());
  options_.rules.least.insert(found.least.begin(), found.least.end());
  return Status();
}

Status Quantizer::run_in_float() {
  const std::shared_ptr<Graph> graph = copy_of_network(*graph_);
  WOOTZ_ASSIGN_OR_RETURN(const ToolEngine in_float, make_engine(*graph, settings_, services_, reporter_));
  WOOTZ_ASSIGN_OR_RETURN(const std::unique_ptr<EngineRun> run, EngineRun::create(in_float.engine.get()));
  std::set<std::string> names;
  for (const Value* output : graph_->outputs()) names.insert(output->name());
  WOOTZ_RETURN_IF_ERROR(run->show(names));
  for (const Batch& batch : batches_) {
    Batch& outputs = outputs_.emplace_back();
    const TakeValue keep = [&](const std::string& name, HostTensor value) {
      outputs[name] = std::move(value);
      return Status();
    };
    WOOTZ_RETURN_IF_ERROR(run->run(batch, keep));
  }
  return Status();
}

// Every layer in the first format that it can have.
Status Quantizer::choose_formats() {
  FormatRules& rules = options_.rules;
  for (const NumberFormat format : options_.formats) {
    rules.format = format;
    WOOTZ_RETURN_IF_ERROR(convert(rules.keep, settings_).status());
    choices_.resize(layers_.size());
    for (size_t i = 0; i < layers_.size(); ++i)
      if (layers_[i].why_not.empty()) choices_[i].push_back({format, 0, std::nullopt});
  }
  rules.format = options_.formats.front();
  if (std::all_of(choices_.begin(), choices_.end(), [](const auto& of) { return of.empty(); }))
    return invalid_argument("nothing is quantized: {}", first_reason(layers_));
  for (const EditedLayer& layer : layers_) report_.layers.emplace_back().name = layer.name;
  at_.assign(layers_.size(), 0);
  settle(at_);
  return Status();
}

Result<std::shared_ptr<Graph>> Quantizer::converted_graph(const std::set<std::string, std::less<>>& keep) {
  FormatRules rules = options_.rules;
  rules.keep = keep;
  converted_ = model_->copy();
  WOOTZ_RETURN_IF_ERROR(converted_->convert(rules, &layers_));
  WOOTZ_ASSIGN_OR_RETURN(const std::string bytes, converted_->bytes());
  ImportOptions options;
  options.model_dir = model_->folder();
  Result<std::shared_ptr<Graph>> graph = import_model(std::as_bytes(std::span(bytes)), options);
  if (!graph.ok()) return graph.status().with_prefix("the converted model");
  return graph;
}

Result<ToolEngine> Quantizer::convert(const std::set<std::string, std::less<>>& keep, const BuildSettings& settings) {
  WOOTZ_ASSIGN_OR_RETURN(const std::shared_ptr<Graph> graph, converted_graph(keep));
  return make_engine(*graph, settings, services_, reporter_);
}

Result<std::vector<OutputError>> Quantizer::output_errors(EngineImpl& engine) const {
  WOOTZ_ASSIGN_OR_RETURN(const std::unique_ptr<EngineRun> run, EngineRun::create(&engine));
  std::map<std::string, ValueErrors> errors;
  std::set<std::string> names;
  for (const auto& [name, value] : outputs_.front()) names.insert(name);
  WOOTZ_RETURN_IF_ERROR(run->show(names));
  for (size_t b = 0; b < batches_.size(); ++b) {
    const TakeValue compare = [&](const std::string& name, HostTensor value) {
      return errors[name].add(outputs_[b].at(name), value).with_prefix(fmt::format("output '{}'", name));
    };
    WOOTZ_RETURN_IF_ERROR(run->run(batches_[b], compare));
  }
  std::vector<OutputError> list;
  for (const auto& [name, each] : errors) {
    if (each.mismatched() != 0)
      return invalid_argument("output '{}' has infinities or NaN that the model in float has not", name);
    list.push_back({name, each.error(), each.largest_difference(), each.cosine()});
  }
  return list;
}

Result<double> Quantizer::error_with(const std::set<std::string, std::less<>>& keep) {
  WOOTZ_ASSIGN_OR_RETURN(const ToolEngine made, convert(keep, settings_));
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<OutputError> errors, output_errors(*made.engine));
  return largest_error(errors);
}

// The network as it is written: its outputs, and the layers' results, which are kept whole for it.
Status Quantizer::compare_all() {
  WOOTZ_ASSIGN_OR_RETURN(const ToolEngine written, convert(options_.rules.keep, settings_));
  WOOTZ_ASSIGN_OR_RETURN(report_.outputs, output_errors(*written.engine));
  BuildSettings whole = settings_;
  for (const EditedLayer& layer : layers_) whole.debug_tensors.insert(layer.output);
  const std::shared_ptr<Graph> graph = copy_of_network(*graph_);
  WOOTZ_ASSIGN_OR_RETURN(const ToolEngine in_float, make_engine(*graph, whole, services_, reporter_));
  WOOTZ_ASSIGN_OR_RETURN(const ToolEngine narrow, convert(options_.rules.keep, whole));
  WOOTZ_ASSIGN_OR_RETURN(const std::unique_ptr<EngineRun> a, EngineRun::create(in_float.engine.get()));
  WOOTZ_ASSIGN_OR_RETURN(const std::unique_ptr<EngineRun> b, EngineRun::create(narrow.engine.get()));
  WOOTZ_ASSIGN_OR_RETURN(const Comparison comparison, compare_engines(*a, *b, batches_, 0));
  std::map<std::string, double> errors;
  for (const ComparedValue& value : comparison.values)
    if (value.not_comparable.empty()) errors[value.name] = value.errors.error();
  report_layers(errors);
  return Status();
}

void Quantizer::report_layers(const std::map<std::string, double>& errors) {
  std::map<std::string, QuantizedLayer> found;  // by the search
  for (QuantizedLayer& layer : report_.layers) found[layer.name] = std::move(layer);
  report_.layers.clear();
  for (const EditedLayer& from : layers_) {
    QuantizedLayer& to = report_.layers.emplace_back(std::move(found[from.name]));
    to.name = from.name;
    to.op = from.op;
    to.input = from.input;
    to.output = from.output;
    const bool found_so = options_.rules.keep.contains(from.name) && !asked_to_keep_.contains(from.name);
    const bool slow = !to.times.empty() && choices_[report_.layers.size() - 1].empty();
    to.why_not = !found_so ? from.why_not : slow ? "faster in float" : "kept in float by the budget";
    to.format = number_format_name(from.format);
    to.scale = from.scale;
    to.range = from.range;
    to.zero_point = from.zero_point;
    to.correction = from.why_not.empty() ? correction_of(from.name) : std::nullopt;
    std::copy(std::begin(from.weight_scale), std::end(from.weight_scale), std::begin(to.weight_scale));
    to.weight_error = from.weight_error;
    to.pruned = from.pruned;
    to.not_pruned = from.not_pruned;
    if (const auto error = errors.find(from.output); error != errors.end()) to.error = error->second;
  }
  report_.model = path_;
  for (const NumberFormat format : options_.formats) {
    report_.format += fmt::format("{}{}", report_.format.empty() ? "" : ",", number_format_name(format));
    if (has_activation_scales(format)) report_.ranges = range_method_name(options_.ranges.method);
  }
  if (options_.rules.sparse) report_.sparse = "2:4";
  report_.batches = batches_.size();
  if (options_.budget >= 0) report_.budget = options_.budget;
}

}  // namespace wootz::api
