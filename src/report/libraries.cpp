#include "report/libraries.h"

#include "base/json.h"

namespace wootz {

Status check_libraries(const char* backend, const std::vector<LibraryState>& libraries, const Log& log) {
  for (const LibraryState& l : libraries) {
    if (!l.version.empty()) continue;
    if (l.required)
      return unsupported("the {} backend is not offered without {}: {} ({})", backend, l.name, l.missing, l.without);
    if (!l.without.empty()) log.warning(fmt::format("without {}: {}. {}", l.name, l.without, l.missing));
  }
  return Status();
}

std::string libraries_json(const std::vector<LibraryState>& libraries) {
  OrderedJson list = OrderedJson::array();
  for (const LibraryState& l : libraries) {
    list.push_back({{"name", l.name}});
    if (!l.version.empty()) {
      list.back()["version"] = l.version;
      continue;
    }
    list.back()["missing"] = l.missing;
    if (!l.without.empty()) list.back()["without"] = l.without;
  }
  return list.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace wootz
