// Op NonMaxSuppression: the boxes of a class in the order of their scores, each kept unless one that was kept before
// hides it. Overlaps are computed in double, as the reference does: which boxes there are must not depend on who asks.
#include <algorithm>
#include <cmath>

#include "backend/op_kernels.h"
#include "backends/cpu/function_kernel.h"

namespace wootz::cpu {
namespace {

// The boxes kept so far, side by side.
struct Kept {
  double *y1, *x1, *y2, *x2, *area;
  int64_t count = 0;

  static constexpr int64_t kLists = 5;
  Kept(double* memory, int64_t room)
      : y1(memory), x1(memory + room), y2(memory + 2 * room), x2(memory + 3 * room), area(memory + 4 * room) {}
  bool hides(double a1, double b1, double a2, double b2, double own, double iou) const {
    constexpr int64_t kBlock = 8;
    for (int64_t begin = 0; begin < count; begin += kBlock) {
      const int64_t end = std::min(count, begin + kBlock);
      int hidden = 0;
      for (int64_t i = begin; i < end; ++i) {
        const double h = std::min(y2[i], a2) - std::max(y1[i], a1), w = std::min(x2[i], b2) - std::max(x1[i], b1);
        const double common = h * w, both = area[i] + own - common;
        const bool meet = (h > 0) & (w > 0) & (both > 0);
        hidden |= static_cast<int>((meet ? common / both : 0.0) > iou);
      }
      if (hidden != 0) return true;
    }
    return false;
  }
  void add(double a1, double b1, double a2, double b2, double own) {
    y1[count] = a1;
    x1[count] = b1;
    y2[count] = a2;
    x2[count] = b2;
    area[count++] = own;
  }
};

class NmsCall final : public Call {
 public:
  int64_t batch = 0, classes = 0, count = 0;
  bool center = false;
  size_t operands = 0;
  int slots = 1;

  bool outputs_known() const override { return false; }
  // For each thread the order of a class' boxes and those kept; for each class how many were selected, and which.
  size_t workspace() const override {
    return static_cast<size_t>(slots) * slot_bytes() +
           static_cast<size_t>(batch * classes) * (sizeof(int64_t) + static_cast<size_t>(count) * sizeof(int32_t));
  }
  Status run(const RunArgs& args) const override {
    if (args.allocator == nullptr) return invalid_argument("there is no allocator for as many results as are found");
    const void* const said = operand(args, 2);
    const int64_t most = said == nullptr ? 0 : *static_cast<const int64_t*>(said);
    auto* const selected = static_cast<char*>(args.workspace) + static_cast<size_t>(slots) * slot_bytes();
    auto* const counts = reinterpret_cast<int64_t*>(selected);
    auto* const boxes = reinterpret_cast<int32_t*>(selected + static_cast<size_t>(batch * classes) * sizeof(int64_t));
    parallel_slots(batch * classes, 1, slots, [&](int slot, int64_t begin, int64_t end) {
      char* const memory = static_cast<char*>(args.workspace) + static_cast<size_t>(slot) * slot_bytes();
      for (int64_t i = begin; i < end; ++i) counts[i] = select(args, i, most, memory, boxes + i * count);
    });
    int64_t total = 0;
    for (int64_t i = 0; i < batch * classes; ++i) total += counts[i];
    auto* to = static_cast<int64_t*>(args.allocator->allocate(0, {total, 3}));
    if (total == 0) return {};
    if (to == nullptr) return make_error(Code::kResourceExhausted, "no memory for {} selected boxes", total);
    for (int64_t i = 0; i < batch * classes; ++i)
      for (int64_t k = 0; k < counts[i]; ++k) {
        *to++ = i / classes;
        *to++ = i % classes;
        *to++ = boxes[i * count + k];
      }
    return {};
  }

