#include <numeric>

#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status import_slice_1(ImportContext& ctx) {
  std::vector<int64_t> starts = ctx.attr_ints("starts"), axes = ctx.attr_ints("axes");
  if (!ctx.has_attr("axes")) {
    axes.resize(starts.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  std::vector<int64_t> steps(starts.size(), 1);
  return import_as(ctx, "Slice", {ctx.input(0)},
                   {{"starts", std::move(starts)},
                    {"ends", ctx.attr_ints("ends")},
                    {"axes", std::move(axes)},
                    {"steps", std::move(steps)}});
}

Status import_slice_10(ImportContext& ctx) {
  const std::optional<std::vector<int64_t>> starts = known_ints(ctx.input(1)), ends = known_ints(ctx.input(2));
  std::optional<std::vector<int64_t>> axes, steps;
  if (starts && !ctx.has_input(3)) {
    axes = std::vector<int64_t>(starts->size());
    std::iota(axes->begin(), axes->end(), 0);
  } else {
    axes = known_ints(ctx.input(3));
  }
  if (starts && !ctx.has_input(4))
    steps = std::vector<int64_t>(starts->size(), 1);
  else
    steps = known_ints(ctx.input(4));
  if (starts && ends && axes && steps)
    return import_as(ctx, "Slice", {ctx.input(0)},
                     {{"starts", *starts}, {"ends", *ends}, {"axes", *axes}, {"steps", *steps}});
  std::vector<Value*> inputs{ctx.input(0), ctx.input(1), ctx.input(2)};
  AttrMap attrs;
  // Known axes and steps stay attributes also where the range is only known at run time.
  const bool axes_input = ctx.has_input(3) && !axes, steps_input = ctx.has_input(4) && !steps;
  if (ctx.has_input(3) && axes) attrs["axes"] = *axes;
  if (ctx.has_input(4) && steps) attrs["steps"] = *steps;
  if (axes_input || steps_input) inputs.push_back(axes_input ? ctx.input(3) : nullptr);
  if (steps_input) inputs.push_back(ctx.input(4));
  return import_as(ctx, "Slice", std::move(inputs), std::move(attrs));
}

constexpr OnnxImport kSliceImports[] = {{"Slice", 1, import_slice_1}, {"Slice", 10, import_slice_10}};

}  // namespace

std::span<const OnnxImport> slice_onnx() { return kSliceImports; }

}  // namespace wootz::ops
