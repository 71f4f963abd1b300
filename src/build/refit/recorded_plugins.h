// What plugins said of their results while a refittable plan was built, as data: the same build with other weights asks
// the same, and so needs no plugin. And what stands for them where kernels are created: no plugin is run by a refit.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/plugin.h"
#include "backend/program.h"
#include "base/json.h"
#include "ir/custom_op.h"

namespace wootz {

class RecordedOp;

// Stands between a graph and its plugins during a build.
class PluginRecorder {
 public:
  // The name of an op in the recipe's text, and the op that is asked in its place.
  std::string name_of(const std::shared_ptr<const CustomOp>& op);
  Result<std::shared_ptr<const CustomOp>> find(const std::string& name) const;
  bool empty() const { return ops_.empty(); }
  SortedJson to_json() const;

 private:
  std::vector<std::shared_ptr<const RecordedOp>> ops_;
};

// Ops that answer as those that were recorded, by their names. What was never asked is an error. The data may come from
// anywhere. Throws Json's exceptions where they are of another form.
using ReplayedOps = std::vector<std::shared_ptr<const CustomOp>>;
ReplayedOps replayed_ops(const SortedJson& json);
Result<std::shared_ptr<const CustomOp>> find_replayed(const ReplayedOps& ops, const std::string& name);

// For a rebuild: plugins that stay as the plan has them. Null: it has none.
std::shared_ptr<const PluginSource> plugins_of_plan(const Program& program);

}  // namespace wootz
