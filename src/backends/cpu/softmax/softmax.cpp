// Family softmax, and its logarithm, of f32, f16 and bf16 along any axis.
#include <cmath>

#include "backend/operand_dims.h"
#include "backends/cpu/epilogue.h"
#include "backends/cpu/kernel_entry.h"
#include "backends/cpu/physical.h"
#include "backends/cpu/row_reader.h"
#include "backends/cpu/simd/rows.h"
#include "base/thread_pool.h"

namespace wootz::cpu {
namespace {

constexpr int64_t kColumns = 256;

Status softmax_applies(const Problem& p) {
  if (p.num_main != 1 || p.inputs.empty() || p.outputs.size() != 1)
    return invalid_argument("softmax: {} inputs, {} outputs", p.num_main, p.outputs.size());
  const TensorDesc &x = p.inputs[0], &y = p.outputs[0];
  if (!is_row_type(x.dtype)) return unsupported("softmax of {}", dtype_name(x.dtype));
  if (!is_plain(x.layout) || x.layout != y.layout) return unsupported("softmax in layout {}", layout_name(x.layout));
  if (!(x.dims == y.dims)) return invalid_argument("softmax of {} gives {}", x.dims.to_string(), y.dims.to_string());
  const int64_t axis = p.as<SoftmaxParams>().axis;
  if (axis < 0 || axis >= x.dims.rank()) return invalid_argument("softmax: axis {} of {}", axis, x.dims.to_string());
  WOOTZ_ASSIGN_OR_RETURN(const Epilogue e, Epilogue::make(p, DType::kF32, Isa::kAvx2));
  const std::vector<Dims> in = operand_dims(p.inputs);
  return e.bind(p, {in, std::span(&y.dims, 1), {}}).status();
}

class SoftmaxCall final : public Call {
 public:
  Epilogue::Bound end;
  RowReader reader;
  const RowOps* ops = nullptr;
  int64_t outer = 1, length = 1, inner = 1;
  bool log = false;

  Status run(const RunArgs& args) const override {
    if (outer * length * inner == 0) return {};
    if (inner == 1) {
      // What follows costs a call as much as many elements: short rows are stored together.
      const bool in_tiles = !end.trivial() && !log && length <= kRowChunk;
      const int64_t together = in_tiles ? kRowChunk / length : 1;
      parallel_for(outer, std::max<int64_t>(together, 16384 / length), [&](int64_t begin, int64_t last) {
        for (int64_t r = begin; r < last; r += together) {
          if (in_tiles)
            rows(args, r * length, std::min(together, last - r));
          else
            row(args, r * length);
        }
      });
    } else {
      const int64_t blocks = (inner + kColumns - 1) / kColumns;
      parallel_for(outer * blocks, std::max<int64_t>(1, 16384 / (length * std::min(inner, kColumns))),
                   [&](int64_t begin, int64_t last) {
                     for (int64_t b = begin; b < last; ++b) {
                       const int64_t column = b % blocks * kColumns;
                       columns(args, b / blocks * length * inner + column, std::min(kColumns, inner - column));
                     }
                   });
    }
    return {};
  }

 private:
  // `count` rows that fit a tile.
  void rows(const RunArgs& args, int64_t at, int64_t count) const {
    alignas(64) float in[kRowChunk], tile[kRowChunk];
    const float* from = reader.read(args.inputs[0], at, count * length, in);
    for (int64_t r = 0; r < count; ++r) {
      float* const to = tile + r * length;
      const float* const v = from + r * length;
      const double sum = ops->exp_row(to, v, length, ops->max(v, length));
      ops->scale(to, to, length, static_cast<float>(1 / sum));
    }
    end.store(at, count * length, tile, args);
  }

  void row(const RunArgs& args, int64_t at) const {
    alignas(64) float in[kRowChunk], tile[kRowChunk];
    const void* x = args.inputs[0];
    float top = -std::numeric_limits<float>::infinity();
    for_chunks([&](int64_t i, int64_t n) { top = std::max(top, ops->max(reader.read(x, at + i, n, in), n)); });
    float* direct = end.trivial() ? static_cast<float*>(args.outputs[0]) + at : nullptr;
    double sum = 0;
    for_chunks([&](int64_t i, int64_t n) {
      const float* v = reader.read(x, at + i, n, in);
      if (log || direct == nullptr)
        sum += ops->reduce(RowOp::kSumExp, v, n, top);
      else
        sum += ops->exp_row(direct + i, v, n, top);
    });
    const auto factor = static_cast<float>(1 / sum);
    const auto minus = static_cast<float>(-top - std::log(sum));
    for_chunks([&](int64_t i, int64_t n) {
      float* to = direct != nullptr ? direct + i : tile;
      if (log) {
        ops->add(to, reader.read(x, at + i, n, in), n, minus);
      } else {
        if (direct == nullptr) ops->exp_row(to, reader.read(x, at + i, n, in), n, top);
        ops->scale(to, to, n, factor);
      }
      if (direct == nullptr) end.store(at + i, n, tile, args);
    });
  }

