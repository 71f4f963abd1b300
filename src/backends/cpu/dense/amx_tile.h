// The inner loop of our products and convolutions on AMX: a unit of rows times the panels of its columns, blocks of up
// to 32 x 32 results in tile registers; what follows the sums of one block is computed while the next is summed up.
// And the same by VNNI, for processors without AMX.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/cpu/dense/sums_end.h"

namespace wootz::cpu {

inline constexpr int64_t kAmxLine = 64;     // bytes of a row that are multiplied at once
inline constexpr int64_t kAmxColumns = 16;  // of a tile of weights, which is 16 lines long
inline constexpr int64_t kAmxTileBytes = 16 * kAmxLine;
inline constexpr int64_t kAmxPanel = 2 * kAmxColumns;  // the last panel may have one tile

enum class AmxSums : uint8_t { kU8, kI8, kBf16 };  // the rows' type; weights are i8, or BF16

struct AmxUnit {
  AmxSums type = AmxSums::kU8;
  // Line l of row i and tap t is at rows + i * stride + taps[t] + l * 64.
  const char* rows = nullptr;
  int64_t stride = 0, num_rows = 0;
  const char* tail = nullptr;  // the rows of a last tile that is not full, `tile_rows` of them
  const int64_t* taps = nullptr;
  int64_t num_taps = 1, lines = 0;
  int64_t last_quads = 16;  // groups of four bytes in the last line, after which all are 0
  int64_t tile_rows = 16;
  const int64_t* starts = nullptr;  // where each tile's first row lies from `rows` on; null: after the tile before it
  const int32_t* places = nullptr;  // which result a row is, negative: none; null: rows are results
  const char* weights = nullptr;    // [panel][tap][line][tile][16][64], or as vnni_pack.h has them
  int64_t columns = 0;
  const int32_t* start = nullptr;     // what sums of integers begin with, one a column; null: 0
  const float* scale = nullptr;       // one a column; null: 1
  const float* bias = nullptr;        // one a column. These three reach to the end of the last panel
  const float* row_scales = nullptr;  // of integers whose rows are results: one a row beside the columns'; null: 1
  const SumsEnd* ends = nullptr;
  int num_ends = 0;
  const void* const* inputs = nullptr;  // of the step
  int64_t first = 0;                    // where the unit's first result lies in an operand of the results' shape
  SumsEnd::Type out_type = SumsEnd::Type::kF32;
  int32_t zero = 0;                // added to integers
  const uint8_t* table = nullptr;  // what bytes become, by their bits; null: what they are. Needs avx512_vbmi
  // Values to be stored as integers may be NaN, which are 0 before `zero`, or beyond what an int32 holds.
  bool guarded = false;
  char* out = nullptr;     // of the first result
  int64_t out_stride = 0;  // from one to the next, also of operands, in elements
};

// Needs amx_int8 or amx_bf16, and AVX-512 with BF16.
void amx_unit(const AmxUnit& unit);
// Rows are kU8; weights and `start` lie as in vnni_pack.h, and `scale` and `bias` where vnni_in_places(). Needs
// avx512_vnni.
void vnni_unit(const AmxUnit& unit);
bool vnni_in_places(const AmxUnit& unit);  // by its ends and the results' type

}  // namespace wootz::cpu
