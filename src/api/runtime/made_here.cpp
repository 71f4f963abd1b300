#include "api/runtime/made_here.h"

#include <dlfcn.h>

namespace wootz::api {

void* function_of_maker(const void* object, const char* name) {
  const void* const table = *static_cast<const void* const*>(object);  // its virtual functions are its maker's
  Dl_info there{}, here{}, found{};
  if (::dladdr(table, &there) == 0 || ::dladdr(reinterpret_cast<const void*>(&function_of_maker), &here) == 0 ||
      there.dli_fbase == here.dli_fbase)
    return nullptr;
  void* const library = ::dlopen(there.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  void* const function = ::dlsym(library, name);
  ::dlclose(library);  // it is open all the same
  // And not one of what that library needs.
  if (function == nullptr || ::dladdr(function, &found) == 0 || found.dli_fbase != there.dli_fbase) return nullptr;
  return function;
}

}  // namespace wootz::api
