#include "backend/device.h"

#include "base/json.h"

namespace wootz {

std::string DeviceDescription::to_json() const {
  // Member by member: what a list of them has made so far is lost when an allocation fails.
  OrderedJson json = OrderedJson::object();
  json["backend"] = backend;
  json["name"] = name;
  json["isa"] = isa;
  json["threads"] = threads;
  json["memory"] = memory;
  if (OrderedJson more = OrderedJson::parse(properties, nullptr, false); more.is_object())
    json["properties"] = std::move(more);
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace);
}

Status check_alignment(const Device& device, const void* address, size_t bytes) {
  const size_t alignment = device.alignment();
  if (bytes < alignment || reinterpret_cast<uintptr_t>(address) % alignment == 0) return Status();
  return invalid_argument("the address {} is not a multiple of {} bytes, which this device reads and writes at once",
                          address, alignment);
}

namespace {

// A member of the wanted type, when present. False: present and of another type.
template <typename T, typename Is>
bool take(const SortedJson& json, const char* name, Is is, T* out) {
  const auto found = json.find(name);
  if (found == json.end()) return true;
  if (!((*found).*is)()) return false;
  *out = found->get<T>();
  return true;
}

}  // namespace

Result<DeviceDescription> DeviceDescription::from_json(std::string_view text) {
  const SortedJson json = SortedJson::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return invalid_argument("device description: not a JSON object");
  DeviceDescription d;
  int64_t threads = 1;
  uint64_t memory = 0;
  using Json = SortedJson;
  const char* wrong = !take(json, "backend", &Json::is_string, &d.backend)         ? "backend"
                      : !take(json, "name", &Json::is_string, &d.name)             ? "name"
                      : !take(json, "isa", &Json::is_string, &d.isa)               ? "isa"
                      : !take(json, "threads", &Json::is_number_integer, &threads) ? "threads"
                      : !take(json, "memory", &Json::is_number_unsigned, &memory)  ? "memory"
                                                                                   : nullptr;
  if (wrong != nullptr) return invalid_argument("device description: member '{}' has the wrong type", wrong);
  if (d.backend.empty()) return invalid_argument("device description: member 'backend' is missing");
  if (threads < 1 || threads > 65536)
    return invalid_argument("device description: {} threads; expected 1 to 65536", threads);
  if (const auto more = json.find("properties"); more != json.end()) {
    if (!more->is_object()) return invalid_argument("device description: member 'properties' is no object");
    d.properties = more->dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  d.threads = static_cast<int>(threads);
  d.memory = static_cast<size_t>(memory);
  return d;
}

}  // namespace wootz
