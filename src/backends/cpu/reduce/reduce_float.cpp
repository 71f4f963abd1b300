// Reductions of f32, f16 and bf16, computed in f32. Each result is computed by one thread in a fixed order.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/cpu/reduce/reduce.h"
#include "backends/cpu/row_reader.h"
#include "backends/cpu/simd/rows.h"
#include "base/thread_pool.h"

namespace wootz::cpu {
namespace {

constexpr int64_t kTile = 512;  // results at a time
constexpr float kInf = std::numeric_limits<float>::infinity();

RowOp row_op(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::kMax: return RowOp::kMax;
    case ReduceKind::kMin: return RowOp::kMin;
    case ReduceKind::kProd: return RowOp::kProd;
    case ReduceKind::kL1: return RowOp::kSumAbs;
    case ReduceKind::kL2:
    case ReduceKind::kSumSq: return RowOp::kSumSquares;
    case ReduceKind::kLogSumExp: return RowOp::kSumExp;
    default: return RowOp::kSum;
  }
}
float neutral(RowOp op) {
  return op == RowOp::kMax ? -kInf : op == RowOp::kMin ? kInf : op == RowOp::kProd ? 1.0f : 0.0f;
}
double combine(RowOp op, double a, double b) {
  switch (op) {
    case RowOp::kMax: return std::isnan(a) || a > b ? a : b;
    case RowOp::kMin: return std::isnan(a) || a < b ? a : b;
    case RowOp::kProd: return a * b;
    default: return a + b;
  }
}

class ReduceCall final : public Call {
 public:
  Epilogue::Bound end;
  RowReader reader;
  const RowOps* ops = nullptr;
  ReduceNest nest;
  ReduceKind kind = ReduceKind::kSum;

  Status run(const RunArgs& args) const override {
    const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, nest.count));
    parallel_for(nest.outputs, grain, [&](int64_t begin, int64_t last) {
      alignas(64) float tile[kTile];
      while (begin < last) {
        int64_t n = std::min(kTile, last - begin);
        if (nest.count == 0) {
          std::fill_n(tile, n, finish(neutral(kind == ReduceKind::kLogSumExp ? RowOp::kSum : row_op(kind)), 0));
        } else if (nest.inner_reduced) {
          for (int64_t i = 0; i < n; ++i) tile[i] = one(args.inputs[0], begin + i);
        } else {
          const int64_t row = nest.kept[static_cast<size_t>(nest.num_kept - 1)].extent;
          n = std::min(n, row - begin % row);
          columns(args.inputs[0], begin, n, tile);
        }
        end.store(begin, n, tile, args);
        begin += n;
      }
    });
    return {};
  }

 private:
  float finish(double value, double shift) const {
    switch (kind) {
      case ReduceKind::kMean: return static_cast<float>(value / static_cast<double>(nest.count));
      case ReduceKind::kL2: return static_cast<float>(std::sqrt(value));
      case ReduceKind::kLogSum: return static_cast<float>(std::log(value));
      case ReduceKind::kLogSumExp: return static_cast<float>(std::log(value) + shift);
      default: return static_cast<float>(value);
    }
  }
  // The largest element, or 0 where it is infinite: what exponentials are taken relative to.
  static float shift_of(float top) { return std::isinf(top) ? 0 : top; }

  double rows(const void* x, int64_t base, RowOp op, float shift) const {
    alignas(64) float buffer[kRowChunk];
    const int64_t length = nest.num_reduced > 0 ? nest.reduced[static_cast<size_t>(nest.num_reduced - 1)].extent : 1;
    double acc = neutral(op);
    nest.each(nest.num_reduced > 0 ? 1 : 0, [&](int64_t offset) {
      for (int64_t i = 0; i < length; i += kRowChunk) {
        const int64_t n = std::min(kRowChunk, length - i);
        acc = combine(op, acc, ops->reduce(op, reader.read(x, base + offset + i, n, buffer), n, shift));
      }
    });
    return acc;
  }
  float one(const void* x, int64_t index) const {
    const int64_t base = nest.base(index);
    float shift = 0;
    if (kind == ReduceKind::kLogSumExp) shift = shift_of(static_cast<float>(rows(x, base, RowOp::kMax, 0)));
    return finish(rows(x, base, row_op(kind), shift), shift);
  }

  void columns(const void* x, int64_t first, int64_t n, float* tile) const {
    alignas(64) float buffer[kTile], shift[kTile];
    const int64_t base = nest.base(first);
    const auto pass = [&](RowOp op, float* acc) {
      std::fill_n(acc, n, neutral(op));
      nest.each(0,
                [&](int64_t offset) { ops->accumulate(op, acc, reader.read(x, base + offset, n, buffer), shift, n); });
    };
    std::fill_n(shift, n, 0.0f);
    if (kind == ReduceKind::kLogSumExp) {
      pass(RowOp::kMax, shift);
      for (int64_t i = 0; i < n; ++i) shift[i] = shift_of(shift[i]);
    }
    pass(row_op(kind), tile);
    for (int64_t i = 0; i < n; ++i) tile[i] = finish(tile[i], shift[i]);
  }
};

class ReduceKernel final : public Kernel {
 public:
  ReduceKernel(const Problem& p, Epilogue e, Isa isa) : problem_(p), epilogue_(std::move(e)), isa_(isa) {}
  Result<std::unique_ptr<Call>> bind(const BindArgs& args) const override {
    auto call = std::make_unique<ReduceCall>();
    WOOTZ_ASSIGN_OR_RETURN(call->end, epilogue_.bind(problem_, args));
    WOOTZ_ASSIGN_OR_RETURN(call->nest, reduce_nest(problem_, args.inputs[0], args.outputs[0]));
    call->reader = RowReader(problem_.inputs[0].dtype, isa_);
    call->ops = &row_ops(isa_);
    call->kind = problem_.as<ReduceParams>().kind;
    return std::unique_ptr<Call>(std::move(call));
  }

 private:
  Problem problem_;
  Epilogue epilogue_;
  Isa isa_;
};

Status reduce_float_applies(const Problem& p) {
  if (p.inputs.empty() || !is_row_type(p.inputs[0].dtype)) return unsupported("not a float of at most 32 bits");
  return check_reduce(p, DType::kF32);
}

Result<std::unique_ptr<Kernel>> create_reduce_float(const Problem& p, const KernelOptions& options) {
  WOOTZ_ASSIGN_OR_RETURN(Epilogue e, Epilogue::make(p, DType::kF32, options.isa));
  return std::unique_ptr<Kernel>(std::make_unique<ReduceKernel>(p, std::move(e), options.isa));
}

}  // namespace

const KernelEntry reduce_float_lines{Family::kReduce, kSchemeLinear | kSchemeChannelsLast, reduce_float_applies,
                                     create_reduce_float};

}  // namespace wootz::cpu
