#include "runtime/report/output_bound.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace wootz {
namespace {

// From the least to the most that a number may be.
struct Span {
  int64_t low = 0, high = 0;
};
using Bound = std::optional<Span>;

// Ops whose results have no more rows than their largest operand has elements.
constexpr std::string_view kPicking[] = {"NonZero", "Unique", "Compress", "NonMaxSuppression", "NonMaxSuppressionTrt"};

bool picks(const Step& step) {
  const auto* op = step.problem.as_if<OpParams>();
  return op != nullptr && std::find(std::begin(kPicking), std::end(kPicking), op->op) != std::end(kPicking);
}

Bound of_all(const std::array<__int128, 4>& ends) {
  const auto [low, high] = std::minmax_element(ends.begin(), ends.end());
  constexpr __int128 kMost = int64_t{1} << 62;
  if (*low < -kMost || *high > kMost) return std::nullopt;
  return Span{static_cast<int64_t>(*low), static_cast<int64_t>(*high)};
}

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

Bound combine(ShapeOp op, const Span& a, const Span& b) {
  using Wide = __int128;
  switch (op) {
    case ShapeOp::kAdd:
      return of_all({Wide{a.low} + b.low, Wide{a.high} + b.high, Wide{a.low} + b.low, Wide{a.high} + b.high});
    case ShapeOp::kMul:
      return of_all({Wide{a.low} * b.low, Wide{a.low} * b.high, Wide{a.high} * b.low, Wide{a.high} * b.high});
    case ShapeOp::kMin: return Span{std::min(a.low, b.low), std::min(a.high, b.high)};
    case ShapeOp::kMax: return Span{std::max(a.low, b.low), std::max(a.high, b.high)};
    case ShapeOp::kMod:
      return b.low > 0 ? Bound(Span{0, a.low >= 0 ? std::min(a.high, b.high - 1) : b.high - 1}) : std::nullopt;
    case ShapeOp::kFloorDiv:
    case ShapeOp::kCeilDiv: {
      if (b.low <= 0) return std::nullopt;
      const auto divide = [&](int64_t n, int64_t by) {
        return op == ShapeOp::kFloorDiv ? floor_div(n, by) : -floor_div(-n, by);
      };
      return of_all({divide(a.low, b.low), divide(a.low, b.high), divide(a.high, b.low), divide(a.high, b.high)});
    }
    default: return std::nullopt;
  }
}

class Bounds {
 public:
  Bounds(const Program& program, size_t profile, const std::vector<int64_t>& symbols) : program_(program) {
    for (const SymbolIndex s : program.symbols.indices()) {
      const size_t at = s.position();
      const SymbolRange& range = program.profiles[profile].symbols[s];
      const bool given = at < symbols.size() && symbols[at] >= 0;
      if (given)
        symbols_.push_back(Span{symbols[at], symbols[at]});
      else
        symbols_.push_back(range.max < 0 ? std::nullopt : Bound(Span{std::max<int64_t>(0, range.min), range.max}));
    }
    // What one step finds may bound what a later one does.
    for (int round = 0; round < kRounds; ++round) {
      work_out();
      if (!find()) break;
    }
  }

  // The most elements of a tensor.
  std::optional<int64_t> volume(TensorIndex tensor) const {
    __int128 all = 1;
    for (const ExpressionIndex e : program_.tensors[tensor].dims) {
      const Bound& extent = exprs_[e.position()];
      if (!extent) return std::nullopt;
      all *= std::max<int64_t>(0, extent->high);
      if (all > int64_t{1} << 50) return std::nullopt;
    }
    return static_cast<int64_t>(all);
  }

 private:
  static constexpr int kRounds = 16;

  // Operands come before what uses them.
  void work_out() {
    exprs_.clear();
    for (const ShapeExpr& e : program_.exprs) {
      if (e.op == ShapeOp::kConst) {
        exprs_.push_back(Span{e.value, e.value});
      } else if (e.op == ShapeOp::kSymbol) {
        exprs_.push_back(symbols_[e.symbol().position()]);
      } else {
        Bound all = exprs_[e.operands[0].position()];
        for (size_t o = 1; o < e.operands.size() && all; ++o) {
          const Bound& next = exprs_[e.operands[o].position()];
          all = next ? combine(e.op, *all, *next) : std::nullopt;
        }
        exprs_.push_back(all);
      }
    }
  }

  // Symbols that a step finds, bounded by its operands. True: there was one more.
  bool find() {
    bool more = false;
    for (const SymbolIndex s : program_.symbols.indices()) {
      Bound& bound = symbols_[s.position()];
      if (bound || program_.symbols[s].source != SymbolSource::kDataDependent) continue;
      bound = found(program_.symbols[s].tensor);
      more = more || bound;
    }
    return more;
  }

  Bound found(TensorIndex tensor) const {
    for (const Step& step : program_.steps) {
      if (std::find(step.outputs.begin(), step.outputs.end(), tensor) == step.outputs.end() || !picks(step)) continue;
      int64_t most = 0;
      for (const TensorIndex input : step.inputs) {
        if (!input.exists()) continue;
        const std::optional<int64_t> elements = volume(input);
        if (!elements) return std::nullopt;
        most = std::max(most, *elements);
      }
      return Span{0, most};
    }
    return std::nullopt;
  }

  const Program& program_;
  std::vector<Bound> symbols_, exprs_;
};

}  // namespace

std::optional<int64_t> output_bound(const Program& program, TensorIndex tensor, size_t profile,
                                    const std::vector<int64_t>& symbols) {
  const std::optional<int64_t> elements = Bounds(program, profile, symbols).volume(tensor);
  if (!elements) return std::nullopt;
  const PlanTensor& t = program.tensors[tensor];
  // Each channel may be one of a group of its own.
  int64_t stored = *elements;
  if (t.dims.size() >= 3 && __builtin_mul_overflow(stored, channel_multiple(t.layout), &stored)) return std::nullopt;
  return static_cast<int64_t>(dtype_bytes(t.dtype, stored));
}

}  // namespace wootz
