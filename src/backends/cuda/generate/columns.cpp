// Reductions across rows of memory (the mean of a channels-last image, say): a thread takes 16 bytes of neighbouring
// columns (of bytes, or fewer) and some of the rows. Where there are few columns, blocks share the rows, and a second
// launch adds up theirs.
#include "backends/cuda/generate/columns.h"

#include <algorithm>

#include "backends/cuda/generate/kernel_source.h"

namespace wootz::cuda {
namespace {

constexpr int kJoinBlock = 64;
constexpr int64_t kBlocks = 264;  // two for each of an H200's multiprocessors

struct Columns {
  const std::vector<Axis>& kept;
  int64_t count = 0, length = 0, step = 0;  // results, rows, elements between rows
  int64_t vector = 0, across = 1;           // columns of a thread; such packs of a block
  int64_t blocks = 0, shares = 1;           // for each share of the rows
};

// Columns that a thread reads at once; 0: none. Bytes may be fewer: networks of images have 24 and 40 channels.
int64_t columns_at_once(DType type, bool scaled, const std::vector<Axis>& kept, int64_t step) {
  const int64_t most = is_model_float(type) ? 16 / static_cast<int64_t>(dtype_bytes(type, 1)) : scaled ? 16 : 0;
  const auto fits = [&](int64_t vector) {
    bool all = kept.back().extent % vector == 0 && step % vector == 0;
    for (size_t i = 0; i + 1 < kept.size(); ++i) all = all && kept[i].strides[0] % vector == 0;
    return all;
  };
  for (int64_t vector = most; vector >= (scaled ? 4 : most) && vector > 0; vector /= 2)
    if (fits(vector)) return vector;
  return 0;
}

// Nullopt: not of this form.
std::optional<Columns> plan_columns(DType type, bool scaled, const std::vector<Axis>& kept,
                                    const std::vector<Axis>& reduced) {
  if (kept.empty() || reduced.size() != 1) return std::nullopt;
  const Axis &inner = kept.back(), &rows = reduced[0];
  const int64_t columns = inner.extent, step = rows.strides[0];
  const int64_t vector = columns_at_once(type, scaled, kept, step);
  if (vector == 0 || inner.strides[0] != 1 || step <= 1) return std::nullopt;
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
KernelSource source_for(std::string_view file, const Reduction& reduction, bool arguments, const Columns& c) {
  KernelSource source(file, arguments);
  add_reduction(reduction, &source);
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
Status add_results(const Problem& p, const Reduction& reduction, const Columns& c, KernelSource* source) {
  std::vector<std::string> names{"x", "y"}, offsets;
  for (size_t k = 1; k + 1 < c.kept.back().strides.size(); ++k) {
    names.push_back(fmt::format("e{}", k));
    offsets.push_back("at." + names.back());
  }
  source->epilogue_operands(p);
  source->walk("Kept", "kept", c.kept, names);
  return source->epilogue(p, reduction.result, "const Kept& at", offsets);
}

}  // namespace

void add_reduction(const Reduction& reduction, KernelSource* source) {
  source->type("A", reduction.sum);
  source->type("R", register_type(reduction.result));
  source->choice("Reduction", reduction.name);
  source->fixed("kZero", reduction.zero);
  source->fixed_real("kScale", reduction.scale);
}

Result<bool> generate_columns(const Problem& p, const Reduction& reduction, bool arguments,
                              const std::vector<Axis>& kept, const std::vector<Axis>& reduced,
                              std::vector<Launch>* launches) {
  const std::optional<Columns> planned = plan_columns(p.inputs[0].dtype, reduction.scaled, kept, reduced);
  if (!planned) return false;
  const Columns& c = *planned;
  const std::string result = fmt::format("{}* __restrict__", storage_type(p.outputs[0].dtype));
  if (c.shares == 1) {
    KernelSource source = source_for("reduce/columns.cuh", reduction, arguments, c);
    source.operand(result, "y", {true, 0});
    add_strip(p, c, &source);
    WOOTZ_RETURN_IF_ERROR(add_results(p, reduction, c, &source));
    WOOTZ_RETURN_IF_ERROR(source.finish(kBlock, c.blocks, launches));
    return true;
  }
  KernelSource parts = source_for("reduce/columns_parts.cuh", reduction, arguments, c);
  parts.operand("A* __restrict__", "part", kWorkspacePointer);
  add_strip(p, c, &parts);
  parts.number("count", c.count);
  const size_t part = std::string_view(reduction.sum) == "s64" ? sizeof(int64_t) : sizeof(float);
  WOOTZ_RETURN_IF_ERROR(
      parts.finish(kBlock, c.blocks * c.shares, launches, static_cast<size_t>(c.shares * c.count) * part));
  KernelSource join = source_for("reduce/columns_join.cuh", reduction, arguments, c);
  join.operand(result, "y", {true, 0});
  join.operand("const A*", "part", kWorkspacePointer);
  join.fixed("kThreads", kJoinBlock);
  join.number("count", c.count);
  WOOTZ_RETURN_IF_ERROR(add_results(p, reduction, c, &join));
  WOOTZ_RETURN_IF_ERROR(join.finish(kJoinBlock, blocks_for(c.count, kJoinBlock), launches));
  return true;
}

}  // namespace wootz::cuda
