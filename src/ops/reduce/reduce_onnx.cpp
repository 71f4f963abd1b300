#include <algorithm>
#include <numeric>

#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

// What each op does to every element where nothing is reduced.
enum class Alone : uint8_t { kSame, kAbs, kSquare, kLog };
struct Reduction {
  const char* op_type;
  const char* kind;
  Alone alone;
};
constexpr Reduction kReductions[] = {
    {"ReduceL1", "l1", Alone::kAbs},         {"ReduceL2", "l2", Alone::kAbs},
    {"ReduceLogSum", "logsum", Alone::kLog}, {"ReduceLogSumExp", "logsumexp", Alone::kSame},
    {"ReduceMax", "max", Alone::kSame},      {"ReduceMean", "mean", Alone::kSame},
    {"ReduceMin", "min", Alone::kSame},      {"ReduceProd", "prod", Alone::kSame},
    {"ReduceSum", "sum", Alone::kSame},      {"ReduceSumSquare", "sumsq", Alone::kSquare}};

Status import_alone(ImportContext& ctx, Alone alone) {
  Value* x = ctx.input(0);
  switch (alone) {
    case Alone::kSame: return import_as(ctx, "Identity", {x});
    case Alone::kAbs: return import_as(ctx, "Abs", {x});
    case Alone::kSquare: return import_as(ctx, "Mul", {x, x});
    case Alone::kLog: return import_as(ctx, "Log", {x});
  }
  return ctx.fail("no such reduction");
}

Status import_reduce(ImportContext& ctx) {
  const Reduction* entry = std::find_if(std::begin(kReductions), std::end(kReductions),
                                        [&](const Reduction& r) { return ctx.op_type() == r.op_type; });
  if (entry == std::end(kReductions)) return ctx.fail("no such reduction");
  const int rank = ctx.input(0)->rank();
  AttrMap attrs{{"kind", std::string(entry->kind)}, {"keepdims", ctx.attr_int("keepdims", 1)}};
  const bool noop = ctx.attr_int("noop_with_empty_axes", 0) != 0;
  std::vector<int64_t> axes = ctx.attr_ints("axes");
  if (!ctx.has_attr("axes") && ctx.has_input(1)) {
    std::optional<std::vector<int64_t>> known = known_ints(ctx.input(1));
    if (!known) {
      if (noop) attrs["noop_with_empty_axes"] = int64_t{1};
      return import_as(ctx, "Reduce", {ctx.input(0), ctx.input(1)}, std::move(attrs));
    }
    axes = std::move(*known);
  }
  if (axes.empty() && (noop || rank == 0)) return import_alone(ctx, entry->alone);
  if (axes.empty()) {
    axes.resize(static_cast<size_t>(rank));
    std::iota(axes.begin(), axes.end(), 0);
  }
  WOOTZ_ASSIGN_OR_RETURN(axes, normalize_axes(axes, rank));
  std::sort(axes.begin(), axes.end());
  attrs["axes"] = std::move(axes);
  return import_as(ctx, "Reduce", {ctx.input(0)}, std::move(attrs));
}

constexpr OnnxImport kReduceImports[] = {
    {"ReduceL1", 1, import_reduce},        {"ReduceL2", 1, import_reduce},   {"ReduceLogSum", 1, import_reduce},
    {"ReduceLogSumExp", 1, import_reduce}, {"ReduceMax", 1, import_reduce},  {"ReduceMean", 1, import_reduce},
    {"ReduceMin", 1, import_reduce},       {"ReduceProd", 1, import_reduce}, {"ReduceSum", 1, import_reduce},
    {"ReduceSumSquare", 1, import_reduce},
};

}  // namespace

std::span<const OnnxImport> reduce_onnx() { return kReduceImports; }

}  // namespace wootz::ops
