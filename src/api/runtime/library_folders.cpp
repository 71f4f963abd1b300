#include "wootz/library_folders.h"

#include "base/library_folders.h"

extern "C" int wootz_add_library_folder(const char* folder) noexcept {
  if (folder == nullptr || *folder == '\0') return 1;
  wootz::add_library_folder(folder);
  return 0;
}
