// Family gemm with w_block: floats times constant weights of 4 or 8 bits, which stay packed. A few rows read them as
// they are, so that such a product takes as long as its weights take to come; for more rows a piece of a panel is
// unpacked into the cache, and the tile of floats multiplies by it.
#include <algorithm>
#include <cstring>

#include "backend/operand_dims.h"
#include "backends/cpu/dense/blocks.h"
#include "backends/cpu/dense/weight_only_digits.h"
#include "backends/cpu/dense/weight_only_pack.h"
#include "backends/cpu/dense/weight_only_tile.h"
#include "backends/cpu/function_kernel.h"
#include "base/half.h"

namespace wootz::cpu {
namespace {

constexpr int64_t kFewRows = 16;  // up to which unpacking for each eight of them is faster than through the cache
constexpr int64_t kPart = 256;    // elements along the sum that are unpacked at once

size_t line_bytes(int64_t bytes) { return static_cast<size_t>(multiple(bytes, 64)); }

Result<NarrowShape> shape_of(const Problem& p, std::span<const Dims> in, const Dims& y) {
  const auto& params = p.as<GemmParams>();
  const Dims &x = in[0], &w = in[1], &scale = in[2];
  if (x.rank() < 2 || w.rank() != 2 || scale.rank() != 2 || y.rank() != x.rank())
    return unsupported("{} times {} by {}", x.to_string(), w.to_string(), scale.to_string());
  NarrowShape s;
  s.depth = w[params.trans_b ? 1 : 0];
  s.columns = w[params.trans_b ? 0 : 1];
  s.block = params.w_block;
  s.bits = dtype_bits(p.inputs[1].dtype);
  if (s.depth < 1 || s.columns < 1 || s.block < 1) return unsupported("a product of nothing");
  s.block = std::min(s.block, s.depth);
  if (x.back() != s.depth || y.back() != s.columns || !(scale == Dims{s.blocks(), s.columns}) ||
      (p.num_main > 3 && !(in[3] == scale)))
    return invalid_argument("{} times {} by {} gives {}", x.to_string(), w.to_string(), scale.to_string(),
                            y.to_string());
  s.rows = 1;
  for (size_t a = 0; a + 1 < x.size(); ++a) {
    if (x[a] != y[a]) return invalid_argument("{} gives {}", x.to_string(), y.to_string());
    s.rows *= x[a];
  }
  if (s.block < s.depth && s.block % kNarrowGroup != 0)
    return unsupported("blocks of {} elements: no multiple of {}", s.block, kNarrowGroup);
  return s;
}

Result<NarrowShape> optimum(const Problem& p) {
  const std::vector<Dims> in = operand_dims(p.inputs);
  return shape_of(p, in, p.outputs[0].dims);
}

// Floats' scales of 8 bits stay as they are.
NarrowScale kind_of(const Problem& p) {
  const DType scale = p.inputs[2].dtype;
  if (!is_float(p.inputs[1].dtype)) return NarrowScale::kF32;
  return scale == DType::kF8E4M3   ? NarrowScale::kE4M3
         : scale == DType::kF8E8M0 ? NarrowScale::kE8M0
                                   : NarrowScale::kF32;
}

// What scales are multiplied by: of bytes, what they are read as.
double factor_of(const Problem& p) {
  const double own = kind_of(p) == NarrowScale::kE4M3 ? kE4M3Factor : 1;
  return p.as<GemmParams>().alpha * narrow_factor(p.inputs[1].dtype) * own;
}

class NarrowCall final : public Call {
 public:
  NarrowCall(const Problem& p, const KernelOptions& options, const NarrowShape& shape, Epilogue::Bound epilogue)
      : s_(shape),
        isa_(options.isa),
        slots_(std::max(1, options.threads)),
        type_(p.inputs[0].dtype),
        weights_(p.inputs[1].dtype),
        scales_(kind_of(p)),
        factor_(static_cast<float>(factor_of(p))),
        zeros_(p.num_main > 3),
        dense_(dense_ops(options.isa)),
        ops_(narrow_ops(options.isa, p.inputs[1].dtype)),
        epilogue_(std::move(epilogue)) {
    const DenseGrain grain{kNarrowPanel, dense_.rows, dense_.unit_rows, kPart, kNarrowGroup};
    blocks_ = divide({s_.rows, s_.columns, 1, s_.depth}, grain, slots_);
  }

  size_t workspace() const override { return shared_bytes() + static_cast<size_t>(slots_) * slot_bytes(); }

