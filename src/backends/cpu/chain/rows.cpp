#include "backends/cpu/chain/rows.h"

#include <algorithm>

namespace wootz::cpu {
namespace {

// What a window over `extent` rows reads for rows [first, first + count) of its result.
RowSpan rows_read(const WindowAxis& w, int64_t extent, int64_t first, int64_t count) {
  const int64_t low = first * w.stride - w.begin, high = (first + count - 1) * w.stride - w.begin + w.span();
  RowSpan r;
  r.first = std::clamp<int64_t>(low, 0, extent);
  r.count = std::clamp<int64_t>(high, 0, extent) - r.first;
  r.above = std::max<int64_t>(0, -low);
  // A last window that begins inside may end beyond the padding (pooling that rounds up): that is no padding.
  r.below = std::clamp<int64_t>(high - extent, 0, w.end);
  return r;
}

void set_rows(TensorDesc* t, int64_t rows) {
  t->layout = Layout::kChannelsLast;
  t->dims[0] = t->max_dims[0] = 1;
  t->dims[2] = t->max_dims[2] = rows;
}

void set_padding(Problem* p, const RowSpan& rows) {
  if (p->family() == Family::kPointwise) return;
  Ints& pads = p->is(Family::kConv) ? p->as<ConvParams>().pads : p->as<PoolParams>().pads;
  pads.resize(4, 0);
  pads[0] = rows.above;
  pads[2] = rows.below;
}

// Operands of the expression: those with rows of their own give the band its rows.
void cut_operands(Problem* p, int64_t rows) {
  for (size_t i = static_cast<size_t>(p->num_main); i < p->inputs.size(); ++i) {
    TensorDesc& t = p->inputs[i];
    if (t.dims.rank() != 4) continue;
    if (t.max_dims[0] != 1) t.dims[0] = t.max_dims[0] = 1;
    if (t.max_dims[2] != 1) t.dims[2] = t.max_dims[2] = rows;
  }
}

Status can_cut_operands(const Problem& p) {
  for (size_t i = static_cast<size_t>(p.num_main); i < p.inputs.size(); ++i) {
    const TensorDesc& t = p.inputs[i];
    const int rank = t.dims.rank();
    const auto rows = [&](const Dims& d) { return rank == 3 ? d[1] : rank == 4 ? std::max(d[0], d[2]) : 1; };
    if (rows(t.dims) == 1 && rows(t.max_dims) == 1) continue;
    if (rank != 4 || t.constant)
      return unsupported("chain: an operand {} of an expression cannot be cut in rows", t.dims.to_string());
  }
  return {};
}

}  // namespace

Status can_cut(const ChainParts& parts) {
  for (const Problem* p : {&parts.first, &parts.second}) {
    if (p->outputs.size() != 1 || p->outputs[0].dims.rank() != 4 ||
        (p->family() != Family::kPointwise && p->inputs[0].dims.rank() != 4))
      return unsupported("chain: only images are cut in rows");
    for (const std::vector<TensorDesc>* all : {&p->inputs, &p->outputs})
      for (const TensorDesc& t : *all)
        if (dtype_bits(t.dtype) % 8 != 0) return unsupported("chain: elements smaller than a byte");
    if (p->inputs.size() > 1 && p->num_main > 1 && !p->inputs[1].constant)
      return unsupported("chain: weights that are not constant");
    WOOTZ_RETURN_IF_ERROR(window_axis(*p, 2).status());
    WOOTZ_RETURN_IF_ERROR(can_cut_operands(*p));
  }
  return {};
}

Result<std::vector<Band>> cut_rows(const ChainParts& parts, int64_t x_extent, int64_t middle_extent, int64_t extent,
                                   int64_t rows) {
  WOOTZ_ASSIGN_OR_RETURN(const WindowAxis first, window_axis(parts.first, 2));
  WOOTZ_ASSIGN_OR_RETURN(const WindowAxis second, window_axis(parts.second, 2));
  if (rows < 1) return invalid_argument("chain: bands of {} rows", rows);
  std::vector<Band> bands;
  for (int64_t r = 0; r < extent; r += rows) {
    Band band;
    band.first = r;
    band.count = std::min(rows, extent - r);
    band.middle = rows_read(second, middle_extent, band.first, band.count);
    if (band.middle.count < 1) return unsupported("chain: rows from {} on read padding only", r);
    band.x = rows_read(first, x_extent, band.middle.first, band.middle.count);
    if (band.x.count < 1) return unsupported("chain: rows from {} on read padding only", r);
    bands.push_back(band);
  }
  return bands;
}

ChainParts band_problem(const ChainParts& whole, const Band& band) {
  ChainParts parts = whole;
  if (parts.first.family() != Family::kPointwise) set_rows(&parts.first.inputs[0], band.x.count);
  set_rows(&parts.first.outputs[0], band.middle.count);
  set_rows(&parts.second.inputs[0], band.middle.count);
  set_rows(&parts.second.outputs[0], band.count);
  set_padding(&parts.first, band.x);
  set_padding(&parts.second, band.middle);
  cut_operands(&parts.first, band.middle.count);
  cut_operands(&parts.second, band.count);
  return parts;
}

}  // namespace wootz::cpu
