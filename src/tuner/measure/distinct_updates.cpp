#include "tuner/measure/distinct_updates.h"

#include <algorithm>

#include "backend/families.h"

namespace wootz {
namespace {

// Updates and the elements that they go to, counted in slices for tuples.
struct Writes {
  const HostTensor& indices;
  const Dims& data;
  bool tuples;
  int axis;

  int64_t parts() const { return tuples ? indices.dims()[indices.rank() - 1] : 1; }
  int64_t count() const { return parts() == 0 ? 0 : indices.volume() / parts(); }
  int64_t places() const {
    int64_t n = 1;
    for (int64_t a = 0; a < (tuples ? parts() : data.rank()); ++a) n *= data[a];
    return n;
  }
  // Of elements: update w along the axis, and what an index of 0 there stands for.
  int64_t along(int64_t w) const {
    int64_t inner = 1;
    for (int a = axis + 1; a < indices.rank(); ++a) inner *= indices.dims()[a];
    return w / inner % indices.dims()[axis];
  }
  // The element that update w goes to; -1: outside.
  int64_t place(int64_t w) const {
    if (tuples) {
      int64_t at = 0;
      for (int64_t q = 0; q < parts(); ++q) {
        const int64_t index = inside(indices.get_i64(w * parts() + q), data[q]);
        if (index < 0) return -1;
        at = at * data[q] + index;
      }
      return at;
    }
    int64_t at = 0, stride = 1, rest = w;
    for (int a = data.rank() - 1; a >= 0; --a) {
      const int64_t own = rest % indices.dims()[a];
      rest /= indices.dims()[a];
      const int64_t index = a == axis ? inside(indices.get_i64(w), data[a]) : own;
      if (index < 0) return -1;
      at += index * stride;
      stride *= data[a];
    }
    return at;
  }
  bool meet() const {
    std::vector<bool> taken(static_cast<size_t>(std::max<int64_t>(0, places())));
    for (int64_t w = 0; w < count(); ++w) {
      const int64_t at = place(w);
      if (at < 0 || static_cast<size_t>(at) >= taken.size()) continue;
      if (taken[static_cast<size_t>(at)]) return true;
      taken[static_cast<size_t>(at)] = true;
    }
    return false;
  }

 private:
  static int64_t inside(int64_t index, int64_t extent) {
    if (index < 0) index += extent;
    return index < extent ? index : -1;
  }
};

// The n-th update goes to the n-th element, from the last one on: backwards, so that it is not where it came from.
Result<HostTensor> counted(const Writes& w) {
  WOOTZ_ASSIGN_OR_RETURN(HostTensor made, HostTensor::allocate(w.indices.dtype(), w.indices.dims()));
  const int64_t places = std::max<int64_t>(1, w.tuples ? w.places() : w.data[w.axis]);
  for (int64_t n = 0; n < w.count(); ++n) {
    int64_t at = places - 1 - (w.tuples ? n : w.along(n)) % places;
    for (int64_t q = w.parts() - 1; q >= 0; --q) {
      const int64_t extent = w.tuples ? std::max<int64_t>(1, w.data[q]) : places;
      made.set_i64(n * w.parts() + q, at % extent);
      at /= extent;
    }
  }
  return made;
}

}  // namespace

Status make_updates_distinct(const Problem& problem, std::vector<HostTensor>* inputs) {
  if (!problem.is(Family::kScatter)) return Status();
  const auto& params = problem.as<ScatterParams>();
  std::vector<HostTensor>& in = *inputs;
  if (params.reduction != ScatterReduction::kNone || in.size() < 3 || !in[0].valid() || !in[1].valid() ||
      !in[2].valid() || in[1].rank() == 0 || in[0].rank() == 0)
    return Status();
  const bool tuples = params.kind == ScatterKind::kNd;
  const auto writes = [&] { return Writes{in[1], in[0].dims(), tuples, static_cast<int>(params.axis)}; };
  if (tuples ? writes().parts() > in[0].rank() : in[1].rank() != in[0].rank() || params.axis >= in[0].rank())
    return Status();
  if (writes().count() == 0) return Status();
  if (!problem.inputs[1].constant) {
    WOOTZ_ASSIGN_OR_RETURN(in[1], counted(writes()));
  }
  if (problem.inputs[2].constant || !writes().meet()) return Status();
  WOOTZ_ASSIGN_OR_RETURN(HostTensor same, HostTensor::allocate(in[2].dtype(), in[2].dims()));
  for (int64_t i = 0; i < same.volume(); ++i)
    dtype_info(same.dtype()).is_float ? same.set_f64(i, 1) : same.set_i64(i, 1);
  in[2] = std::move(same);
  return Status();
}

}  // namespace wootz
