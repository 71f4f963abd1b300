// wootz refit: a plan with a model's weights, without building anew.
#include <memory>

#include "NvOnnxParser.h"
#include "commands.h"
#include "files.h"
#include "refit.h"
#include "wootz/extensions.h"

namespace wootz_cli {
namespace {

struct RefitOptions {
  std::string plan, model, output;
  int device = -1;
};

void refit(const RefitOptions& o, Logger& logger) {
  const std::unique_ptr<nvinfer1::IRuntime> runtime(nvinfer1::createInferRuntime(logger));
  if (runtime == nullptr || wootz_runtime_set_device(runtime.get(), o.device) != 0)
    fail("the device cannot be used", logger);
  const std::unique_ptr<nvinfer1::ICudaEngine> engine(
      static_cast<nvinfer1::ICudaEngine*>(wootz_runtime_load_file(runtime.get(), o.plan.c_str())));
  if (engine == nullptr) fail("'" + o.plan + "' cannot be loaded", logger);
  refit_from_model(*engine, o.model, logger);
  const std::unique_ptr<nvinfer1::IHostMemory> plan(engine->serialize());
  if (plan == nullptr) fail("the plan cannot be written", logger);
  write_file(o.output, plan->data(), plan->size());
}

}  // namespace

void refit_from_model(nvinfer1::ICudaEngine& engine, const std::string& model, Logger& logger) {
  if (!engine.isRefittable()) throw Failure("the plan was not built with --refit");
  const std::unique_ptr<nvinfer1::IRefitter> refitter(nvinfer1::createInferRefitter(engine, logger));
  if (refitter == nullptr) fail("the engine cannot be refitted", logger);
  const std::unique_ptr<nvonnxparser::IParserRefitter> parser(nvonnxparser::createParserRefitter(*refitter, logger));
  if (parser == nullptr || !parser->refitFromFile(model.c_str()))
    fail("'" + model + "' does not have the engine's weights", logger);
  if (!refitter->refitCudaEngine()) fail("the engine cannot take the weights of '" + model + "'", logger);
}

void add_refit(CLI::App& app, Logger& logger) {
  CLI::App* command = app.add_subcommand("refit", "Gives a refittable plan the weights of a model");
  auto options = std::make_shared<RefitOptions>();
  command->add_option("plan", options->plan, "Plan")->required();
  command->add_option("model", options->model, "ONNX model, as the plan's was but for its weights")->required();
  command->add_option("-o,--output", options->output, "Plan to write; it may be the same")->required();
  command->add_option("--device", options->device, "Number of the GPU of the plan's backend");
  command->callback([options, &logger] { refit(*options, logger); });
}

}  // namespace wootz_cli
