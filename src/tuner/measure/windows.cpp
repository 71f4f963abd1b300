#include "tuner/measure/windows.h"

#include <algorithm>
#include <cstring>

#include "backend/chain.h"
#include "backend/siblings.h"
#include "base/tolerance.h"
#include "tuner/measure/agreement.h"

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

struct Place {
  Dims at, extents;
};

Place all_of(const Dims& dims) { return {Dims::filled(dims.rank(), 0), dims}; }

// What is cut out of each operand, which results of what the reference makes of that are right, and where they belong.
struct Cut {
  std::vector<Place> inputs;  // by input that the main operation reads
  Place made;                 // all results that the reference makes, in the whole result
  Place right;                // those that do not see where operands were cut off, in the whole result
};

// Along one axis of a convolution's images.
struct Axis {
  int64_t in, out, window, stride, begin;

  void cut(bool at_end, int64_t most, size_t a, Place* x, Cut* cut) const {
    const int64_t count = std::min(most, out);
    int64_t first = 0, end = in, made = out;
    if (at_end) {
      // Results before the first that is made: of an operand that is not empty.
      first = std::min(std::max<int64_t>(0, (out - count) * stride - begin), in - 1) / stride;
      made = out - first;
    } else {
      end = std::clamp<int64_t>((count - 1) * stride + window - begin, 1, in);
      if (end < in) made = -1;  // as many as the reference makes: those beyond `count` see the end
    }
    x->at[a] = first * stride;
    x->extents[a] = end - x->at[a];
    cut->made.at[a] = first;
    cut->made.extents[a] = made;
    cut->right.at[a] = at_end ? out - count : 0;
    cut->right.extents[a] = count;
  }
};

int64_t param(const Ints& values, size_t i, int64_t otherwise) { return i < values.size() ? values[i] : otherwise; }

std::optional<Cut> cut_conv(const Problem& p, bool at_end, int64_t most) {
  const auto& conv = p.as<ConvParams>();
  if (p.num_main < 2) return std::nullopt;
  const Dims &x = p.inputs[0].dims, &w = p.inputs[1].dims, &y = p.outputs[0].dims;
  if (conv.transposed || x.size() < 3 || w.size() != x.size() || y.size() != x.size()) return std::nullopt;
  if (std::any_of(conv.pads.begin(), conv.pads.end(), [](int64_t pad) { return pad < 0; })) return std::nullopt;
  Cut cut;
  for (int64_t i = 0; i < p.num_main; ++i) cut.inputs.push_back(all_of(p.inputs[static_cast<size_t>(i)].dims));
  cut.made = cut.right = all_of(y);
  const size_t spatial = x.size() - 2;
  Place& image = cut.inputs[0];
  image.at[0] = cut.made.at[0] = cut.right.at[0] = at_end ? x[0] - 1 : 0;
  image.extents[0] = cut.made.extents[0] = cut.right.extents[0] = 1;
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t stride = param(conv.strides, i, 1), begin = param(conv.pads, i, 0);
    const int64_t end = param(conv.pads, spatial + i, 0);
    const int64_t window = (w[i + 2] - 1) * param(conv.dilations, i, 1) + 1;
    const Axis axis{x[i + 2], y[i + 2], window, stride, begin};
    axis.cut(at_end, most, i + 2, &image, &cut);
    if (int64_t& made = cut.made.extents[i + 2]; made < 0)
      made = (image.extents[i + 2] + begin + end - window) / stride + 1;
  }
  return cut;
}

