#include "backends/cuda/generate/attention_parts.h"

#include <algorithm>

namespace wootz::cuda {
namespace {

constexpr int64_t kMultiprocessors = 132;
constexpr int64_t kMostParts = 256;

void write_parts(const KeyParts& k, bool centered, KernelSource* source) {
  source->fixed("kSplit", k.parts > 1);
  source->fixed("kCentered", centered);
  source->number("row_blocks", k.row_blocks);
  source->number("per_part", k.per_part);
  source->number("parts", k.parts);
}

}  // namespace

int64_t sharing_rows(const AttentionShape& a) { return a.heads / a.kv_heads * a.rows; }

KeyParts divide_keys(const AttentionShape& a, int64_t rows, const KeySteps& k) {
  constexpr double kBytesPerUs = 3e4, kTurnUs = 1.5, kBlockUs = 0.1, kLittle = 1.125;  // of a multiprocessor
  KeyParts made;
  made.block_rows = rows;
  made.row_blocks = std::max<int64_t>(1, (sharing_rows(a) + rows - 1) / rows);
  made.units = a.batch * a.kv_heads * made.row_blocks;
  const auto each_of = [&](int64_t parts) { return ((a.keys + parts - 1) / parts + k.step - 1) / k.step * k.step; };
  const int64_t most = std::clamp<int64_t>(a.keys / (2 * k.step), 1, kMostParts);
  const int64_t all = a.batch * a.heads * a.rows;
  made.lines = std::min(all * most, std::max(all, std::min(rows, sharing_rows(a)) * k.at_once * kMultiprocessors));
  double least = -1;
  for (int64_t turn = 1; turn <= k.at_once; ++turn) {
    const int64_t wanted = std::clamp<int64_t>(turn * kMultiprocessors / std::max<int64_t>(1, made.units), 1, most);
    const int64_t each = std::max(k.step, each_of(wanted)), parts = std::max<int64_t>(1, (a.keys + each - 1) / each);
    const auto blocks = static_cast<double>((made.units * parts + kMultiprocessors - 1) / kMultiprocessors);
    const double read = blocks * static_cast<double>(each * k.key_bytes) / kBytesPerUs;
    const double waits = static_cast<double>(each / k.step) / static_cast<double>(k.ahead) * kTurnUs;
    const double us = std::max(read, waits) + blocks * kBlockUs;
    if (least >= 0 && us > least * kLittle) continue;
    least = least < 0 ? us : std::min(least, us);
    made.per_part = each;
    made.parts = parts;
  }
  return made;
}

Status finish_parts(const Problem& p, const BindArgs& args, const AttentionShape& a, const KeyParts& k, bool centered,
                    LaunchSize size, KernelSource source, std::vector<Launch>* launches) {
  constexpr int64_t kJoinThreads = 256;
  const int64_t lines = a.batch * a.heads * a.rows;
  if (k.blocks() >= (int64_t{1} << 31) || lines >= (int64_t{1} << 31)) return unsupported("{} blocks", k.blocks());
  const bool split = k.parts > 1;
  const size_t scratch = split ? static_cast<size_t>(k.lines * (a.v_size + 4)) * sizeof(float) : 0;
  write_parts(k, centered, &source);
  if (split) source.operand("float* __restrict__", "parts", kWorkspacePointer);
  size.grid_x = static_cast<unsigned>(k.blocks());
  WOOTZ_RETURN_IF_ERROR(source.finish(size, launches, scratch));
  if (!split) return Status();
  WOOTZ_ASSIGN_OR_RETURN(KernelSource join, attention_source("attention/joined.cuh", p, args, a));
  const int64_t lanes = a.v_size / 4, threads = std::max<int64_t>(1, kJoinThreads / lanes) * lanes;
  join.fixed("kThreads", threads);
  write_parts(k, centered, &join);
  join.operand("const float*", "parts", kWorkspacePointer);
  LaunchSize joining;
  joining.grid_x = static_cast<unsigned>(lines);
  joining.block = static_cast<unsigned>(threads);
  joining.beside = true;
  return join.finish(joining, launches, scratch);
}

}  // namespace wootz::cuda
