// wootz quantize: a model in another number format, as a model.
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "base/json.h"
#include "commands.h"
#include "tool_inputs.h"
#include "wootz/extensions.h"

namespace wootz_cli {
namespace {

using ordered_json = wootz::OrderedJson;

struct QuantizeOptions {
  BuildRequest request;
  std::string output, format = "int8", algorithm, shapes, device, budget, sparse, page;
  std::vector<std::string> keep, pairs;
  InputRequest inputs;
  int threads = 0, block = 0;
  std::optional<bool> zero_points;
  bool bias_correction = true, sensitivity = false, best = false, dynamic = false, as_json = false, verbose = false;
};

// "0.5%" and "0.005"
double parse_budget(const std::string& text) {
  char* end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  if (*end == '%') {
    value /= 100;
    ++end;
  }
  if (text.empty() || *end != '\0' || !(value >= 0)) throw Usage("--budget: '" + text + "' is no part, as 0.5%");
  return value;
}

std::string options_json(const QuantizeOptions& o) {
  ordered_json options = {{"format", o.format}};
  if (!o.algorithm.empty()) options["algorithm"] = o.algorithm;
  if (!o.keep.empty()) options["keep"] = o.keep;
  if (o.block > 0) options["block"] = o.block;
  if (o.zero_points) options["zero_points"] = *o.zero_points;
  if (!o.bias_correction) options["bias_correction"] = false;
  if (!o.budget.empty()) options["budget"] = parse_budget(o.budget);
  if (o.sensitivity) options["sensitivity"] = true;
  if (!o.sparse.empty()) options["sparse"] = o.sparse;
  if (o.best) options["best"] = true;
  if (o.dynamic) options["dynamic"] = true;
  return options.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

void set_up_request(QuantizeOptions& o, Logger& logger) {
  if (o.verbose) logger.least = nvinfer1::ILogger::Severity::kVERBOSE;
  if (o.block < 0) throw Usage("--block: a number from 1");
  o.request.opt_shapes = parse_shapes(o.shapes, "--shapes");
  o.request.progress = !o.as_json;
  const bool backend = o.device == "cpu" || o.device == "cuda" || o.device == "reference";
  if (!o.device.empty()) o.request.options[backend ? "backend" : "device"] = o.device;
  if (o.threads > 0) o.request.options["threads"] = std::to_string(o.threads);
  add_options(o.pairs, &o.request.options);
}

void quantize(QuantizeOptions& o, Logger& logger) {
  set_up_request(o, logger);
  const std::string options = options_json(o);
  const std::string formats = "," + o.format + ",";
  const bool int8 = formats.find(",int8,") != std::string::npos && !o.dynamic;
  const bool has_ranges = int8 || formats.find(",fp8,") != std::string::npos;
  if (has_ranges && o.inputs.data.empty())
    throw Usage("--data: " + o.format + " needs representative inputs, from which the ranges of activations are");
  const InputBatches batches(o.inputs, forms_of_model(o.request, logger), logger);
  const std::string report = quantize_model(o.request, o.output, batches.get(), options, logger);
  if (!o.page.empty()) {
    const std::string page = take_text(wootz_quantization_as(report.c_str(), "html"), "the page", logger);
    write_file(o.page, page.data(), page.size());
  }
  if (o.as_json) {
    ordered_json json = ordered_json::parse(report);
    if (batches.seed() >= 0) json["seed"] = batches.seed();
    std::printf("%s\n", json.dump(1, ' ', false, ordered_json::error_handler_t::replace).c_str());
    return;
  }
  if (batches.seed() >= 0)
    std::printf("Errors are of random inputs; --seed %lld gives the same again\n",
                static_cast<long long>(batches.seed()));
  std::printf("%s%s\n", take_text(wootz_quantization_as(report.c_str(), "text"), "the report", logger).c_str(),
              o.output.c_str());
  if (!o.page.empty()) std::printf("%s: the report\n", o.page.c_str());
}

}  // namespace

void add_quantize(CLI::App& app, Logger& logger) {
  CLI::App* command =
      app.add_subcommand("quantize", "ONNX model to one in INT8, FP8, INT4, NVFP4, MXFP8, FP16 or BF16");
  auto o = std::make_shared<QuantizeOptions>();
  command->add_option("model", o->request.model, "ONNX model")->required();
  command->add_option("-o,--output", o->output, "Model to write")->required();
  command->add_option("--format", o->format,
                      "int8 (default), fp8, int4, nvfp4, mxfp8, fp16 or bf16; with --best several: int8,int4; with "
                      "--sparse also fp32");
  add_input_options(*command, o->inputs);
  command->add_option("--algorithm", o->algorithm,
                      "How ranges are found: least_error, entropy2, entropy, minmax or legacy");
  command->add_option("--keep", o->keep, "Layers that stay in float, NAME,...")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--block", o->block, "Of int4: elements that have one scale; default 128");
  // By a function, which is called only where one of them is given.
  command->add_flag_function(
      "--zero-points,!--no-zero-points", [o](int64_t given) { o->zero_points = given > 0; },
      "Of int4: scales from the least weight to the largest; of int8: of activations that are hardly "
      "ever negative (default on processors)");
  command->add_flag("!--no-bias-correction", o->bias_correction, "Of int8: leave biases as they are");
  command->add_option("--budget", o->budget,
                      "Greatest error of the outputs, as 0.5%: the layers that cost the most stay in float");
  command->add_option(
      "--sparse", o->sparse,
      "2:4: of each four weights along the sum the two smallest become 0; with --format fp32 nothing else");
  command->add_flag("--dynamic", o->dynamic,
                    "Of int8: a scale for each row of an activation, found while the model runs; no data are needed");
  command->add_flag("--sensitivity", o->sensitivity, "Measure what each layer alone costs");
  command->add_flag("--best", o->best, "Each layer in the format that was measured to be the fastest, or in float");
  command->add_option("--shapes", o->shapes, "Shapes of dynamic inputs, NAME:1x3x224x224,...");
  command->add_option("--device", o->device, "Where networks are run: cpu, cuda, reference, or a number");
  command->add_option("--threads", o->threads, "Threads of one inference, 0: all");
  command->add_option("--option", o->pairs, "KEY=VALUE: an option of builds by its key (docs/python.md); repeatable")
      ->allow_extra_args(false);
  command->add_option("--report", o->page, "Report to write as a page for a browser (.html)");
  command->add_flag("--json", o->as_json, "Report as JSON on stdout");
  command->add_flag("-v,--verbose", o->verbose, "Log every detail");
  command->callback([o, &logger] { quantize(*o, logger); });
}

}  // namespace wootz_cli
