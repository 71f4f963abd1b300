// Family move: elements keep their bits and change their places.
#include "backends/cpu/kernel_entry.h"
#include "backends/cpu/move/boxes.h"
#include "backends/cpu/physical.h"
#include "base/thread_pool.h"

namespace wootz::cpu {
namespace {

Status move_applies(const Problem& p) {
  if (p.inputs.empty() || p.outputs.empty() || static_cast<size_t>(p.num_main) != p.inputs.size())
    return invalid_argument("move: {} inputs, {} outputs", p.inputs.size(), p.outputs.size());
  if (!p.epilogue.empty()) return unsupported("move with an epilogue");
  const TensorDesc& first = p.inputs[0];
  if (dtype_bits(first.dtype) % 8 != 0) return unsupported("move of {}", dtype_name(first.dtype));
  const auto fits = [&](const TensorDesc& t) -> Status {
    if (t.dtype != first.dtype)
      return invalid_argument("move of {} and {}", dtype_name(first.dtype), dtype_name(t.dtype));
    if (t.layout == Layout::kOpaque) return unsupported("move of packed tensors");
    if (t.layout != p.outputs[0].layout && t.layout != Layout::kLinear) return unsupported("move between layouts");
    if (t.layout != p.outputs[0].layout && !is_plain(p.outputs[0].layout)) return unsupported("move between layouts");
    if (!is_plain(t.layout) && t.dims.rank() > 1 && t.dims[1] != t.max_dims[1])
      return unsupported("move of a varying number of channels in blocks");
    return {};
  };
  std::vector<Dims> in, out;
  for (const TensorDesc& t : p.inputs) {
    WOOTZ_RETURN_IF_ERROR(fits(t));
    in.push_back(t.dims);
  }
  for (const TensorDesc& t : p.outputs) {
    WOOTZ_RETURN_IF_ERROR(fits(t));
    out.push_back(t.dims);
  }
  return plan_move(p, in, out).status();
}

class MoveCall final : public Call {
 public:
  MovePlan plan;
  Dims out;  // in memory order; used with a map

  Status run(const RunArgs& args) const override {
    for (const Box& box : plan.boxes)
      box.copy.run(box.input == Box::kFillValue ? &plan.fill : args.inputs[box.input], args.outputs[box.output]);
    if (!plan.map.offsets.empty()) mapped(args);
    return {};
  }

 private:
  template <class T>
  void row(const char* from, char* to) const {
    const std::vector<int64_t>& offsets = plan.map.offsets.back();
    for (size_t i = 0; i < offsets.size(); ++i)
      std::memcpy(to + i * sizeof(T), from + offsets[i] * static_cast<int64_t>(sizeof(T)), sizeof(T));
  }
  void mapped(const RunArgs& args) const {
    const int64_t length = out.empty() ? 1 : out.back(), rows = length == 0 ? 0 : out.volume() / length;
    parallel_for(rows, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, length)), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        int64_t rest = r, at = 0;
        for (int d = out.rank() - 2; d >= 0; --d) {
          const auto u = static_cast<size_t>(d);
          at += plan.map.offsets[u][static_cast<size_t>(rest % out[u])];
          rest /= out[u];
        }
        const char* from = static_cast<const char*>(args.inputs[0]) + at * plan.bytes;
        char* to = static_cast<char*>(args.outputs[0]) + r * length * plan.bytes;
        switch (plan.bytes) {
          case 1: row<uint8_t>(from, to); break;
          case 2: row<uint16_t>(from, to); break;
          case 4: row<uint32_t>(from, to); break;
          default: row<uint64_t>(from, to); break;
        }
      }
    });
  }
};

class MoveKernel final : public Kernel {
 public:
  explicit MoveKernel(const Problem& p) : problem_(p) {}
  Result<std::unique_ptr<Call>> bind(const BindArgs& args) const override {
    auto call = std::make_unique<MoveCall>();
    WOOTZ_ASSIGN_OR_RETURN(call->plan, plan_move(problem_, args.inputs, args.outputs));
    call->out = physical_dims(problem_.outputs[0].layout, args.outputs[0]);
    return std::unique_ptr<Call>(std::move(call));
  }

 private:
  Problem problem_;
};

Result<std::unique_ptr<Kernel>> create_move(const Problem& p, const KernelOptions&) {
  return std::unique_ptr<Kernel>(std::make_unique<MoveKernel>(p));
}

}  // namespace

const KernelEntry move_any_strided{Family::kMove, kSchemeImages, move_applies, create_move};

}  // namespace wootz::cpu