  Status run(const RunArgs& args) const override {
    if (s_.rows == 0) return {};
    auto* const memory = static_cast<char*>(args.workspace);
    const auto* const x =
        copies() ? copied(args.inputs[0], reinterpret_cast<float*>(memory)) : static_cast<const float*>(args.inputs[0]);
    auto* const sums = reinterpret_cast<float*>(memory + copy_bytes());
    if (few() && zeros_) add_blocks(x, sums);
    const RowDigits digits = digits_in(memory);
    const bool by_digits = may_split() && split_row(x, s_.padded(), block(), digits);
    parallel_slots(blocks_.units(), 1, slots_, [&](int slot, int64_t begin, int64_t last) {
      char* const scratch = memory + shared_bytes() + static_cast<size_t>(slot) * slot_bytes();
      for (int64_t u = begin; u < last; ++u) {
        const DenseUnit unit = blocks_.unit({s_.rows, s_.columns, 1, s_.depth}, u);
        if (few())
          by_rows(args, unit, x, sums, by_digits ? &digits : nullptr, scratch);
        else
          by_pieces(args, unit, x, scratch);
      }
    });
    return {};
  }

 private:
  bool few() const { return s_.rows <= kFewRows; }
  int64_t stride() const { return copies() ? s_.padded() : s_.depth; }  // of rows of x
  bool copies() const { return type_ != DType::kF32 || (few() && s_.depth % kNarrowGroup != 0); }
  size_t copy_bytes() const {
    return copies() ? line_bytes(s_.rows * s_.padded() * static_cast<int64_t>(sizeof(float))) : 0;
  }
  size_t shared_bytes() const {
    const bool sums = few() && zeros_;
    return copy_bytes() + (sums ? line_bytes(s_.rows * s_.blocks() * static_cast<int64_t>(sizeof(float))) : 0) +
           digits_bytes();
  }
  // One row of 4 bits by VNNI, after what all threads share.
  bool may_split() const { return s_.rows == 1 && s_.bits == 4 && isa_ == Isa::kAvx512 && cpu_info().avx512_vnni; }
  size_t floats_bytes() const { return line_bytes(s_.blocks() * static_cast<int64_t>(sizeof(float))); }
  size_t digits_bytes() const { return may_split() ? line_bytes(s_.padded() * kDigitPlanes) + 2 * floats_bytes() : 0; }
  RowDigits digits_in(char* memory) const {
    if (!may_split()) return {};
    char* const from = memory + shared_bytes() - digits_bytes();
    return {reinterpret_cast<int8_t*>(from + 2 * floats_bytes()), reinterpret_cast<float*>(from),
            reinterpret_cast<float*>(from + floats_bytes())};
  }
  // One block: as long as the rows with what fills their last group.
  int64_t block() const { return s_.block == s_.depth ? s_.padded() : s_.block; }
  // Of a thread: rows of x, unpacked weights, results of a unit.
  size_t table_bytes() const { return few() ? 0 : line_bytes(blocks_.unit_rows * int64_t{sizeof(float*)}); }
  size_t piece_bytes() const { return few() ? 0 : (kPart + kNarrowGroup) * kNarrowPanel * sizeof(float); }
  size_t slot_bytes() const {
    return table_bytes() + piece_bytes() +
           line_bytes(blocks_.unit_rows * blocks_.unit_columns * static_cast<int64_t>(sizeof(float)));
  }

  const float* copied(const void* x, float* to) const {
    parallel_for(s_.rows, 16, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        float* const row = to + r * s_.padded();
        if (type_ == DType::kF32)
          std::copy_n(static_cast<const float*>(x) + r * s_.depth, s_.depth, row);
        else
          widen_floats(isa_, type_, static_cast<const uint16_t*>(x) + r * s_.depth, s_.depth, row);
        std::fill(row + s_.depth, row + s_.padded(), 0.0f);
      }
    });
    return to;
  }

  void add_blocks(const float* x, float* sums) const {
    for (int64_t r = 0; r < s_.rows; ++r)
      for (int64_t b = 0; b < s_.blocks(); ++b) {
        const float* const first = x + r * stride() + b * s_.block;
        float lanes[kNarrowGroup] = {};
        for (int64_t k = 0, n = std::min(s_.block, s_.padded() - b * s_.block); k < n; k += kNarrowGroup)
          for (int64_t i = 0; i < kNarrowGroup; ++i) lanes[i] += first[k + i];
        sums[r * s_.blocks() + b] =
            ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
      }
  }

  const uint8_t* panel(const RunArgs& args, int64_t column) const {
    return static_cast<const uint8_t*>(args.inputs[1]) + column / kNarrowPanel * s_.panel_bytes();
  }
  NarrowGrid grid(const RunArgs& args, int64_t column) const {
    const int64_t first = is_float(weights_) ? column * s_.blocks() : column;
    const void* const scale =
        static_cast<const std::byte*>(args.inputs[2]) + static_cast<size_t>(first) * scale_bytes(scales_);
    if (is_float(weights_)) return {block(), scale, nullptr, kNarrowPanel, scales_, factor_};
    return {block(),
            scale,
            zeros_ ? static_cast<const uint8_t*>(args.inputs[3]) + column : nullptr,
            s_.panels() * kNarrowPanel,
            scales_,
            factor_};
  }

