#include "api/runtime/lean_runtime.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>

#include "base/beside.h"
#include "base/mapped.h"
#include "plan/library_version.h"
#include "runtime/report/properties.h"
#include "wootz/extensions.h"

namespace wootz::api {
namespace {

constexpr const char* kLean = "libwootz_runtime.so";
// What it needs and ships with it, each after what it needs itself.
constexpr const char* kNeeded[] = {"libwootz_omp.so.1", "libhwy.so.1", "libwootz_dnnl.so.3"};

struct Folder {
  std::mutex mutex;
  std::string path;
  static Folder& get() {
    static auto* folder = new Folder;
    return *folder;
  }
};

std::vector<std::string> folders() {
  Folder& set = Folder::get();
  const std::lock_guard<std::mutex> lock(set.mutex);
  if (!set.path.empty()) return {set.path + "/"};
  return folders_beside(reinterpret_cast<const void*>(&set_library_folder));
}

Result<MappedFile> map_library(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info {};
  if (file < 0 || ::fstat(file, &info) != 0) {
    if (file >= 0) ::close(file);
    return make_error(Code::kIo, "'{}' cannot be opened", path);
  }
  Result<MappedFile> mapped = map_file(file, static_cast<size_t>(info.st_size));
  ::close(file);
  return mapped;
}

// Of this version, and not one that an older or newer build has left there.
bool is_of_this_version(std::span<const std::byte> library) {
  const std::string_view mark = library_mark();
  return ::memmem(library.data(), library.size(), mark.data(), mark.size() + 1) != nullptr;
}

struct Carried {
  std::vector<MappedFile> files;
  PackedRuntime packed;
};

Result<std::unique_ptr<Carried>> read_lean(const std::string& path) {
  auto carried = std::make_unique<Carried>();
  std::vector<RuntimeFile> files;
  const auto add = [&](const std::string& name, MappedFile file) {
    files.push_back({name, file.bytes});
    carried->files.push_back(std::move(file));
  };
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  for (const char* name : kNeeded)  // where one is not here, it is the system's
    if (Result<MappedFile> file = map_library((folder / name).string()); file.ok()) add(name, std::move(file).value());
  WOOTZ_ASSIGN_OR_RETURN(MappedFile lean, map_library(path));
  add(kLean, std::move(lean));
  WOOTZ_RETURN_IF_ERROR(pack_runtime(files, &carried->packed).with_prefix(path));
  return carried;
}

// Read once for each path: the same bytes go into every plan of the process.
Result<const PackedRuntime*> lean_to_carry() {
  WOOTZ_ASSIGN_OR_RETURN(const std::string path, lean_library());
  static std::mutex mutex;
  static auto* all = new std::map<std::string, std::unique_ptr<Carried>>;
  const std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<Carried>& carried = (*all)[path];
  if (carried == nullptr) {
    WOOTZ_ASSIGN_OR_RETURN(carried, read_lean(path));
  }
  return &carried->packed;
}

}  // namespace

Status set_library_folder(const std::string& folder) {
  std::error_code none;
  if (!folder.empty() && !std::filesystem::is_directory(folder, none))
    return invalid_argument("'{}' is no folder", folder);
  Folder& set = Folder::get();
  const std::lock_guard<std::mutex> lock(set.mutex);
  set.path = folder;
  return Status();
}

Result<std::string> lean_library() {
  std::string looked;
  for (const std::string& folder : folders()) {
    const std::string path = folder + kLean;
    const Result<MappedFile> file = map_library(path);
    if (file.ok() && is_of_this_version(file->bytes)) return path;
    looked += fmt::format("{}'{}'{}", looked.empty() ? "" : ", ", path, file.ok() ? " (of another version)" : "");
  }
  return make_error(Code::kIo, "the library of the runtime, version {}, is not there: looked for {}",
                    version_text(library_version()), looked);
}

std::string beside_this_library(const std::string& name) {
  std::error_code none;
  if (name.find('/') == std::string::npos)
    for (const std::string& folder : folders())
      if (std::filesystem::is_regular_file(folder + name, none)) return folder + name;
  return name;
}

Result<Companion> companion_of(const Program& program) {
  const auto found = program.properties.find(property::kVersionCompatible);
  if (found == program.properties.end()) return Companion{};
  Companion companion{library_version(), nullptr};
  if (found->second != property::kWithRuntime) return companion;
  WOOTZ_ASSIGN_OR_RETURN(companion.runtime, lean_to_carry());
  return companion;
}

Result<nvinfer1::IRuntime*> create_runtime(void* library, const std::string& name, const Reporter& reporter) {
  constexpr const char* kFactory = "createInferRuntime_INTERNAL";
  using Factory = void* (*)(void* logger, int32_t version);
  const auto create = reinterpret_cast<Factory>(::dlsym(library, kFactory));
  if (create == nullptr) return invalid_argument("'{}' is no runtime: it has no function {}", name, kFactory);
  auto* const runtime = static_cast<nvinfer1::IRuntime*>(create(reporter.logger(), version_at(reporter.level())));
  if (runtime == nullptr)
    return unsupported("the runtime '{}' does not serve version {} of the API", name, version_at(reporter.level()));
  return runtime;
}

namespace {

// Puts the file where it may be and opens it. It stays open, and what the loader knows it by its own.
Result<void*> open_file_of(const RuntimeFile& file, const TemporaryFiles& where) {
  WOOTZ_ASSIGN_OR_RETURN(TemporaryFile copy, TemporaryFile::make(where, file.name, FirstPlace::kMemory));
  WOOTZ_RETURN_IF_ERROR(copy.write(file.bytes));
  void* const library = ::dlopen(copy.path().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return make_error(Code::kIo, "cannot be opened: {}", ::dlerror());
  copy.release();
  return library;
}

// All but the last are what the last one needs; the process may have them open.
Result<void*> open_files(const std::vector<RuntimeFile>& files, const TemporaryFiles& where) {
  void* library = nullptr;
  for (size_t f = 0; f < files.size(); ++f) {
    const bool needed = f + 1 < files.size();
    if (needed && ::dlopen(files[f].name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD) != nullptr) continue;
    Result<void*> opened = open_file_of(files[f], where);
    if (!opened.ok()) return opened.status().with_prefix(fmt::format("'{}' of the plan's runtime", files[f].name));
    library = *opened;
  }
  return library;
}

Result<void*> open_once(std::span<const std::byte> section, const plan_format::Outline& plan,
                        const TemporaryFiles& where) {
  static std::mutex mutex;
  static auto* open = new std::map<Digest, void*>;
  const std::lock_guard<std::mutex> lock(mutex);
  void*& library = (*open)[plan.runtime.digest];
  if (library != nullptr) return library;
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<RuntimeFile> files, unpack_runtime(section));
  WOOTZ_ASSIGN_OR_RETURN(library, open_files(files, where));
  return library;
}

}  // namespace

Result<nvinfer1::IRuntime*> open_carried_runtime(std::span<const std::byte> section, const plan_format::Outline& plan,
                                                 const TemporaryFiles& where, const Reporter& reporter) {
  WOOTZ_ASSIGN_OR_RETURN(void* const library, open_once(section, plan, where));
  const auto version = reinterpret_cast<decltype(&wootz_library_version)>(::dlsym(library, "wootz_library_version"));
  const uint32_t is = version == nullptr ? 0 : static_cast<uint32_t>(version());
  // Without this a runtime of this version could be asked to find another one in the same plan, without end.
  if (is != plan.writer)
    return invalid_argument("the runtime in the plan is of version {}, and the plan of version {}", version_text(is),
                            version_text(plan.writer));
  return create_runtime(library, fmt::format("in the plan ({})", version_text(is)), reporter);
}

}  // namespace wootz::api
