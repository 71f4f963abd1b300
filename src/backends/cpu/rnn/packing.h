// Weights of recurrent layers as the kernels read them: columns in the order of cell.h, in panels of dense/tile.h.
#pragma once

#include "backend/recurrence.h"
#include "backends/cpu/rnn/cell.h"

namespace wootz::cpu {

// The columns of a layer's products, and which gate and unit each is.
struct RnnColumns {
  RnnColumns() = default;
  RnnColumns(const Recurrence& r, Isa isa);

  int64_t lanes = 1, panel = 1, blocks = 0;  // blocks of units
  int64_t together = 1, apart = 0;           // gates that come from the state as it is, and the GRU's candidate
  int64_t first() const { return blocks * together * lanes; }  // of the candidate
  int64_t all() const { return first() + blocks * apart * lanes; }
  int64_t units() const { return blocks * lanes; }  // with what fills the last block up
  // What lies in a column; unit >= hidden where nothing does.
  int64_t gate(int64_t column) const { return column < first() ? column / lanes % together : together; }
  int64_t unit(int64_t column) const {
    const int64_t at = column < first() ? column / (lanes * together) : (column - first()) / lanes;
    return at * lanes + column % lanes;
  }
  int64_t panels() const { return (all() + panel - 1) / panel; }
};

// In f32 elements, of all directions.
int64_t packed_elements(const Recurrence& r, const RnnColumns& columns, size_t input);
int64_t packed_pieces(const Recurrence& r, const RnnColumns& columns, size_t input);  // that threads may share
// Packs pieces [begin, end) of operand `input`: kRnnW, kRnnR, kRnnBias (what the sums from x begin with, then what the
// candidate's from the state do) or kRnnPeepholes.
void pack_pieces(const Recurrence& r, const RnnColumns& columns, size_t input, DType type, const void* from,
                 int64_t begin, int64_t end, float* to);

}  // namespace wootz::cpu
