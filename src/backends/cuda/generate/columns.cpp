// Reductions across rows of memory (the mean of a channels-last image, say): a thread takes 16 bytes of neighbouring
// columns and some of the rows. Where there are few columns, blocks share the rows, and a second launch adds up theirs.
#include "backends/cuda/generate/columns.h"

#include <algorithm>

#include "backends/cuda/generate/kernel_source.h"

namespace wootz::cuda {
namespace {

constexpr int kJoinBlock = 64;
constexpr int64_t kBlocks = 264;  // two for each of an H200's multiprocessors

constexpr ReduceKind kKinds[] = {ReduceKind::kSum,   ReduceKind::kMean, ReduceKind::kMax, ReduceKind::kMin,
                                 ReduceKind::kSumSq, ReduceKind::kL2,   ReduceKind::kL1};

struct Columns {
  const std::vector<Axis>& kept;
  int64_t count = 0, length = 0, step = 0;  // results, rows, elements between rows
  int64_t vector = 0, across = 1;           // columns of a thread; such packs of a block
  int64_t blocks = 0, shares = 1;           // for each share of the rows
};

// Nullopt: not of this form.
std::optional<Columns> plan_columns(DType type, const std::vector<Axis>& kept, const std::vector<Axis>& reduced) {
  const int64_t vector = type == DType::kF32 ? 4 : type == DType::kF16 || type == DType::kBF16 ? 8 : 0;
  if (vector == 0 || kept.empty() || reduced.size() != 1) return std::nullopt;
  const Axis &inner = kept.back(), &rows = reduced[0];
  const int64_t columns = inner.extent, step = rows.strides[0];
  if (inner.strides[0] != 1 || columns % vector != 0 || step % vector != 0 || step <= 1) return std::nullopt;
  for (size_t i = 0; i + 1 < kept.size(); ++i)
    if (kept[i].strides[0] % vector != 0) return std::nullopt;
  Columns c{kept, volume(kept), rows.extent, step, vector};
  const int64_t packs = columns / vector;
  while (c.across < 4 && packs % (c.across * 2) == 0) c.across *= 2;  // 64 bytes and more make good reads
  const int64_t down = kBlock / c.across;
  c.blocks = packs / c.across * (c.count / columns);
  if (c.length > 16 * down && c.blocks < kBlocks)
    c.shares = std::clamp<int64_t>(kBlocks / c.blocks, 1, c.length / (4 * down));
  if (c.blocks * c.shares >= (int64_t{1} << 31)) return std::nullopt;
  return c;
}

// The problem of reduce/reductions.cuh.
KernelSource source_for(std::string_view file, const Problem& p, bool arguments, const Columns& c) {
  KernelSource source(file, arguments);
  source.type("A", "float");
  source.type("R", "float");
  source.choice("Reduction", reduction_of(p.as<ReduceParams>().kind));
  source.number("length", c.length);
  source.number("shares", c.shares);
  return source;
}

// The problem of reduce/column_strip.cuh, behind the operand that is written.
void add_strip(const Problem& p, const Columns& c, KernelSource* source) {
  source->type("X", storage_type(p.inputs[0].dtype));
  source->fixed("kThreads", kBlock);
  source->fixed("kVector", c.vector);
  source->fixed("kAcross", c.across);
  source->number("step", c.step);
  source->number("most", (c.length + c.shares - 1) / c.shares);
  source->operand("const X*", "x", {false, 0});
  std::vector<Axis> of_x;
  for (const Axis& a : c.kept) of_x.push_back({a.extent, {a.strides[0]}});
  source->walk("Base", "base", of_x, {"x"});
}

// Where results are, and the expression on them.
Status add_results(const Problem& p, const Columns& c, KernelSource* source) {
  std::vector<std::string> names{"x", "y"}, offsets;
  for (size_t k = 1; k + 1 < c.kept.back().strides.size(); ++k) {
    names.push_back(fmt::format("e{}", k));
    offsets.push_back("at." + names.back());
  }
  source->epilogue_operands(p);
  source->walk("Kept", "kept", c.kept, names);
  return source->epilogue(p, p.inputs[0].dtype, "const Kept& at", offsets);
}

}  // namespace

Result<bool> generate_columns(const Problem& p, bool arguments, const std::vector<Axis>& kept,
                              const std::vector<Axis>& reduced, std::vector<Launch>* launches) {
  if (std::find(std::begin(kKinds), std::end(kKinds), p.as<ReduceParams>().kind) == std::end(kKinds)) return false;
  const std::optional<Columns> planned = plan_columns(p.inputs[0].dtype, kept, reduced);
  if (!planned) return false;
  const Columns& c = *planned;
  const std::string result = fmt::format("{}* __restrict__", storage_type(p.outputs[0].dtype));
  if (c.shares == 1) {
    KernelSource source = source_for("reduce/columns.cuh", p, arguments, c);
    source.operand(result, "y", {true, 0});
    add_strip(p, c, &source);
    WOOTZ_RETURN_IF_ERROR(add_results(p, c, &source));
    WOOTZ_RETURN_IF_ERROR(source.finish(kBlock, c.blocks, launches));
    return true;
  }
  KernelSource parts = source_for("reduce/columns_parts.cuh", p, arguments, c);
  parts.operand("float* __restrict__", "part", kWorkspacePointer);
  add_strip(p, c, &parts);
  parts.number("count", c.count);
  WOOTZ_RETURN_IF_ERROR(
      parts.finish(kBlock, c.blocks * c.shares, launches, static_cast<size_t>(c.shares * c.count) * sizeof(float)));
  KernelSource join = source_for("reduce/columns_join.cuh", p, arguments, c);
  join.operand(result, "y", {true, 0});
  join.operand("const float*", "part", kWorkspacePointer);
  join.fixed("kThreads", kJoinBlock);
  join.number("count", c.count);
  WOOTZ_RETURN_IF_ERROR(add_results(p, c, &join));
  WOOTZ_RETURN_IF_ERROR(join.finish(kJoinBlock, blocks_for(c.count, kJoinBlock), launches));
  return true;
}

}  // namespace wootz::cuda