// Rows of the result, of the first or the last of a batch.
std::optional<Cut> cut_gemm(const Problem& p, bool at_end, int64_t most) {
  const Dims& y = p.outputs[0].dims;
  const size_t rank = y.size();
  if (rank < 2 || p.num_main < 2) return std::nullopt;
  Cut cut;
  cut.made = all_of(y);
  for (size_t a = 0; a + 1 < rank; ++a) {
    const int64_t count = a + 2 == rank ? std::min(most, y[a]) : 1;
    cut.made.at[a] = at_end ? y[a] - count : 0;
    cut.made.extents[a] = count;
  }
  cut.right = cut.made;
  const auto& gemm = p.as<GemmParams>();
  for (size_t i = 0; i < static_cast<size_t>(p.num_main); ++i) {
    const Dims& dims = p.inputs[i].dims;
    Place place = all_of(dims);
    if (i < 2 && (dims.size() < 2 || dims.size() > rank)) return std::nullopt;
    if (i < 2) {
      const size_t shift = rank - dims.size();
      for (size_t a = 0; a + 2 < dims.size(); ++a)
        if (dims[a] > 1) place.at[a] = cut.made.at[a + shift], place.extents[a] = 1;
    }
    if (i == 0) {
      const size_t rows = dims.size() - (gemm.trans_a ? 1 : 2);
      if (dims[rows] != y[rank - 2]) return std::nullopt;
      place.at[rows] = cut.made.at[rank - 2];
      place.extents[rows] = cut.made.extents[rank - 2];
    }
    cut.inputs.push_back(std::move(place));
  }
  return cut;
}

// What is normalized together stays so.
std::optional<Cut> cut_norm(const Problem& p, bool at_end, int64_t most) {
  const auto& norm = p.as<NormParams>();
  const bool rows = norm.kind == NormKind::kLayer || norm.kind == NormKind::kRms || norm.kind == NormKind::kL2;
  const Dims& y = p.outputs[0].dims;
  if (!rows || norm.axis < 1 || !(p.inputs[0].dims == y)) return std::nullopt;
  Cut cut;
  cut.made = all_of(y);
  const auto axis = static_cast<size_t>(norm.axis);
  for (size_t a = 0; a < axis; ++a) {
    const int64_t count = a + 1 == axis ? std::min(most, y[a]) : 1;
    cut.made.at[a] = at_end ? y[a] - count : 0;
    cut.made.extents[a] = count;
  }
  cut.right = cut.made;
  cut.inputs.push_back(cut.made);
  for (size_t i = 1; i < static_cast<size_t>(p.num_main); ++i) cut.inputs.push_back(all_of(p.inputs[i].dims));
  return cut;
}

// Of an operand that broadcasts to the whole result: what goes with the part of it that the reference makes.
std::optional<Place> broadcast(const Dims& dims, const Dims& whole, const Place& made) {
  if (dims.size() > whole.size()) return std::nullopt;
  Place place = all_of(dims);
  const size_t shift = whole.size() - dims.size();
  for (size_t a = 0; a < dims.size(); ++a) {
    if (dims[a] == 1) continue;
    if (dims[a] != whole[a + shift]) return std::nullopt;
    place.at[a] = made.at[a + shift];
    place.extents[a] = made.extents[a + shift];
  }
  return place;
}

// What a convolution reads is made by an expression, element for element, or by a concatenation of channels.
std::optional<ChainParts> made_for_convolution(const Problem& p) {
  Result<ChainParts> parts = chain_parts(p);
  if (!parts.ok() || !parts->second.is(Family::kConv)) return std::nullopt;
  if (!parts->first.is(Family::kPointwise) && !concatenates_channels(parts->first)) return std::nullopt;
  return std::move(parts).value();
}

// Rows that are normalized and multiplied: scale and bias whole, what is added to the product with its rows.
std::optional<Cut> cut_normed(const Problem& p, const ChainParts& parts, bool at_end, int64_t most) {
  std::optional<Cut> cut = cut_gemm(parts.second, at_end, most);
  if (!cut || parts.second.inputs[0].dims.rank() != p.outputs[0].dims.rank()) return std::nullopt;
  std::vector<Place> inputs{cut->inputs[0]};
  for (size_t i = 1; i < parts.first.inputs.size(); ++i) inputs.push_back(all_of(parts.first.inputs[i].dims));
  inputs.push_back(cut->inputs[1]);
  const bool packed = parts.second.as<GemmParams>().w_block > 0;
  for (size_t i = 2; i < static_cast<size_t>(parts.second.num_main); ++i) {
    std::optional<Place> place = cut->inputs[i];
    if (!packed) place = broadcast(parts.second.inputs[i].dims, p.outputs[0].dims, cut->made);
    if (!place) return std::nullopt;
    inputs.push_back(*place);
  }
  cut->inputs = std::move(inputs);
  return cut;
}

