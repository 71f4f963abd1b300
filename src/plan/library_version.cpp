#include "plan/library_version.h"

#include <fmt/format.h>

#include "plan/format.h"

namespace wootz {

#if defined(WOOTZ_NEXT)  // a test builds the library of another version
#undef WOOTZ_VERSION
#define WOOTZ_VERSION "91.2.3"
#endif
#define WOOTZ_TEXT_OF(x) #x
#define WOOTZ_TEXT(x) WOOTZ_TEXT_OF(x)

const char* library_mark() { return "@wootz library " WOOTZ_VERSION ", plan format " WOOTZ_TEXT(WOOTZ_PLAN_FORMAT); }

uint32_t library_version() {
  uint32_t parts[3] = {};
  size_t at = 0;
  for (const char* c = WOOTZ_VERSION; *c != '\0' && at < 3; ++c) {
    if (*c == '.')
      ++at;
    else
      parts[at] = parts[at] * 10 + static_cast<uint32_t>(*c - '0');
  }
  return parts[0] << 16 | parts[1] << 8 | parts[2];
}

std::string version_text(uint32_t version) {
  return fmt::format("{}.{}.{}", version >> 16, version >> 8 & 0xff, version & 0xff);
}

}  // namespace wootz
