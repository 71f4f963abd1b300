#include "plan/storage.h"

#include <algorithm>

namespace wootz {

size_t tensor_bytes(const PlanTensor& tensor, const Dims& dims) {
  if (tensor.layout == Layout::kLinear) return dtype_bytes(tensor.dtype, dims.volume());
  return layout_bytes(tensor.layout, tensor.dtype, dims);
}

namespace {

class StorageFinder {
 public:
  StorageFinder(const Program& program, const ShapeValues& shapes, const IndexedVector<TensorIndex, Dims>& dims,
                const IndexedVector<TensorIndex, uint8_t>& known, bool exact)
      : program_(program), shapes_(shapes), dims_(dims), known_(known), exact_(exact) {}

  Result<Storage> run() {
    const size_t n = program_.tensors.size();
    storage_.root.assign(n, {});
    storage_.offset.assign(n, 0);
    storage_.extent.assign(n, 0);
    for (const TensorIndex t : program_.tensors.indices()) {
      storage_.extent[t] = bytes(t);
      if (!known_[t]) continue;
      WOOTZ_RETURN_IF_ERROR(place_subviews(t));
      if (program_.tensors[t].kind == TensorKind::kView) WOOTZ_RETURN_IF_ERROR(place_view(t));
    }
    for (const TensorIndex t : program_.tensors.indices()) find_root(t);
    return std::move(storage_);
  }

 private:
  size_t bytes(TensorIndex t) const { return known_[t] ? tensor_bytes(program_.tensors[t], dims_[t]) : 0; }

  Status place_subviews(TensorIndex t) {
    const PlanTensor& tensor = program_.tensors[t];
    size_t end = 0;
    for (const TensorIndex p : tensor.subviews) {
      place_[p] = end;
      end += bytes(p);
    }
    if (exact_ && !tensor.subviews.empty() && end != storage_.extent[t])
      return invalid_argument("'{}' of shape {} has {} bytes, what it is put together from has {}", tensor.name,
                              dims_[t].to_string(), storage_.extent[t], end);
    storage_.extent[t] = std::max(storage_.extent[t], end);
    return Status();
  }

  Status place_view(TensorIndex t) {
    const PlanTensor& tensor = program_.tensors[t];
    const TensorIndex source = tensor.view_of;
    const PlanTensor& from = program_.tensors[source];
    if (!tensor.offset.exists()) {
      if (!exact_ || !known_[source] || dims_[source].volume() == dims_[t].volume()) return Status();
      return invalid_argument("'{}' of shape {} cannot be seen as '{}' of shape {}: {} against {} elements", from.name,
                              dims_[source].to_string(), tensor.name, dims_[t].to_string(), dims_[source].volume(),
                              dims_[t].volume());
    }
    const int64_t first = shapes_.values[tensor.offset];
    const size_t have = bytes(source), need = bytes(t);
    const bool countable = first >= 0 && first <= limits::kMaxElements;
    place_[t] = countable ? dtype_bytes(tensor.dtype, first) : 0;
    if (exact_ && (!countable || need > have || place_[t] > have - need))
      return invalid_argument("'{}' of shape {} would be elements {} and following of '{}' of shape {}", tensor.name,
                              dims_[t].to_string(), first, from.name, dims_[source].to_string());
    return Status();
  }

  // Who has memory of its own, and the place in it: by way of all that lie between.
  void find_root(TensorIndex t) {
    between_.clear();
    TensorIndex at = t;
    while (!storage_.root[at].exists()) {
      const TensorKind kind = program_.tensors[at].kind;
      if (kind != TensorKind::kView && kind != TensorKind::kSubview) {
        storage_.root[at] = at;
        break;
      }
      between_.push_back(at);
      at = program_.tensors[at].view_of;
    }
    for (size_t k = between_.size(); k-- > 0;) {
      const TensorIndex inner = between_[k];
      const TensorIndex outer = program_.tensors[inner].view_of;
      storage_.root[inner] = storage_.root[outer];
      place_[inner] += place_[outer];
    }
  }

  const Program& program_;
  const ShapeValues& shapes_;
  const IndexedVector<TensorIndex, Dims>& dims_;
  const IndexedVector<TensorIndex, uint8_t>& known_;
  const bool exact_;
  Storage storage_;
  IndexedVector<TensorIndex, size_t>& place_ = storage_.offset;  // first within view_of, then within the root
  std::vector<TensorIndex> between_;
};

}  // namespace

Result<Storage> find_storage(const Program& program, const ShapeValues& shapes,
                             const IndexedVector<TensorIndex, Dims>& dims,
                             const IndexedVector<TensorIndex, uint8_t>& known, bool exact) {
  return StorageFinder(program, shapes, dims, known, exact).run();
}

IndexedVector<TensorIndex, StepIndex> completing_steps(const Program& program) {
  IndexedVector<TensorIndex, StepIndex> complete(program.tensors.size());
  for (const StepIndex s : program.steps.indices()) {
    for (const TensorIndex t : program.steps[s].outputs) {
      TensorIndex at = t;
      while (at.exists()) {  // steps come in order: the last to write a subview leaves its number
        complete[at] = s;
        at = program.tensors[at].kind == TensorKind::kSubview ? program.tensors[at].view_of : TensorIndex();
      }
    }
  }
  for (const TensorIndex t : program.tensors.indices()) {
    TensorIndex at = t;
    while (program.tensors[at].kind == TensorKind::kView) at = program.tensors[at].view_of;
    complete[t] = complete[at];
  }
  return complete;
}

}  // namespace wootz
