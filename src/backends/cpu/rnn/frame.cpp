#include "backends/cpu/rnn/frame.h"

#include "base/thread_pool.h"

namespace wootz::cpu {
namespace {

constexpr int64_t kPartRows = 192;  // rows of the inputs' product that are there at a time
constexpr int64_t kWidened = 4096;  // elements that a thread is worth

// Memory in pieces that begin at whole cache lines.
template <class T>
size_t take(size_t* bytes, int64_t count) {
  const size_t at = *bytes;
  *bytes += (static_cast<size_t>(count) * sizeof(T) + 63) & ~size_t{63};
  return at;
}

}  // namespace

RnnLayout::RnnLayout(const Problem& p, const KernelOptions& o, const Recurrence& recurrence, bool teams)
    : r(recurrence),
      columns(recurrence, o.isa),
      split(split_layer(recurrence, o.isa, std::max(1, o.threads), teams)),
      type(p.inputs[kRnnX].dtype) {
  for (size_t i = 0; i < kRnnInputs; ++i) {
    has[i] = rnn_has(p, i);
    ready[i] = has[i] && p.inputs[i].constant;
  }
  for (size_t i = 0; i < kRnnOutputs; ++i) wants[i] = rnn_wants(p, i);
  if (has[kRnnLengths]) lengths = p.inputs[kRnnLengths].dtype;
  if (type != DType::kF32) {
    widen = find_widen(o.isa, type);
    narrow = find_store(o.isa, type);
  }
  for (int64_t d = 0; d < r.directions; ++d) spec[d] = spec_of(d);
  group = (r.batch + split.groups - 1) / split.groups;
  part_steps = std::max<int64_t>(1, std::min(r.steps, kPartRows / std::max<int64_t>(1, group)));
  lay_out();
}

RnnCellSpec RnnLayout::spec_of(int64_t d) const {
  RnnCellSpec s;
  s.clip = static_cast<float>(r.clip);
  s.input_forget = r.input_forget;
  s.linear_before_reset = r.linear_before_reset;
  s.plain = r.clip == 0 && !has[kRnnPeepholes] && !r.input_forget;
  for (size_t a = 0; a < r.each(); ++a) {
    const RnnActivation& act = r.activations[static_cast<size_t>(d) * r.each() + a];
    s.activations[a] = {act.function, static_cast<float>(act.alpha), static_cast<float>(act.beta)};
    const RnnFunction usual = a == 0 && r.each() > 1 ? RnnFunction::kSigmoid : RnnFunction::kTanh;
    s.plain = s.plain && act.function == usual;
  }
  return s;
}

void RnnLayout::lay_out() {
  const int64_t rows = r.directions * r.batch, states = rows * columns.units();
  at_lengths = take<int64_t>(&bytes, r.batch);
  at_meet = take<SpinBarrier>(&bytes, split.threads);
  at_tables = take<float*>(&bytes, split.threads * table_elements());
  at_part = take<float>(&bytes, split.threads / split.team * part_elements());
  at_h = take<float>(&bytes, 2 * states);
  at_c = take<float>(&bytes, r.kind == RnnKind::kLstm ? states : 0);
  at_gated = take<float>(&bytes, columns.apart * states);
  at_x = take<float>(&bytes, type == DType::kF32 ? 0 : r.steps * r.batch * r.inputs);
  for (const size_t i : {kRnnW, kRnnR, kRnnBias, kRnnPeepholes})
    at_packed[i] = take<float>(&bytes, ready[i] ? 0 : packed_elements(r, columns, i));
  bytes += 64;  // to begin at a cache line
}

RnnFrame::RnnFrame(const RnnLayout& layout, const RunArgs& args)
    : l_(layout),
      args_(args),
      memory_(reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(args.workspace) + 63) / 64 * 64)) {}

Status RnnFrame::prepare() {
  WOOTZ_RETURN_IF_ERROR(read_lengths());
  x = static_cast<const float*>(args_.inputs[kRnnX]);
  if (l_.widen != nullptr) {
    const auto* from = static_cast<const char*>(args_.inputs[kRnnX]);
    auto* to = at<float>(l_.at_x);
    x = to;
    parallel_for(l_.r.steps * l_.r.batch * l_.r.inputs, kWidened, [&](int64_t begin, int64_t end) {
      l_.widen({to + begin, from + 2 * begin, nullptr, nullptr, end - begin, 0, 0});
    });
  }
  w = packed(kRnnW);
  r = packed(kRnnR);
  bias = packed(kRnnBias);
  if (l_.has[kRnnPeepholes]) peepholes = packed(kRnnPeepholes);
  return {};
}

Status RnnFrame::read_lengths() {
  auto* lengths = at<int64_t>(l_.at_lengths);
  std::fill_n(lengths, l_.r.batch, l_.r.steps);
  if (!l_.has[kRnnLengths]) return {};
  const void* from = args_.inputs[kRnnLengths];
  for (int64_t b = 0; b < l_.r.batch; ++b) {
    lengths[b] =
        l_.lengths == DType::kI32 ? static_cast<const int32_t*>(from)[b] : static_cast<const int64_t*>(from)[b];
    if (lengths[b] < 0 || lengths[b] > l_.r.steps)
      return invalid_argument("sequence {} has a length of {}; there are {} steps", b, lengths[b], l_.r.steps);
  }
  return {};
}

const float* RnnFrame::packed(size_t input) {
  if (l_.ready[input]) return static_cast<const float*>(args_.inputs[input]);
  auto* to = at<float>(l_.at_packed[input]);
  if (!l_.has[input]) {
    std::fill_n(to, packed_elements(l_.r, l_.columns, input), 0.0f);
    return to;
  }
  parallel_for(packed_pieces(l_.r, l_.columns, input), 1, [&](int64_t begin, int64_t end) {
    pack_pieces(l_.r, l_.columns, input, l_.type, args_.inputs[input], begin, end, to);
  });
  return to;
}

void RnnFrame::load_state(size_t input, const RnnShare& a, int64_t b, float* to) const {
  std::fill_n(to + first_unit(a), (a.last - a.first) * l_.columns.lanes, 0.0f);
  if (!l_.has[input] || count(a) <= 0) return;
  const int64_t at = place_of_state(a.direction, b) * l_.r.hidden + first_unit(a);
  const void* from = args_.inputs[input];
  if (l_.widen == nullptr)
    std::copy_n(static_cast<const float*>(from) + at, count(a), to + first_unit(a));
  else
    l_.widen({to + first_unit(a), static_cast<const char*>(from) + 2 * at, nullptr, nullptr, count(a), 0, 0});
}

void RnnFrame::store(size_t output, const RnnShare& a, int64_t row, const float* from) const {
  if (!l_.wants[output] || count(a) <= 0) return;
  const int64_t at = row * l_.r.hidden + first_unit(a);
  void* to = args_.outputs[output];
  if (l_.narrow == nullptr)
    std::copy_n(from + first_unit(a), count(a), static_cast<float*>(to) + at);
  else
    l_.narrow({static_cast<char*>(to) + 2 * at, from + first_unit(a), nullptr, nullptr, count(a), 0, 0});
}
void RnnFrame::store_state(size_t output, const RnnShare& a, int64_t b, const float* from) const {
  store(output, a, place_of_state(a.direction, b), from);
}
void RnnFrame::store_y(int64_t t, const RnnShare& a, int64_t b, const float* from) const {
  const int64_t row = l_.r.batch_first ? (b * l_.r.steps + t) * l_.r.directions + a.direction
                                       : (t * l_.r.directions + a.direction) * l_.r.batch + b;
  store(0, a, row, from);
}

}  // namespace wootz::cpu
