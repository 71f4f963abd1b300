#include "build_plan.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "files.h"
#include "npy.h"
#include "wootz/extensions.h"

namespace wootz_cli {
namespace {

using Clock = std::chrono::steady_clock;
using namespace nvinfer1;

std::string describe(const nvonnxparser::IParserError& error) {
  const std::string name = error.nodeName(), op = error.nodeOperator();
  const std::string place = op.empty() ? name : "node '" + name + "' (" + op + ")";
  return place + (place.empty() ? "" : ": ") + error.desc();
}

// One line on the terminal, redrawn.
class ProgressBar final : public IProgressMonitor {
 public:
  explicit ProgressBar(bool on) : on_(on && isatty(2)) {}
  void phaseStart(const char* phase, const char*, int32_t steps) noexcept override {
    phase_ = phase;
    steps_ = std::max(1, steps);
    draw(0);
  }
  bool stepComplete(const char*, int32_t step) noexcept override {
    draw(step + 1);
    return true;
  }
  void phaseFinish(const char*) noexcept override {
    if (on_) std::fprintf(stderr, "\r\033[K");
  }

 private:
  void draw(int32_t done) noexcept {
    if (!on_) return;
    constexpr int kWidth = 40;
    const int filled = static_cast<int>(static_cast<int64_t>(kWidth) * std::min(done, steps_) / steps_);
    std::fprintf(stderr, "\r\033[K[%.*s%.*s] %d/%d %s", filled, "########################################",
                 kWidth - filled, "........................................", done, steps_, phase_.c_str());
  }
  bool on_;
  std::string phase_;
  int32_t steps_ = 1;
};

const std::vector<int64_t>* find(const Shapes& shapes, const std::string& name) {
  const auto it = shapes.find(name);
  return it == shapes.end() ? nullptr : &it->second;
}

// What is given of an input, each bound that is not from another one. Null: nothing is.
struct GivenRange {
  const std::vector<int64_t>*min, *opt, *max;
};

GivenRange range_of(const ProfileShapes& request, const std::string& name) {
  GivenRange given{find(request.min_shapes, name), find(request.opt_shapes, name), find(request.max_shapes, name)};
  if (given.opt == nullptr) given.opt = given.max != nullptr ? given.max : given.min;
  if (given.min == nullptr) given.min = given.opt;
  if (given.max == nullptr) given.max = given.opt;
  return given;
}

// Of an input whose values are a shape, "shapes" are values, as many as it has elements. False: none are given.
bool set_values(const ProfileShapes& request, const ITensor& input, IOptimizationProfile& profile,
                const Logger& logger) {
  const std::string name = input.getName();
  const auto [min, opt, max] = range_of(request, name);
  if (opt == nullptr) return false;
  const auto set = [&](OptProfileSelector selector, const std::vector<int64_t>& values) {
    check_values(name, values, input.getDimensions());
    return profile.setShapeValuesV2(name.c_str(), selector, values.data(), static_cast<int32_t>(values.size()));
  };
  if (!set(OptProfileSelector::kMIN, *min) || !set(OptProfileSelector::kOPT, *opt) ||
      !set(OptProfileSelector::kMAX, *max))
    fail("the values of input '" + name + "' are not a range: min <= opt <= max", logger);
  return true;
}

// An input without open extents has the model's shape.
void check_fixed(const ProfileShapes& request, const ITensor& input) {
  const std::string name = input.getName();
  const std::vector<int64_t> fixed = to_shape(input.getDimensions());
  for (const Shapes* shapes : {&request.min_shapes, &request.opt_shapes, &request.max_shapes})
    if (const std::vector<int64_t>* given = find(*shapes, name); given != nullptr && *given != fixed)
      throw Failure("input '" + name + "' has the shape " + shape_text(fixed) +
                    " in the model, which leaves none of it open; " + shape_text(*given) + " is given");
}

// What one profile is of; null: no extent is open. `number`: which, where there are several.
IOptimizationProfile* make_profile(const ProfileShapes& request, const std::string& number, IBuilder& builder,
                                   INetworkDefinition& network, const Logger& logger) {
  bool any = false;
  IOptimizationProfile* profile = builder.createOptimizationProfile();
  for (int32_t i = 0; i < network.getNbInputs(); ++i) {
    const ITensor& input = *network.getInput(i);
    const std::string name = input.getName();
    if (!dynamic(input.getDimensions())) {
      if (input.isShapeTensor())
        any = set_values(request, input, *profile, logger) || any;
      else
        check_fixed(request, input);
      continue;
    }
    const auto [min, opt, max] = range_of(request, name);
    if (opt == nullptr)
      throw Failure("input '" + name + "' has dynamic dimensions (" + shape_text(to_shape(input.getDimensions())) +
                    ")" + number + ": give --shapes " + name + ":... or --minShapes, --optShapes, --maxShapes");
    const bool ok = profile->setDimensions(name.c_str(), OptProfileSelector::kMIN, to_dims(*min, name)) &&
                    profile->setDimensions(name.c_str(), OptProfileSelector::kOPT, to_dims(*opt, name)) &&
                    profile->setDimensions(name.c_str(), OptProfileSelector::kMAX, to_dims(*max, name));
    if (!ok) fail("the shapes of input '" + name + "' are not a range" + number + ": min <= opt <= max", logger);
    any = true;
  }
  for (const Shapes* shapes : {&request.min_shapes, &request.opt_shapes, &request.max_shapes})
    for (const auto& [name, shape] : *shapes) {
      bool known = false;
      for (int32_t i = 0; i < network.getNbInputs(); ++i) known = known || name == network.getInput(i)->getName();
      if (!known) throw Failure("the model has no input '" + name + "'");
    }
  return any ? profile : nullptr;
}

void add_profile(const ProfileShapes& request, const std::string& number, IBuilder& builder,
                 INetworkDefinition& network, IBuilderConfig& config, const Logger& logger) {
  IOptimizationProfile* profile = make_profile(request, number, builder, network, logger);
  if (profile != nullptr && config.addOptimizationProfile(profile) < 0)
    fail("the optimization profile was refused" + number, logger);
}

void add_profiles(const BuildRequest& request, IBuilder& builder, INetworkDefinition& network, IBuilderConfig& config,
                  const Logger& logger) {
  const bool several = !request.more_profiles.empty();
  add_profile(request, several ? " in profile 0" : "", builder, network, config, logger);
  for (size_t p = 0; p < request.more_profiles.size(); ++p)
    add_profile(request.more_profiles[p], " in profile " + std::to_string(p + 1), builder, network, config, logger);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

// The calibrator that the config uses from here on; null: none was asked for.
std::unique_ptr<FileCalibrator> add_calibrator(const BuildRequest& request, IBuilder& builder,
                                               INetworkDefinition& network, IBuilderConfig& config, Logger& logger) {
  const CalibrationRequest& asked = request.calibration;
  if (!asked.wanted()) return nullptr;
  ProfileShapes shapes{asked.min_shapes, asked.opt_shapes, asked.max_shapes};
  const bool own = !shapes.min_shapes.empty() || !shapes.opt_shapes.empty() || !shapes.max_shapes.empty();
  if (!own && asked.profile > static_cast<int>(request.more_profiles.size()))
    throw Usage("calibration: there is no profile " + std::to_string(asked.profile));
  if (!own && asked.profile > 0) shapes = request.more_profiles[static_cast<size_t>(asked.profile - 1)];
  if (!own && asked.profile == 0) shapes = request;
  IOptimizationProfile* profile = make_profile(shapes, " in the calibration's profile", builder, network, logger);
  if (own && profile == nullptr) throw Usage("calibration: shapes are given, and no input has open extents");
  if (profile != nullptr && !config.setCalibrationProfile(profile))
    fail("the calibration's profile was refused", logger);
  Shapes optimum;
  for (int32_t i = 0; profile != nullptr && i < network.getNbInputs(); ++i) {
    const char* name = network.getInput(i)->getName();
    const Dims dims = profile->getDimensions(name, OptProfileSelector::kOPT);
    if (dims.nbDims >= 0) optimum[name] = to_shape(dims);
  }
  auto calibrator = std::make_unique<FileCalibrator>(asked, network, optimum, logger);
  config.setInt8Calibrator(calibrator.get());
  if (wootz_config_set_option(&config, "calibration", calibrator->algorithm_name()) != 0)
    fail("the calibration's algorithm was refused", logger);
  return calibrator;
}

#pragma GCC diagnostic pop

template <typename T>
void apply(const std::vector<Setting<T>>& settings, T& to, const Logger& logger) {
  for (const Setting<T>& s : settings)
    if (!s.set(to)) fail(s.flag + " was refused", logger);
}

void parse_model(const BuildRequest& request, nvonnxparser::IParser& parser, const Logger& logger) {
  apply(request.on_parser, parser, logger);
  if (parser.parseFromFile(request.model.c_str(), 0)) return;
  std::string text = request.model + " cannot be read:";
  for (int i = 0; i < parser.getNbErrors(); ++i) text += "\n  " + describe(*parser.getError(i));
  if (parser.getNbErrors() == 0) fail(text, logger);
  throw Failure(text);
}

void set_up(const BuildRequest& request, IBuilderConfig& config, const Logger& logger) {
  for (const auto& [key, value] : request.options)
    if (wootz_config_set_option(&config, key.c_str(), value.c_str()) != 0)
      fail("option " + key + "=" + value + " was refused", logger);
  for (BuilderFlag flag : request.flags) config.setFlag(flag);
  for (BuilderFlag flag : request.cleared_flags) config.clearFlag(flag);
  for (const auto& [pool, bytes] : request.pools) config.setMemoryPoolLimit(pool, bytes);
  if (request.optimization_level >= 0) config.setBuilderOptimizationLevel(request.optimization_level);
  if (request.aux_streams >= 0) config.setMaxAuxStreams(request.aux_streams);
  if (request.avg_timing > 0) config.setAvgTimingIterations(request.avg_timing);
  config.setProfilingVerbosity(request.verbosity);
  std::vector<const char*> kept;
  for (const std::string& path : request.plugins_in_plan) kept.push_back(path.c_str());
  if (!kept.empty()) config.setPluginsToSerialize(kept.data(), static_cast<int32_t>(kept.size()));
  apply(request.on_config, config, logger);
}

// The timing cache of the request, which the config uses from here on; null: none was asked for.
std::unique_ptr<ITimingCache> open_timing_cache(const BuildRequest& request, IBuilderConfig& config,
                                                const Logger& logger) {
  if (request.timing_cache.empty()) return nullptr;
  std::vector<char> bytes;
  if (std::ifstream(request.timing_cache).good()) bytes = read_file(request.timing_cache);
  std::unique_ptr<ITimingCache> cache(config.createTimingCache(bytes.data(), bytes.size()));
  if (cache == nullptr) fail(request.timing_cache + " is not a timing cache of this version", logger);
  config.setTimingCache(*cache, false);
  return cache;
}

// A builder with the model read into a network.
struct Opened {
  std::unique_ptr<IBuilder> builder;
  std::unique_ptr<INetworkDefinition> network;
  std::unique_ptr<nvonnxparser::IParser> parser;
};

Opened open_model(const BuildRequest& request, Logger& logger) {
  Opened o;
  o.builder.reset(createInferBuilder(logger));
  if (o.builder == nullptr) fail("the builder could not be created", logger);
  for (const std::string& path : request.plugins)
    if (o.builder->getPluginRegistry().loadLibrary(path.c_str()) == nullptr) fail(path + " cannot be loaded", logger);
  o.network.reset(o.builder->createNetworkV2(
      request.strongly_typed ? 1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED) : 0U));
  if (o.network != nullptr) o.parser.reset(nvonnxparser::createParser(*o.network, logger));
  if (o.network == nullptr || o.parser == nullptr) fail("the network could not be created", logger);
  parse_model(request, *o.parser, logger);
  return o;
}

}  // namespace

InputForms forms_of_model(const BuildRequest& request, Logger& logger) {
  const Opened opened = open_model(request, logger);
  InputForms forms;
  for (int32_t i = 0; i < opened.network->getNbInputs(); ++i) {
    const ITensor& input = *opened.network->getInput(i);
    const std::string name = input.getName();
    const std::vector<int64_t>* given = find(request.opt_shapes, name);
    if (given == nullptr && dynamic(input.getDimensions()))
      throw Failure("input '" + name + "' has dynamic dimensions: give --shapes " + name + ":...");
    forms[name] = {input.getType(), given != nullptr ? *given : to_shape(input.getDimensions())};
  }
  return forms;
}

std::string quantize_model(const BuildRequest& request, const std::string& output, void* batches,
                           const std::string& options, Logger& logger) {
  const std::unique_ptr<IBuilder> builder(createInferBuilder(logger));
  if (builder == nullptr) fail("the builder could not be created", logger);
  const std::unique_ptr<IBuilderConfig> config(builder->createBuilderConfig());
  set_up(request, *config, logger);
  ProgressBar bar(request.progress);
  config->setProgressMonitor(&bar);
  return take_text(
      wootz_quantize(builder.get(), config.get(), request.model.c_str(), output.c_str(), batches, options.c_str()),
      request.model.c_str(), logger);
}

Built build_plan(const BuildRequest& request, Logger& logger) {
  const Clock::time_point start = Clock::now();
  const Opened opened = open_model(request, logger);
  const std::unique_ptr<IBuilder>& builder = opened.builder;
  const std::unique_ptr<INetworkDefinition>& network = opened.network;
  apply(request.on_network, *network, logger);
  const std::unique_ptr<IBuilderConfig> config(builder->createBuilderConfig());
  set_up(request, *config, logger);
  ProgressBar bar(request.progress);
  config->setProgressMonitor(&bar);
  add_profiles(request, *builder, *network, *config, logger);
  const std::unique_ptr<FileCalibrator> calibrator = add_calibrator(request, *builder, *network, *config, logger);
  const std::unique_ptr<ITimingCache> cache = open_timing_cache(request, *config, logger);
  Built built;
  bool made = false;
  const bool in_memory = request.output.empty() || is_special(request.output);
  if (in_memory) {
    built.plan.reset(builder->buildSerializedNetwork(*network, *config));
    made = built.plan != nullptr;
  } else {
    made = wootz_build_file(builder.get(), network.get(), config.get(), request.output.c_str()) == 0;
  }
  const char* report = wootz_build_report(builder.get());
  built.report = report == nullptr ? "" : report;
  if (request.page && made) built.page = take_text(wootz_build_report_as(builder.get(), "html"), "the report", logger);
  if (!made) fail("the build of " + request.model + " failed", logger);
  if (cache != nullptr) {
    const std::unique_ptr<IHostMemory> bytes(config->getTimingCache()->serialize());
    if (bytes != nullptr) write_file(request.timing_cache, bytes->data(), bytes->size());
  }
  if (in_memory && !request.output.empty()) write_file(request.output, built.plan->data(), built.plan->size());
  built.plan_bytes = in_memory ? built.plan->size() : std::filesystem::file_size(request.output);
  built.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return built;
}

}  // namespace wootz_cli
