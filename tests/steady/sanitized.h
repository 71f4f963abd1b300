// Is this build a sanitizer's? Then everything is ten times slower, and malloc is not ours to count.
#pragma once

namespace wootz_test {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
}  // namespace wootz_test
