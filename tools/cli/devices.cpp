// `wootz devices`: what this machine has, then the devices that can be built for without having them.
#include <cstdio>
#include <memory>

#include "base/json.h"
#include "commands.h"
#include "wootz/extensions.h"

namespace wootz_cli {
namespace {

using ordered_json = wootz::OrderedJson;

std::string gib(const ordered_json& device) {
  const double bytes = device.value("memory", 0.0);
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GiB", bytes / (1 << 30));
  return bytes > 0 ? text : "";
}

void print_libraries(const ordered_json& backend) {
  for (const ordered_json& l : backend.value("libraries", ordered_json::array())) {
    const std::string name = l.at("name"), missing = l.value("missing", ""), without = l.value("without", "");
    std::printf("        %-9s %s\n", name.c_str(), missing.empty() ? l.value("version", "").c_str() : missing.c_str());
    if (!without.empty()) std::printf("        %-9s without it: %s\n", "", without.c_str());
  }
}

std::string device_line(const ordered_json& device) {
  const std::string capability = device.value("compute_capability", ""), isa = device.value("isa", "");
  std::string line = device.value("name", "") + ", ";
  line += capability.empty() ? isa : "compute capability " + capability + " (" + isa + ")";
  if (capability.empty()) line += ", " + std::to_string(device.value("threads", 0)) + " threads";
  return line + ", " + gib(device);
}

void print_backend(const ordered_json& backend, const std::string& by_default) {
  const std::string name = backend.at("backend");
  if (backend.contains("why_not")) {
    std::printf("  %-6s none: %s\n", name.c_str(), backend["why_not"].get<std::string>().c_str());
    print_libraries(backend);
    return;
  }
  const ordered_json devices = backend.value("devices", ordered_json::array({backend}));
  const size_t usual = backend.value("number", size_t{0});
  for (size_t i = 0; i < devices.size(); ++i) {
    const std::string which = devices.size() > 1 ? name + ":" + std::to_string(i) : name;
    std::printf("  %-6s %s%s\n", which.c_str(), device_line(devices[i]).c_str(),
                name == by_default && i == usual ? "; used by default" : "");
  }
  print_libraries(backend);
}

void print_all(const ordered_json& machine) {
  std::printf("This machine (wootz build --device BACKEND, or BACKEND:NUMBER):\n");
  for (const ordered_json& backend : machine.at("backends")) print_backend(backend, machine.at("default_backend"));
  const ordered_json& known = machine.at("known_devices");
  if (!known.empty()) std::printf("\nKnown by name, to build for without having them (wootz build --device NAME):\n");
  for (const ordered_json& device : known)
    std::printf("  %-10s %s, compute capability %s, %s\n", device.value("alias", "").c_str(),
                device.value("name", "").c_str(), device.value("compute_capability", "").c_str(), gib(device).c_str());
}

}  // namespace

void add_devices(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("devices", "What this machine has, and devices to build for without having them");
  auto name = std::make_shared<std::string>();
  auto as_json = std::make_shared<bool>(false);
  command->add_option("name", *name, "Print the description of a known device, which a build takes from a file too");
  command->add_flag("--json", *as_json, "The same as JSON on stdout");
  command->callback([name, as_json] {
    const char* const text = name->empty() ? wootz_machine() : wootz_device_description(name->c_str());
    if (text == nullptr && !name->empty()) throw Usage("no device is known as '" + *name + "'");
    if (text == nullptr) throw Failure("this machine cannot be described");
    if (*as_json || !name->empty())
      std::printf("%s\n", text);
    else
      print_all(ordered_json::parse(text));
  });
}

}  // namespace wootz_cli
