// What this machine has: the backends with their devices, and devices known by name.

#include "api/builder_config.h"
#include "backends/registry.h"
#include "base/json.h"
#include "report/libraries.h"
#include "wootz/extensions.h"

namespace wootz::api {
namespace {

using Json = OrderedJson;

// "sm_90": "9.0".
void add_capability(const std::string& isa, Json* json) {
  if (isa.rfind("sm_", 0) == 0 && isa.size() > 4)
    (*json)["compute_capability"] = isa.substr(3, isa.size() - 4) + "." + isa.back();
}

Json device_json(const DeviceDescription& device) {
  Json json = {{"name", device.name}, {"isa", device.isa}};
  add_capability(device.isa, &json);
  if (device.threads > 1 || device.backend == "cpu") json["threads"] = device.threads;
  json["memory"] = device.memory;
  return json;
}

// With the device that is used by default, or why it has none here, all of them, and the libraries that it opens.
Json backend_json(const std::string& name) {
  Json json = {{"backend", name}};
  const Result<const Backend*> backend = find_backend(name);
  const Result<std::shared_ptr<Device>> device =
      backend.ok() ? (*backend)->open() : Result<std::shared_ptr<Device>>(backend.status());
  if (device.ok())
    json.update(device_json((*device)->describe()));
  else
    json["why_not"] = device.status().message();
  if (!backend.ok()) return json;
  if (const Result<std::vector<DeviceDescription>> all = (*backend)->devices(); device.ok() && all.ok()) {
    json["number"] = (*device)->number();
    for (const DeviceDescription& each : *all) json["devices"].push_back(device_json(each));
  }
  const std::vector<LibraryState> libraries = (*backend)->libraries(false);
  if (!libraries.empty()) json["libraries"] = Json::parse(libraries_json(libraries));
  return json;
}

Json machine_json() {
  Json json = {{"version", WOOTZ_VERSION},
               {"api_version", fmt::format("{}.{}.{}", NV_TENSORRT_MAJOR, NV_TENSORRT_MINOR, NV_TENSORRT_PATCH)},
               {"default_backend", BuilderConfigImpl(Reporter(process_logger())).option("backend")},
               {"backends", Json::array()},
               {"known_devices", Json::array()}};
  // GPUs first, which this build need not have; the reference is no device.
  json["backends"].push_back(backend_json("cuda"));
  for (const Backend* backend : all_backends())
    if (const std::string_view name = backend->name; name != "cuda" && name != "reference")
      json["backends"].push_back(backend_json(backend->name));
  for (const Backend* backend : all_backends())
    for (const DeviceDescription& device : backend->known_devices()) {
      Json known = {{"alias", device.alias}};
      known.update(device_json(device));
      json["known_devices"].push_back(std::move(known));
    }
  return json;
}

}  // namespace
}  // namespace wootz::api

extern "C" const char* wootz_machine(void) noexcept {
  thread_local std::string text;
  const bool made =
      wootz::api::attempt(wootz::api::Reporter(wootz::api::process_logger()), "wootz_machine", []() -> wootz::Status {
        text = wootz::api::machine_json().dump(1, ' ', false, wootz::OrderedJson::error_handler_t::replace);
        return wootz::Status();
      });
  return made ? text.c_str() : nullptr;
}
