// Family gemm with w_block: a few rows of floats times constant weights of 4 or 8 bits, which stay packed: columns one
// after the other, 16 bytes of a column for each thread. With many rows the product is better one of plain floats.
#include "backends/cuda/generate/weight_only.h"

#include <algorithm>
#include <bit>

#include "backend/chain.h"
#include "backend/operand_dims.h"
#include "backend/siblings.h"
#include "backends/cuda/generate/expression.h"
#include "backends/cuda/generate/families.h"

namespace wootz::cuda {
namespace {

constexpr int64_t kMostRows = 32, kNarrowBlock = 128, kChunkBytes = 16, kMostScales = 4;

struct Chunked : NarrowProduct {
  int64_t chunk() const { return kChunkBytes * 8 / bits; }  // elements that a thread reads at once
  int64_t scales() const { return block < depth && block < chunk() ? chunk() / block : 1; }  // of a chunk
  int64_t chunks() const { return (depth + chunk() - 1) / chunk(); }
  size_t weight_bytes() const { return static_cast<size_t>(columns * chunks() * kChunkBytes); }
};

}  // namespace

Result<NarrowStep> narrow_step(const Problem& p, std::span<const Dims> results) {
  NarrowStep s;
  if (p.is(Family::kSiblings)) {
    WOOTZ_ASSIGN_OR_RETURN(s.product, joint_of(p));
    WOOTZ_ASSIGN_OR_RETURN(s.y, joint_extents(results, sibling_axes(s.product)->output));
  } else {
    if (p.outputs.size() != 1 || results.size() != 1) return unsupported("{} results", p.outputs.size());
    s.product = p;
    s.y = results[0];
  }
  if (s.product.is(Family::kChain)) {
    WOOTZ_ASSIGN_OR_RETURN(ChainParts parts, chain_parts(s.product));
    if (!parts.first.is(Family::kNorm))
      return unsupported("a chain that begins with {}", family_name(parts.first.family()));
    s.shift = parts.first.inputs.size() - 1;
    s.norm = std::move(parts.first);
    s.product = std::move(parts.second);
  }
  if (!s.product.is(Family::kGemm)) return unsupported("family {}", family_name(s.product.family()));
  for (const Dims& y : results) s.columns.push_back(y.rank() == 0 ? 0 : y.back());
  return s;
}

Result<NarrowStep> narrow_step(const Problem& p) { return narrow_step(p, operand_dims(p.outputs)); }

std::vector<Dims> product_inputs(const NarrowStep& s, std::span<const Dims> inputs) {
  std::vector<Dims> own{inputs[0]};
  own.insert(own.end(), inputs.begin() + 1 + static_cast<ptrdiff_t>(s.shift), inputs.end());
  return own;
}

Status check_narrow(const Problem& p) {
  const auto& params = p.as<GemmParams>();
  if (params.w_block == 0) return unsupported("weights of the other operand's type");
  const auto main = static_cast<size_t>(std::max(p.num_main, 0));
  if (main < 3 || main > 4 || p.inputs.size() < main || p.outputs.size() != 1)
    return invalid_argument("product of {} operands", p.num_main);
  if (params.trans_a || params.has_bias || !params.x_scale.empty())
    return unsupported("a transposed left side, a bias or a scale of the data");
  const DType w = p.inputs[1].dtype;
  if (!is_model_float(p.inputs[0].dtype) || !is_packed_scale(p.inputs[2].dtype) ||
      (main > 3 && (p.inputs[3].dtype != w || is_float(w))) || !is_packed_weight(w))
    return unsupported("{} by {}", dtype_name(p.inputs[0].dtype), dtype_name(w));
  for (size_t i = 0; i < p.inputs.size(); ++i) {
    const bool packed = i > 0 && i < main;
    if (packed && !p.inputs[i].constant) return unsupported("weights that are not constant");
    if (!packed && p.inputs[i].layout != Layout::kLinear)
      return unsupported("layout {}", layout_name(p.inputs[i].layout));
  }
  if (p.outputs[0].layout != Layout::kLinear) return unsupported("layout {}", layout_name(p.outputs[0].layout));
  return check_epilogue(p, p.inputs[0].dtype);
}

Result<NarrowProduct> narrow_product(const Problem& p, std::span<const Dims> in, const Dims& y) {
  const auto& params = p.as<GemmParams>();
  const Dims &x = in[0], &w = in[1], &scale = in[2];
  if (x.rank() < 2 || w.rank() != 2 || y.rank() != x.rank())
    return unsupported("{} by {}", x.to_string(), w.to_string());
  NarrowProduct n;
  n.depth = w[params.trans_b ? 1 : 0];
  n.columns = w[params.trans_b ? 0 : 1];
  n.bits = dtype_bits(p.inputs[1].dtype);
  if (n.depth < 1 || n.columns < 1) return unsupported("a sum of nothing");
  n.block = std::min(params.w_block, n.depth);
  if (x.back() != n.depth || y.back() != n.columns || !(scale == Dims{n.blocks(), n.columns}) ||
      (p.num_main > 3 && !(in[3] == scale)))
    return invalid_argument("{} by {} and scales {} gives {}", x.to_string(), w.to_string(), scale.to_string(),
                            y.to_string());
  for (size_t i = 0; i + 1 < x.size(); ++i) {
    if (x[i] != y[i]) return invalid_argument("{} gives {}", x.to_string(), y.to_string());
    n.rows *= x[i];
  }
  if (n.columns * n.depth >= (int64_t{1} << 31)) return unsupported("a matrix of {} elements", n.columns * n.depth);
  return n;
}

namespace {

Result<Chunked> describe(const Problem& p, std::span<const Dims> in, const Dims& y) {
  Chunked n;
  WOOTZ_ASSIGN_OR_RETURN(static_cast<NarrowProduct&>(n), narrow_product(p, in, y));
  if (n.block < n.depth && n.block % n.chunk() != 0 && (n.chunk() % n.block != 0 || n.scales() > kMostScales))
    return unsupported("blocks of {} elements: no multiple of {}", n.block, n.chunk());
  return n;
}

int exponent_bits(DType w) { return w == DType::kF4E2M1 ? 2 : w == DType::kF8E4M3 ? 4 : w == DType::kF8E5M2 ? 5 : 0; }

Result<Chunked> at_optimum(const NarrowStep& s) { return describe(s.product, operand_dims(s.product.inputs), s.y); }

}  // namespace

Status check_packed(const NarrowStep& s, const BindArgs& args, std::span<const size_t> bytes) {
  for (size_t i = 1; i < static_cast<size_t>(s.product.num_main) && i + s.shift < args.constant_bytes.size(); ++i)
    if (const size_t given = args.constant_bytes[i + s.shift];
        args.constants[i + s.shift] != nullptr && given < bytes[i])
      return invalid_argument("{} bytes of packed operand {}, {} are needed", given, i, bytes[i]);
  return Status();
}

void add_narrow_operands(const NarrowStep& s, KernelSource* source) {
  const Problem& p = s.product;
  source->type("X", storage_type(p.inputs[0].dtype));
  source->type("S", storage_type(p.inputs[2].dtype));
  source->type("Y", storage_type(p.outputs[0].dtype));
  std::string store;
  int64_t end = 0;
  for (size_t o = 0; o < s.columns.size(); ++o) {
    const bool last = o + 1 == s.columns.size();
    source->operand("Y* __restrict__", fmt::format("y{}", o), {true, static_cast<int>(o)});
    source->number(fmt::format("columns{}", o), s.columns[o]);
    source->number(fmt::format("begin{}", o), end);
    end += s.columns[o];
    if (!last) source->number(fmt::format("end{}", o), end);
    store += last ? "  " : fmt::format("  if (m < c.end{}) {{\n    ", o);
    store += fmt::format("p.y{0}[(s64)r * c.columns{0} + (m - c.begin{0})] = value;\n", o);
    store += last ? "" : "    return;\n  }\n";
  }
  source->code("W_FN void store(const Operands& p, const Constants& c, int r, int m, Y value) {\n" + store + "}\n");
  source->operand("const X*", "x", {false, 0});
  const int shift = static_cast<int>(s.shift);
  source->operand("const u32*", "w", {false, 1 + shift});
  source->operand("const S*", "scale", {false, 2 + shift});
  if (p.num_main > 3) source->operand("const u8*", "zero", {false, 3 + shift});
  source->epilogue_operands(p, shift);
}

Status add_narrow_epilogue(const NarrowStep& step, const BindArgs& args, KernelSource* source) {
  const Problem& p = step.product;
  const Dims& y = step.y;
  std::vector<std::string> offsets;
  for (auto i = static_cast<size_t>(p.num_main); i < p.inputs.size(); ++i) {
    const Dims& read = args.inputs[i + step.shift];
    WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> s, strides_over(p.inputs[i].layout, read, y));
    std::vector<Axis> axes;  // rows of several axes walk as one when all of them do
    for (size_t d = 0; d + 1 < y.size(); ++d) axes.push_back({y[d], {s[d]}});
    axes = merge_axes(std::move(axes));
    if (axes.size() > 1) return unsupported("an operand of shape {}", read.to_string());
    const std::string name = fmt::format("e{}", offsets.size() + 1);
    source->number(name + "_row", axes.empty() ? 0 : axes[0].strides[0]);
    source->number(name + "_column", s.back());
    offsets.push_back(fmt::format("(s64)r * c.{0}_row + (s64)m * c.{0}_column", name));
  }
  std::string members, reads;
  std::vector<std::string> inputs{"f"};
  for (size_t i = 0; i < offsets.size(); ++i) {
    const DType type = p.inputs[static_cast<size_t>(p.num_main) + i].dtype;
    members += fmt::format("  {} e{};\n", storage_type(type), i + 1);
    reads += fmt::format("  of.e{0} = p.e{0}[{1}];\n", i + 1, offsets[i]);
    inputs.push_back(fmt::format("w_get(of.e{})", i + 1));
  }
  source->code(
      fmt::format("struct Given {{\n{}}};\nW_FN Given given(const Operands& p, const Constants& c, int r, int m) {{\n  "
                  "Given of;\n{}"
                  "  return of;\n}}\n",
                  members, reads));
  WOOTZ_ASSIGN_OR_RETURN(const ExpressionText text, expression_text(p.epilogue, inputs));
  source->code(fmt::format("W_FN Y epilogue({} f, const Given& of) {{\n{}  return Put<Y>::to({});\n}}\n",
                           register_type(p.inputs[0].dtype), text.lines, text.results[0]));
  return Status();
}