  void by_rows(const RunArgs& args, const DenseUnit& u, const float* x, const float* sums, const RowDigits* digits,
               char* scratch) const {
    auto* const results = reinterpret_cast<float*>(scratch);
    const bool direct = epilogue_.trivial() && s_.columns % kNarrowPanel == 0;
    const int64_t stride = direct ? s_.columns : multiple(u.columns, kNarrowPanel);
    float* const out = direct ? static_cast<float*>(args.outputs[0]) + u.row * s_.columns + u.column : results;
    for (int64_t c = 0; c < u.columns; c += kNarrowPanel)
      for (int64_t r = 0; r < u.rows; r += kMostNarrowRows) {
        NarrowRows t;
        t.weights = panel(args, u.column + c);
        t.depth = s_.padded();
        t.grid = grid(args, u.column + c);
        t.x = x + (u.row + r) * this->stride();
        t.x_stride = this->stride();
        t.x_sums = sums + (u.row + r) * s_.blocks();
        t.sums_stride = s_.blocks();
        t.out = out + r * stride + c;
        t.stride = stride;
        if (digits != nullptr)
          narrow_row_by_digits(t, *digits, weights_);
        else
          ops_.rows(t, std::min(kMostNarrowRows, u.rows - r));
      }
    if (!direct) store(args, u, results, stride);
  }

  void by_pieces(const RunArgs& args, const DenseUnit& u, const float* x, char* scratch) const {
    const auto** const rows = reinterpret_cast<const float**>(scratch);
    auto* const piece = reinterpret_cast<float*>(scratch + table_bytes());
    for (int64_t r = 0; r < u.rows; ++r) rows[r] = x + (u.row + r) * stride();
    const bool direct = epilogue_.trivial();
    DenseTile t;
    t.taps = rows;
    t.tap_stride = u.rows;
    t.stride = direct ? s_.columns : u.columns;
    float* const out = direct ? static_cast<float*>(args.outputs[0]) + u.row * s_.columns + u.column
                              : reinterpret_cast<float*>(scratch + table_bytes() + piece_bytes());
    for (int64_t c = 0; c < u.columns; c += kNarrowPanel)
      for (const DenseBlocks::Part& part : blocks_.parts) {
        ops_.unpack(
            {panel(args, u.column + c), part.first, part.length, grid(args, u.column + c), piece, dense_.panel});
        t.first = part.first;
        t.length = part.length;
        t.accumulate = part.first != 0;
        for (int64_t sub = 0; sub < kNarrowPanel && c + sub < u.columns; sub += dense_.panel) {
          t.columns = std::min(dense_.panel, u.columns - c - sub);
          t.weights = piece + sub * part.length;
          t.out = out + c + sub;
          dense_.tile(t, u.rows);
        }
      }
    if (!direct) store(args, u, out, u.columns);
  }

  void store(const RunArgs& args, const DenseUnit& u, const float* values, int64_t stride) const {
    for (int64_t r = 0; r < u.rows; ++r)
      epilogue_.store((u.row + r) * s_.columns + u.column, u.columns, values + r * stride, args);
  }

  NarrowShape s_;
  Isa isa_;
  int slots_;
  DType type_, weights_;
  NarrowScale scales_;
  float factor_;
  bool zeros_;
  const DenseOps& dense_;
  const NarrowOps& ops_;
  Epilogue::Bound epilogue_;
  DenseBlocks blocks_;
};

class NarrowKernel final : public Kernel {
 public:
  NarrowKernel(const Problem& p, Epilogue e, const KernelOptions& o)
      : problem_(p), epilogue_(std::move(e)), options_(o) {}

  Result<std::optional<PackedForm>> pack(int input, const HostTensor& source) const override {
    if (input < 1 || input >= problem_.num_main) return std::optional<PackedForm>{};
    WOOTZ_ASSIGN_OR_RETURN(const NarrowShape s, optimum(problem_));
    const TensorDesc& desc = problem_.inputs[static_cast<size_t>(input)];
    if (source.dtype() != desc.dtype || !(source.dims() == desc.dims))
      return invalid_argument("gemm: {} {} to pack", dtype_name(source.dtype()), source.dims().to_string());
    if (input == 1) return std::optional(packed_weights(s, problem_.as<GemmParams>().trans_b, source));
    const double factor = factor_of(problem_);
    if (input == 3) return std::optional(packed_zero_points(s, source));
    if (!is_float(problem_.inputs[1].dtype)) return std::optional(packed_scales(s, source, factor));
    return std::optional(scales_by_panel(s, source, kind_of(problem_), factor));
  }

