// Op ExpertProduct with constant weights: rows are sorted by their experts, and all those of one expert are multiplied
// by its matrix together, in the tiles of our other products. Sums are in f32.
#include <algorithm>
#include <cstring>

#include "backend/op_kernels.h"
#include "backend/operand_dims.h"
#include "backends/cpu/dense/blocks.h"
#include "backends/cpu/function_kernel.h"
#include "base/half.h"

namespace wootz::cpu {
namespace {

constexpr int64_t kMostRows = 60;       // of a tile
constexpr int64_t kMostPanel = 64;      // columns of a tile
constexpr int64_t kPanelsTogether = 4;  // of a unit of work

struct Extents {
  int64_t rows = 0, slots = 1;  // rows of the result; how many of them share one of the operand's
  int64_t experts = 0, depth = 0, columns = 0;
  bool own = false;  // each row of the result has a row of the operand
};

Result<Extents> read_extents(const Problem& p, std::span<const Dims> in, const Dims& y) {
  const Dims &x = in[0], &chosen = in[1], &w = in[2];
  const auto refuse = [&] {
    return invalid_argument("rows {}, experts {} and weights {} give {}", x.to_string(), chosen.to_string(),
                            w.to_string(), y.to_string());
  };
  if (chosen.rank() < 1 || w.rank() != 3 || y.rank() != chosen.rank() + 1 || y.back() != w[2]) return refuse();
  Extents e;
  e.own = x.rank() == chosen.rank() + 1;
  if ((!e.own && x.rank() != chosen.rank()) || x.back() != w[1]) return refuse();
  for (size_t a = 0; a < chosen.size(); ++a)
    if (y[a] != chosen[a] || (a + 1 < x.size() && x[a] != chosen[a])) return refuse();
  if (p.inputs.size() > 3 && !(in[3] == Dims{w[0], w[2]})) return refuse();
  e.rows = chosen.volume();
  e.slots = chosen.back();
  e.experts = w[0];
  e.depth = w[1];
  e.columns = w[2];
  if (e.experts < 1 || e.depth < 1 || e.columns < 1) return unsupported("weights {}", w.to_string());
  return e;
}

DenseShape weights_shape(const Extents& e) { return {0, e.columns, e.experts, e.depth}; }  // a tap for each expert

float read_element(DType type, const void* from, int64_t i) {
  switch (type) {
    case DType::kF16: return f16_to_f32(static_cast<const uint16_t*>(from)[i]);
    case DType::kBF16: return bf16_to_f32(static_cast<const uint16_t*>(from)[i]);
    default: return static_cast<const float*>(from)[i];
  }
}
void write_elements(DType type, const float* from, int64_t count, void* to, int64_t at) {
  if (type == DType::kF32) {
    std::copy(from, from + count, static_cast<float*>(to) + at);
    return;
  }
  auto* const out = static_cast<uint16_t*>(to) + at;
  for (int64_t i = 0; i < count; ++i) out[i] = type == DType::kF16 ? f32_to_f16(from[i]) : f32_to_bf16(from[i]);
}

// What a run keeps in its workspace.
struct Scratch {
  float *x = nullptr, *bias = nullptr;  // of operands that are not f32
  int64_t* first = nullptr;             // by expert: where its rows begin in `order`; one more for the end
  int64_t* order = nullptr;             // rows of the result by expert
  int64_t* active = nullptr;            // experts that have rows
};

class ProductCall final : public Call {
 public:
  ProductCall(const Problem& p, const Extents& extents, const DenseOps& ops)
      : e_(extents), ops_(ops), type_(p.inputs[0].dtype), chosen_(p.inputs[1].dtype), biased_(p.inputs.size() > 3) {}

  size_t workspace() const override {
    Scratch none;
    return lay_out(nullptr, &none);
  }

