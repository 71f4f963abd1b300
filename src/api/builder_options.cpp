// From a builder config to the options of a build.
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

#include "api/backend_choice.h"
#include "api/build_routes.h"
#include "api/builder_config.h"
#include "api/profile.h"
#include "backends/registry.h"
#include "base/cpu_info.h"
#include "base/json.h"
#include "runtime/report/engine_info.h"

namespace wootz::api {

using namespace nvinfer1;  // NOLINT: speaks of that interface's enumerators throughout

namespace {

Result<int> number(std::string_view key, const std::string& text, int low, int high) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < low || value > high)
    return invalid_argument("option '{}': '{}' is no number in [{}, {}]", key, text, low, high);
  return value;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);)
    if (!part.empty()) parts.push_back(part);
  return parts;
}

Result<std::vector<ForcedTactic>> forced_tactics(const std::string& text) {
  std::vector<ForcedTactic> rules;
  for (const std::string& rule : split(text, ';')) {
    const size_t at = rule.find('=');
    if (at == std::string::npos || at + 1 == rule.size())
      return invalid_argument("option 'tactic': '{}' is not of the form STEP=TACTIC", rule);
    rules.push_back({rule.substr(0, at), rule.substr(at + 1)});
  }
  return rules;
}

// "1", or "cuda:1": a device of this machine by its number, of a backend or of that which is built for anyway.
struct NumberedDevice {
  std::string backend;  // empty: not named
  int number = 0;
};
std::optional<NumberedDevice> numbered_device(const std::string& text) {
  const size_t colon = text.find(':');
  const std::string digits = colon == std::string::npos ? text : text.substr(colon + 1);
  NumberedDevice device{colon == std::string::npos ? "" : text.substr(0, colon), 0};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), device.number);
  if (error != std::errc() || end != digits.data() + digits.size() || device.number < 0) return std::nullopt;
  if (!device.backend.empty() && !find_backend(device.backend).ok()) return std::nullopt;
  return device;
}

