#include "tuner/measure/cuts.h"

#include <algorithm>

#include "backend/chain_sum.h"
#include "tuner/measure/check_case.h"

namespace wootz {
namespace {

TensorPart all_of(const Dims& dims) { return {Dims::filled(dims.rank(), 0), dims}; }

// Along one axis of a convolution's images.
struct Axis {
  int64_t in, out, window, stride, begin;

  void cut(bool at_end, int64_t most, size_t a, TensorPart* x, Cut* cut) const {
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
  TensorPart& image = cut.inputs[0];
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
    TensorPart place = all_of(dims);
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
  std::vector<TensorPart> inputs{cut->inputs[0]};
  for (size_t i = 1; i < parts.first.inputs.size(); ++i) inputs.push_back(all_of(parts.first.inputs[i].dims));
  inputs.push_back(cut->inputs[1]);
  const bool packed = parts.second.as<GemmParams>().w_block > 0;
  for (size_t i = 2; i < static_cast<size_t>(parts.second.num_main); ++i) {
    std::optional<TensorPart> place = cut->inputs[i];
    if (!packed) place = broadcast_part(parts.second.inputs[i].dims, p.outputs[0].dims, cut->made);
    if (!place) return std::nullopt;
    inputs.push_back(*place);
  }
  cut->inputs = std::move(inputs);
  return cut;
}

bool multiplies_normed(const ChainParts& parts) {
  return parts.first.is(Family::kNorm) && parts.second.is(Family::kGemm);
}

bool is_of_pixels(const Problem& conv) {
  const Dims& w = conv.inputs[1].dims;
  const Ints& pads = conv.as<ConvParams>().pads;
  return w.size() > 2 && std::all_of(w.begin() + 2, w.end(), [](int64_t d) { return d == 1; }) &&
         std::all_of(pads.begin(), pads.end(), [](int64_t pad) { return pad == 0; });
}

// Convolutions whose results are added up, one of them by single pixels: of its image the pixels for what the other one
// makes of a part of its own.
std::optional<Cut> cut_sum(const Problem& p, bool at_end, int64_t most) {
  const Result<ChainParts> parts = sum_parts(p);
  if (!parts.ok()) return std::nullopt;
  const bool ahead = is_of_pixels(parts->first);
  if (!ahead && !is_of_pixels(parts->second)) return std::nullopt;
  const Problem &pixels = ahead ? parts->first : parts->second, &other = ahead ? parts->second : parts->first;
  std::optional<Cut> cut = cut_conv(other, at_end, most);
  if (!cut) return std::nullopt;
  std::vector<TensorPart> own;
  for (int i = 0; i < pixels.num_main; ++i) own.push_back(all_of(pixels.inputs[static_cast<size_t>(i)].dims));
  TensorPart& image = own[0];
  for (size_t a = 0; a < image.at.size(); ++a) {
    if (a == 1) continue;
    const int64_t step = a < 2 ? 1 : param(pixels.as<ConvParams>().strides, a - 2, 1);
    image.at[a] = cut->made.at[a] * step;
    image.extents[a] = (cut->made.extents[a] - 1) * step + 1;
  }
  cut->inputs.insert(ahead ? cut->inputs.begin() : cut->inputs.end(), own.begin(), own.end());
  return cut;
}

std::optional<Cut> cut_chain(const Problem& p, bool at_end, int64_t most) {
  if (adds_results(p)) return cut_sum(p, at_end, most);
  if (const Result<ChainParts> own = chain_parts(p); own.ok() && multiplies_normed(*own))
    return cut_normed(p, *own, at_end, most);
  if (p.outputs.size() != 1) return std::nullopt;
  const std::optional<ChainParts> parts = made_for_convolution(p);
  std::optional<Cut> cut = parts ? cut_conv(parts->second, at_end, most) : std::nullopt;
  if (!cut) return std::nullopt;
  std::vector<TensorPart> inputs;
  for (const TensorDesc& t : parts->first.inputs) {
    Dims whole = parts->second.inputs[0].dims;
    TensorPart image = cut->inputs[0];
    if (parts->first.is(Family::kMove)) whole[1] = image.extents[1] = t.dims[1];
    const std::optional<TensorPart> place = broadcast_part(t.dims, whole, image);
    if (!place) return std::nullopt;
    inputs.push_back(*place);
  }
  inputs.insert(inputs.end(), cut->inputs.begin() + 1, cut->inputs.end());
  cut->inputs = std::move(inputs);
  return cut;
}

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
  if (adds_results(p)) return work_of_conv(p, most);
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

}  // namespace

const CutFamily* cut_family_of(const Problem& p) {
  const bool kept = p.is(Family::kChain) && p.outputs.size() == 2;
  const bool single =
      (p.outputs.size() == 1 || kept) && p.outputs[0].dims.rank() >= 2 && p.outputs[0].dims.volume() > 0;
  for (const CutFamily& f : kFamilies)
    if (single && p.num_main > 0 && p.is(f.family)) return &f;
  return nullptr;
}

std::optional<TensorPart> broadcast_part(const Dims& dims, const Dims& whole, const TensorPart& made) {
  if (dims.size() > whole.size()) return std::nullopt;
  TensorPart place = all_of(dims);
  const size_t shift = whole.size() - dims.size();
  for (size_t a = 0; a < dims.size(); ++a) {
    if (dims[a] == 1) continue;
    if (dims[a] != whole[a + shift]) return std::nullopt;
    place.at[a] = made.at[a + shift];
    place.extents[a] = made.extents[a + shift];
  }
  return place;
}

}  // namespace wootz
