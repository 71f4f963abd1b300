#include "tuner/measure/windows.h"

#include <algorithm>
#include <cstring>

#include "backend/siblings.h"
#include "base/tolerance.h"
#include "tuner/measure/agreement.h"
#include "tuner/measure/cuts.h"

namespace wootz {

Result<HostTensor> part_of(const HostTensor& whole, const Dims& at, const Dims& extents) {
  const auto bits = static_cast<size_t>(dtype_bits(whole.dtype()));
  const size_t rank = extents.size();
  bool within = whole.dims().size() == rank && at.size() == rank;
  for (size_t a = 0; within && a < rank; ++a)
    within = at[a] >= 0 && extents[a] >= 0 && at[a] + extents[a] <= whole.dims()[a];
  if (!within)
    return invalid_argument("{} from {} on, of {}", extents.to_string(), at.to_string(), whole.dims().to_string());
  WOOTZ_ASSIGN_OR_RETURN(HostTensor part, HostTensor::allocate(whole.dtype(), extents));
  const int64_t row = rank == 0 ? 1 : extents[rank - 1], rows = row == 0 ? 0 : part.volume() / row;
  const size_t bytes = static_cast<size_t>(row) * bits / 8;
  const auto in_bytes = [&](int64_t count) { return static_cast<size_t>(count) * bits % 8 == 0; };
  if (bits == 0 || (bits < 8 && (!in_bytes(row) || !in_bytes(rank == 0 ? 0 : at[rank - 1]) ||
                                 !in_bytes(rank == 0 ? 0 : whole.dims()[rank - 1]))))
    return unsupported("a part of {} elements that is no whole bytes", dtype_name(whole.dtype()));
  auto* to = static_cast<std::byte*>(part.mutable_data());
  for (int64_t r = 0; r < rows; ++r) {
    int64_t offset = 0, left = r, stride = 1;
    for (size_t a = rank; a-- > 0; stride *= whole.dims()[a]) {
      const bool inner = a + 1 == rank;
      offset += (at[a] + (inner ? 0 : left % extents[a])) * stride;
      if (!inner) left /= extents[a];
    }
    std::memcpy(to, static_cast<const std::byte*>(whole.data()) + static_cast<size_t>(offset) * bits / 8, bytes);
    to += bytes;
  }
  return part;
}

namespace {

constexpr int64_t kMost[] = {64, 32, 16, 8, 4, 2, 1};  // results along an axis

// The addend of a product is an operand of it, and broadcasts; a convolution's goes by channels.
size_t first_broadcast(const Problem& p) {
  const auto main = static_cast<size_t>(p.num_main);
  const bool addend = p.is(Family::kGemm) && p.as<GemmParams>().has_bias && p.as<GemmParams>().w_block == 0;
  return addend && main > 2 ? 2 : main;
}

std::optional<CheckWindow> window_at(const Problem& p, const CutFamily& family, StepIndex step,
                                     const std::vector<HostTensor>& full, const ReferenceFunction& reference,
                                     bool at_end, int64_t most) {
  const std::optional<Cut> cut = family.cut(p, at_end, most);
  if (!cut) return std::nullopt;
  CheckWindow window;
  for (size_t i = 0; i < full.size(); ++i) {
    if (!full[i].valid()) {
      window.part.inputs.emplace_back();
      continue;
    }
    const std::optional<TensorPart> place = i < first_broadcast(p)
                                                ? std::optional(cut->inputs[i])
                                                : broadcast_part(full[i].dims(), p.outputs[0].dims, cut->made);
    if (!place) return std::nullopt;
    Result<HostTensor> operand =
        place->extents == full[i].dims() ? full[i] : part_of(full[i], place->at, place->extents);
    if (!operand.ok()) return std::nullopt;
    window.part.inputs.push_back(std::move(operand).value());
  }
  const Result<std::vector<HostTensor>> made = reference(step, window.part.inputs);
  if (!made.ok() || made->size() != p.outputs.size()) return std::nullopt;
  Dims within = cut->right.at;
  for (size_t a = 0; a < within.size(); ++a) within[a] -= cut->made.at[a];
  for (size_t o = 0; o < made->size(); ++o) {
    const HostTensor& result = (*made)[o];
    Dims all = cut->made.extents, extents = cut->right.extents;
    // Beside a product's rows those that it is made of.
    if (o > 0) all[all.size() - 1] = extents[extents.size() - 1] = p.outputs[o].dims.back();
    if (result.dtype() != p.outputs[o].dtype || !(result.dims() == all)) return std::nullopt;
    Result<HostTensor> right = part_of(result, within, extents);
    if (!right.ok()) return std::nullopt;
    window.part.finite = window.part.finite && first_non_finite(*right) < 0;
    window.part.expected.push_back(std::move(right).value());
  }
  window.part.reduced = true;
  window.at = cut->right.at;
  return window;
}

// Results side by side, by channels.
Result<HostTensor> side_by_side(const std::vector<HostTensor>& parts, size_t axis) {
  std::vector<Dims> extents;
  for (const HostTensor& t : parts) extents.push_back(t.valid() ? t.dims() : Dims{});
  WOOTZ_ASSIGN_OR_RETURN(const Dims dims, joint_extents(extents, axis));
  const DType type = parts[0].dtype();
  if (dtype_info(type).bits % 8 != 0) return unsupported("{} side by side", dtype_name(type));
  WOOTZ_ASSIGN_OR_RETURN(HostTensor all, HostTensor::allocate(type, dims));
  auto* to = static_cast<std::byte*>(all.mutable_data());
  int64_t outer = 1;
  for (size_t a = 0; a < axis; ++a) outer *= dims[a];
  for (int64_t n = 0; n < outer; ++n)
    for (const HostTensor& t : parts) {
      if (t.dtype() != type) return invalid_argument("siblings of unlike types");
      const size_t each = t.bytes() / static_cast<size_t>(outer);
      std::memcpy(to, static_cast<const std::byte*>(t.data()) + static_cast<size_t>(n) * each, each);
      to += each;
    }
  return all;
}

}  // namespace

std::vector<CheckWindow> windows_of(const Problem& problem, StepIndex step, const std::vector<HostTensor>& full,
                                    const ReferenceFunction& reference, double work) {
  if (problem.is(Family::kSiblings)) {
    const Result<Problem> joint = joint_of(problem);
    if (!joint.ok()) return {};
    const size_t axis = sibling_axes(*joint)->output;
    const ReferenceFunction whole = [&](StepIndex at,
                                        const std::vector<HostTensor>& in) -> Result<std::vector<HostTensor>> {
      WOOTZ_ASSIGN_OR_RETURN(const std::vector<HostTensor> parts, reference(at, in));
      WOOTZ_ASSIGN_OR_RETURN(HostTensor all, side_by_side(parts, axis));
      return std::vector<HostTensor>{std::move(all)};
    };
    return windows_of(*joint, step, full, whole, work);
  }
  const CutFamily* const family = cut_family_of(problem);
  if (family == nullptr) return {};
  const int64_t* most = std::find_if(std::begin(kMost), std::end(kMost),
                                     [&](int64_t count) { return 2 * family->work(problem, count) <= work; });
  if (most == std::end(kMost)) --most;
  std::vector<CheckWindow> windows;
  for (const bool at_end : {false, true}) {
    std::optional<CheckWindow> window = window_at(problem, *family, step, full, reference, at_end, *most);
    if (!window) return {};
    windows.push_back(std::move(*window));
    if (windows.back().part.expected[0].dims() == problem.outputs[0].dims) break;  // it is the whole
  }
  return windows;
}

std::string disagreement(const Problem& problem, const std::vector<CheckWindow>& windows,
                         const std::vector<HostTensor>& whole, double* error, double allowed, double stray) {
  if (problem.is(Family::kSiblings)) {
    const Result<Problem> joint = joint_of(problem);
    if (!joint.ok()) return joint.status().to_string();
    Result<HostTensor> all = side_by_side(whole, sibling_axes(*joint)->output);
    if (!all.ok()) return all.status().to_string();
    return disagreement(*joint, windows, {std::move(all).value()}, error, allowed, stray);
  }
  for (const CheckWindow& window : windows) {
    std::vector<HostTensor> parts;
    for (const HostTensor& expected : window.part.expected) {
      const size_t o = parts.size();
      if (whole.size() <= o || whole[o].rank() != expected.rank()) return "there are no such results";
      Result<HostTensor> part = part_of(whole[o], window.at, expected.dims());
      if (!part.ok()) return part.status().to_string();
      parts.push_back(std::move(part).value());
    }
    const std::string apart = disagreement(problem, window.part, parts, error, allowed, stray);
    if (!apart.empty()) return fmt::format("{}, from {} on", apart, window.at.to_string());
  }
  return {};
}

}  // namespace wootz
