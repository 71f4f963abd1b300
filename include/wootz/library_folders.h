// Where CUDA's libraries are looked for, beyond what docs/gpu.md lists: for environments that know more places than the
// library does.
#pragma once

#include "wootz/extensions.h"

extern "C" {
/// Adds a folder to those in which CUDA's libraries are looked for, after a toolkit's. It serves what is opened from
/// then on: call it before the first build or engine. Not 0: the folder is empty or null.
WOOTZ_EXPORT int wootz_add_library_folder(const char* folder) WOOTZ_NOEXCEPT;
}
