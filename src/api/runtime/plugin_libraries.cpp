// Libraries of plugins: what a registry looks for in them, and what it takes back when it closes them.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>

#include "api/runtime/plugin_registry.h"
#include "api/runtime/plugins/logger_finder.h"

namespace wootz::api {

using nvinfer1::AsciiChar;
using nvinfer1::IPluginCreator;
using nvinfer1::IPluginCreatorInterface;

namespace {

// The creators that a library names, by either of the functions that it may export for that.
std::vector<IPluginCreatorInterface*> exported_creators(void* handle) {
  using GetCreators = IPluginCreatorInterface* const* (*)(int32_t&);
  using GetV2 = IPluginCreator* const* (*)(int32_t&);
  std::vector<IPluginCreatorInterface*> creators;
  const auto take = [&](auto get) {
    int32_t count = 0;
    const auto* const all = get(count);
    for (int32_t i = 0; all != nullptr && i < count; ++i)
      if (all[i] != nullptr) creators.push_back(all[i]);
  };
  if (void* const get = dlsym(handle, "getCreators"))  // the newer one: where it is, the other is not asked
    take(reinterpret_cast<GetCreators>(get));
  else if (void* const get_v2 = dlsym(handle, "getPluginCreators"))
    take(reinterpret_cast<GetV2>(get_v2));
  return creators;
}

// What libraries registered with the process's registry when the first registry opened them: it stays as long as any
// registry has the library open.
class SelfRegistered {
 public:
  static SelfRegistered& get() {
    static auto* all = new SelfRegistered;
    return *all;
  }
  // `fresh`: what was registered since before it was opened.
  std::vector<IPluginCreatorInterface*> opened(void* handle, std::vector<IPluginCreatorInterface*> fresh) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Entry& entry = libraries_[handle];
    if (entry.users++ == 0) entry.creators = std::move(fresh);
    return entry.creators;
  }
  // What is to be taken back.
  std::vector<IPluginCreatorInterface*> closed(void* handle) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = libraries_.find(handle);
    if (found == libraries_.end() || --found->second.users > 0) return {};
    std::vector<IPluginCreatorInterface*> creators = std::move(found->second.creators);
    libraries_.erase(found);
    return creators;
  }

 private:
  struct Entry {
    std::vector<IPluginCreatorInterface*> creators;
    int users = 0;
  };
  std::mutex mutex_;
  std::map<void*, Entry> libraries_;
};

}  // namespace

Result<PluginRegistry::PluginLibraryHandle> PluginRegistry::open_library(const char* path, int file) {
  if (path == nullptr || *path == '\0') return invalid_argument("no path");
  // Creators that register themselves while the library is opened go to the process's registry.
  const std::vector<IPluginCreatorInterface*> before = process().own();
  void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = dlerror();
    return make_error(Code::kIo, "cannot open '{}': {}", path, why == nullptr ? "unknown reason" : why);
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (libraries_.contains(handle)) {
      dlclose(handle);
      return make_error(Code::kInvalidState, "'{}' is loaded already, and its plugins are registered", path);
    }
  }
  const LoggerScope scope(logger());
  if (void* const set = dlsym(handle, "setLoggerFinder")) give_logger_finder(set);
  Library library{handle, {}, file};
  std::vector<IPluginCreatorInterface*> fresh;
  for (IPluginCreatorInterface* creator : process().own())
    if (std::find(before.begin(), before.end(), creator) == before.end()) fresh.push_back(creator);
  const size_t registered = SelfRegistered::get().opened(handle, std::move(fresh)).size();
  const std::vector<IPluginCreatorInterface*> exported = exported_creators(handle);
  for (IPluginCreatorInterface* creator : exported) {
    if (find_same(creator) != nullptr || (file >= 0 && is_taken(*creator))) continue;
    if (Status status = add(*creator, ""); !status.ok()) {
      close_library(&library, /*with_file=*/false);
      return status.with_prefix(path);
    }
    library.creators.push_back(creator);
  }
  if (exported.empty() && registered == 0 && file < 0)  // a plan's may find its names taken
    reporter_.warning(
        fmt::format("plugin library '{}' exports neither getCreators nor getPluginCreators, and "
                    "registers nothing itself",
                    path));
  const std::lock_guard<std::mutex> lock(mutex_);
  libraries_[handle] = std::move(library);
  return handle;
}

void PluginRegistry::close_library(Library* library, bool with_file) {
  for (const IPluginCreatorInterface* creator : library->creators) remove(creator);
  for (const IPluginCreatorInterface* creator : SelfRegistered::get().closed(library->handle))
    process().remove(creator);
  dlclose(library->handle);
  if (with_file && library->file >= 0) close(library->file);
}

PluginRegistry::PluginLibraryHandle PluginRegistry::loadLibrary(const AsciiChar* pluginPath) noexcept {
  // The process's registry was given no logger, perhaps a recorder.
  const bool reports = logger().object != nullptr || getErrorRecorder() != nullptr;
  return attempt_or<PluginLibraryHandle>(reports ? reporter_ : Reporter(process_logger()),
                                         "IPluginRegistry::loadLibrary", nullptr,
                                         [&] { return open_library(pluginPath, -1); });
}

void PluginRegistry::deregisterLibrary(PluginLibraryHandle handle) noexcept {
  attempt(reporter_, "IPluginRegistry::deregisterLibrary", [&]() -> Status {
    Library library;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto it = libraries_.find(handle);
      if (it == libraries_.end()) return invalid_argument("not a library that this registry opened");
      library = std::move(it->second);
      libraries_.erase(it);
    }
    close_library(&library, /*with_file=*/true);
    return Status();
  });
}

}  // namespace wootz::api