  Status run(const RunArgs& args) const override {
    Scratch s;
    lay_out(static_cast<char*>(args.workspace), &s);
    const auto* x = static_cast<const float*>(args.inputs[0]);
    const auto* bias = biased_ ? static_cast<const float*>(args.inputs[3]) : nullptr;
    if (s.x != nullptr) x = widen(args.inputs[0], operand_rows() * e_.depth, s.x);
    if (s.bias != nullptr) bias = widen(args.inputs[3], e_.experts * e_.columns, s.bias);
    const int64_t active = sort(args.inputs[1], &s, args.outputs[0]);
    const int64_t panels = ceil_div(e_.columns, ops_.panel), groups = ceil_div(panels, kPanelsTogether);
    const auto* weights = static_cast<const float*>(args.inputs[2]);
    parallel_for(active * groups, 1, [&](int64_t begin, int64_t end) {
      for (int64_t u = begin; u < end; ++u) {
        const int64_t expert = s.active[u / groups], group = u % groups;
        const int64_t last = std::min(panels, (group + 1) * kPanelsTogether);
        for (int64_t panel = group * kPanelsTogether; panel < last; ++panel)
          multiply(s, expert, panel, x, weights, bias, args.outputs[0]);
      }
    });
    return {};
  }

 private:
  int64_t operand_rows() const { return e_.own ? e_.rows : e_.slots == 0 ? 0 : e_.rows / e_.slots; }

  size_t lay_out(char* memory, Scratch* s) const {
    size_t bytes = 0;
    const auto place = [&](auto** to, int64_t count) {
      if (memory != nullptr) *to = reinterpret_cast<std::remove_reference_t<decltype(*to)>>(memory + bytes);
      bytes += (static_cast<size_t>(count) * sizeof(**to) + 63) & ~size_t{63};
    };
    if (type_ != DType::kF32) place(&s->x, operand_rows() * e_.depth);
    if (type_ != DType::kF32 && biased_) place(&s->bias, e_.experts * e_.columns);
    place(&s->first, e_.experts + 1);
    place(&s->order, e_.rows);
    place(&s->active, e_.experts);
    return bytes;
  }

  const float* widen(const void* from, int64_t count, float* to) const {
    parallel_for(count, 16384, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] = read_element(type_, from, i);
    });
    return to;
  }

  int64_t expert_of(const void* chosen, int64_t row) const {
    return chosen_ == DType::kI64 ? static_cast<const int64_t*>(chosen)[row] : static_cast<const int32_t*>(chosen)[row];
  }

  // Rows by expert, in their order; those that have none become zeros. Gives how many experts have rows.
  int64_t sort(const void* chosen, Scratch* s, void* y) const {
    const auto valid = [&](int64_t expert) { return expert >= 0 && expert < e_.experts; };
    std::fill(s->first, s->first + e_.experts + 1, int64_t{0});
    for (int64_t r = 0; r < e_.rows; ++r)
      if (const int64_t expert = expert_of(chosen, r); valid(expert)) ++s->first[expert + 1];
    int64_t active = 0;
    for (int64_t expert = 0; expert < e_.experts; ++expert) {
      if (s->first[expert + 1] > 0) s->active[active++] = expert;
      s->first[expert + 1] += s->first[expert];
    }
    // `first` moves to the end of each expert's rows, which is where the next one's begin: back by one then.
    for (int64_t r = 0; r < e_.rows; ++r) {
      const int64_t expert = expert_of(chosen, r);
      if (valid(expert))
        s->order[s->first[expert]++] = r;
      else
        std::memset(static_cast<char*>(y) + dtype_bytes(type_, r * e_.columns), 0, dtype_bytes(type_, e_.columns));
    }
    for (int64_t expert = e_.experts; expert > 0; --expert) s->first[expert] = s->first[expert - 1];
    s->first[0] = 0;
    return active;
  }

  // One panel of columns of all rows of an expert.
  void multiply(const Scratch& s, int64_t expert, int64_t panel, const float* x, const float* weights,
                const float* bias, void* y) const {
    const float* taps[kMostRows];
    float sums[kMostRows * kMostPanel];
    const int64_t column = panel * ops_.panel;
    DenseTile tile;
    tile.taps = taps;
    tile.length = e_.depth;
    tile.weights = weights + (panel * e_.experts + expert) * e_.depth * ops_.panel;
    tile.columns = std::min(ops_.panel, e_.columns - column);
    tile.out = sums;
    tile.stride = ops_.panel;
    tile.bias = bias == nullptr ? nullptr : bias + expert * e_.columns + column;
    for (int64_t at = s.first[expert]; at < s.first[expert + 1]; at += kMostRows) {
      const int64_t count = std::min(kMostRows, s.first[expert + 1] - at);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t row = s.order[at + i];
        taps[i] = x + (e_.own ? row : row / e_.slots) * e_.depth;
      }
      ops_.tile(tile, count);
      for (int64_t i = 0; i < count; ++i)
        write_elements(type_, sums + i * ops_.panel, tile.columns, y, s.order[at + i] * e_.columns + column);
    }
  }

  Extents e_;
  const DenseOps& ops_;
  DType type_, chosen_;
  bool biased_;
};