uint8_t packed_bits(const HostTensor& t, int64_t i) {
  const auto* const bytes = static_cast<const uint8_t*>(t.data());
  const int bits = dtype_bits(t.dtype()), v = bits == 8 ? bytes[i] : bytes[i / 2] >> (i % 2 * 4) & 15;
  const bool flips = is_integer(t.dtype()) && dtype_info(t.dtype()).is_signed;
  return static_cast<uint8_t>(flips ? v ^ (1 << (bits - 1)) : v);
}

namespace {

PackedForm packed_weights(const Problem& p, const Chunked& n, const HostTensor& source) {
  const bool transposed = p.as<GemmParams>().trans_b;
  return {n.weight_bytes(), [n, transposed, source](std::span<std::byte> to) {
            std::fill(to.begin(), to.end(), std::byte{0});
            for (int64_t m = 0; m < n.columns; ++m)
              for (int64_t k = 0; k < n.depth; ++k) {
                const uint8_t v = packed_bits(source, transposed ? m * n.depth + k : k * n.columns + m);
                const int64_t at = m * n.chunks() * n.chunk() + k;
                if (n.bits == 8)
                  to[static_cast<size_t>(at)] = std::byte{v};
                else
                  to[static_cast<size_t>(at / 2)] |= std::byte{v} << (at % 2 * 4);
              }
            return Status();
          }};
}

}  // namespace

