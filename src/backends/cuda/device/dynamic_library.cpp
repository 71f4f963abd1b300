#include "backends/cuda/device/dynamic_library.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>

#include "base/library_folders.h"

namespace wootz::cuda {
namespace {

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Folders like ".../site-packages" that something of this process was opened from: numpy, or this library.
int note_packages(dl_phdr_info* info, size_t, void* found) {
  const std::string path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  for (const char* folder : {"/site-packages/", "/dist-packages/"})
    if (const size_t at = path.rfind(folder); at != std::string::npos)
      static_cast<std::set<std::string>*>(found)->insert(path.substr(0, at + 14));
  return 0;
}

void add_matching(const std::string& pattern, std::vector<std::string>* folders) {
  glob_t matches{};
  if (::glob(pattern.c_str(), 0, nullptr, &matches) == 0)
    for (size_t i = 0; i < matches.gl_pathc; ++i) folders->push_back(matches.gl_pathv[i]);
  ::globfree(&matches);
}

void add_packages(std::vector<std::string>* folders) {
  constexpr const char* kLibraries = "/nvidia/*/lib";
  std::set<std::string> packages;
  dl_iterate_phdr(note_packages, &packages);
  for (const std::string& folder : packages) add_matching(folder + kLibraries, folders);
  for (const char* environment : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const std::string root = from_environment(environment); !root.empty())
      add_matching(root + "/lib/python3*/site-packages" + kLibraries, folders);
}

}  // namespace

std::vector<std::string> library_folders() {
  std::vector<std::string> folders;
  std::istringstream list(from_environment("WOOTZ_CUDA_PATH"));
  for (std::string folder; std::getline(list, folder, ':');)
    if (!folder.empty()) folders.push_back(folder);
  for (const std::string& root : {from_environment("CUDA_HOME"), std::string("/usr/local/cuda")}) {
    if (root.empty()) continue;
    folders.push_back(root + "/lib64");
    folders.push_back(root + "/lib");
  }
  for (const std::string& folder : added_library_folders()) folders.push_back(folder);
  add_packages(&folders);
  for (auto at = folders.begin(); at != folders.end();)  // the first of equal ones
    at = std::find(folders.begin(), at, *at) == at ? at + 1 : folders.erase(at);
  return folders;
}

Result<void*> open_library(std::initializer_list<const char*> names) {
  const std::vector<std::string> folders = library_folders();
  std::string tried, looked, reason;
  for (const char* name : names) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
    for (const std::string& folder : folders) {
      const std::string path = folder + "/" + name;
      if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
      const char* said = dlerror();  // of one that is there: what it lacks
      if (reason.empty() && said != nullptr && std::string_view(said).find("No such file") == std::string_view::npos)
        reason = fmt::format("; {}", said);
    }
    tried += (tried.empty() ? "" : ", ") + std::string(name);
  }
  for (const std::string& folder : folders) looked += ", " + folder;
  return unsupported("no {} in: the system's folders{}{}", tried, looked, reason);
}

void* find_symbol(void* library, const char* name) { return dlsym(library, name); }

}  // namespace wootz::cuda