 private:
  const void* operand(const RunArgs& args, size_t i) const { return i < operands ? args.inputs[i] : nullptr; }
  size_t slot_bytes() const {
    return static_cast<size_t>(count) * (Kept::kLists * sizeof(double) + sizeof(int64_t)) / 64 * 64 + 64;
  }
  int64_t select(const RunArgs& args, int64_t at, int64_t most, char* memory, int32_t* selected) const {
    const float* const score = static_cast<const float*>(args.inputs[1]) + at * count;
    const float* const corners = static_cast<const float*>(args.inputs[0]) + at / classes * count * 4;
    const void* const bound = operand(args, 3);
    const double iou = bound == nullptr ? 0 : *static_cast<const float*>(bound);
    const auto* const least = static_cast<const float*>(operand(args, 4));
    Kept kept(reinterpret_cast<double*>(memory), count);
    auto* const order = reinterpret_cast<int64_t*>(kept.area + count);
    int64_t n = 0;
    for (int64_t b = 0; b < count; ++b)
      if (!std::isnan(score[b]) && (least == nullptr || score[b] > *least)) order[n++] = b;
    std::sort(order, order + n,
              [&](int64_t a, int64_t b) { return score[a] != score[b] ? score[a] > score[b] : a < b; });
    for (int64_t k = 0; k < n && kept.count < most; ++k) {
      const float* const v = corners + order[k] * 4;
      const double p = v[0], q = v[1], r = v[2], s = v[3];
      const double y1 = center ? q - s / 2 : std::min(p, r), x1 = center ? p - r / 2 : std::min(q, s);
      const double y2 = center ? q + s / 2 : std::max(p, r), x2 = center ? p + r / 2 : std::max(q, s);
      const double area = (y2 - y1) * (x2 - x1);
      if (kept.hides(y1, x1, y2, x2, area, iou)) continue;
      selected[kept.count] = static_cast<int32_t>(order[k]);
      kept.add(y1, x1, y2, x2, area);
    }
    return kept.count;
  }
};

Result<std::unique_ptr<Call>> bind_non_max_suppression(const Problem& p, const KernelOptions& options,
                                                       const BindArgs& args) {
  auto call = std::make_unique<NmsCall>();
  const Dims &boxes = args.inputs[0], &scores = args.inputs[1];
  if (boxes.rank() != 3 || scores.rank() != 3 || boxes[2] != 4 || boxes[0] != scores[0] || boxes[1] != scores[2] ||
      scores[2] > INT32_MAX)
    return invalid_argument("boxes {} with scores {}", boxes.to_string(), scores.to_string());
  for (size_t i = 2; i < p.inputs.size(); ++i)
    if (p.inputs[i].dtype != DType::kInvalid && args.inputs[i].volume() != 1)
      return invalid_argument("input {} of shape {}", i, args.inputs[i].to_string());
  call->batch = scores[0];
  call->classes = scores[1];
  call->count = scores[2];
  call->center = op_params<NonMaxSuppressionOpParams>(p)->center_point_box;
  call->operands = p.inputs.size();
  call->slots = options.threads;
  return std::unique_ptr<Call>(std::move(call));
}

Status non_max_suppression_applies(const Problem& p) {
  if (op_params<NonMaxSuppressionOpParams>(p) == nullptr) return unsupported("op {}", p.as<OpParams>().op);
  if (p.inputs.size() < 2 || p.inputs.size() > 5 || p.outputs.size() != 1)
    return unsupported("{} inputs and {} outputs", p.inputs.size(), p.outputs.size());
  WOOTZ_RETURN_IF_ERROR(check_linear(p, false));
  if (!p.as<OpParams>().own_sizes) return unsupported("results of known size");
  constexpr DType kTypes[] = {DType::kF32, DType::kF32, DType::kI64, DType::kF32, DType::kF32};
  for (size_t i = 0; i < p.inputs.size(); ++i)
    if (p.inputs[i].dtype != kTypes[i] && (i < 2 || p.inputs[i].dtype != DType::kInvalid))
      return unsupported("input {} of type {}", i, dtype_name(p.inputs[i].dtype));
  if (p.outputs[0].dtype != DType::kI64) return unsupported("places as {}", dtype_name(p.outputs[0].dtype));
  return try_bind(bind_non_max_suppression, p);
}

}  // namespace

const KernelEntry op_f32_non_max_suppression{Family::kOp, kSchemeLinear, non_max_suppression_applies,
                                             make_function_kernel<bind_non_max_suppression>, true};

}  // namespace wootz::cpu
