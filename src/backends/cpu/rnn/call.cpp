#include "backends/cpu/rnn/call.h"

#include <algorithm>
#include <new>

#include "backends/cpu/dense/tile.h"
#include "backends/cpu/rnn/frame.h"
#include "base/thread_pool.h"

namespace wootz::cpu {
namespace {

constexpr int64_t kTableRows = 96;   // at most so many rows of inputs multiplied together
constexpr int64_t kPartDepth = 256;  // terms summed at once: their weights stay in the first-level cache

class RnnCall final : public Call {
 public:
  RnnCall(const Problem& p, const KernelOptions& o, const Recurrence& r, bool teams)
      : l_(p, o, r, teams), ops_(rnn_ops(o.isa)), dense_(dense_ops(o.isa)) {}

  size_t workspace() const override { return l_.bytes; }

  Status run(const RunArgs& args) const override {
    if (l_.r.batch == 0) return {};
    RnnFrame f(l_, args);
    WOOTZ_RETURN_IF_ERROR(f.prepare());
    const int threads = std::min(l_.split.threads, max_parallelism());
    for (int t = 0; t < threads; ++t) new (f.at<SpinBarrier>(l_.at_meet) + t) SpinBarrier;
    const auto work = [&](int index, int n) {
      const int size = std::min(l_.split.team, n), teams = n / size, team = index / size;
      if (team >= teams) return;
      const Member m = member(f, index, team, index % size, size);
      for (int64_t task = team; task < l_.r.directions * l_.split.groups; task += teams) layer(f, m, task);
    };
    if (threads <= 1)
      work(0, 1);
    else
      ThreadPool::process().run(threads, work);
    return {};
  }

 private:
  // One thread of a team.
  struct Member {
    int index = 0, size = 1;
    SpinBarrier* barrier = nullptr;
    float* part = nullptr;  // the team's: sums from x of some steps
    const float** in = nullptr;
    float** out = nullptr;
    void meet() const { barrier->wait(size); }
  };

  Member member(const RnnFrame& f, int thread, int team, int index, int size) const {
    Member m;
    m.index = index;
    m.size = size;
    m.barrier = f.at<SpinBarrier>(l_.at_meet) + team;
    m.part = f.at<float>(l_.at_part) + team * l_.part_elements();
    m.in = f.at<const float*>(l_.at_tables) + thread * l_.table_elements();
    m.out = f.at<float*>(l_.at_tables) + thread * l_.table_elements() + l_.group;
    return m;
  }
  float* gates(const Member& m, const RnnShare& a, int64_t s, int64_t b) const {
    return m.part + (s % l_.part_steps * (a.end - a.begin) + b - a.begin) * l_.columns.all();
  }

  void layer(const RnnFrame& f, const Member& m, int64_t task) const {
    const auto groups = static_cast<int>(l_.split.groups), group = static_cast<int>(task % groups);
    const int64_t blocks = l_.columns.blocks, pairs = (blocks + 1) / 2;  // a panel is two blocks of one gate
    RnnShare a;
    a.direction = task / groups;
    a.begin = piece_begin(l_.r.batch, groups, group);
    a.end = piece_begin(l_.r.batch, groups, group + 1);
    a.first = std::min(blocks, 2 * piece_begin(pairs, m.size, m.index));
    a.last = std::min(blocks, 2 * piece_begin(pairs, m.size, m.index + 1));
    int64_t steps = 0;
    for (int64_t b = a.begin; b < a.end; ++b) {
      steps = std::max(steps, f.length(b));
      f.load_state(kRnnInitialH, a, b, f.h(0, a.direction, b));
      if (l_.r.kind == RnnKind::kLstm) f.load_state(kRnnInitialC, a, b, f.c(a.direction, b));
    }
    for (int64_t s = 0; s < steps; ++s) {
      if (s % l_.part_steps == 0) {
        inputs(f, m, a, s, std::min(l_.part_steps, steps - s));
        m.meet();
      }
      step(f, m, a, s);
      m.meet();
    }
    finish(f, a);
  }

  // The sums from x of some steps: a member's columns, whichever member will use them.
  void inputs(const RnnFrame& f, const Member& m, const RnnShare& a, int64_t first, int64_t steps) const {
    const RnnColumns& c = l_.columns;
    const int64_t batch = a.end - a.begin, rows = steps * batch, depth = l_.r.inputs;
    const int64_t begin = piece_begin(c.panels(), m.size, m.index), end = piece_begin(c.panels(), m.size, m.index + 1);
    const float* weights = f.w + a.direction * c.panels() * c.panel * depth;
    const float* bias = f.bias + a.direction * (c.all() + c.units());
    const float* table[kTableRows];
    const int64_t most = kTableRows / dense_.rows * dense_.rows;
    DenseTile t;
    t.taps = table;
    t.stride = c.all();
    for (int64_t row = 0; row < rows; row += most) {
      const int64_t n = std::min(most, rows - row);
      for (int64_t i = 0; i < n; ++i) {
        const int64_t s = first + (row + i) / batch, b = a.begin + (row + i) % batch;
        table[i] = f.input(f.time(a.direction, s, b), b);
      }
      t.first = 0;
      do {
        t.length = std::min(kPartDepth, depth - t.first);
        t.accumulate = t.first != 0;
        for (int64_t p = begin; p < end; ++p) {
          t.columns = std::min(c.panel, c.all() - p * c.panel);
          t.weights = weights + (p * depth + t.first) * c.panel;
          t.out = m.part + row * c.all() + p * c.panel;
          t.bias = bias + p * c.panel;
          dense_.tile(t, n);
        }
        t.first += t.length;
      } while (t.first < depth);
    }
  }

