#include <algorithm>

#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status import_split(ImportContext& ctx) {
  AttrMap attrs{{"axis", ctx.attr_int("axis", 0)}};
  std::vector<Value*> inputs{ctx.input(0)};
  if (ctx.has_attr("split")) {
    attrs["split"] = ctx.attr_ints("split");
  } else if (ctx.has_input(1)) {
    if (std::optional<std::vector<int64_t>> sizes = known_ints(ctx.input(1)))
      attrs["split"] = std::move(*sizes);
    else
      inputs.push_back(ctx.input(1));
  } else if (ctx.opset() >= 18) {
    const int64_t parts = ctx.attr_int("num_outputs", ctx.num_outputs());
    if (parts != ctx.num_outputs())
      return ctx.fail("num_outputs is {}, the node has {} outputs", parts, ctx.num_outputs());
    attrs["uneven"] = int64_t{1};
    // With a known extent the sizes are known: kernels like them written down.
    const Value* x = ctx.input(0);
    Result<int> axis = normalize_axis(ctx.attr_int("axis", 0), x->rank());
    if (axis.ok() && parts > 0 && x->shape()[static_cast<size_t>(*axis)].is_const()) {
      const int64_t extent = x->shape()[static_cast<size_t>(*axis)].value(), chunk = (extent + parts - 1) / parts;
      std::vector<int64_t> sizes;
      for (int64_t o = 0; o < parts; ++o) sizes.push_back(std::max<int64_t>(0, std::min(chunk, extent - o * chunk)));
      attrs.erase("uneven");
      attrs["split"] = std::move(sizes);
    }
  }
  WOOTZ_ASSIGN_OR_RETURN(Node * node, ctx.add("Split", std::move(inputs), std::move(attrs), ctx.num_outputs()));
  for (int o = 0; o < ctx.num_outputs(); ++o) ctx.set_output(o, node->output(o));
  return Status();
}

constexpr OnnxImport kSplitImports[] = {{"Split", 1, import_split}};

}  // namespace

std::span<const OnnxImport> split_onnx() { return kSplitImports; }

}  // namespace wootz::ops