Status generate_weight_only(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const NarrowStep step, narrow_step(problem, args.outputs));
  const Problem& p = step.product;
  if (step.norm) return unsupported("normalized rows");
  WOOTZ_RETURN_IF_ERROR(check_narrow(p));
  WOOTZ_ASSIGN_OR_RETURN(const Chunked n, describe(p, args.inputs, step.y));
  if (n.rows == 0) return Status();
  const size_t grid = static_cast<size_t>(n.blocks() * n.columns);
  const size_t sizes[] = {0, n.weight_bytes(), grid * dtype_bytes(p.inputs[2].dtype, 1), grid};
  WOOTZ_RETURN_IF_ERROR(check_packed(step, args, sizes));
  const DType type = p.inputs[0].dtype, w = p.inputs[1].dtype;
  const bool zeros = p.num_main > 3;
  int64_t vector = std::min<int64_t>(32 / n.bits, type == DType::kF32 ? 4 : 8);
  while (n.depth % vector != 0) vector /= 2;
  // Enough threads to have the memory busy; a group takes at least one chunk each.
  const int64_t columns = n.columns >= 8192 ? 4 : n.columns >= 64 ? 2 : 1;
  int64_t group = 32, rows = 1;
  while (group < kNarrowBlock && group < n.chunks() && n.columns / columns * group < 100000) group *= 2;
  while (rows < n.rows && rows < 8) rows *= 2;
  KernelSource source("gemm/weight_only.cuh", transient(problem, args));
  source.fixed("kThreads", kNarrowBlock);
  source.fixed("kGroup", group);
  source.fixed("kColumns", columns);
  source.fixed("kRows", rows);
  source.fixed("kBits", n.bits);
  source.fixed("kVector", vector);
  source.fixed("kWhole", n.depth % n.chunk() == 0);
  source.fixed("kHasZero", zeros);
  source.fixed("kZero", dtype_info(w).is_signed ? 1 << (n.bits - 1) : 0);
  source.fixed("kExponent", exponent_bits(w));
  source.fixed("kScales", n.scales());
  const auto alpha = static_cast<float>(p.as<GemmParams>().alpha);
  source.fixed("kScaled", alpha != 1);
  if (alpha != 1)  // an argument, so that products alike share the machine code
    source.argument("alpha", std::bit_cast<uint32_t>(alpha));
  else
    source.number("alpha", 0);
  add_narrow_operands(step, &source);
  const int64_t slices = blocks_for(n.columns, kNarrowBlock / group * columns);
  source.number("columns", n.columns);
  source.number("depth", n.depth);
  source.number("rows", n.rows);
  source.number("chunks", n.chunks());
  source.number("blocks", n.blocks());
  source.number("block", n.block == n.depth ? n.chunks() : std::max<int64_t>(1, n.block / n.chunk()));
  source.number("slices", slices);
  source.code(
      fmt::format("W_FN u8 zero_point(const Operands& p, s64 at) {{ return {}; }}\n", zeros ? "p.zero[at]" : "0"));
  WOOTZ_RETURN_IF_ERROR(add_narrow_epilogue(step, args, &source));
  return source.finish(kNarrowBlock, slices * ((n.rows + rows - 1) / rows), launches);
}

