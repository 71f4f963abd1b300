#include "api/build_routes.h"

#include <algorithm>
#include <string_view>

#include "wootz/extensions.h"

namespace wootz::api {
namespace {

// Those that a network may be faster without; the others make it smaller, or what later passes count on.
constexpr std::string_view kChoices[] = {
    "fuse_attention",      "fuse_bottlenecks", "fuse_caches",     "fuse_chains",   "fuse_concat",
    "fuse_embedding",      "fuse_epilogue",    "fuse_gates",      "fuse_norms",    "fuse_padding",
    "fuse_pointwise",      "fuse_rotary",      "fuse_shortcuts",  "fuse_siblings", "fuse_softmax",
    "fuse_squeeze_excite", "fuse_stem",        "hoist_pointwise", "join_concats",  "join_siblings",
    "merge_convolutions",  "merge_siblings",   "push_transposes", "relax_sums",    "reorder_rows",
    "unfold_patches"};
constexpr std::string_view kWithout = "without:";

}  // namespace

Result<std::set<std::string>> passes_left_out(const std::string& route) {
  std::set<std::string> passes;
  if (route.empty()) return passes;
  if (route.rfind(kWithout, 0) != 0) return invalid_argument("'{}' is no build route: {}PASS[+PASS]", route, kWithout);
  for (size_t at = kWithout.size(); at <= route.size();) {
    const size_t plus = std::min(route.find('+', at), route.size());
    const std::string pass = route.substr(at, plus - at);
    if (std::find(std::begin(kChoices), std::end(kChoices), pass) == std::end(kChoices))
      return invalid_argument("build route '{}': there is no choice about '{}'; the routes are: {}", route, pass,
                              all_build_routes());
    passes.insert(pass);
    at = plus + 1;
  }
  return passes;
}

const std::string& all_build_routes() {
  static const std::string json = [] {
    std::string text = "[\"\"";
    for (const std::string_view pass : kChoices) text += fmt::format(", \"{}{}\"", kWithout, pass);
    return text + "]";
  }();
  return json;
}

}  // namespace wootz::api

extern "C" const char* wootz_build_routes(void) noexcept { return wootz::api::all_build_routes().c_str(); }