  Result<std::unique_ptr<Call>> bind(const BindArgs& args) const override {
    if (args.inputs.size() != problem_.inputs.size() || args.outputs.size() != 1)
      return invalid_argument("gemm: {} inputs and {} outputs to bind", args.inputs.size(), args.outputs.size());
    for (size_t i = 1; i < static_cast<size_t>(problem_.num_main); ++i)
      if (!(args.inputs[i] == problem_.inputs[i].dims)) return invalid_argument("other weights than were packed");
    WOOTZ_ASSIGN_OR_RETURN(const NarrowShape s, shape_of(problem_, args.inputs, args.outputs[0]));
    const size_t grid = static_cast<size_t>(s.grid_size()),
                 sizes[] = {0, s.weight_bytes(), grid * scale_bytes(kind_of(problem_)), grid};
    for (size_t i = 1; i < static_cast<size_t>(problem_.num_main); ++i)
      if (i < args.constant_bytes.size() && args.constant_bytes[i] != sizes[i])
        return corrupt("gemm: {} bytes of packed operand {}, {} are needed", args.constant_bytes[i], i, sizes[i]);
    WOOTZ_ASSIGN_OR_RETURN(Epilogue::Bound end, epilogue_.bind(problem_, args));
    return std::unique_ptr<Call>(std::make_unique<NarrowCall>(problem_, options_, s, std::move(end)));
  }

 private:
  Problem problem_;
  Epilogue epilogue_;
  KernelOptions options_;
};

Result<std::unique_ptr<Kernel>> create_weight_only(const Problem& p, const KernelOptions& options) {
  WOOTZ_ASSIGN_OR_RETURN(Epilogue e, Epilogue::make(p, DType::kF32, options.isa));
  return std::unique_ptr<Kernel>(std::make_unique<NarrowKernel>(p, std::move(e), options));
}

Status weight_only_applies(const Problem& p) {
  const auto& params = p.as<GemmParams>();
  if (params.w_block == 0) return unsupported("weights of the other operand's type");
  const auto main = static_cast<size_t>(std::max(p.num_main, 0));
  if (main < 3 || main > 4 || p.inputs.size() < main || p.outputs.size() != 1)
    return invalid_argument("gemm: {} main inputs of {}", p.num_main, p.inputs.size());
  if (params.trans_a || params.has_bias || !params.x_scale.empty())
    return unsupported("a transposed left side, a bias or a scale of the data");
  const DType w = p.inputs[1].dtype;
  if (!is_model_float(p.inputs[0].dtype) || !is_packed_scale(p.inputs[2].dtype) || (main > 3 && p.inputs[3].dtype != w))
    return unsupported("{} by {}", dtype_name(p.inputs[0].dtype), dtype_name(w));
  if (!is_packed_weight(w) || (is_float(w) && main > 3)) return unsupported("weights of {}", dtype_name(w));
  for (size_t i = 0; i < p.inputs.size(); ++i) {
    const bool packed = i > 0 && i < main;
    if (packed && !p.inputs[i].constant) return unsupported("weights that are not constant");
    if (p.inputs[i].layout != Layout::kLinear && !(packed && p.inputs[i].layout == Layout::kOpaque))
      return unsupported("operands in layout {}", layout_name(p.inputs[i].layout));
  }
  if (p.outputs[0].layout != Layout::kLinear) return unsupported("layout {}", layout_name(p.outputs[0].layout));
  WOOTZ_RETURN_IF_ERROR(Epilogue::make(p, DType::kF32, Isa::kAvx2).status());
  return optimum(p).status();
}

double weight_only_cost_us(const Problem& p, const KernelOptions& options) {
  const Result<NarrowShape> s = optimum(p);
  if (!s.ok()) return 0;
  const double threads = std::max(1, options.threads), rows = static_cast<double>(s->rows);
  const double rate = options.isa == Isa::kAvx512 ? 95 : 50;  // billions of operations a second of one core
  const double flops = 2 * static_cast<double>(s->depth * s->columns) * std::max(rows, 4.0);
  return 1.5 + std::max(flops / (rate * threads * 1e3),
                        static_cast<double>(s->weight_bytes()) / (15e3 * std::min(threads, 4.0)));
}

}  // namespace

const KernelEntry gemm_any_weight_only{Family::kGemm,      kSchemeLinear, weight_only_applies,
                                       create_weight_only, true,          weight_only_cost_us};

}  // namespace wootz::cpu
