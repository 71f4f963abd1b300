// Machine code that was made before: offered by a plan whose owner permitted it, or kept in the cache folder
// (WOOTZ_CUDA_CACHE, default ~/.cache/wootz; empty: none).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backend/native_code.h"
#include "base/status.h"

namespace wootz::cuda {

// Takes part in find_offered() as long as the owners live. Thread-safe, as are the others.
void offer_native(const std::vector<NativeCode>& code);
std::optional<std::vector<char>> find_offered(const std::string& key);

// Files in the folder belong to who made them: others' are not read. Nothing within a KeptCodeScope that allows none.
std::optional<std::vector<char>> find_kept(const std::string& key);
void keep(const std::string& key, const std::vector<char>& code);

NativeCode make_native(std::string key, std::vector<char> code);

// A 128-bit digest as text, of sources and other keys of caches.
std::string digest_text(const std::string& text);

}  // namespace wootz::cuda
