// What a builder config says of plugins.
#include "api/builder_config.h"
#include "api/plugins/build_plugins.h"
#include "api/runtime/plugins/carried_libraries.h"
#include "backends/registry.h"

namespace wootz::api {

using namespace nvinfer1;  // NOLINT: implements that interface, line by line

Status BuilderConfigImpl::check_plugins(const Graph& graph, const BuildSettings& settings) const {
  constexpr auto kAliased = static_cast<uint32_t>(PreviewFeature::kALIASED_PLUGIN_IO_10_03);
  if (const Result<const Backend*> backend = find_backend(settings.backend); backend.ok()) {
    const bool device = (*backend)->can.own_memory;
    const std::string elsewhere =
        first_layer_for(device ? NetworkPlugin::Place::kHost : NetworkPlugin::Place::kGpu, graph);
    if (!elsewhere.empty())
      return unsupported("layer '{}': its plugin is {}, and the build is for the backend '{}'", elsewhere,
                         device ? "a function for the host" : "a kernel for a GPU (IPluginV3QuickAOTBuild)",
                         settings.backend);
  }
  const std::string aliasing = first_aliasing_layer(graph);
  if (!aliasing.empty() && (v_.preview >> kAliased & 1U) == 0)
    return make_error(Code::kInvalidState,
                      "layer '{}': its plugin overwrites an input (IPluginV3OneBuildV2::getAliasedInput), for which "
                      "PreviewFeature::kALIASED_PLUGIN_IO_10_03 must be set",
                      aliasing);
  return Status();
}

Status BuilderConfigImpl::add_plugin_libraries(Program* program) const {
  for (const std::string& path : v_.plugins) WOOTZ_RETURN_IF_ERROR(carry_library(path, program));
  return Status();
}

}  // namespace wootz::api