class ProductKernel final : public Kernel {
 public:
  ProductKernel(const Problem& p, const KernelOptions& options) : problem_(p), ops_(dense_ops(options.isa)) {}

  Result<std::optional<PackedForm>> pack(int input, const HostTensor& source) const override {
    if (input != 2) return std::optional<PackedForm>{};
    WOOTZ_ASSIGN_OR_RETURN(const Extents e,
                           read_extents(problem_, operand_dims(problem_.inputs), problem_.outputs[0].dims));
    if (source.dtype() != problem_.inputs[2].dtype || !(source.dims() == problem_.inputs[2].dims))
      return invalid_argument("experts: {} {} to pack", dtype_name(source.dtype()), source.dims().to_string());
    const auto read = [e, source](int64_t column, int64_t expert, int64_t d) {
      return read_element(source.dtype(), source.data(), (expert * e.depth + d) * e.columns + column);
    };
    return std::optional(pack_panels(weights_shape(e), ops_, read));
  }

  Result<std::unique_ptr<Call>> bind(const BindArgs& args) const override {
    if (args.inputs.size() != problem_.inputs.size() || args.outputs.size() != 1)
      return invalid_argument("experts: {} inputs and {} outputs to bind", args.inputs.size(), args.outputs.size());
    WOOTZ_ASSIGN_OR_RETURN(const Extents e, read_extents(problem_, args.inputs, args.outputs[0]));
    if (!(args.inputs[2] == problem_.inputs[2].dims)) return invalid_argument("other experts than were packed");
    if (args.constant_bytes.size() > 2 && args.constant_bytes[2] != packed_bytes(weights_shape(e), ops_))
      return corrupt("experts: packed weights of {} bytes", args.constant_bytes[2]);
    return std::unique_ptr<Call>(std::make_unique<ProductCall>(problem_, e, ops_));
  }

 private:
  Problem problem_;
  const DenseOps& ops_;
};

Result<std::unique_ptr<Kernel>> create_expert_product(const Problem& p, const KernelOptions& options) {
  return std::unique_ptr<Kernel>(std::make_unique<ProductKernel>(p, options));
}

Status expert_product_applies(const Problem& p) {
  if (op_params<ExpertProductOpParams>(p) == nullptr) return unsupported("op {}", p.as<OpParams>().op);
  if (p.inputs.size() < 3 || p.inputs.size() > 4) return invalid_argument("{} operands", p.inputs.size());
  WOOTZ_RETURN_IF_ERROR(check_counts(p, p.inputs.size(), 1));
  for (size_t i = 0; i < p.inputs.size(); ++i)
    if (p.inputs[i].layout != Layout::kLinear && (i != 2 || p.inputs[i].layout != Layout::kOpaque))
      return unsupported("operands in layout {}", layout_name(p.inputs[i].layout));
  if (p.outputs[0].layout != Layout::kLinear || !p.epilogue.empty()) return unsupported("a result of another form");
  const DType type = p.inputs[0].dtype, chosen = p.inputs[1].dtype;
  if (!is_model_float(type)) return unsupported("elements of {}", dtype_name(type));
  if (p.inputs[2].dtype != type || p.outputs[0].dtype != type || (p.inputs.size() > 3 && p.inputs[3].dtype != type) ||
      (chosen != DType::kI32 && chosen != DType::kI64))
    return invalid_argument("types that do not fit");
  if (!p.inputs[2].constant) return unsupported("weights that are not constant");
  return read_extents(p, operand_dims(p.inputs), p.outputs[0].dims).status();
}

double expert_product_cost_us(const Problem& p, const KernelOptions& options) {
  const Result<Extents> e = read_extents(p, operand_dims(p.inputs), p.outputs[0].dims);
  if (!e.ok()) return 0;
  return dense_cost_us(p, {e->rows, e->columns, 1, e->depth}, options);
}

}  // namespace

const KernelEntry op_any_expert_product{Family::kOp,           kSchemeLinear, expert_product_applies,
                                        create_expert_product, true,          expert_product_cost_us};

}  // namespace wootz::cpu
