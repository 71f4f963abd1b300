// wootz compare: the values of two plans or models on the same inputs.
#include <cstdio>
#include <memory>

#include "base/json.h"
#include "commands.h"
#include "tool_inputs.h"
#include "wootz/extensions.h"

namespace wootz_cli {
namespace {

using ordered_json = wootz::OrderedJson;

struct CompareOptions {
  BuildOptions build;
  std::string files[2], flags[2];
  InputRequest inputs;
  std::string page;
  double tolerance = 1e-3;
  bool every_value = false, native = false;
};

// The options of a build that both have, with those of one side on top.
BuildOptions options_of(const CompareOptions& o, size_t side) {
  BuildOptions own = o.build;
  CLI::App parser("", side == 0 ? "--a-flags" : "--b-flags");
  add_build_options(parser, own);
  try {
    parser.parse(o.flags[side]);
  } catch (const CLI::ParseError& error) {
    throw Usage((side == 0 ? "--a-flags: " : "--b-flags: ") + std::string(error.what()));
  }
  return own;
}

// Nothing is fused past a marked value.
bool mark_every_value(nvinfer1::INetworkDefinition& network) {
  for (int32_t l = 0; l < network.getNbLayers(); ++l)
    for (int32_t i = 0; i < network.getLayer(l)->getNbOutputs(); ++i) {
      nvinfer1::ITensor& value = *network.getLayer(l)->getOutput(i);
      if (!value.isNetworkOutput() && !network.markDebug(value)) return false;
    }
  return true;
}

std::shared_ptr<Loaded> load_side(const CompareOptions& o, size_t side, Logger& logger) {
  const std::string& file = o.files[side];
  LoadOptions load;
  load.native = o.native;
  if (!is_onnx(file)) {
    if (!o.flags[side].empty())
      throw Usage(file + " is a plan: what it was built with stays (" + (side == 0 ? "--a-flags" : "--b-flags") + ")");
    load.plugins = o.build.request.plugins;
    return load_engine(file, load, logger);
  }
  BuildOptions build = options_of(o, side);
  build.request.model = file;
  finish(build, logger);
  load.plugins = build.request.plugins;
  if (o.every_value) build.request.on_network.push_back({"--every-value", mark_every_value});
  const Built built = build_plan(build.request, logger);
  load.native = true;
  return load_engine(*built.plan, load, logger);
}

InputForms forms_of(const std::shared_ptr<Loaded>& loaded, const Shapes& shapes, Logger& logger) {
  const Session session(loaded, ContextOptions(), logger);
  InputForms forms;
  const nvinfer1::ICudaEngine& engine = *loaded->engine;
  for (int32_t i = 0; i < engine.getNbIOTensors(); ++i) {
    const char* name = engine.getIOTensorName(i);
    if (engine.getTensorIOMode(name) == nvinfer1::TensorIOMode::kINPUT)
      forms[name] = {engine.getTensorDataType(name), session.shape_of(name, shapes)};
  }
  return forms;
}

void print(const CompareOptions& o, const std::string& json, const InputBatches& batches, Logger& logger) {
  if (o.build.as_json) {
    ordered_json report = ordered_json::parse(json);
    if (batches.seed() >= 0) report["seed"] = batches.seed();
    std::printf("%s\n", report.dump(1, ' ', false, ordered_json::error_handler_t::replace).c_str());
    return;
  }
  std::printf("A: %s%s%s\nB: %s%s%s\n", o.files[0].c_str(), o.flags[0].empty() ? "" : " ", o.flags[0].c_str(),
              o.files[1].c_str(), o.flags[1].empty() ? "" : " ", o.flags[1].c_str());
  if (batches.seed() >= 0)
    std::printf("Random inputs; --seed %lld gives the same again\n", static_cast<long long>(batches.seed()));
  std::printf("%s", take_text(wootz_comparison_as(json.c_str(), "text"), "the comparison", logger).c_str());
  if (!o.page.empty()) std::printf("%s: all of it\n", o.page.c_str());
}

void compare(CompareOptions& o, Logger& logger) {
  if (!(o.tolerance >= 0)) throw Usage("--tolerance: a number from 0");
  const Shapes shapes = parse_shapes(o.build.shapes.empty() ? o.build.opt : o.build.shapes, "--shapes");
  const std::shared_ptr<Loaded> a = load_side(o, 0, logger), b = load_side(o, 1, logger);
  const InputBatches batches(o.inputs, forms_of(a, shapes, logger), logger);
  ordered_json options = {{"tolerance", o.tolerance}, {"names", ordered_json::array()}};
  for (size_t side = 0; side < 2; ++side)
    options["names"].push_back(o.files[side] + (o.flags[side].empty() ? "" : " " + o.flags[side]));
  const std::string json =
      take_text(wootz_compare_engines(a->engine.get(), b->engine.get(), batches.get(),
                                      options.dump(-1, ' ', false, ordered_json::error_handler_t::replace).c_str()),
                "the comparison", logger);
  if (!o.page.empty()) {
    const std::string page = take_text(wootz_comparison_as(json.c_str(), "html"), "the page", logger);
    write_file(o.page, page.data(), page.size());
  }
  print(o, json, batches, logger);
  if (!ordered_json::parse(json)["same"].get<bool>()) throw Differ();
}

}  // namespace

void add_input_options(CLI::App& command, InputRequest& inputs) {
  command
      .add_option("--data", inputs.data,
                  "Inputs: a .npz or .npy file or a folder of such; repeatable. Without it, random numbers")
      ->allow_extra_args(false);
  command.add_option("--seed", inputs.seed, "Of random inputs; it is printed");
  command.add_option("--batches", inputs.batches, "Most batches; default: all of the data, or one of random numbers");
}

void add_compare(CLI::App& app, Logger& logger) {
  CLI::App* command = app.add_subcommand("compare", "What two plans or models compute of the same inputs");
  auto o = std::make_shared<CompareOptions>();
  command->add_option("A", o->files[0], "Plan or ONNX model")->required();
  command->add_option("B", o->files[1], "Plan or ONNX model")->required();
  add_input_options(*command, o->inputs);
  command->add_option("--a-flags", o->flags[0], "Options of build for A alone, as one text: '--fp16 --threads 1'");
  command->add_option("--b-flags", o->flags[1], "The same for B");
  command->add_option("--tolerance", o->tolerance, "Greatest error of a value that agrees; default 0.001");
  command->add_flag("--every-value", o->every_value, "Models are built so that each value is whole: nothing is fused");
  command->add_option("--html", o->page, "Page to write, with every value and the histograms");
  command->add_flag("--allow-native", o->native, "Use machine code that plans bring: you trust where they are from");
  add_build_options(*command, o->build);
  command->callback([o, &logger] { compare(*o, logger); });
}

}  // namespace wootz_cli
