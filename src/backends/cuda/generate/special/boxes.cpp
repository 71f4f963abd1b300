// NonMaxSuppression. A block for each class of each image: its threads keep who is still in the race as bits of their
// own, find the best together, and strike out what the best hides, until none is left.
#include <algorithm>

#include "backends/cuda/generate/special/select.h"
#include "backends/cuda/generate/special/special.h"

namespace wootz::cuda {
namespace {

constexpr int kRaceBlock = 512;
constexpr int64_t kMostWords = 32;  // of bits, a thread

Status check_boxes(const Problem& p, const BindArgs& args) {
  const Dims &boxes = args.inputs[0], &scores = args.inputs[1];
  if (boxes.rank() != 3 || scores.rank() != 3 || boxes[2] != 4 || boxes[0] != scores[0] || boxes[1] != scores[2] ||
      !is_float(p.inputs[0].dtype) || !is_float(p.inputs[1].dtype))
    return invalid_argument("boxes {} with scores {}", boxes.to_string(), scores.to_string());
  for (size_t i = 2; i < p.inputs.size(); ++i)
    if (has_operand(p, i) && args.inputs[i].volume() != 1)
      return invalid_argument("input {} of shape {}", i, args.inputs[i].to_string());
  if (has_operand(p, 2) && !is_integer(p.inputs[2].dtype))
    return invalid_argument("a count of {}", dtype_name(p.inputs[2].dtype));
  return Status();
}

struct Race {
  int64_t parts = 0, classes = 0, boxes = 0, most = 0;  // classes of all images and of one, boxes of one, found of one
  bool arguments = false;                               // as of a KernelSource
  Pointer picked() const { return {false, -1, kCountsAt + static_cast<size_t>(parts) * sizeof(int64_t)}; }
  size_t workspace() const { return picked().offset + static_cast<size_t>(parts * most) * sizeof(int32_t); }
};

// Lists the boxes of each class, and their counts.
Status add_race(const Problem& p, const Race& race, std::vector<Launch>* launches) {
  const int64_t words = (race.boxes + kRaceBlock * 32 - 1) / (kRaceBlock * 32);
  if (words > kMostWords) return unsupported("{} boxes; at most {} compete", race.boxes, kMostWords * 32 * kRaceBlock);
  KernelSource source("boxes/race.cuh", race.arguments);
  source.type("A", p.inputs[0].dtype == DType::kF64 || p.inputs[1].dtype == DType::kF64 ? "double" : "float");
  source.fixed("kThreads", kRaceBlock);
  source.fixed("kWords", words);
  source.fixed("kUnroll", words <= 8 ? words : 1);  // bits are in registers, where they are few
  source.fixed("kCenter", op_params<NonMaxSuppressionOpParams>(p)->center_point_box);
  source.fixed("kHiding", has_operand(p, 3));
  source.fixed("kLeast", has_operand(p, 4));
  Problem read = p;
  read.outputs.clear();
  WOOTZ_RETURN_IF_ERROR(add_operands(read, &source));
  source.operand("int* __restrict__", "picked", race.picked());
  source.operand("s64* __restrict__", "found", kSums);
  source.number("boxes", race.boxes);
  source.number("classes", race.classes);
  source.number("most", race.most);
  WOOTZ_RETURN_IF_ERROR(source.finish(kRaceBlock, race.parts, launches, race.workspace()));
  return add_scan(race.parts, race.arguments, race.workspace(), launches);
}

Status write_boxes(const Race& race, std::vector<Launch>* launches) {
  const int64_t count = race.parts * race.most;
  KernelSource source("boxes/write.cuh", race.arguments);
  source.fixed("kThreads", kSpecialBlock);
  source.operand("s64* __restrict__", "y", {true, 0});
  source.operand("const s64*", "total", kTotal);
  source.operand("const s64*", "sums", kSums);
  source.operand("const int*", "picked", race.picked());
  source.number("count", count);
  source.number("most", race.most);
  source.number("classes", race.classes);
  source.number("parts", race.parts);
  return finish_each(count, &source, launches, race.workspace());
}

}  // namespace

Status select_boxes(const Problem& p, const BindArgs& args, Selection* to) {
  if (p.inputs.size() < 2 || p.outputs.size() != 1 || p.outputs[0].dtype != DType::kI64)
    return invalid_argument("NonMaxSuppression of {} operands", p.inputs.size());
  WOOTZ_RETURN_IF_ERROR(check_boxes(p, args));
  const Dims& scores = args.inputs[1];
  Race race{scores[0] * scores[1], scores[1], scores[2], has_operand(p, 2) ? scores[2] : 0, transient(p, args)};
  to->results = {{-1, 3}};
  // Without the input none is selected.
  if (const Ints* known = known_operand(p, 2); known != nullptr && known->size() == 1)
    race.most = std::clamp<int64_t>((*known)[0], 0, race.most);
  if (race.parts * race.boxes * race.most == 0) return Status();
  to->most = race.parts * race.most;
  WOOTZ_RETURN_IF_ERROR(check_count(to->most));
  WOOTZ_RETURN_IF_ERROR(add_race(p, race, &to->find));
  return write_boxes(race, &to->write);
}

}  // namespace wootz::cuda