double estimate_weight_only(const Problem& p) {
  const Result<NarrowStep> step = narrow_step(p);
  if (!step.ok() || step->norm) return 0;
  const Result<Chunked> n = at_optimum(*step);
  if (!n.ok() || n->rows > kMostRows) return 0;
  const double passes = static_cast<double>((n->rows + 7) / 8);
  return 2 + passes * static_cast<double>(n->weight_bytes()) / 2e6;
}

Result<std::optional<PackedForm>> pack_weight_only(const Problem& p, int input, const HostTensor& source) {
  if (input < 1 || input >= p.num_main) return std::optional<PackedForm>{};
  WOOTZ_ASSIGN_OR_RETURN(const NarrowStep step, narrow_step(p));
  WOOTZ_ASSIGN_OR_RETURN(const Chunked n, at_optimum(step));
  if (input == 1) return std::optional(packed_weights(step.product, n, source));
  if (input == 2) return std::optional(transposed_form(source, n.blocks(), n.columns));
  const auto make = [n, source](std::span<std::byte> to) {
    for (int64_t b = 0; b < n.blocks(); ++b)
      for (int64_t m = 0; m < n.columns; ++m)
        to[static_cast<size_t>(m * n.blocks() + b)] = std::byte{packed_bits(source, b * n.columns + m)};
    return Status();
  };
  return std::optional(PackedForm{static_cast<size_t>(n.blocks() * n.columns), make});
}

}  // namespace wootz::cuda