// By name ("h200"), or from a file.
Result<DeviceDescription> read_device(const std::string& path) {
  Result<DeviceDescription> known = find_known_device(path);
  if (known.ok()) return known;
  std::ifstream file(path, std::ios::binary);
  if (!file && path.find_first_of("./") == std::string::npos) return known.status();
  if (!file) return make_error(Code::kIo, "cannot open the device description '{}'", path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  Result<DeviceDescription> device = DeviceDescription::from_json(text);
  if (!device.ok()) return device.status().with_prefix(path);
  return device;
}

std::string profile_values_json(const std::vector<BuildProfile>& profiles) {
  OrderedJson json = OrderedJson::object();
  for (size_t p = 0; p < profiles.size(); ++p)
    for (const auto& [name, values] : profiles[p].values) {
      auto& list = json[name];
      while (list.size() < p) list.push_back(OrderedJson::array());
      list.push_back({values.min, values.opt, values.max});
    }
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

Status check_device(const std::string& text) {
  return text.empty() || numbered_device(text) ? Status() : read_device(text).status();
}
Status use_device(const std::string& text, BuildSettings* settings) {
  if (const std::optional<NumberedDevice> device = numbered_device(text)) {
    settings->device_number = device->number;
    if (device->backend.empty()) return Status();
    settings->backend = device->backend;
  } else if (text.empty()) {
    return Status();
  } else {
    WOOTZ_ASSIGN_OR_RETURN(settings->device, read_device(text));
    settings->backend = settings->device->backend;
  }
  settings->backend_reason = "option 'device' says so";
  return Status();
}

Status check_native_code(const std::string& text) {
  if (text == "" || text == "0" || text == "1" || text == "all") return Status();
  return invalid_argument("option 'native_code': '{}' is none of 0, 1, all", text);
}
Status use_native_code(const std::string& text, BuildSettings* settings) {
  if (!text.empty())
    settings->native = text == "all" ? KeepNative::kAll : text == "1" ? KeepNative::kReproducible : KeepNative::kNone;
  return Status();
}

Status check_calibration(const std::string& text) {
  return text.empty() ? Status() : range_method_from_option(text).status().with_prefix("option 'calibration'");
}
Status use_calibration(const std::string& text, BuildSettings* settings) {
  if (text.empty()) return Status();
  WOOTZ_ASSIGN_OR_RETURN(settings->calibration, range_method_from_option(text));
  return Status();
}

// Providers by name, but for the last of each backend, which computes what no other does.
Status check_leave_out(const std::string& text) {
  std::set<std::string, std::less<>> known;
  for (const Backend* backend : all_backends())
    for (const Provider* provider : backend_providers(*backend)) known.emplace(provider->name());
  for (const Backend* backend : all_backends()) known.erase(std::string(backend_providers(*backend).back()->name()));
  for (const std::string& name : split(text, ','))
    if (known.count(name) == 0)
      return invalid_argument("option 'leave_out': '{}' is none of the providers that can be left out: {}", name,
                              fmt::join(known, ", "));
  return Status();
}

template <auto kMember>
Status use_text(const std::string& text, BuildSettings* settings) {
  settings->*kMember = text;
  return Status();
}
// On by "1", where it is off by default.
template <auto kMember>
Status use_on(const std::string& text, BuildSettings* settings) {
  settings->*kMember = text == "1";
  return Status();
}
// Off by "0", where it is on by default.
template <auto kMember>
Status use_off(const std::string& text, BuildSettings* settings) {
  settings->*kMember = text != "0";
  return Status();
}

// Every option, which set_option(), option(), Python and `wootz build --option` know by this. What is said of it stands
// in include/wootz/extensions.h and docs/python.md.
struct Option {
  std::string_view key;
  const char* fallback;                                       // what it is when it was not set
  Status (*check)(const std::string& text);                   // null: any text will do
  Status (*use)(const std::string& text, BuildSettings* to);  // in this order; null: by to_settings()
};
constexpr Option kOptions[] = {
    {"backend", nullptr, [](const std::string& text) { return find_backend(text).status(); }, nullptr},
    {"threads", "0", [](const std::string& text) { return number("threads", text, 0, 4096).status(); },
     [](const std::string& text, BuildSettings* to) -> Status {
       WOOTZ_ASSIGN_OR_RETURN(to->threads, number("threads", text, 0, 4096));
       return Status();
     }},
    {"isa", "", [](const std::string& text) { return text.empty() ? Status() : isa_from_name(text).status(); },
     use_text<&BuildSettings::isa_cap>},
    {"disable_passes", "", nullptr,
     [](const std::string& text, BuildSettings* to) {
       for (std::string& pass : split(text, ',')) to->disabled_passes.insert(std::move(pass));
       return Status();
     }},
    {"build_route", "", [](const std::string& text) { return passes_left_out(text).status(); },
     [](const std::string& text, BuildSettings* to) -> Status {
       WOOTZ_ASSIGN_OR_RETURN(std::set<std::string> passes, passes_left_out(text));
       to->disabled_passes.merge(passes);
       return Status();
     }},
    {"verify_passes", "0", nullptr, use_on<&BuildSettings::verify_passes>},
    {"tactic", "", [](const std::string& text) { return forced_tactics(text).status(); },
     [](const std::string& text, BuildSettings* to) -> Status {
       WOOTZ_ASSIGN_OR_RETURN(to->forced, forced_tactics(text));
       return Status();
     }},
    {"leave_out", "", check_leave_out,
     [](const std::string& text, BuildSettings* to) {
       for (std::string& name : split(text, ',')) to->left_out.insert(std::move(name));
       return Status();
     }},
    {"device", "", check_device, use_device},
    {"timing", "1", nullptr, use_off<&BuildSettings::measure>},
    {"host_steps", "0", nullptr, use_on<&BuildSettings::host_steps>},
    {"native_code", "", check_native_code, use_native_code},
    {"calibration", "", check_calibration, use_calibration},
    {"portable", "0", nullptr, use_on<&BuildSettings::portable>},
    {"dump_stages", "", nullptr, use_text<&BuildSettings::dump_stages>},
};

const Option* find_option(std::string_view key) {
  const auto* const found =
      std::find_if(std::begin(kOptions), std::end(kOptions), [&](const Option& o) { return o.key == key; });
  return found == std::end(kOptions) ? nullptr : found;
}

}  // namespace

Status BuilderConfigImpl::set_option(std::string_view key, const char* value) {
  const Option* const option = find_option(key);
  if (option == nullptr) {
    std::string known;
    for (const Option& o : kOptions) known += (known.empty() ? "" : ", ") + std::string(o.key);
    return invalid_argument("there is no option '{}'; the options are: {}", key, known);
  }
  if (value == nullptr) {
    if (const auto found = v_.options.find(key); found != v_.options.end()) v_.options.erase(found);
    return Status();
  }
  const std::string text(value);
  if (option->check != nullptr) WOOTZ_RETURN_IF_ERROR(option->check(text));
  v_.options.insert_or_assign(std::string(key), text);
  return Status();
}

const char* BuilderConfigImpl::option(std::string_view key) const {
  if (const auto found = v_.options.find(key); found != v_.options.end()) return found->second.c_str();
  if (key == "backend") return backend_by_default().name;
  const Option* const option = find_option(key);
  return option == nullptr ? nullptr : option->fallback;
}

Status BuilderConfigImpl::check_buildable() const {
  if (v_.capability != EngineCapability::kSTANDARD) return unsupported("only EngineCapability::kSTANDARD can be built");
  if (v_.platform != RuntimePlatform::kSAME_AS_BUILD)
    return unsupported("plans are built for the platform they are built on");
  if (has(BuilderFlag::kREFIT_INDIVIDUAL) && (has(BuilderFlag::kREFIT) || has(BuilderFlag::kREFIT_IDENTICAL)))
    return invalid_argument(
        "BuilderFlag::kREFIT_INDIVIDUAL, of marked weights alone, is set together with {}, of all weights: clear one",
        has(BuilderFlag::kREFIT) ? "kREFIT" : "kREFIT_IDENTICAL");
  if (has(BuilderFlag::kSAFETY_SCOPE))
    return unsupported(
        "BuilderFlag::kSAFETY_SCOPE: there is no safety runtime here whose restrictions a network could be held to");
  const bool fallback = has(BuilderFlag::kGPU_FALLBACK);
  bool dla = v_.default_device == DeviceType::kDLA;
  for (const auto& [layer, device] : v_.devices) dla = dla || device == DeviceType::kDLA;
  if (dla && !fallback) return unsupported("layers are asked onto a DLA, and there is none here");
  if (dla) reporter_.warning("layers that were asked onto a DLA run on the engine's device");
  return Status();
}

Result<BuildSettings> BuilderConfigImpl::to_settings() const {
  WOOTZ_RETURN_IF_ERROR(check_buildable());
  BuildSettings options;
  if (const auto asked = v_.options.find("backend"); asked != v_.options.end()) {
    options.backend = asked->second;
    options.backend_reason = "option 'backend' says so";
  } else {
    const BackendChoice choice = backend_by_default();
    options.backend = choice.name;
    options.backend_reason = choice.reason + "; option 'backend' or the environment variable WOOTZ_BACKEND changes it";
  }
  for (const Option& each : kOptions)
    if (each.use != nullptr) WOOTZ_RETURN_IF_ERROR(each.use(option(each.key), &options));
  take_flags(&options);
  take_pools(&options);
  take_sources(&options);
  for (const ProfileImpl* profile : v_.profiles) {
    if (!profile->isValid()) return invalid_argument("profile {} is not valid any more", options.profiles.size());
    options.profiles.push_back(profile->to_build_profile());
  }
  options.calibration_version = version_at(reporter_.level());
  if (v_.calibration_profile != nullptr) {
    const auto* profile = dynamic_cast<const ProfileImpl*>(v_.calibration_profile);
    if (profile == nullptr || !profile->isValid()) return invalid_argument("the calibration profile is not valid");
    options.calibration_profile = profile->to_build_profile();
  }

  note_without_effect(options);
  options.level = v_.level;
  options.timing_iterations = v_.avg_timing;
  options.max_tactics = v_.max_tactics;
  // Streamed weights come for one step after the other.
  options.aux_streams = has(BuilderFlag::kWEIGHT_STREAMING) ? 0 : v_.aux_streams;
  options.one_program = has(BuilderFlag::kWEIGHT_STREAMING);

  keep_properties(&options);
  options.keep_record = v_.verbosity == ProfilingVerbosity::kDETAILED;
  options.keep_values = v_.verbosity != ProfilingVerbosity::kNONE;
  return options;
}

void BuilderConfigImpl::take_flags(BuildSettings* settings) const {
  constexpr struct {
    BuilderFlag flag;
    bool BuildSettings::*member;
    bool value;
  } kMembers[] = {
      {BuilderFlag::kTF32, &BuildSettings::tf32, true},
      {BuilderFlag::kFP16, &BuildSettings::fp16, true},
      {BuilderFlag::kBF16, &BuildSettings::bf16, true},
      {BuilderFlag::kINT8, &BuildSettings::int8, true},
      {BuilderFlag::kSPARSE_WEIGHTS, &BuildSettings::sparse_weights, true},
      {BuilderFlag::kOBEY_PRECISION_CONSTRAINTS, &BuildSettings::obey_layer_types, true},
      {BuilderFlag::kERROR_ON_TIMING_CACHE_MISS, &BuildSettings::error_on_cache_miss, true},
      {BuilderFlag::kEDITABLE_TIMING_CACHE, &BuildSettings::obey_pins, true},
      {BuilderFlag::kDEBUG, &BuildSettings::wait_each, true},
      {BuilderFlag::kDISTRIBUTIVE_INDEPENDENCE, &BuildSettings::independent_places, true},
      {BuilderFlag::kMONITOR_MEMORY, &BuildSettings::tell_memory, true},
      {BuilderFlag::kDISABLE_COMPILATION_CACHE, &BuildSettings::keep_compiled, false},
  };
  for (const auto& [flag, member, value] : kMembers) settings->*member = has(flag) == value;
  settings->timing_stream = v_.stream;
  if (has(BuilderFlag::kDEBUG)) settings->properties[property::kDebugSync] = "1";
  // These put forms in place of others that overflow where they do not: sums of exponentials, logarithms of quotients.
  if (has(BuilderFlag::kSTRICT_NANS)) settings->disabled_passes.insert({"fuse_reductions", "fuse_softmax"});
}

void BuilderConfigImpl::take_pools(BuildSettings* settings) const {
  constexpr struct {
    MemoryPoolType pool;
    size_t BuildSettings::*member;
  } kMembers[] = {{MemoryPoolType::kWORKSPACE, &BuildSettings::workspace},
                  {MemoryPoolType::kTACTIC_DRAM, &BuildSettings::operand_memory},
                  {MemoryPoolType::kTACTIC_SHARED_MEMORY, &BuildSettings::shared_memory}};
  for (const auto& [pool, member] : kMembers)
    if (const auto found = v_.pools.find(pool); found != v_.pools.end()) settings->*member = found->second;
}

void BuilderConfigImpl::take_sources(BuildSettings* settings) const {
  const auto has_any = [&](std::initializer_list<TacticSource> sources) {
    return std::any_of(sources.begin(), sources.end(),
                       [&](TacticSource s) { return (v_.sources >> static_cast<uint32_t>(s) & 1U) != 0; });
  };
  if (!has_any({TacticSource::kCUBLAS, TacticSource::kCUBLAS_LT})) settings->left_out.insert("cublaslt");
  if (!has_any({TacticSource::kCUDNN})) settings->left_out.insert("cudnn");
  // Libraries' kernels are for the generation that they were chosen on; sources are compiled for any.
  settings->every_generation = v_.compatibility == HardwareCompatibilityLevel::kAMPERE_PLUS;
  if (settings->every_generation) settings->left_out.insert({"cublaslt", "cudnn"});
  settings->jit_convolutions = has_any({TacticSource::kJIT_CONVOLUTIONS});
}

void BuilderConfigImpl::keep_properties(BuildSettings* settings) const {
  if (has(BuilderFlag::kWEIGHT_STREAMING)) settings->properties[property::kStreaming] = "1";
  if (settings->portable) settings->properties[property::kPortable] = "1";
  if (has(BuilderFlag::kVERSION_COMPATIBLE))
    settings->properties[property::kVersionCompatible] =
        has(BuilderFlag::kEXCLUDE_LEAN_RUNTIME) ? property::kWithoutRuntime : property::kWithRuntime;
  settings->properties[property::kApiVersion] = std::to_string(version_at(reporter_.level()));
  settings->properties[property::kVerbosity] = std::to_string(static_cast<int>(v_.verbosity));
  settings->properties[property::kTacticSources] = std::to_string(v_.sources);
  settings->properties[property::kCompatibility] = std::to_string(static_cast<int>(v_.compatibility));
  const auto has_values = [](const BuildProfile& p) { return !p.values.empty(); };
  if (std::any_of(settings->profiles.begin(), settings->profiles.end(), has_values))
    settings->properties[property::kProfileValues] = profile_values_json(settings->profiles);
}

Result<std::unique_ptr<TimingCache>> BuilderConfigImpl::empty_cache() const {
  const std::string path = option("device");
  const std::optional<NumberedDevice> numbered = numbered_device(path);
  if (!path.empty() && !numbered) {
    WOOTZ_ASSIGN_OR_RETURN(DeviceDescription device, read_device(path));
    return std::make_unique<TimingCache>(std::move(device));
  }
  const std::string name = numbered && !numbered->backend.empty() ? numbered->backend : option("backend");
  WOOTZ_ASSIGN_OR_RETURN(const Backend* backend, find_backend(name));
  WOOTZ_ASSIGN_OR_RETURN(const std::shared_ptr<Device> device,
                         backend->open(numbered ? numbered->number : kCurrentDevice));
  return std::make_unique<TimingCache>(device->describe());
}

Result<TimingCache*> BuilderConfigImpl::cache_for_build() const {
  if (v_.cache != nullptr && !has(BuilderFlag::kDISABLE_TIMING_CACHE)) return &v_.cache->cache();
  if (own_cache_ == nullptr || has(BuilderFlag::kDISABLE_TIMING_CACHE)) {
    WOOTZ_ASSIGN_OR_RETURN(std::unique_ptr<TimingCache> cache, empty_cache());
    own_cache_ = std::make_unique<TimingCacheImpl>(reporter_, std::move(cache));
  }
  return &own_cache_->cache();
}

}  // namespace wootz::api
