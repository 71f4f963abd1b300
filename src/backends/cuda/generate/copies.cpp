#include "backends/cuda/generate/copies.h"

#include <algorithm>

#include "backends/cuda/generate/kernel_source.h"

namespace wootz::cuda {
namespace {

constexpr size_t kPartsAtOnce = 64;
constexpr int kTile = 32;

// Sorted as the target lies, with elements of as many bytes (up to 16) as both sides allow.
struct Plan {
  std::vector<Axis> axes;
  int64_t from = 0, to = 0, count = 0;
  int bits = 0, input = 0, output = 0;
  std::string type() const { return bits == 128 ? "Pack<u64, 2>" : bits_type(bits); }
};

Plan plan_copy(Copy copy, int bits) {
  std::stable_sort(copy.axes.begin(), copy.axes.end(),
                   [](const Axis& a, const Axis& b) { return std::abs(a.strides[1]) > std::abs(b.strides[1]); });
  Plan p{merge_axes(std::move(copy.axes)), copy.from, copy.to, 0, bits, copy.input, copy.output};
  p.count = volume(p.axes);
  while (p.bits < 128 && !p.axes.empty()) {  // pairs of elements as one
    Axis& inner = p.axes.back();
    bool fits = inner.strides[0] == 1 && inner.strides[1] == 1 && inner.extent % 2 == 0 && p.from % 2 == 0 &&
                p.to % 2 == 0 && (p.bits < 64 || p.count > 4096);
    for (size_t i = 0; i + 1 < p.axes.size(); ++i)
      fits = fits && p.axes[i].strides[0] % 2 == 0 && p.axes[i].strides[1] % 2 == 0;
    if (!fits) break;
    inner.extent /= 2;
    for (size_t i = 0; i + 1 < p.axes.size(); ++i)
      for (int64_t& s : p.axes[i].strides) s /= 2;
    p.from /= 2;
    p.to /= 2;
    p.bits *= 2;
    p.count /= 2;
  }
  return p;
}

// The axis along which the source's elements are neighbours, where it is another than the target's and both are long
// enough for tiles; or -1.
int across(const Plan& p) {
  if (p.axes.size() < 2 || p.bits > 32) return -1;
  const Axis& inner = p.axes.back();
  if (inner.strides[1] != 1 || inner.strides[0] == 1 || inner.extent < kTile / 2) return -1;
  for (size_t i = 0; i + 1 < p.axes.size(); ++i)
    if (p.axes[i].strides[0] == 1 && p.axes[i].extent >= kTile / 2) return static_cast<int>(i);
  return -1;
}

// A transposition, by tiles.
Status add_tiles(const Plan& p, int source_axis, bool arguments, std::vector<Launch>* launches) {
  const Axis inner = p.axes.back(), other = p.axes[static_cast<size_t>(source_axis)];
  std::vector<Axis> outer;
  for (size_t i = 0; i + 1 < p.axes.size(); ++i)
    if (static_cast<int>(i) != source_axis) outer.push_back(p.axes[i]);
  const int64_t columns = (inner.extent + kTile - 1) / kTile, rows = (other.extent + kTile - 1) / kTile;
  const int64_t blocks = columns * rows * volume(outer);
  if (blocks >= (int64_t{1} << 31)) return unsupported("{} tiles", blocks);
  KernelSource source("move/tiles.cuh", arguments);
  source.type("T", p.type());
  source.fixed("kThreads", kBlock);
  source.fixed("kTile", kTile);
  source.operand("T* __restrict__", "y", {true, p.output});
  source.operand("const T*", "x", {false, p.input});
  source.number("width", inner.extent);
  source.number("height", other.extent);
  source.number("columns", columns);
  source.number("rows", rows);
  source.number("from", p.from);
  source.number("to", p.to);
  source.number("from_stride", inner.strides[0]);
  source.number("to_stride", other.strides[1]);
  source.walk("Outer", "outer", outer, {"from", "to"});
  return source.finish(kBlock, blocks, launches);
}

// What move/copies.cuh asks for, for these parts.
Status add_parts(std::span<const Plan> parts, bool arguments, std::vector<Launch>* launches) {
  KernelSource source("move/copies.cuh", arguments);
  source.fixed("kThreads", kBlock);
  int64_t blocks = 0;
  std::string pick;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Plan& p = parts[i];
    source.operand(p.type() + "* __restrict__", fmt::format("y{}", i), {true, p.output});
    source.operand(fmt::format("const {}*", p.type()), fmt::format("x{}", i), {false, p.input});
    const unsigned own = blocks_for(p.count, kBlock);
    blocks += own;
    source.number(fmt::format("count{}", i), p.count);
    source.number(fmt::format("from{}", i), p.from);
    source.number(fmt::format("to{}", i), p.to);
    source.walk(fmt::format("At{}", i), fmt::format("at{}", i), p.axes, {"from", "to"});
    const std::string copy = fmt::format(
        "copy(p.y{0} + c.to{0}, p.x{0} + c.from{0}, c.count{0}, block, [&](s64 i) {{ return at{0}(c, i); }});\n", i);
    if (i + 1 == parts.size()) {
      pick += "  " + copy;
      break;
    }
    source.number(fmt::format("blocks{}", i), own);
    pick += fmt::format("  if (block < (u32)c.blocks{0}) return {1}  block -= (u32)c.blocks{0};\n", i, copy);
  }
  source.code("template <class Copy>\nW_FN void pick(const Operands& p, const Constants& c, u32 block, Copy copy) {\n" +
              pick + "}\n");
  return source.finish(kBlock, blocks, launches);
}

}  // namespace

// Several copies by one launch: each has its blocks.
Status add_copies(std::vector<Copy> copies, int bits, bool arguments, std::vector<Launch>* launches) {
  std::vector<Plan> plans;
  for (Copy& copy : copies) {
    Plan p = plan_copy(std::move(copy), bits);
    if (p.count == 0) continue;
    if (p.bits < 8) return unsupported("copies of parts of bytes");
    WOOTZ_RETURN_IF_ERROR(check_count(p.count));
    if (const int axis = across(p); axis >= 0)
      WOOTZ_RETURN_IF_ERROR(add_tiles(p, axis, arguments, launches));
    else
      plans.push_back(std::move(p));
  }
  for (size_t first = 0; first < plans.size(); first += kPartsAtOnce)
    WOOTZ_RETURN_IF_ERROR(
        add_parts(std::span(plans).subspan(first, std::min(kPartsAtOnce, plans.size() - first)), arguments, launches));
  return Status();
}

}  // namespace wootz::cuda
