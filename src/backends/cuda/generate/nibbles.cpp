// Elements of 4 and 2 bits, of which several lie in a byte: pointwise expressions over them, and the way to and from
// bytes for kernels that only move elements.
#include "backends/cuda/generate/nibbles.h"

#include <algorithm>

#include "backends/cuda/generate/kernel_source.h"

namespace wootz::cuda {
namespace {

constexpr int kBlock = 256;
constexpr int kEach = 8;  // neighbours of the result that a thread computes: whole bytes of every type

int bits_of(const TensorDesc& t) { return dtype_bits(t.dtype); }

// An element of few bits in its register.
std::string decoded(DType type, const std::string& code) {
  if (type == DType::kF4E2M1) return fmt::format("w_f4({})", code);
  return fmt::format("w_low{}<{}>({})", dtype_info(type).is_signed ? "_signed" : "", dtype_bits(type), code);
}
std::string encoded(DType type, const std::string& value) {
  if (type == DType::kF4E2M1) return fmt::format("(u32)Put<f4e2m1>::to({}).x", value);
  return fmt::format("w_low<{}>((u32){})", dtype_bits(type), value);
}

// Whether a thread's neighbours are neighbours in every operand, or one element of it, and begin on a whole vector.
bool in_vectors(const std::vector<Axis>& axes) {
  if (axes.empty() || axes.back().extent % kEach != 0) return false;
  for (size_t k = 0; k < axes.back().strides.size(); ++k) {
    const int64_t inner = axes.back().strides[k];
    if (inner != 0 && inner != 1) return false;
    for (size_t i = 0; inner == 1 && i + 1 < axes.size(); ++i)
      if (axes[i].strides[k] % kEach != 0) return false;
  }
  return true;
}

}  // namespace

bool few_bits(DType type) { return type != DType::kString && dtype_bits(type) > 0 && dtype_bits(type) < 8; }
bool any_few_bits(const Problem& p) {
  const auto few = [](const TensorDesc& t) { return few_bits(t.dtype); };
  return std::any_of(p.inputs.begin(), p.inputs.end(), few) || std::any_of(p.outputs.begin(), p.outputs.end(), few);
}

Status write_pointwise_in_nibbles(const Problem& p, std::vector<Axis> axes, int64_t count, Writer* w, Launch* launch) {
  const size_t results = p.outputs.size();
  std::vector<const TensorDesc*> operands;
  for (const TensorDesc& t : p.outputs) operands.push_back(&t);
  for (const TensorDesc& t : p.inputs) operands.push_back(&t);
  std::string parameters;
  std::vector<std::string> offsets;
  for (size_t k = 0; k < operands.size(); ++k) {
    const bool out = k < results;
    const std::string name = out ? fmt::format("y{}", k) : fmt::format("x{}", k - results);
    parameters += fmt::format("{}{}{}* {}{}", k == 0 ? "" : ", ", out ? "" : "const ",
                              few_bits(operands[k]->dtype) ? "u8" : storage_type(operands[k]->dtype),
                              out ? "__restrict__ " : "", name);
    launch->pointers.push_back({out, static_cast<int>(out ? k : k - results)});
    offsets.push_back((out ? "p" : "o") + name.substr(1));
  }
  const bool vectors = in_vectors(axes);
  std::vector<int64_t> inner(operands.size(), 0);
  if (vectors) {
    Axis& last = axes.back();
    inner = last.strides;
    last.extent /= kEach;
    for (int64_t& s : last.strides) s *= kEach;
  }
  w->line("extern \"C\" __global__ void __launch_bounds__({}) wootz_kernel({}) {{", kBlock, parameters);
  w->line("  const s64 g = (s64)blockIdx.x * {} + threadIdx.x;\n  if (g >= {}) return;", kBlock,
          (count + kEach - 1) / kEach);
  for (size_t k = 0; k < results; ++k)
    if (few_bits(p.outputs[k].dtype)) w->line("  u32 z{} = 0;", k);
  if (vectors) {
    w->offsets(axes, "g", offsets);
    for (size_t k = results; k < operands.size(); ++k) {
      const size_t i = k - results;
      const DType type = operands[k]->dtype;
      if (few_bits(type) && inner[k] != 0)
        w->line("  const u32 v{0} = *(const u{1}*)(x{0} + (u64)o{0} / {2});", i, bits_of(*operands[k]) * kEach,
                8 / dtype_bits(type));
      else if (few_bits(type))
        w->line("  const u32 v{0} = w_bits_at<{1}>(x{0}, o{0});", i, dtype_bits(type));
      else if (inner[k] != 0)
        w->line("  const Pack<{0}, {1}> v{2} = *(const Pack<{0}, {1}>*)(x{2} + o{2});", storage_type(type), kEach, i);
      else
        w->line("  const {0} v{1} = w_get(x{1}[o{1}]);", register_type(type), i);
    }
    for (size_t k = 0; k < results; ++k)
      if (!few_bits(p.outputs[k].dtype)) w->line("  Pack<{}, {}> z{};", storage_type(p.outputs[k].dtype), kEach, k);
  }
  w->line("#pragma unroll\n  for (int k = 0; k < {}; ++k) {{", kEach);
  if (!vectors) {
    w->line("  const s64 i = g * {} + k;\n  if (i >= {}) break;", kEach, count);
    w->offsets(axes, "i", offsets);
  }
  std::vector<std::string> inputs, values;
  for (size_t k = results; k < operands.size(); ++k) {
    const size_t i = k - results;
    const DType type = operands[k]->dtype;
    const bool one = vectors && inner[k] == 0;
    if (few_bits(type))
      inputs.push_back(decoded(type, !vectors ? fmt::format("w_bits_at<{}>(x{}, o{})", dtype_bits(type), i, i)
                                     : one    ? fmt::format("v{}", i)
                                              : fmt::format("(v{} >> (k * {}))", i, dtype_bits(type))));
    else
      inputs.push_back(!vectors ? fmt::format("w_get(x{}[o{}])", i, i)
                       : one    ? fmt::format("v{}", i)
                                : fmt::format("w_get(v{}.v[k])", i));
  }
  WOOTZ_RETURN_IF_ERROR(write_expression(p.epilogue, inputs, "t", w, &values));
  for (size_t k = 0; k < results; ++k) {
    const DType type = p.outputs[k].dtype;
    if (few_bits(type))
      w->line("  z{} |= {} << (k * {});", k, encoded(type, values[k]), dtype_bits(type));
    else
      w->line("  {} = Put<{}>::to({});", vectors ? fmt::format("z{}.v[k]", k) : fmt::format("y{0}[p{0}]", k),
              storage_type(type), values[k]);
  }
  w->line("  }}");
  for (size_t k = 0; k < results; ++k) {
    const DType type = p.outputs[k].dtype;
    if (!few_bits(type)) {
      if (vectors) w->line("  *(Pack<{0}, {1}>*)(y{2} + p{2}) = z{2};", storage_type(type), kEach, k);
      continue;
    }
    const int bytes = kEach * dtype_bits(type) / 8;
    if (vectors) {
      w->line("  *(u{}*)(y{} + g * {}) = (u{})z{};", bytes * 8, k, bytes, bytes * 8, k);
      continue;
    }
    w->line("  for (int k = 0; k < {}; ++k)\n    if (g * {} + k < {}) y{}[g * {} + k] = (u8)(z{} >> (k * 8));", bytes,
            bytes, static_cast<int64_t>(dtype_bytes(type, count)), k, bytes, k);
  }
  w->line("}}");
  launch->source = w->text();
  launch->size.block = kBlock;
  launch->size.grid_x = blocks_for((count + kEach - 1) / kEach, kBlock);
  return Status();
}

namespace {

// Elements of few bits to a byte each, or back; a thread a byte of those that lie together.
Status add_spread(bool apart, bool arguments, int bits, int64_t count, Pointer together, Pointer bytes,
                  size_t workspace, std::vector<Launch>* launches) {
  const int per_byte = 8 / bits;
  const int64_t threads = (count + per_byte - 1) / per_byte;
  KernelSource source(apart ? "move/spread.cuh" : "move/join.cuh", arguments);
  source.fixed("kThreads", kBlock);
  source.fixed("kBits", bits);
  source.operand("u8* __restrict__", "y", apart ? bytes : together);
  source.operand("const u8* __restrict__", "x", apart ? together : bytes);
  source.number("count", threads);
  source.number("elements", count);
  return source.finish(kBlock, blocks_for(threads, kBlock), launches, workspace);
}

}  // namespace

Status move_as_bytes(Generate move, Problem p, const BindArgs& args, std::vector<Launch>* launches) {
  struct Operand {
    bool output;
    int index, bits;
    int64_t count;
    size_t at;  // in scratch memory
  };
  std::vector<Operand> spread;
  size_t bytes = 0;
  const auto add = [&](TensorDesc& t, bool output, size_t index, const Dims& dims) {
    if (!few_bits(t.dtype)) return;
    spread.push_back({output, static_cast<int>(index), dtype_bits(t.dtype), dims.volume(), bytes});
    bytes += (static_cast<size_t>(dims.volume()) + 255) / 256 * 256;
    t.dtype = DType::kU8;
  };
  for (size_t i = 0; i < p.inputs.size(); ++i) add(p.inputs[i], false, i, args.inputs[i]);
  for (size_t o = 0; o < p.outputs.size(); ++o) add(p.outputs[o], true, o, args.outputs[o]);
  std::vector<Launch> made;
  WOOTZ_RETURN_IF_ERROR(move(p, args, &made));
  if (made.empty()) return Status();
  for (const Operand& o : spread) WOOTZ_RETURN_IF_ERROR(check_count(o.count));
  for (const Operand& o : spread)
    if (!o.output && o.count > 0)
      WOOTZ_RETURN_IF_ERROR(
          add_spread(true, transient(p, args), o.bits, o.count, {false, o.index}, {false, -1, o.at}, bytes, launches));
  for (Launch& l : made) {
    if (l.workspace != 0) return internal_error("a move with scratch memory of its own");
    l.workspace = bytes;
    for (Pointer& pointer : l.pointers)
      for (const Operand& o : spread)
        if (pointer.output == o.output && pointer.index == o.index) {
          pointer = {false, -1, o.at};
          break;
        }
    launches->push_back(std::move(l));
  }
  for (const Operand& o : spread)
    if (o.output && o.count > 0)
      WOOTZ_RETURN_IF_ERROR(
          add_spread(false, transient(p, args), o.bits, o.count, {true, o.index}, {false, -1, o.at}, bytes, launches));
  return Status();
}

}  // namespace wootz::cuda
