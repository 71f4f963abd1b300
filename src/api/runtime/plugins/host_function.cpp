#include "api/runtime/plugins/host_function.h"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <span>
#include <type_traits>
#include <utility>

#include "base/temporary_file.h"

namespace wootz::api {
namespace {

// The calling conventions of the processors here let a function take fewer arguments than it is given.
template <size_t... kPlaces>
void call_with(void* function, const std::array<uint64_t, HostFunction::kMostArguments>& a,
               std::index_sequence<kPlaces...>) {
  using Function = void (*)(std::conditional_t<true, uint64_t, std::integral_constant<size_t, kPlaces>>...);
  reinterpret_cast<Function>(function)(a[kPlaces]...);
}

}  // namespace

Result<std::shared_ptr<HostFunction>> HostFunction::open(const std::string& name, std::string_view library) {
  if (!library.starts_with("\x7f"
                           "ELF"))
    return invalid_argument("function '{}': what it is to be in is no shared library (ELF)", name);
  WOOTZ_ASSIGN_OR_RETURN(TemporaryFile file,
                         TemporaryFile::make(TemporaryFiles{}, "wootz-function", FirstPlace::kMemory));
  WOOTZ_RETURN_IF_ERROR(file.write(std::as_bytes(std::span(library.data(), library.size()))));
  void* const opened = dlopen(file.path().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) return invalid_argument("function '{}': its library cannot be opened: {}", name, dlerror());
  void* const function = dlsym(opened, name.c_str());
  if (function == nullptr) {
    dlclose(opened);
    return invalid_argument("function '{}' is not in the library that it is to be in", name);
  }
  return std::shared_ptr<HostFunction>(new HostFunction(opened, function, file.release()));
}

HostFunction::~HostFunction() {
  dlclose(library_);
  ::close(file_);
}

void HostFunction::call(const std::vector<uint64_t>& arguments) const {
  std::array<uint64_t, kMostArguments> all{};
  for (size_t i = 0; i < arguments.size() && i < all.size(); ++i) all[i] = arguments[i];
  call_with(function_, all, std::make_index_sequence<kMostArguments>());
}

}  // namespace wootz::api
