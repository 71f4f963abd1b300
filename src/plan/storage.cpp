#include "plan/storage.h"

#include <algorithm>

namespace wootz {

size_t tensor_bytes(const PlanTensor& tensor, const Dims& dims) {
  if (tensor.layout == Layout::kLinear) return dtype_bytes(tensor.dtype, dims.volume());
  return layout_bytes(tensor.layout, tensor.dtype, dims);
}

Result<Storage> find_storage(const Program& program, const ShapeValues& shapes, const std::vector<Dims>& dims,
                             const std::vector<uint8_t>& known, bool exact) {
  const size_t n = program.tensors.size();
  Storage storage;
  storage.root.assign(n, -1);
  storage.offset.assign(n, 0);
  storage.extent.assign(n, 0);
  std::vector<size_t>& place = storage.offset;  // first within view_of, then within the root
  const auto bytes = [&](size_t t) { return known[t] ? tensor_bytes(program.tensors[t], dims[t]) : 0; };
  for (size_t t = 0; t < n; ++t) {
    const PlanTensor& tensor = program.tensors[t];
    storage.extent[t] = bytes(t);
    if (!known[t]) continue;
    size_t end = 0;
    for (const int32_t p : tensor.parts) {
      place[static_cast<size_t>(p)] = end;
      end += bytes(static_cast<size_t>(p));
    }
    if (exact && !tensor.parts.empty() && end != storage.extent[t])
      return invalid_argument("'{}' of shape {} has {} bytes, what it is put together from has {}", tensor.name,
                              dims[t].to_string(), storage.extent[t], end);
    storage.extent[t] = std::max(storage.extent[t], end);
    if (tensor.kind != TensorKind::kView) continue;
    const auto source = static_cast<size_t>(tensor.view_of);
    const PlanTensor& from = program.tensors[source];
    if (tensor.offset < 0) {
      if (!exact || !known[source] || dims[source].volume() == dims[t].volume()) continue;
      return invalid_argument("'{}' of shape {} cannot be seen as '{}' of shape {}: {} against {} elements", from.name,
                              dims[source].to_string(), tensor.name, dims[t].to_string(), dims[source].volume(),
                              dims[t].volume());
    }
    const int64_t first = shapes.values[static_cast<size_t>(tensor.offset)];
    const size_t have = bytes(source), need = bytes(t);
    const bool countable = first >= 0 && first <= limits::kMaxElements;
    place[t] = countable ? dtype_bytes(tensor.dtype, first) : 0;
    if (exact && (!countable || need > have || place[t] > have - need))
      return invalid_argument("'{}' of shape {} would be elements {} and following of '{}' of shape {}", tensor.name,
                              dims[t].to_string(), first, from.name, dims[source].to_string());
  }
  std::vector<size_t> chain;
  for (size_t t = 0; t < n; ++t) {
    chain.clear();
    auto at = t;
    while (storage.root[at] < 0) {
      const TensorKind kind = program.tensors[at].kind;
      if (kind != TensorKind::kView && kind != TensorKind::kPart) {
        storage.root[at] = static_cast<int32_t>(at);
        break;
      }
      chain.push_back(at);
      at = static_cast<size_t>(program.tensors[at].view_of);
    }
    for (size_t k = chain.size(); k-- > 0;) {
      const size_t inner = chain[k];
      const auto outer = static_cast<size_t>(program.tensors[inner].view_of);
      storage.root[inner] = storage.root[outer];
      place[inner] += place[outer];
    }
  }
  return storage;
}

std::vector<int> completing_steps(const Program& program) {
  std::vector<int> complete(program.tensors.size(), -1);
  for (size_t s = 0; s < program.steps.size(); ++s) {
    for (const int32_t t : program.steps[s].outputs) {
      int32_t at = t;
      while (at >= 0) {  // steps come in order: the last to write a part leaves its number
        complete[static_cast<size_t>(at)] = static_cast<int>(s);
        at = program.tensors[static_cast<size_t>(at)].kind == TensorKind::kPart
                 ? program.tensors[static_cast<size_t>(at)].view_of
                 : -1;
      }
    }
  }
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    size_t at = t;
    while (program.tensors[at].kind == TensorKind::kView) at = static_cast<size_t>(program.tensors[at].view_of);
    complete[t] = complete[at];
  }
  return complete;
}

}  // namespace wootz
