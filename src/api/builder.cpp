#include "api/builder.h"

#include <cmath>
#include <optional>

#include "api/algorithm_selector.h"
#include "api/backend_choice.h"
#include "api/builder_config.h"
#include "api/calibrator.h"
#include "api/io_formats.h"
#include "api/monitored_progress.h"
#include "api/network/network.h"
#include "api/plugins/build_plugins.h"
#include "api/runtime/engine.h"
#include "api/runtime/gpu_allocator.h"
#include "api/runtime/host_memory.h"
#include "api/runtime/lean_runtime.h"
#include "api/runtime/made_here.h"
#include "api/runtime/plugins/logger_finder.h"
#include "api/runtime/runtime.h"
#include "api/without_effect.h"
#include "base/cpu_info.h"
#include "base/json.h"
#include "base/thread_pool.h"
#include "ir/verify.h"
#include "plan/read.h"
#include "plan/strip.h"
#include "plan/write.h"

namespace wootz::api {

using namespace nvinfer1;  // NOLINT: implements that interface, line by line

namespace {

// What the application wrote on layers, by their names.
std::string metadata_json(const NetworkImpl& network) {
  OrderedJson json;
  for (const auto& layer : network.made_layers())
    if (const bool plugin = layer->type() == LayerType::kPLUGIN_V3; plugin || !layer->origin)
      if (const std::string text = layer->shown_metadata(); !text.empty()) json[layer->name()] = text;
  return json.is_null() ? "" : json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

// What layers are asked to compute in.
std::vector<AskedType> types_of_layers(const NetworkImpl& network) {
  std::vector<AskedType> types;
  for (const auto& layer : network.made_layers()) {
    if (layer->precision == DType::kInvalid) continue;
    const bool imported = layer->origin && !layer->origin->provenance.empty();
    types.push_back(
        {layer->name(), imported ? layer->origin->provenance : std::vector{layer->name()}, layer->precision});
  }
  return types;
}

// Of the ranges that tensors have, symmetric around 0.
Result<TensorScales> scales_of_ranges(const NetworkImpl& network, bool int8) {
  TensorScales scales;
  if (!int8) return scales;
  for (const TensorImpl& tensor : network.tensors()) {
    if (!tensor.dynamicRangeIsSet()) continue;
    const double low = tensor.getDynamicRangeMin(), high = tensor.getDynamicRangeMax();
    const float scale = int8_scale(std::max(std::abs(low), std::abs(high)));
    if (!std::isnormal(scale))
      return invalid_argument("ITensor::setDynamicRange: tensor '{}': [{}, {}] leaves INT8 no step", tensor.name(), low,
                              high);
    scales[tensor.name()] = scale;
  }
  return scales;
}

Status take_calibrator(const BuilderConfigImpl& config, const Graph& graph, const BuildSettings& options,
                       const Reporter& reporter, std::optional<CalibratorAdapter>* calibrator,
                       BuildServices* services) {
  if (!options.int8) return Status();
  if (config.getInt8Calibrator() != nullptr) {
    services->calibration = &calibrator->emplace(*config.getInt8Calibrator());
    WOOTZ_RETURN_IF_ERROR((*calibrator)->check());
  }
  note_int8(graph, calibrator->has_value() || !options.scales.empty(), reporter);
  return Status();
}

void forget_weights(Program* program) {
  for (PlanConstant& constant : program->constants) {
    constant.owner = nullptr;
    constant.data = nullptr;
    constant.make = nullptr;
  }
  program->refit = nullptr;
  for (Program& body : program->bodies) forget_weights(&body);
}

Status check_typing(const NetworkImpl& network, const BuilderConfigImpl& config) {
  if (network.strongly_typed()) return config.check_strong_typing();
  if (!config.streams_weights()) return Status();
  return invalid_argument(
      "BuilderFlag::kWEIGHT_STREAMING is for strongly typed networks: create the network with "
      "NetworkDefinitionCreationFlag::kSTRONGLY_TYPED");
}

// What the plan is to carry is there: asked before the build, which may take long.
Status check_runtime(const BuildSettings& settings) {
  const auto found = settings.properties.find(property::kVersionCompatible);
  const bool carries = found != settings.properties.end() && found->second == property::kWithRuntime;
  return carries ? lean_library().status() : Status();
}

// Level 11 has no other networks.
uint32_t implied_flags(ApiLevel level) {
  return level == ApiLevel::k11 ? 1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED) : 0;
}

}  // namespace

BuilderImpl::BuilderImpl(AppLogger logger)
    : reporter_(logger),
      registry_(std::make_shared<PluginRegistry>(&PluginRegistry::process(), logger)),
      max_threads_(ThreadPool::process().size()) {}

INetworkDefinition* BuilderImpl::createNetworkV2(NetworkDefinitionCreationFlags flags) noexcept {
  return attempt_or<INetworkDefinition*>(
      reporter_, "IBuilder::createNetworkV2", nullptr, [&]() -> Result<INetworkDefinition*> {
        const std::optional<uint32_t> known = mask_from_caller<NetworkDefinitionCreationFlag>(reporter_.level(), flags);
        if (!known) return invalid_argument("unknown bits in the flags {:#x}", flags);
        return new NetworkImpl(*this, reporter_, *known | implied_flags(reporter_.level()));
      });
}

IBuilderConfig* BuilderImpl::createBuilderConfig() noexcept {
  return attempt_or<IBuilderConfig*>(reporter_, "IBuilder::createBuilderConfig", nullptr,
                                     [&]() -> Result<IBuilderConfig*> { return new BuilderConfigImpl(reporter_); });
}

IOptimizationProfile* BuilderImpl::createOptimizationProfile() noexcept {
  return attempt_or<IOptimizationProfile*>(
      reporter_, "IBuilder::createOptimizationProfile", nullptr,
      [&]() -> Result<IOptimizationProfile*> { return &profiles_.emplace_back(reporter_); });
}

void BuilderImpl::forget_record() {
  record_ = nullptr;
  report_.clear();
  plan_bytes_ = 0;
}

Result<std::shared_ptr<Program>> BuilderImpl::build(INetworkDefinition& network, IBuilderConfig& config) {
  auto* our_network = made_here<NetworkImpl>(&network);
  auto* our_config = made_here<BuilderConfigImpl>(&config);
  if (our_network == nullptr || our_config == nullptr)
    return invalid_argument("the network or the config was not made by a builder of this library");
  const LoggerScope logger({reporter_.logger(), reporter_.level()});
  WOOTZ_RETURN_IF_ERROR(check_typing(*our_network, *our_config));
  WOOTZ_ASSIGN_OR_RETURN(BuildSettings options, our_config->to_settings());
  WOOTZ_RETURN_IF_ERROR(check_runtime(options));
  if (options.device_number == kCurrentDevice) options.device_number = current_.of(options.backend);
  device_number_ = options.device_number;
  if (our_config->types_of_layers_bind()) options.layer_types = types_of_layers(*our_network);
  note_without_effect(*our_network, reporter_, our_config->types_of_layers_bind(), options.int8);
  WOOTZ_ASSIGN_OR_RETURN(options.scales, scales_of_ranges(*our_network, options.int8));
  forget_record();
  for (const TensorImpl& tensor : our_network->tensors())
    if (tensor.debug) options.debug_tensors.insert(tensor.name());
  if (std::string metadata = metadata_json(*our_network); !metadata.empty())
    options.properties[property::kMetadata] = std::move(metadata);
  if (our_network->unfused_debug()) options.properties[property::kDebugUnfused] = "1";
  RefitRequest refit;
  WOOTZ_ASSIGN_OR_RETURN(const std::shared_ptr<Graph> graph, our_network->build_graph(&refit.weights));
  if (our_config->refit_kind() != RefitKind::kNone) {
    if (our_config->refit_kind() == RefitKind::kIndividual) refit.marked = our_network->refittable();
    refit.identical = our_config->refit_kind() == RefitKind::kIdentical;
    options.refit = std::move(refit);
  }
  WOOTZ_ASSIGN_OR_RETURN(options.border, border_wishes(*our_network, *graph, our_config->direct_io(),
                                                       our_config->refit_kind() != RefitKind::kNone));
  options.absent = our_network->absent();
  MonitoredProgress progress(our_config->getProgressMonitor());
  BuildServices services;
  services.log = &reporter_;
  services.progress = &progress;
  WOOTZ_ASSIGN_OR_RETURN(services.cache, our_config->cache_for_build());
  services.allocator = adopt_allocator(allocator_);
  services.plugins = plugins_of(*graph);
  if (services.plugins != nullptr) WOOTZ_RETURN_IF_ERROR(our_config->check_plugins(*graph, options));
  std::optional<SelectorAdapter> selector;
  if (our_config->getAlgorithmSelector() != nullptr)
    services.selector = &selector.emplace(*our_config->getAlgorithmSelector(), our_config->rejects_empty_selections());
  std::optional<CalibratorAdapter> calibrator;
  WOOTZ_RETURN_IF_ERROR(take_calibrator(*our_config, *graph, options, reporter_, &calibrator, &services));
  const ParallelScope threads(max_threads_);
  WOOTZ_ASSIGN_OR_RETURN(BuildOutput output, build_program(*graph, options, services));
  if (selector) selector->report();
  if (std::string formats = formats_json(*our_network, *output.program); !formats.empty())
    output.program->properties[property::kFormats] = std::move(formats);
  WOOTZ_RETURN_IF_ERROR(our_config->add_plugin_libraries(output.program.get()));
  program_ = *output.program;
  forget_weights(&program_);
  record_ = std::make_unique<BuildReport>(std::move(output.report));
  reporter_.log(Reporter::Severity::kINFO,
                fmt::format("network '{}': {} layers in {} steps, built in {:.2f} s", output.program->name,
                            our_network->getNbLayers(), output.program->steps.size(), record_->total_ms * 1e-3));
  if (!our_config->strips()) return output.program;
  WOOTZ_ASSIGN_OR_RETURN(Program stripped, strip_weights(*output.program));
  return std::make_shared<Program>(std::move(stripped));
}

Result<RawBytes> BuilderImpl::build_plan(INetworkDefinition& network, IBuilderConfig& config) {
  WOOTZ_ASSIGN_OR_RETURN(const std::shared_ptr<Program> program, build(network, config));
  WOOTZ_ASSIGN_OR_RETURN(const Companion companion, companion_of(*program));
  Result<RawBytes> bytes = write_plan(*program, companion);
  if (bytes.ok()) plan_bytes_ = bytes->size();
  return bytes;
}

Json BuilderImpl::report_json() const {
  if (record_ == nullptr) return {};
  Json json = build_report(*record_, program_);
  if (plan_bytes_ > 0) json["performance"]["engine_size_mb"] = static_cast<double>(plan_bytes_) / 1048576;
  return json;
}

const std::string& BuilderImpl::report() {
  if (report_.empty() && record_ != nullptr) report_ = dump_report(report_json());
  return report_;
}

Status BuilderImpl::build_file(INetworkDefinition& network, IBuilderConfig& config, const char* path) {
  WOOTZ_ASSIGN_OR_RETURN(const std::shared_ptr<Program> program, build(network, config));
  WOOTZ_ASSIGN_OR_RETURN(const Companion companion, companion_of(*program));
  return write_plan_file(*program, path, &plan_bytes_, companion);
}

IHostMemory* BuilderImpl::buildSerializedNetwork(INetworkDefinition& network, IBuilderConfig& config) noexcept {
  return attempt_or<IHostMemory*>(reporter_, "IBuilder::buildSerializedNetwork", nullptr,
                                  [&]() -> Result<IHostMemory*> {
                                    WOOTZ_ASSIGN_OR_RETURN(RawBytes bytes, build_plan(network, config));
                                    return new HostMemory(std::move(bytes));
                                  });
}

IHostMemory* BuilderImpl::buildSerializedNetwork(INetworkDefinition& network, IBuilderConfig& config,
                                                 IHostMemory*& kernelText) noexcept {
  kernelText = nullptr;
  return buildSerializedNetwork(network, config);
}

bool BuilderImpl::buildSerializedNetworkToStream(INetworkDefinition& network, IBuilderConfig& config,
                                                 IStreamWriter& writer) noexcept {
  return attempt(reporter_, "IBuilder::buildSerializedNetworkToStream", [&]() -> Status {
    WOOTZ_ASSIGN_OR_RETURN(const std::shared_ptr<Program> program, build(network, config));
    WOOTZ_ASSIGN_OR_RETURN(const Companion companion, companion_of(*program));
    constexpr size_t kChunk = size_t{16} << 20;
    size_t total = 0;
    const PlanSink sink = [&](std::span<const std::byte> bytes) -> Status {
      for (; !bytes.empty(); bytes = bytes.subspan(std::min(kChunk, bytes.size()))) {
        const auto count = static_cast<int64_t>(std::min(kChunk, bytes.size()));
        const int64_t taken = writer.write(bytes.data(), count);
        if (taken != count)
          return make_error(Code::kIo, "the stream writer took {} of {} bytes at offset {}", taken, count, total);
        total += static_cast<size_t>(count);
      }
      return Status();
    };
    WOOTZ_RETURN_IF_ERROR(write_plan_to(*program, sink, companion));
    plan_bytes_ = total;
    return Status();
  });
}

ICudaEngine* BuilderImpl::buildEngineWithConfig(INetworkDefinition& network, IBuilderConfig& config) noexcept {
  return attempt_or<ICudaEngine*>(reporter_, "IBuilder::buildEngineWithConfig", nullptr, [&]() -> Result<ICudaEngine*> {
    // By way of a plan, so that the engine needs none of the application's weights.
    WOOTZ_ASSIGN_OR_RETURN(const std::shared_ptr<Program> built, build(network, config));
    WOOTZ_ASSIGN_OR_RETURN(RawBytes bytes, write_plan(*built));
    plan_bytes_ = bytes.size();
    const auto plan = std::make_shared<const RawBytes>(std::move(bytes));
    WOOTZ_ASSIGN_OR_RETURN(std::shared_ptr<const Program> program, read_plan(*plan, plan));
    WOOTZ_ASSIGN_OR_RETURN(std::unique_ptr<EngineImpl> engine, make_engine(std::move(program), reporter_, allocator_,
                                                                           device_number_, registry_, /*native=*/true));
    return engine.release();
  });
}

bool BuilderImpl::isNetworkSupported(const INetworkDefinition& network, const IBuilderConfig& config) const noexcept {
  return attempt(reporter_, "IBuilder::isNetworkSupported", [&]() -> Status {
    auto* our_network = made_here<NetworkImpl>(const_cast<INetworkDefinition*>(&network));
    const auto* our_config = made_here<BuilderConfigImpl>(&config);
    if (our_network == nullptr || our_config == nullptr)
      return invalid_argument("the network or the config was not made by a builder of this library");
    if (our_network->strongly_typed()) WOOTZ_RETURN_IF_ERROR(our_config->check_strong_typing());
    WOOTZ_ASSIGN_OR_RETURN(const BuildSettings options, our_config->to_settings());
    WOOTZ_ASSIGN_OR_RETURN(const std::shared_ptr<Graph> graph, our_network->build_graph());
    WOOTZ_RETURN_IF_ERROR(infer_with_profiles(*graph, options.profiles));
    WOOTZ_RETURN_IF_ERROR(verify_graph(*graph));
    return symbol_ranges(*graph, options.profiles).status();
  });
}

bool BuilderImpl::setMaxThreads(int32_t maxThreads) noexcept {
  return attempt(reporter_, "IBuilder::setMaxThreads", [&]() -> Status {
    if (maxThreads < 1) return invalid_argument("{} threads", maxThreads);
    max_threads_ = maxThreads;
    return Status();
  });
}

void BuilderImpl::reset() noexcept {
  reporter_.set_recorder(nullptr);
  allocator_ = nullptr;
  max_threads_ = ThreadPool::process().size();
}

namespace {
// Of the backend that a build takes by itself: programs ask before they have a config.
bool on_gpu() noexcept {
  try {
    const Result<const Backend*> backend = find_backend(backend_by_default().name);
    return backend.ok() && (*backend)->can.own_memory;
  } catch (...) {
    return false;
  }
}
}  // namespace

bool BuilderImpl::platformHasTf32() const noexcept { return on_gpu(); }
bool BuilderImpl::platformHasFastFp16() const noexcept { return on_gpu() || cpu_info().avx512_fp16; }
bool BuilderImpl::platformHasFastInt8() const noexcept {
  return on_gpu() || cpu_info().avx512_vnni || cpu_info().avx_vnni;
}

}  // namespace wootz::api
