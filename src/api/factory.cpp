// The C entry points of the build half.
#include "api/builder.h"
#include "api/builder_config.h"
#include "api/network/network.h"
#include "api/parser.h"
#include "api/parser_refitter.h"
#include "api/refitter.h"
#include "api/runtime/engine.h"
#include "api/runtime/lean_runtime.h"
#include "api/runtime/made_here.h"
#include "api/runtime/version.h"
#include "backends/registry.h"
#include "report/libraries.h"
#include "wootz/extensions.h"

using wootz::api::AppLogger;
using wootz::api::attempt;
using wootz::api::attempt_or;
using wootz::api::process_logger;
using wootz::api::Reporter;

extern "C" {

TENSORRTAPI void* createInferBuilder_INTERNAL(void* logger, int32_t version) noexcept {
  const std::optional<wootz::api::AppLogger> app = wootz::api::admit(logger, version);
  if (!app) return nullptr;
  return attempt_or<nvinfer1::IBuilder*>(
      Reporter(*app), "createInferBuilder", nullptr,
      [&]() -> wootz::Result<nvinfer1::IBuilder*> { return new wootz::api::BuilderImpl(*app); });
}

// The parser's version says nothing of the level: the network knows it.
TENSORRTAPI void* createNvOnnxParser_INTERNAL(void* network, void* logger, int version) noexcept {
  if (logger == nullptr) return nullptr;
  auto* ours =
      network == nullptr
          ? nullptr
          : wootz::api::made_here<wootz::api::NetworkImpl>(static_cast<nvinfer1::INetworkDefinition*>(network));
  const AppLogger app{static_cast<nvinfer1::ILogger*>(logger),
                      ours == nullptr ? process_logger().level : ours->reporter().level()};
  return attempt_or<nvonnxparser::IParser*>(
      Reporter(app), "createNvOnnxParser", nullptr, [&]() -> wootz::Result<nvonnxparser::IParser*> {
        if (version / 10000 != NV_ONNX_PARSER_MAJOR)
          return wootz::invalid_argument("the program was compiled for version {} of the parser's API", version);
        if (ours == nullptr) return wootz::invalid_argument("the network is null or not a builder's");
        return new wootz::api::ParserImpl(*ours, app);
      });
}

TENSORRTAPI void* createInferRefitter_INTERNAL(void* engine, void* logger, int32_t version) noexcept {
  const std::optional<wootz::api::AppLogger> app = wootz::api::admit(logger, version);
  if (!app) return nullptr;
  return attempt_or<nvinfer1::IRefitter*>(
      Reporter(*app), "createInferRefitter", nullptr, [&]() -> wootz::Result<nvinfer1::IRefitter*> {
        auto* ours = engine == nullptr
                         ? nullptr
                         : wootz::api::made_here<wootz::api::EngineImpl>(static_cast<nvinfer1::ICudaEngine*>(engine));
        if (ours == nullptr) return wootz::invalid_argument("the engine is null or not of this library");
        if (!ours->isRefittable())
          return wootz::make_error(wootz::Code::kInvalidState,
                                   "the engine was not built refittable: set BuilderFlag::kREFIT");
        return new wootz::api::RefitterImpl(*ours, *app);
      });
}

TENSORRTAPI void* createNvOnnxParserRefitter_INTERNAL(void* refitter, void* logger, int32_t version) noexcept {
  if (logger == nullptr) return nullptr;
  const AppLogger app{static_cast<nvinfer1::ILogger*>(logger), process_logger().level};
  return attempt_or<nvonnxparser::IParserRefitter*>(
      Reporter(app), "createNvOnnxParserRefitter", nullptr, [&]() -> wootz::Result<nvonnxparser::IParserRefitter*> {
        if (version / 10000 != NV_ONNX_PARSER_MAJOR)
          return wootz::invalid_argument("the program was compiled for version {} of the parser's API", version);
        auto* ours = refitter == nullptr
                         ? nullptr
                         : wootz::api::made_here<wootz::api::RefitterImpl>(static_cast<nvinfer1::IRefitter*>(refitter));
        if (ours == nullptr) return wootz::invalid_argument("the refitter is null or not of this library");
        return new wootz::api::ParserRefitterImpl(*ours, app);
      });
}

TENSORRTAPI int getNvOnnxParserVersion() noexcept { return NV_ONNX_PARSER_VERSION; }

TENSORRTAPI nvinfer1::IPluginRegistry* getBuilderPluginRegistry(nvinfer1::EngineCapability capability) noexcept {
  return capability == nvinfer1::EngineCapability::kSTANDARD ? getPluginRegistry() : nullptr;
}

// The safety runtime is not offered.
TENSORRTAPI nvinfer1::safe::IPluginRegistry* getBuilderSafePluginRegistry(nvinfer1::EngineCapability) noexcept {
  attempt(Reporter(process_logger()), "getBuilderSafePluginRegistry",
          [] { return wootz::unsupported("the safety runtime, whose registry this is, is not offered"); });
  return nullptr;
}

// The library of the runtime is, which version-compatible plans carry.
TENSORRTAPI bool setInternalLibraryPath(const nvinfer1::AsciiChar* path) noexcept {
  return attempt(Reporter(process_logger()), "setInternalLibraryPath", [&]() -> wootz::Status {
    if (path == nullptr) return wootz::invalid_argument("the path is null");
    return wootz::api::set_library_folder(path);
  });
}

int wootz_config_set_option(void* config, const char* key, const char* value) noexcept {
  auto* ours = wootz::api::made_here<wootz::api::BuilderConfigImpl>(static_cast<nvinfer1::IBuilderConfig*>(config));
  return attempt(Reporter(process_logger()), "wootz_config_set_option",
                 [&]() -> wootz::Status {
                   if (ours == nullptr || key == nullptr) return wootz::invalid_argument("config or key is null");
                   return ours->set_option(key, value);
                 })
             ? 0
             : 1;
}

int wootz_build_file(void* builder, void* network, void* config, const char* path) noexcept {
  auto* ours = wootz::api::made_here<wootz::api::BuilderImpl>(static_cast<nvinfer1::IBuilder*>(builder));
  return attempt(ours == nullptr ? Reporter(process_logger()) : Reporter(ours->reporter()), "wootz_build_file",
                 [&]() -> wootz::Status {
                   if (ours == nullptr || network == nullptr || config == nullptr || path == nullptr)
                     return wootz::invalid_argument("builder, network, config or path is null");
                   return ours->build_file(*static_cast<nvinfer1::INetworkDefinition*>(network),
                                           *static_cast<nvinfer1::IBuilderConfig*>(config), path);
                 })
             ? 0
             : 1;
}

const char* wootz_config_get_option(void* config, const char* key) noexcept {
  auto* ours = wootz::api::made_here<wootz::api::BuilderConfigImpl>(static_cast<nvinfer1::IBuilderConfig*>(config));
  return ours == nullptr || key == nullptr ? nullptr : ours->option(key);
}

const char* wootz_device_description(const char* name) noexcept {
  thread_local std::string text;
  const auto answer = [&]() -> wootz::Status {
    text.clear();
    if (name != nullptr) {
      WOOTZ_ASSIGN_OR_RETURN(const wootz::DeviceDescription device, wootz::find_known_device(name));
      text = device.to_json();
      return wootz::Status();
    }
    for (const wootz::Backend* backend : wootz::all_backends())
      for (const wootz::DeviceDescription& device : backend->known_devices())
        text += (text.empty() ? "" : " ") + device.alias;
    return wootz::Status();
  };
  return attempt(Reporter(process_logger()), "wootz_device_description", answer) ? text.c_str() : nullptr;
}

const char* wootz_backend_libraries(const char* backend) noexcept {
  thread_local std::string text;
  const auto answer = [&]() -> wootz::Status {
    WOOTZ_ASSIGN_OR_RETURN(const wootz::Backend* const found, wootz::find_backend(backend == nullptr ? "" : backend));
    text = wootz::libraries_json(found->libraries(false));
    return wootz::Status();
  };
  return attempt(Reporter(process_logger()), "wootz_backend_libraries", answer) ? text.c_str() : nullptr;
}

int wootz_parser_set_option(void* parser, const char* key, const char* value) noexcept {
  auto* ours = wootz::api::made_here<wootz::api::ParserImpl>(static_cast<nvonnxparser::IParser*>(parser));
  return attempt(Reporter(process_logger()), "wootz_parser_set_option",
                 [&]() -> wootz::Status {
                   if (ours == nullptr || key == nullptr) return wootz::invalid_argument("parser or key is null");
                   return ours->set_option(key, value);
                 })
             ? 0
             : 1;
}

}  // extern "C"
