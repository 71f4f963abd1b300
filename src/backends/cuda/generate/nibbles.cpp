// Elements of 4 and 2 bits, of which several lie in a byte: pointwise expressions over them, and the way to and from
// bytes for kernels that only move elements.
#include "backends/cuda/generate/nibbles.h"

#include <algorithm>

#include "backends/cuda/generate/expression.h"
#include "backends/cuda/generate/kernel_source.h"

namespace wootz::cuda {
namespace {

constexpr int kEach = 8;  // neighbours of the result that a thread computes: whole bytes of every type

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

namespace {

// How the parts of the two kernels read operands and keep results; see pointwise/vectors.cuh and
// pointwise/elements.cuh.
struct Parts {
  std::string in_members, reads, out_members, writes;
  std::vector<std::string> inputs;  // operand k of the expression
};

// Vectors of kVector elements, which begin on whole bytes. `shared[i]`: a vector has one element of operand i.
Parts parts_of_vectors(const Problem& p, const std::vector<bool>& shared) {
  Parts parts;
  for (size_t i = 0; i < p.inputs.size(); ++i) {
    const DType type = p.inputs[i].dtype;
    const char* stored = storage_type(type);
    const int bits = dtype_bits(type);
    if (few_bits(type) && !shared[i]) {
      parts.in_members += fmt::format("  u32 x{};\n", i);
      parts.reads +=
          fmt::format("  in.x{0} = *(const u{1}*)(p.x{0} + (u64)at.x{0} / {2});\n", i, bits * kEach, 8 / bits);
      parts.inputs.push_back(decoded(type, fmt::format("(in.x{} >> (k * {}))", i, bits)));
    } else if (few_bits(type)) {
      parts.in_members += fmt::format("  u32 x{};\n", i);
      parts.reads += fmt::format("  in.x{0} = w_bits_at<{1}>(p.x{0}, at.x{0});\n", i, bits);
      parts.inputs.push_back(decoded(type, fmt::format("in.x{}", i)));
    } else if (!shared[i]) {
      parts.in_members += fmt::format("  Pack<{}, kVector> x{};\n", stored, i);
      parts.reads += fmt::format("  in.x{0} = *(const Pack<{1}, kVector>*)(p.x{0} + at.x{0});\n", i, stored);
      parts.inputs.push_back(fmt::format("w_get(in.x{}.v[k])", i));
    } else {
      parts.in_members += fmt::format("  {} x{};\n", register_type(type), i);
      parts.reads += fmt::format("  in.x{0} = w_get(p.x{0}[at.x{0}]);\n", i);
      parts.inputs.push_back(fmt::format("in.x{}", i));
    }
  }
  for (size_t o = 0; o < p.outputs.size(); ++o) {
    const DType type = p.outputs[o].dtype;
    const int bits = dtype_bits(type);
    if (few_bits(type)) {
      parts.out_members += fmt::format("  u32 y{} = 0;\n", o);
      parts.writes +=
          fmt::format("  *(u{1}*)(p.y{0} + (u64)at.y{0} / {2}) = (u{1})out.y{0};\n", o, bits * kEach, 8 / bits);
    } else {
      parts.out_members += fmt::format("  Pack<{}, kVector> y{};\n", storage_type(type), o);
      parts.writes += fmt::format("  *(Pack<{1}, kVector>*)(p.y{0} + at.y{0}) = out.y{0};\n", o, storage_type(type));
    }
  }
  return parts;
}

// Elements one by one.
Parts parts_of_elements(const Problem& p, int64_t count, KernelSource* source) {
  Parts parts;
  for (size_t i = 0; i < p.inputs.size(); ++i) {
    const DType type = p.inputs[i].dtype;
    parts.inputs.push_back(few_bits(type)
                               ? decoded(type, fmt::format("w_bits_at<{0}>(p.x{1}, at.x{1})", dtype_bits(type), i))
                               : fmt::format("w_get(p.x{0}[at.x{0}])", i));
  }
  for (size_t o = 0; o < p.outputs.size(); ++o) {
    const DType type = p.outputs[o].dtype;
    if (!few_bits(type)) continue;
    const int bytes = kEach * dtype_bits(type) / 8;
    source->number(fmt::format("bytes{}", o), static_cast<int64_t>(dtype_bytes(type, count)));
    parts.out_members += fmt::format("  u32 y{} = 0;\n", o);
    parts.writes += fmt::format(
        "  for (int k = 0; k < {1}; ++k)\n    if (g * {1} + k < c.bytes{0}) p.y{0}[g * {1} + k] = (u8)(out.y{0} >> (k "
        "* "
        "8));\n",
        o, bytes);
  }
  return parts;
}

Status write_parts(const Problem& p, const Parts& parts, bool vectors, KernelSource* source) {
  WOOTZ_ASSIGN_OR_RETURN(const ExpressionText text, expression_text(p.epilogue, parts.inputs));
  std::string values;
  for (size_t o = 0; o < p.outputs.size(); ++o) {
    const DType type = p.outputs[o].dtype;
    const std::string& value = text.results[o];
    if (few_bits(type))
      values += fmt::format("  out->y{} |= {} << (k * {});\n", o, encoded(type, value), dtype_bits(type));
    else
      values += fmt::format("  {} = Put<{}>::to({});\n",
                            vectors ? fmt::format("out->y{}.v[k]", o) : fmt::format("p.y{0}[at.y{0}]", o),
                            storage_type(type), value);
  }
  if (vectors) {
    source->code("struct Inputs {\n" + parts.in_members + "};\n");
    source->code("W_FN Inputs read(const Operands& p, const At& at) {\n  Inputs in;\n" + parts.reads +
                 "  return in;\n}\n");
  }
  source->code("struct Outputs {\n" + parts.out_members + "};\n");
  source->code(fmt::format("W_FN void compute({}, int k, Outputs* out) {{\n{}{}}}\n",
                           vectors ? "const Inputs& in" : "const Operands& p, const At& at", text.lines, values));
  source->code(fmt::format("W_FN void write(const Operands& p, {}, const Outputs& out) {{\n{}}}\n",
                           vectors ? "const At& at" : "const Constants& c, s64 g", parts.writes));
  return Status();
}

}  // namespace

Status add_pointwise_of_few_bits(const Problem& p, bool arguments, std::vector<Axis> axes, int64_t count,
                                 std::vector<Launch>* launches) {
  const bool vectors = in_vectors(axes);
  const int64_t groups = (count + kEach - 1) / kEach;
  std::vector<bool> shared(p.inputs.size(), false);
  if (vectors) {
    Axis& last = axes.back();
    for (size_t i = 0; i < p.inputs.size(); ++i) shared[i] = last.strides[p.outputs.size() + i] == 0;
    last.extent /= kEach;
    for (int64_t& s : last.strides) s *= kEach;
  }
  KernelSource source(vectors ? "pointwise/vectors.cuh" : "pointwise/elements.cuh", arguments);
  source.fixed("kThreads", kBlock);
  source.fixed(vectors ? "kVector" : "kEach", kEach);
  source.number("count", vectors ? groups : count);
  if (!vectors) source.number("groups", groups);
  std::vector<std::string> names;
  const auto stored = [](const TensorDesc& t) { return few_bits(t.dtype) ? "u8" : storage_type(t.dtype); };
  for (size_t o = 0; o < p.outputs.size(); ++o) {
    names.push_back(fmt::format("y{}", o));
    source.operand(fmt::format("{}* __restrict__", stored(p.outputs[o])), names.back(), {true, static_cast<int>(o)});
  }
  for (size_t i = 0; i < p.inputs.size(); ++i) {
    names.push_back(fmt::format("x{}", i));
    source.operand(fmt::format("const {}*", stored(p.inputs[i])), names.back(), {false, static_cast<int>(i)});
  }
  source.walk("At", "at", axes, names);
  const Parts parts = vectors ? parts_of_vectors(p, shared) : parts_of_elements(p, count, &source);
  WOOTZ_RETURN_IF_ERROR(write_parts(p, parts, vectors, &source));
  return source.finish(kBlock, blocks_for(groups, kBlock), launches);
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
  source.operand("const u8*", "x", apart ? together : bytes);
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
