#include "api/backend_choice.h"

#include <cstdlib>

#include "backends/registry.h"
#include "wootz/extensions.h"

namespace wootz::api {

BackendChoice backend_by_default() {
  if (const char* wish = std::getenv("WOOTZ_BACKEND"); wish != nullptr && *wish != '\0')
    return {wish, "the environment variable WOOTZ_BACKEND says so"};
  const DefaultBackend found = default_backend();
  if (found.missing.empty()) return {found.backend->name, "a GPU and its libraries are here"};
  return {found.backend->name, "no GPU can be used: " + found.missing};
}

}  // namespace wootz::api

extern "C" const char* wootz_default_backend(const char** reason) noexcept {
  thread_local wootz::api::BackendChoice choice;
  try {
    choice = wootz::api::backend_by_default();
  } catch (...) {
    choice = {"cpu", ""};
  }
  if (reason != nullptr) *reason = choice.reason.c_str();
  return choice.name;
}
