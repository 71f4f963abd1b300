// What the control-flow ops share.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "ir/op_def.h"

namespace wootz::ops {

// The slice at `index` along `axis`, without that axis.
Result<HostTensor> take_element(const HostTensor& tensor, int axis, int64_t index);
// Equal shapes joined along a new axis; `type` says what an element is when there are none.
Result<HostTensor> stack_elements(const std::vector<HostTensor>& elements, int axis, const Value& type);

// Extents of a subgraph's values that mean something outside of it: those over symbols of the node's own inputs.
class OuterSymbols {
 public:
  explicit OuterSymbols(const InferContext& ctx);
  bool knows(const Dim& d) const;

 private:
  void add(const std::vector<Dim>& dims);
  std::set<SymbolId> known_;
};

// What is wrong with an If whose branches give a result in two types or ranks: both, and the nodes that made them.
std::string branches_differ(size_t output, const Value& then, const Value& other);

const OpDef& if_op();
const OpDef& scan_op();
const OpDef& require_op();
const OpDef& assert_op();

}  // namespace wootz::ops