bool multiplies_normed(const ChainParts& parts) {
  return parts.first.is(Family::kNorm) && parts.second.is(Family::kGemm);
}

std::optional<Cut> cut_chain(const Problem& p, bool at_end, int64_t most) {
  if (const Result<ChainParts> own = chain_parts(p); own.ok() && multiplies_normed(*own))
    return cut_normed(p, *own, at_end, most);
  if (p.outputs.size() != 1) return std::nullopt;
  const std::optional<ChainParts> parts = made_for_convolution(p);
  std::optional<Cut> cut = parts ? cut_conv(parts->second, at_end, most) : std::nullopt;
  if (!cut) return std::nullopt;
  std::vector<Place> inputs;
  for (const TensorDesc& t : parts->first.inputs) {
    Dims whole = parts->second.inputs[0].dims;
    Place image = cut->inputs[0];
    if (parts->first.is(Family::kMove)) whole[1] = image.extents[1] = t.dims[1];
    const std::optional<Place> place = broadcast(t.dims, whole, image);
    if (!place) return std::nullopt;
    inputs.push_back(*place);
  }
  inputs.insert(inputs.end(), cut->inputs.begin() + 1, cut->inputs.end());
  cut->inputs = std::move(inputs);
  return cut;
}

struct CutFamily {
  Family family;
  std::optional<Cut> (*cut)(const Problem& p, bool at_end, int64_t most);
  // Multiplications for the results of `most` points along every axis that is cut.
  double (*work)(const Problem& p, int64_t most);
};

double work_of_conv(const Problem& p, int64_t most) {
  const Dims& y = p.outputs[0].dims;
  double points = 1;
  for (size_t a = 2; a < y.size(); ++a) points *= static_cast<double>(std::min(most, y[a]));
  return points * static_cast<double>(y[1]) * static_cast<double>(longest_sum(p));
}

double work_of_gemm(const Problem& p, int64_t most) {
  const Dims& y = p.outputs[0].dims;
  const auto results = static_cast<double>(std::min(most, y[y.size() - 2])) * static_cast<double>(y.back());
  return results * static_cast<double>(longest_sum(p));
}

double work_of_chain(const Problem& p, int64_t most) {
  if (const Result<ChainParts> own = chain_parts(p); own.ok() && multiplies_normed(*own)) return work_of_gemm(p, most);
  const std::optional<ChainParts> parts = made_for_convolution(p);
  return parts ? work_of_conv(parts->second, most) : 0;
}

double work_of_norm(const Problem& p, int64_t most) {
  const Dims& y = p.outputs[0].dims;
  double row = 1;
  for (auto a = static_cast<size_t>(p.as<NormParams>().axis); a < y.size(); ++a) row *= static_cast<double>(y[a]);
  return row * static_cast<double>(most);
}

constexpr CutFamily kFamilies[] = {
    {Family::kConv, cut_conv, work_of_conv},
    {Family::kGemm, cut_gemm, work_of_gemm},
    {Family::kNorm, cut_norm, work_of_norm},
    {Family::kChain, cut_chain, work_of_chain},
};

const CutFamily* family_of(const Problem& p) {
  const bool kept = p.is(Family::kChain) && p.outputs.size() == 2;
  const bool single =
      (p.outputs.size() == 1 || kept) && p.outputs[0].dims.rank() >= 2 && p.outputs[0].dims.volume() > 0;
  for (const CutFamily& f : kFamilies)
    if (single && p.num_main > 0 && p.is(f.family)) return &f;
  return nullptr;
}

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
    const std::optional<Place> place = i < first_broadcast(p) ? std::optional(cut->inputs[i])
                                                              : broadcast(full[i].dims(), p.outputs[0].dims, cut->made);
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
  const CutFamily* const family = family_of(problem);
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
