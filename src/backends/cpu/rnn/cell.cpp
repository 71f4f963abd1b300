#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/rnn/cell.cpp"
#include "hwy/foreach_target.h"

#include "backends/cpu/rnn/cell.h"
#include "backends/cpu/simd/math_inl.h"

HWY_BEFORE_NAMESPACE();
namespace wootz::cpu {
namespace HWY_NAMESPACE {
namespace {

constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(float));
constexpr int kVectors = 2;  // of a panel

// The sums of kM rows x kN vectors in registers. Few rows have too few sums to keep the multipliers busy: kU terms of
// each are summed apart.
template <int kM, int kN, int kU>
HWY_INLINE void block(const RnnGemm& p, int64_t row, int64_t column, const float* w) {
  const float* in[kM];
  V acc[kU][kM][kN];
#pragma GCC unroll 12
  for (int i = 0; i < kM; ++i) {
    in[i] = p.in[row + i];
    const float* start = p.start == nullptr ? p.out[row + i] + column : p.start + column;
#pragma GCC unroll 2
    for (int v = 0; v < kN; ++v) {
      acc[0][i][v] = hn::LoadU(F(), start + v * kLanes);
#pragma GCC unroll 4
      for (int u = 1; u < kU; ++u) acc[u][i][v] = hn::Zero(F());
    }
  }
  int64_t e = 0;
  for (; e + kU <= p.depth; e += kU)
#pragma GCC unroll 4
    for (int u = 0; u < kU; ++u) {
      V b[kN];
#pragma GCC unroll 2
      for (int v = 0; v < kN; ++v) b[v] = hn::LoadU(F(), w + v * kLanes);
      w += kVectors * kLanes;
#pragma GCC unroll 12
      for (int i = 0; i < kM; ++i) {
        const V x = hn::Set(F(), in[i][e + u]);
#pragma GCC unroll 2
        for (int v = 0; v < kN; ++v) acc[u][i][v] = hn::MulAdd(x, b[v], acc[u][i][v]);
      }
    }
  for (; e < p.depth; ++e, w += kVectors * kLanes)
#pragma GCC unroll 12
    for (int i = 0; i < kM; ++i)
#pragma GCC unroll 2
      for (int v = 0; v < kN; ++v)
        acc[0][i][v] = hn::MulAdd(hn::Set(F(), in[i][e]), hn::LoadU(F(), w + v * kLanes), acc[0][i][v]);
#pragma GCC unroll 12
  for (int i = 0; i < kM; ++i)
#pragma GCC unroll 2
    for (int v = 0; v < kN; ++v) {
#pragma GCC unroll 4
      for (int u = 1; u < kU; ++u) acc[0][i][v] = hn::Add(acc[0][i][v], acc[u][i][v]);
      hn::StoreU(acc[0][i][v], F(), p.out[row + i] + column + v * kLanes);
    }
}

template <int kN>
HWY_INLINE void panel(const RnnGemm& p, int64_t column, const float* w) {
  int64_t i = 0;
#if HWY_TARGET == HWY_AVX3
  for (; i + 12 <= p.rows; i += 12) block<12, kN, 1>(p, i, column, w);
  for (; i + 8 <= p.rows; i += 8) block<8, kN, 1>(p, i, column, w);
#endif
  for (; i + 6 <= p.rows; i += 6) block<6, kN, 1>(p, i, column, w);
  for (; i + 4 <= p.rows; i += 4) block<4, kN, 1>(p, i, column, w);
  for (; i + 2 <= p.rows; i += 2) block<2, kN, 2>(p, i, column, w);
  for (; i < p.rows; ++i) block<1, kN, 4>(p, i, column, w);
}

void gemm(const RnnGemm& p) {
  constexpr int64_t kPanel = kVectors * kLanes;
  const int64_t panels = (p.columns + kPanel - 1) / kPanel;
  for (int64_t i = 0; i < panels; ++i) {
    const int64_t at = p.backwards ? panels - 1 - i : i, column = at * kPanel;
    const float* w = p.weights + column * p.depth;
    if (p.columns - column >= kPanel)
      panel<kVectors>(p, column, w);
    else
      panel<1>(p, column, w);
  }
}

// By RnnFunction.
using Function = V (*)(V x, V alpha, V beta);
V relu(V x, V, V) { return hn::Max(hn::Zero(F()), x); }  // the second operand is kept when it is NaN
V tanh(V x, V, V) { return vtanh(x); }
V sigmoid(V x, V, V) { return vsigmoid(x); }
V affine(V x, V a, V b) { return hn::MulAdd(a, x, b); }
V leaky_relu(V x, V a, V) { return hn::IfThenElse(hn::Lt(x, hn::Zero(F())), hn::Mul(a, x), x); }
V thresholded_relu(V x, V a, V) { return hn::IfThenElseZero(hn::Gt(x, a), x); }
V scaled_tanh(V x, V a, V b) { return hn::Mul(a, vtanh(hn::Mul(b, x))); }
V hard_sigmoid(V x, V a, V b) { return hn::Min(splat(1.0f), hn::Max(hn::Zero(F()), hn::MulAdd(a, x, b))); }
V elu(V x, V a, V) { return hn::IfThenElse(hn::Lt(x, hn::Zero(F())), hn::Mul(a, vexpm1(x)), x); }
V softsign(V x, V, V) { return hn::Div(x, hn::Add(splat(1.0f), hn::Abs(x))); }
V softplus(V x, V, V) { return vsoftplus(x); }
constexpr Function kFunctions[] = {relu,        tanh,         sigmoid, affine,   leaky_relu, thresholded_relu,
                                   scaled_tanh, hard_sigmoid, elu,     softsign, softplus};
static_assert(sizeof(kFunctions) / sizeof(kFunctions[0]) == kRnnFunctions);

V any_function(const RnnCellSpec& spec, int which, V x) {
  if (spec.clip > 0) x = hn::Min(splat(spec.clip), hn::Max(splat(-spec.clip), x));
  const RnnCellSpec::Activation& a = spec.activations[which];
  return kFunctions[static_cast<size_t>(a.function)](x, splat(a.alpha), splat(a.beta));
}
// The gates are sigmoids and the rest tanh, unless the layer says otherwise.
template <bool kPlain>
HWY_INLINE V act(const RnnCellSpec& spec, int which, V x) {
  if constexpr (!kPlain) return any_function(spec, which, x);
  return which == 0 ? vsigmoid(x) : vtanh(x);
}
HWY_INLINE V load(const float* p, int64_t block) { return hn::LoadU(F(), p + block * kLanes); }
HWY_INLINE void store(V x, float* p, int64_t block) { hn::StoreU(x, F(), p + block * kLanes); }

template <bool kPlain>
HWY_INLINE void lstm_blocks(const RnnCell& cell) {
  const RnnCellSpec& spec = *cell.spec;
  const auto peep = [&](V sum, int which, V c, int64_t k) HWY_ATTR {
    if (kPlain || cell.peepholes[0] == nullptr) return sum;
    return hn::MulAdd(load(cell.peepholes[which], k), c, sum);
  };
  for (int64_t k = 0; k < cell.blocks; ++k) {
    const V c = load(cell.c, k);
    const V input = act<kPlain>(spec, 0, peep(load(cell.gates, 4 * k), 0, c, k));
    const V forget = !kPlain && spec.input_forget ? hn::Sub(splat(1.0f), input)
                                                  : act<kPlain>(spec, 0, peep(load(cell.gates, 4 * k + 2), 2, c, k));
    const V fresh = act<kPlain>(spec, 1, load(cell.gates, 4 * k + 3));
    const V next = hn::MulAdd(forget, c, hn::Mul(input, fresh));
    const V output = act<kPlain>(spec, 0, peep(load(cell.gates, 4 * k + 1), 1, next, k));
    store(next, cell.c, k);
    store(hn::Mul(output, act<kPlain>(spec, 2, next)), cell.h_next, k);
  }
}
void lstm(const RnnCell& cell) { cell.spec->plain ? lstm_blocks<true>(cell) : lstm_blocks<false>(cell); }

template <bool kPlain>
HWY_INLINE void gru_reset_blocks(const RnnCell& cell) {
  for (int64_t k = 0; k < cell.blocks; ++k)
    store(hn::Mul(act<kPlain>(*cell.spec, 0, load(cell.gates, 2 * k + 1)), load(cell.h, k)), cell.h_next, k);
}
void gru_reset(const RnnCell& cell) { cell.spec->plain ? gru_reset_blocks<true>(cell) : gru_reset_blocks<false>(cell); }

template <bool kPlain>
HWY_INLINE void gru_blocks(const RnnCell& cell) {
  const RnnCellSpec& spec = *cell.spec;
  for (int64_t k = 0; k < cell.blocks; ++k) {
    V sum = load(cell.candidate, k);
    if (spec.linear_before_reset)
      sum = hn::MulAdd(act<kPlain>(spec, 0, load(cell.gates, 2 * k + 1)), load(cell.recurrent, k), sum);
    const V fresh = act<kPlain>(spec, 1, sum), update = act<kPlain>(spec, 0, load(cell.gates, 2 * k));
    const V kept = hn::Mul(update, load(cell.h, k));
    store(hn::MulAdd(hn::Sub(splat(1.0f), update), fresh, kept), cell.h_next, k);
  }
}
void gru(const RnnCell& cell) { cell.spec->plain ? gru_blocks<true>(cell) : gru_blocks<false>(cell); }

void rnn(const RnnCell& cell) {
  for (int64_t k = 0; k < cell.blocks; ++k)
    store(cell.spec->plain ? vtanh(load(cell.gates, k)) : any_function(*cell.spec, 0, load(cell.gates, k)), cell.h_next,
          k);
}

}  // namespace

const RnnOps& rnn_table() {
  static constexpr RnnOps kOps{kLanes, gemm, lstm, gru_reset, gru, rnn};
  return kOps;
}

}  // namespace HWY_NAMESPACE
}  // namespace wootz::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wootz::cpu {
const RnnOps& rnn_ops(Isa isa) { return WOOTZ_BY_ISA(isa, rnn_table()); }
}  // namespace wootz::cpu
#endif
