#include "api/runtime/plugins/carried_libraries.h"

#include <filesystem>
#include <fstream>

#include "plan/digest.h"

namespace wootz::api {
namespace {

constexpr std::string_view kKey = "plugin library ";

}  // namespace

Status carry_library(const std::string& path, Program* program) {
  std::ifstream in(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in.good() && bytes.empty()) return make_error(Code::kIo, "plugin library '{}' cannot be read", path);
  if (!bytes.starts_with("\x7f"
                         "ELF"))
    return invalid_argument("plugin library '{}' is no shared library (ELF)", path);
  NativeCode library;
  library.key = std::string(kKey) + std::filesystem::path(path).filename().string();
  const auto owner = std::make_shared<const std::string>(std::move(bytes));
  library.bytes = std::as_bytes(std::span(owner->data(), owner->size()));
  library.owner = owner;
  program->native.push_back(std::move(library));
  return Status();
}

std::vector<const NativeCode*> carried_libraries(const Program& program) {
  std::vector<const NativeCode*> libraries;
  for (const NativeCode& code : program.native)
    if (code.key.starts_with(kKey)) libraries.push_back(&code);
  return libraries;
}

std::string carried_name(const NativeCode& library) { return library.key.substr(kKey.size()); }

std::string carried_digest(const NativeCode& library) {
  const Digest digest = plain_digest(library.bytes);
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

Status open_carried(const NativeCode& library, const TemporaryFiles& where, PluginRegistry& registry) {
  const auto open = [&]() -> Status {
    WOOTZ_ASSIGN_OR_RETURN(TemporaryFile file, TemporaryFile::make(where, "wootz-plugin", FirstPlace::kMemory));
    WOOTZ_RETURN_IF_ERROR(file.write(library.bytes));
    // The loader knows libraries by their paths: this one stays the file's as long as the registry has the library.
    WOOTZ_RETURN_IF_ERROR(registry.open_library(file.path().c_str(), file.descriptor()).status());
    file.release();
    return Status();
  };
  const Status status = open();
  return status.ok() ? status : status.with_prefix("plugin library '" + carried_name(library) + "' of the plan");
}

}  // namespace wootz::api
