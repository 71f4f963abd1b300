#include "backends/cpu/onednn/avoided.h"

#include <algorithm>

namespace wootz::cpu::dnn {
namespace {

constexpr int64_t kTileRows = 16, kTileBytes = 64;

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool is_bytes(const memory::desc& desc) {
  return desc.get_data_type() == memory::data_type::s8 || desc.get_data_type() == memory::data_type::u8;
}

// Asked for weights that its VNNI kernels would lay out otherwise (for another number of threads), oneDNN 3.2 may take
// a kernel for AVX-512 alone, whose sums of two products saturate in 16 bits.
bool saturates(const memory::desc& weights, std::string_view implementation) {
  return weights.get_data_type() == memory::data_type::s8 && implementation.starts_with("brg") &&
         implementation.ends_with(":avx512_core");
}

// The AMX kernel for filters of one element computes four tiles of positions where there are three.
bool takes_a_tile_too_many(const DenseSpec& spec, std::string_view implementation) {
  if (!has(implementation, "jit_1x1:avx512_core_amx")) return false;
  int64_t positions = 1;
  for (size_t d = 2; d < spec.dst_dims.size(); ++d) positions *= spec.dst_dims[d];
  return positions % 3 == 0 && positions / 3 > kTileRows / 2 && positions / 3 <= kTileRows;
}

// Padding of x with a zero point other than zero, in the AMX kernel for larger filters. Where only other axes than the
// last have padding, a row that is computed in several blocks of two tiles gets its last block in full. In three
// dimensions, corrections are read from anywhere (seen where x is one deep).
bool corrects_beyond(const DenseTraits& traits, const DenseSpec& spec, std::string_view implementation) {
  const bool mine = implementation.starts_with("jit:avx512_core_amx");
  if (!mine || traits.src_zero == 0 || spec.pads_begin.empty()) return false;
  const auto padded = [&](size_t axis) { return spec.pads_begin[axis] > 0 || spec.pads_end[axis] > 0; };
  const size_t last = spec.pads_begin.size() - 1;
  bool any = false;
  for (size_t i = 0; i < last; ++i) any = any || padded(i);
  if (last == 2) return any || padded(last);
  return any && !padded(last) && spec.dst_dims.back() > 2 * kTileRows;
}

// A step longer than the filter on another axis than the last: some rows of x, or of a transposed result, lie between.
bool steps_over_rows(const DenseSpec& spec) {
  const memory::dims filter = spec.weights.get_dims();
  const size_t spatial = spec.strides.size();
  for (size_t i = 0; i + 1 < spatial; ++i) {
    const int64_t span = (filter[filter.size() - spatial + i] - 1) * (spec.dilates[i] + 1) + 1;
    if (spec.strides[i] > span) return true;
  }
  return false;
}

// Transposed, rows that no element of x reaches get what lies past the weights.
bool fills_rows_between(const DenseSpec& spec, std::string_view implementation) {
  return spec.kind == DenseSpec::Kind::kDeconv && implementation.starts_with("jit_") && steps_over_rows(spec);
}

// AMX kernels of matrix products, in three dimensions: filters of one element read beyond x and leave elements out
// where a block of positions ends within a plane, larger ones are wrong where they step over planes or rows.
bool loses_planes(const DenseSpec& spec, std::string_view implementation) {
  if (spec.strides.size() != 3 || !has(implementation, "amx")) return false;
  return has(implementation, "brgconv_1x1:") || (has(implementation, "brgconv:") && steps_over_rows(spec));
}

// The same kernels, where rows of the filter lie side by side in x (steps of its extent, no padding): the channels of a
// row fill whole tiles, those of one element do not, and taps get weights of others.
bool mixes_taps(const DenseSpec& spec, std::string_view implementation) {
  if (spec.strides.empty() || !has(implementation, "brgconv:") || !has(implementation, "amx")) return false;
  const memory::dims filter = spec.weights.get_dims();
  const int64_t taps = filter.back(), channels = filter[filter.size() - spec.strides.size() - 1];
  const int64_t tile = is_bytes(spec.src) ? kTileBytes : kTileBytes / 2;
  const bool apart = taps > 1 && spec.strides.back() == taps && spec.dilates.back() == 0;
  return apart && spec.pads_begin.back() <= 0 && spec.pads_end.back() <= 0 && channels % tile != 0 &&
         taps * channels % tile == 0;
}

// The kernel for filters of one element in BF16 where the processor has no instructions for it: some channels are wrong
// (seen with one thread and 72 of them).
bool imitates_bf16(std::string_view implementation) { return implementation.ends_with("jit_bf16_1x1:avx512_core"); }

// AVX2 kernels of matrix products, with a zero point and more than three elements of padding at an end of a row (seen
// with five taps, transposed): they read in front of x, or correct for the padding wrongly.
bool reads_before_rows(const DenseTraits& traits, const DenseSpec& spec, std::string_view implementation) {
  constexpr int64_t kMostPadding = 3;
  if (spec.strides.empty() || traits.src_zero == 0 || !has(implementation, "brgconv:avx2")) return false;
  const int64_t least = std::min(spec.pads_begin.back(), spec.pads_end.back());
  const int64_t most = std::max(spec.pads_begin.back(), spec.pads_end.back());
  const int64_t span = (spec.weights.get_dims().back() - 1) * (spec.dilates.back() + 1);
  return (spec.kind == DenseSpec::Kind::kDeconv ? span - least : most) > kMostPadding;
}

// Compensation of filters by channel with eight elements, in the AVX2 kernel whose blocks have eight channels.
bool mistakes_filter_for_block(const DenseTraits& traits, const DenseSpec& spec, std::string_view implementation) {
  if (!implementation.starts_with("jit_uni_int8")) return false;
  const memory::dims filter = spec.weights.get_dims();
  const size_t spatial = spec.strides.size();
  int64_t elements = 1;
  for (size_t d = filter.size() - spatial; d < filter.size(); ++d) elements *= filter[d];
  return elements == 8 && filter.size() == spatial + 3 &&
         (traits.src_zero != 0 || spec.src.get_data_type() == memory::data_type::s8);
}

// A transposed convolution that is computed as a convolution passes weights on that were laid out for a kernel without
// compensation (AMX, with other numbers of threads) to one that reads it past them.
bool lacks_compensation(const DenseTraits& traits, const DenseSpec& spec, const memory::desc& weights,
                        std::string_view implementation) {
  if (spec.kind != DenseSpec::Kind::kDeconv || weights.get_format_kind() != memory::format_kind::blocked) return false;
  const bool corrects_sign = spec.src.get_data_type() == memory::data_type::s8 && has(implementation, "vnni") &&
                             !has(implementation, "vnni_2");
  if (weights.get_data_type() != memory::data_type::s8 || !corrects_sign) return false;
  const memory::dims padded = weights.get_padded_dims();
  size_t plain = 1;
  for (const int64_t d : padded) plain *= static_cast<size_t>(d);
  const size_t of_each = sizeof(int32_t) * static_cast<size_t>(spec.dst_dims[1]);
  return weights.get_size() < plain + of_each * (traits.src_zero != 0 ? 2 : 1);
}

}  // namespace

const char* why_avoided(const DenseTraits& traits, const DenseSpec& spec, const memory::desc& weights,
                        std::string_view implementation) {
  if (saturates(weights, implementation)) return "saturates in 16 bits";
  if (traits.no_tiles && has(implementation, "amx")) return "writes beyond blocks of outputs that are not full";
  if (takes_a_tile_too_many(spec, implementation)) return "writes a tile too many";
  if (corrects_beyond(traits, spec, implementation)) return "corrects padding with a zero point at wrong places";
  if (fills_rows_between(spec, implementation)) return "computes rows that nothing reaches from other memory";
  if (loses_planes(spec, implementation)) return "loses its place between planes";
  if (mixes_taps(spec, implementation)) return "mixes taps of its filter";
  if (imitates_bf16(implementation)) return "computes some channels wrong without BF16 instructions";
  if (reads_before_rows(traits, spec, implementation)) return "reads in front of padded rows, or corrects them wrongly";
  if (mistakes_filter_for_block(traits, spec, implementation)) return "compensates filters of eight elements wrongly";
  if (lacks_compensation(traits, spec, weights, implementation)) return "wants its weights with compensation";
  return nullptr;
}

void skip_avoided(const DenseTraits& traits, const DenseSpec& spec, const memory::desc& weights,
                  dnnl::primitive_desc_base* primitive) {
  while (why_avoided(traits, spec, weights, primitive->impl_info_str()) != nullptr)
    if (dnnl_primitive_desc_next_impl(primitive->get()) != dnnl_success) return;
}

}  // namespace wootz::cpu::dnn