  template <class Fn>
  void for_chunks(Fn f) const {
    for (int64_t i = 0; i < length; i += kRowChunk) f(i, std::min(kRowChunk, length - i));
  }

  // n <= kColumns neighbouring lines, whose elements are `inner` apart.
  void columns(const RunArgs& args, int64_t at, int64_t n) const {
    alignas(64) float in[kColumns], tile[kColumns], top[kColumns], sum[kColumns];
    const void* x = args.inputs[0];
    for (int64_t j = 0; j < n; ++j) top[j] = -std::numeric_limits<float>::infinity(), sum[j] = 0;
    for (int64_t i = 0; i < length; ++i)
      ops->accumulate(RowOp::kMax, top, reader.read(x, at + i * inner, n, in), nullptr, n);
    float* direct = end.trivial() ? static_cast<float*>(args.outputs[0]) + at : nullptr;
    for (int64_t i = 0; i < length; ++i)
      ops->exp_columns(log || direct == nullptr ? nullptr : direct + i * inner, sum,
                       reader.read(x, at + i * inner, n, in), top, n);
    for (int64_t j = 0; j < n; ++j) sum[j] = log ? top[j] + std::log(sum[j]) : 1 / sum[j];
    for (int64_t i = 0; i < length; ++i) {
      float* to = direct != nullptr ? direct + i * inner : tile;
      if (log) {
        ops->sub_columns(to, reader.read(x, at + i * inner, n, in), sum, n);
      } else {
        if (direct == nullptr) {
          alignas(64) float unused[kColumns] = {};
          ops->exp_columns(tile, unused, reader.read(x, at + i * inner, n, in), top, n);
        }
        ops->scale_columns(to, to, sum, n);
      }
      if (direct == nullptr) end.store(at + i * inner, n, tile, args);
    }
  }
};

class SoftmaxKernel final : public Kernel {
 public:
  SoftmaxKernel(const Problem& p, Epilogue e, Isa isa) : problem_(p), epilogue_(std::move(e)), isa_(isa) {}
  Result<std::unique_ptr<Call>> bind(const BindArgs& args) const override {
    auto call = std::make_unique<SoftmaxCall>();
    WOOTZ_ASSIGN_OR_RETURN(call->end, epilogue_.bind(problem_, args));
    const Layout layout = problem_.inputs[0].layout;
    const Dims dims = physical_dims(layout, args.inputs[0]);
    if (!(args.inputs[0] == args.outputs[0]) || dims.rank() != problem_.inputs[0].dims.rank())
      return invalid_argument("softmax of {} gives {}", args.inputs[0].to_string(), args.outputs[0].to_string());
    const int axis = physical_axis(layout, dims.rank(), static_cast<int>(problem_.as<SoftmaxParams>().axis));
    for (int d = 0; d < dims.rank(); ++d) {
      int64_t& part = d < axis ? call->outer : d == axis ? call->length : call->inner;
      part *= dims[static_cast<size_t>(d)];
    }
    call->reader = RowReader(problem_.inputs[0].dtype, isa_);
    call->ops = &row_ops(isa_);
    call->log = problem_.as<SoftmaxParams>().log;
    return std::unique_ptr<Call>(std::move(call));
  }
  // Each line is read before it is written, except its logarithm's second reading, which reads what it then replaces.
  int in_place(int output) const override {
    const bool same = problem_.inputs[0].dtype == DType::kF32 && problem_.outputs[0].dtype == DType::kF32;
    return output == 0 && same && problem_.epilogue.empty() && !problem_.inputs[0].constant ? 0 : -1;
  }

 private:
  Problem problem_;
  Epilogue epilogue_;
  Isa isa_;
};

Result<std::unique_ptr<Kernel>> create_softmax(const Problem& p, const KernelOptions& options) {
  WOOTZ_ASSIGN_OR_RETURN(Epilogue e, Epilogue::make(p, DType::kF32, options.isa));
  return std::unique_ptr<Kernel>(std::make_unique<SoftmaxKernel>(p, std::move(e), options.isa));
}

}  // namespace

const KernelEntry softmax_float_lines{Family::kSoftmax, kSchemeLinear | kSchemeChannelsLast, softmax_applies,
                                      create_softmax};

}  // namespace wootz::cpu