  // The rows in the tables times the state's weights: a member's columns of `gates` gates, beginning at `column`.
  RnnGemm gemm(const RnnFrame& f, const Member& m, const RnnShare& a, int64_t rows, int64_t column, int64_t gates,
               int64_t s) const {
    RnnGemm p;
    p.in = m.in;
    p.out = m.out;
    p.rows = rows;
    p.depth = l_.r.hidden;
    p.columns = (a.last - a.first) * gates * l_.columns.lanes;
    p.weights = f.r + (a.direction * l_.columns.panels() * l_.columns.panel + column) * l_.r.hidden;
    p.backwards = s % 2 != 0;  // what was read last is still in the cache
    return p;
  }

  void step(const RnnFrame& f, const Member& m, const RnnShare& a, int64_t s) const {
    const RnnColumns& c = l_.columns;
    const int64_t d = a.direction, unit = a.first * c.lanes, own = unit * c.together, candidate = c.first() + unit;
    // A row of the tables for each sequence that has this step.
    const auto rows = [&](auto in, auto out) {
      int64_t n = 0;
      for (int64_t b = a.begin; b < a.end; ++b) {
        if (s >= f.length(b)) continue;
        m.in[n] = in(b);
        m.out[n++] = out(b);
      }
      return n;
    };
    const auto state = [&](int64_t b) { return f.h(s, d, b); };
    const int64_t n = rows(state, [&](int64_t b) { return gates(m, a, s, b) + own; });
    ops_.gemm(gemm(f, m, a, n, own, c.together, s));
    if (c.apart != 0 && l_.r.linear_before_reset) {
      rows(state, [&](int64_t b) { return f.gated(d, b) + unit; });
      RnnGemm p = gemm(f, m, a, n, candidate, 1, s);
      p.start = f.bias + d * (c.all() + c.units()) + c.all() + unit;
      ops_.gemm(p);
    } else if (c.apart != 0) {
      each_cell(f, m, a, s, ops_.gru_reset, true);
      m.meet();
      rows([&](int64_t b) { return f.gated(d, b); }, [&](int64_t b) { return gates(m, a, s, b) + candidate; });
      ops_.gemm(gemm(f, m, a, n, candidate, 1, s));
    }
    const RnnKind kind = l_.r.kind;
    each_cell(f, m, a, s, kind == RnnKind::kLstm ? ops_.lstm : kind == RnnKind::kGru ? ops_.gru : ops_.rnn, false);
  }

  void each_cell(const RnnFrame& f, const Member& m, const RnnShare& a, int64_t s, void (*function)(const RnnCell&),
                 bool reset) const {
    const RnnColumns& c = l_.columns;
    const int64_t d = a.direction, unit = a.first * c.lanes;
    RnnCell cell;
    cell.spec = &l_.spec[d];
    cell.blocks = a.last - a.first;
    for (int i = 0; f.peepholes != nullptr && i < 3; ++i)
      cell.peepholes[i] = f.peepholes + (3 * d + i) * c.units() + unit;
    for (int64_t b = a.begin; b < a.end; ++b) {
      if (s >= f.length(b)) continue;
      const float* row = gates(m, a, s, b);
      cell.gates = row + unit * c.together;
      cell.h = f.h(s, d, b) + unit;
      if (l_.r.kind == RnnKind::kLstm) cell.c = f.c(d, b) + unit;
      if (c.apart != 0) {
        cell.candidate = row + c.first() + unit;
        cell.recurrent = f.gated(d, b) + unit;
      }
      float* next = reset ? f.gated(d, b) : f.h(s + 1, d, b);
      cell.h_next = next + unit;
      function(cell);
      if (!reset) f.store_y(f.time(d, s, b), a, b, next);
    }
  }

  // The last states, and zeros where a sequence had ended.
  void finish(const RnnFrame& f, const RnnShare& a) const {
    const int64_t d = a.direction, lanes = l_.columns.lanes;
    for (int64_t b = a.begin; b < a.end; ++b) {
      const int64_t ended = f.length(b);
      f.store_state(1, a, b, f.h(ended, d, b));
      if (l_.r.kind == RnnKind::kLstm) f.store_state(2, a, b, f.c(d, b));
      float* zeros = f.h(ended + 1, d, b);
      std::fill_n(zeros + a.first * lanes, (a.last - a.first) * lanes, 0.0f);
      for (int64_t t = ended; t < l_.r.steps; ++t) f.store_y(t, a, b, zeros);
    }
  }

  RnnLayout l_;
  const RnnOps& ops_;
  const DenseOps& dense_;
};

}  // namespace

Result<std::unique_ptr<Call>> make_rnn_call(const Problem& problem, const KernelOptions& options,
                                            const Recurrence& recurrence, bool teams) {
  return std::unique_ptr<Call>(std::make_unique<RnnCall>(problem, options, recurrence, teams));
}

}  // namespace wootz::cpu
