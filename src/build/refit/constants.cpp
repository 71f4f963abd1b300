#include "build/refit/constants.h"

#include <unordered_set>

namespace wootz {
namespace {

class Walk {
 public:
  void enter(const Graph& graph, const std::string& place) {
    for (const Value* value : graph.constants()) {
      std::string name = value->name();
      if (!taken_.insert(name).second) taken_.insert(name = place + name);
      found_.push_back({std::move(name), &graph, value});
    }
    for (const Node* node = graph.first(); node != nullptr; node = node->next())
      for (const auto& [attr, held] : node->attrs())
        if (const auto* const inner = std::get_if<std::shared_ptr<Graph>>(&held); inner != nullptr && *inner != nullptr)
          enter(**inner, place + node->name() + "." + attr + "/");
  }
  std::vector<NamedConstant> take() { return std::move(found_); }

 private:
  std::unordered_set<std::string> taken_;
  std::vector<NamedConstant> found_;
};

}  // namespace

std::vector<NamedConstant> named_constants(const Graph& graph) {
  Walk walk;
  walk.enter(graph, "");
  return walk.take();
}

}  // namespace wootz
