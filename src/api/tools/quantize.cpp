// The C entry points of quantization.
#include <algorithm>

#include "api/builder.h"
#include "api/builder_config.h"
#include "api/monitored_progress.h"
#include "api/runtime/host_memory.h"
#include "api/runtime/made_here.h"
#include "api/tools/quantizer.h"
#include "wootz/extensions.h"

namespace wootz::api {
namespace {

using Made = Result<nvinfer1::IHostMemory*>;

constexpr double kQuantile = 0.9999;  // of the legacy calibrator

Status read_method(const Json& value, RangeRule* rule) {
  WOOTZ_ASSIGN_OR_RETURN(rule->method,
                         range_method_from_option(value.is_string() ? value.get<std::string>() : std::string()));
  rule->quantile = kQuantile;
  rule->cutoff = 0;
  return Status();
}

Status read_count(const Json& value, int* count) {
  if (!value.is_number_integer() || value.get<int64_t>() < 1 || value.get<int64_t>() > 1 << 20)
    return invalid_argument("a whole number from 1 is wanted");
  *count = static_cast<int>(value.get<int64_t>());
  return Status();
}

Status read_flag(const Json& value, bool* flag) {
  if (!value.is_boolean()) return invalid_argument("true or false is wanted");
  *flag = value.get<bool>();
  return Status();
}

struct OptionRow {
  const char* key;
  Status (*read)(const Json& value, QuantizeOptions* options);
};
constexpr OptionRow kOptions[] = {
    {"format",
     [](const Json& value, QuantizeOptions* o) -> Status {
       std::string_view rest = value.is_string() ? std::string_view(value.get_ref<const std::string&>()) : "";
       o->formats.clear();
       while (true) {
         const size_t comma = rest.find(',');
         WOOTZ_ASSIGN_OR_RETURN(const NumberFormat format, number_format_from_name(rest.substr(0, comma)));
         if (std::count(o->formats.begin(), o->formats.end(), format) == 0) o->formats.push_back(format);
         if (comma == std::string_view::npos) break;
         rest.remove_prefix(comma + 1);
       }
       o->rules.format = o->formats.front();
       return Status();
     }},
    {"algorithm", [](const Json& value, QuantizeOptions* o) { return read_method(value, &o->ranges); }},
    {"keep",
     [](const Json& value, QuantizeOptions* o) {
       if (!value.is_array()) return invalid_argument("a list of names is wanted");
       for (const Json& name : value) {
         if (!name.is_string()) return invalid_argument("a list of names is wanted");
         o->rules.keep.insert(name.get<std::string>());
       }
       return Status();
     }},
    {"block", [](const Json& value, QuantizeOptions* o) { return read_count(value, &o->rules.block); }},
    {"zero_points", [](const Json& value, QuantizeOptions* o) { return read_flag(value, &o->zero_points.emplace()); }},
    {"bias_correction", [](const Json& value, QuantizeOptions* o) { return read_flag(value, &o->correct_biases); }},
    {"budget",
     [](const Json& value, QuantizeOptions* o) {
       if (!value.is_number() || !(value.get<double>() >= 0)) return invalid_argument("a number from 0 is wanted");
       o->budget = value.get<double>();
       return Status();
     }},
    {"sensitivity", [](const Json& value, QuantizeOptions* o) { return read_flag(value, &o->sensitivity); }},
    {"sparse",
     [](const Json& value, QuantizeOptions* o) {
       if (value != "2:4")
         return invalid_argument("'{}' is no pattern of zeros that there is: 2:4 (two of each four weights) is",
                                 value.is_string() ? value.get<std::string>() : value.dump());
       o->rules.sparse = true;
       return Status();
     }},
    {"best", [](const Json& value, QuantizeOptions* o) { return read_flag(value, &o->best); }},
    {"dynamic", [](const Json& value, QuantizeOptions* o) { return read_flag(value, &o->dynamic); }},
};

// Int8 by scales that are found while the model runs.
Status make_dynamic(QuantizeOptions* options) {
  const auto found = std::find(options->formats.begin(), options->formats.end(), NumberFormat::kInt8);
  if (found == options->formats.end())
    return invalid_argument("option 'dynamic' is of int8: activations in {} get no scales while the model runs",
                            number_format_name(options->rules.format));
  *found = NumberFormat::kInt8Dynamic;
  options->rules.format = options->formats.front();
  return Status();
}

Result<QuantizeOptions> read_options(const char* text) {
  QuantizeOptions options;
  options.ranges.method = RangeMethod::kLeastError;
  const Json json = Json::parse(text == nullptr || *text == '\0' ? "{}" : text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return invalid_argument("the options are no JSON object");
  // Eight bits of a float reach far: nothing is gained by a range that is cut.
  const Json* const format = json.contains("format") ? &json["format"] : nullptr;
  if (format != nullptr && *format == "fp8") options.ranges.method = RangeMethod::kMinMax;
  for (const auto& [key, value] : json.items()) {
    const OptionRow* const row = std::find_if(std::begin(kOptions), std::end(kOptions),
                                              [&, &name = key](const OptionRow& r) { return name == r.key; });
    if (row == std::end(kOptions)) return invalid_argument("there is no option '{}'", key);
    WOOTZ_RETURN_IF_ERROR(row->read(value, &options).with_prefix(fmt::format("option '{}'", key)));
  }
  if (options.dynamic) WOOTZ_RETURN_IF_ERROR(make_dynamic(&options));
  const std::vector<NumberFormat>& formats = options.formats;
  if (formats.size() > 1 && !options.best)
    return invalid_argument("option 'format': 'best' chooses between several of them");
  if (formats.size() > 1 && std::any_of(formats.begin(), formats.end(), is_float_format))
    return invalid_argument(
        "option 'format': fp16, bf16 and fp32 are for whole models, with no other format beside them");
  if (options.rules.format == NumberFormat::kFp32 && !options.rules.sparse)
    return invalid_argument("option 'format': fp32 changes nothing without 'sparse', which prunes weights");
  if (json.contains("algorithm") && std::none_of(formats.begin(), formats.end(), has_activation_scales))
    return invalid_argument("option 'algorithm': {} has no ranges of activations",
                            number_format_name(options.rules.format));
  const auto has = [&](NumberFormat one) { return std::count(formats.begin(), formats.end(), one) != 0; };
  if (json.contains("block") && !has(NumberFormat::kInt4))
    return invalid_argument("option 'block' is of int4{}",
                            has(NumberFormat::kNvfp4)   ? "; blocks of nvfp4 have 16 elements"
                            : has(NumberFormat::kMxfp8) ? "; blocks of mxfp8 have 32 elements"
                                                        : "");
  if (json.contains("zero_points") && !has(NumberFormat::kInt4) && !has(NumberFormat::kInt8))
    return invalid_argument("option 'zero_points' is of int4 and int8");
  if (json.contains("bias_correction") && !has(NumberFormat::kInt8))
    return invalid_argument("option 'bias_correction' is of int8");
  return options;
}

Made quantize(void* builder, void* config, const char* model, const char* output, const void* batches,
              const char* text) {
  auto* our_builder = made_here<BuilderImpl>(static_cast<nvinfer1::IBuilder*>(builder));
  auto* our_config = made_here<BuilderConfigImpl>(static_cast<nvinfer1::IBuilderConfig*>(config));
  if (our_builder == nullptr || our_config == nullptr)
    return invalid_argument("the builder or the config was not made by this library");
  if (model == nullptr || output == nullptr || batches == nullptr)
    return invalid_argument("the model, the output or the batches are null");
  WOOTZ_ASSIGN_OR_RETURN(QuantizeOptions options, read_options(text));
  WOOTZ_ASSIGN_OR_RETURN(BuildSettings settings, our_config->to_settings());
  if (settings.device)
    return unsupported("quantizing runs the network: give a device that is here, not a description of one");
  MonitoredProgress progress(our_config->getProgressMonitor());
  BuildServices services;
  services.log = &our_builder->reporter();
  services.progress = &progress;
  const std::vector<Batch>& all = static_cast<const Batches*>(batches)->all;
  WOOTZ_ASSIGN_OR_RETURN(
      const std::unique_ptr<Quantizer> quantizer,
      Quantizer::open(model, all, std::move(options), std::move(settings), services, our_builder->reporter()));
  WOOTZ_RETURN_IF_ERROR(quantizer->run());
  WOOTZ_RETURN_IF_ERROR(quantizer->write(output));
  QuantizationReport report = quantizer->report();
  report.output = output;
  const std::string json = dump_report(quantization_json(report));
  return new HostMemory(std::span(reinterpret_cast<const std::byte*>(json.c_str()), json.size() + 1));
}

}  // namespace
}  // namespace wootz::api

using namespace wootz;       // NOLINT: what follows are the doors of
using namespace wootz::api;  // NOLINT: these namespaces

extern "C" {

void* wootz_quantize(void* builder, void* config, const char* model, const char* output, const void* batches,
                     const char* options) noexcept {
  auto* ours = made_here<BuilderImpl>(static_cast<nvinfer1::IBuilder*>(builder));
  const Reporter reporter = ours == nullptr ? Reporter(process_logger()) : Reporter(ours->reporter());
  return attempt_or<nvinfer1::IHostMemory*>(reporter, "wootz_quantize", nullptr, [&] {
    return wootz::api::quantize(builder, config, model, output, batches, options);
  });
}

void* wootz_quantization_as(const char* report, const char* format) noexcept {
  return attempt_or<nvinfer1::IHostMemory*>(
      Reporter(process_logger()), "wootz_quantization_as", nullptr, [&]() -> Made {
        if (report == nullptr || format == nullptr) return wootz::invalid_argument("the report or the format is null");
        const Json json = Json::parse(report, nullptr, /*allow_exceptions=*/false);
        if (!json.is_object() || !json.contains("layers") || !json.contains("layers_in_format"))
          return wootz::invalid_argument("that is no report of wootz_quantize()");
        const std::string_view form(format);
        if (form != "text" && form != "html")
          return wootz::invalid_argument("reports are written as text or html, not '{}'", form);
        const std::string text = form == "text" ? quantization_text(json) : quantization_page(json);
        return new HostMemory(std::span(reinterpret_cast<const std::byte*>(text.c_str()), text.size() + 1));
      });
}

}  // extern "C"
