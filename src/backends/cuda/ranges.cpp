#include "backends/cuda/ranges.h"

#include <cstdlib>
#include <optional>
#include <string_view>

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>  // headers only: they open the tool's library, which the environment names
#define WOOTZ_HAVE_NVTX 1
#endif

namespace wootz::cuda {
namespace {

std::optional<RangeHooks> find_hooks() {
#if defined(WOOTZ_HAVE_NVTX)
  const auto text = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string_view(value == nullptr ? "" : value);
  };
  const std::string_view wish = text("WOOTZ_NVTX");
  if (wish == "0" || (wish.empty() && text("NVTX_INJECTION64_PATH").empty())) return std::nullopt;
  return RangeHooks{[](const char* name) { nvtxRangePushA(name); }, [] { nvtxRangePop(); }, wish == "layers"};
#else
  return std::nullopt;
#endif
}

}  // namespace

const RangeHooks* nvtx_ranges() {
  static const std::optional<RangeHooks> hooks = find_hooks();
  return hooks ? &*hooks : nullptr;
}

}  // namespace wootz::cuda
