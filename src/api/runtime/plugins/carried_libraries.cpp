#include "api/runtime/plugins/carried_libraries.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "plan/digest.h"

namespace wootz::api {
namespace {

constexpr std::string_view kKey = "plugin library ";

Status write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = write(file, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return make_error(Code::kIo, "writing it failed: {}", std::strerror(errno));
    bytes = bytes.subspan(static_cast<size_t>(done));
  }
  return Status();
}

Status fill_and_open(int file, const std::string& path, const NativeCode& library, PluginRegistry& registry) {
  WOOTZ_RETURN_IF_ERROR(write_all(file, library.bytes));
  return registry.open_library(path.c_str(), file).status();
}

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

Status open_carried(const NativeCode& library, const CarriedFile& where, PluginRegistry& registry) {
  const auto open = [&]() -> Status {
    const std::string name = carried_name(library);
    // The loader knows libraries by their paths: this one stays the file's as long as the registry has the library.
    const int memory = where.in_memory ? memfd_create(name.c_str(), MFD_CLOEXEC) : -1;
    if (memory >= 0) {
      const Status status = fill_and_open(memory, fmt::format("/proc/self/fd/{}", memory), library, registry);
      if (!status.ok()) close(memory);
      return status;
    }
    if (!where.in_directory)
      return unsupported("TempfileControlFlag allows no temporary file, in memory or in a directory");
    std::string path = where.directory + "/wootz-plugin-XXXXXX";
    const int file = mkstemp(path.data());
    if (file < 0)
      return make_error(Code::kIo, "no file can be made in '{}': {}", where.directory, std::strerror(errno));
    const Status status = fill_and_open(file, path, library, registry);
    unlink(path.c_str());
    if (!status.ok()) close(file);
    return status;
  };
  const Status status = open();
  return status.ok() ? status : status.with_prefix("plugin library '" + carried_name(library) + "' of the plan");
}

}  // namespace wootz::api
