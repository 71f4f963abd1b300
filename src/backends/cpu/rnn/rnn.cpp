// Family rnn of f32, f16 and bf16; everything is computed in f32.
#include <algorithm>

#include "backend/operand_dims.h"
#include "backends/cpu/rnn/call.h"
#include "backends/cpu/rnn/packing.h"
#include "backends/cpu/rnn/split.h"

namespace wootz::cpu {
namespace {

constexpr int64_t kSharedUnits = 96;

bool is_packed(size_t input) { return input == kRnnW || input == kRnnR || input == kRnnBias || input == kRnnPeepholes; }

Result<Recurrence> at_optimum(const Problem& p) {
  const std::vector<Dims> in = operand_dims(p.inputs), out = operand_dims(p.outputs);
  return read_recurrence(p, in, out);
}

Status rnn_applies(const Problem& p) {
  for (size_t i = 0; i < p.inputs.size(); ++i)
    if (p.inputs[i].layout != Layout::kLinear && !(p.inputs[i].constant && p.inputs[i].layout == Layout::kOpaque))
      return unsupported("rnn in layout {}", layout_name(p.inputs[i].layout));
  for (const TensorDesc& t : p.outputs)
    if (t.layout != Layout::kLinear) return unsupported("rnn in layout {}", layout_name(t.layout));
  return at_optimum(p).status();
}

class RnnKernel final : public Kernel {
 public:
  RnnKernel(const Problem& p, const KernelOptions& o, bool teams) : problem_(p), options_(o), teams_(teams) {}

  Result<std::optional<PackedForm>> pack(int input, const HostTensor& source) const override {
    const auto i = static_cast<size_t>(input);
    if (!is_packed(i)) return std::optional<PackedForm>{};
    WOOTZ_ASSIGN_OR_RETURN(const Recurrence r, at_optimum(problem_));
    if (!rnn_has(problem_, i) || source.dtype() != problem_.inputs[i].dtype ||
        !(source.dims() == problem_.inputs[i].dims))
      return invalid_argument("rnn: {} {} to pack", dtype_name(source.dtype()), source.dims().to_string());
    const RnnColumns columns(r, options_.isa);
    return std::optional(PackedForm{static_cast<size_t>(packed_elements(r, columns, i)) * sizeof(float),
                                    [r, columns, i, source](std::span<std::byte> bytes) {
                                      std::fill(bytes.begin(), bytes.end(), std::byte{0});
                                      pack_pieces(r, columns, i, source.dtype(), source.data(), 0,
                                                  packed_pieces(r, columns, i), reinterpret_cast<float*>(bytes.data()));
                                      return Status();
                                    }});
  }

  Result<std::unique_ptr<Call>> bind(const BindArgs& args) const override {
    WOOTZ_ASSIGN_OR_RETURN(const Recurrence r, read_recurrence(problem_, args.inputs, args.outputs));
    const RnnColumns columns(r, options_.isa);
    for (size_t i = 0; i < problem_.inputs.size() && i < args.constant_bytes.size(); ++i) {
      if (!problem_.inputs[i].constant) continue;
      const size_t wanted = is_packed(i) ? static_cast<size_t>(packed_elements(r, columns, i)) * sizeof(float)
                                         : dtype_bytes(problem_.inputs[i].dtype, args.inputs[i].volume());
      if (args.constant_bytes[i] != wanted)
        return invalid_argument("rnn: {} bytes of constant operand {}, {} are needed", args.constant_bytes[i], i,
                                wanted);
    }
    return make_rnn_call(problem_, options_, r, teams_);
  }

 private:
  Problem problem_;
  KernelOptions options_;
  bool teams_;
};

// Few units are not worth sharing.
Status applies_to_teams(const Problem& p) {
  WOOTZ_RETURN_IF_ERROR(rnn_applies(p));
  if (p.as<RnnParams>().hidden < kSharedUnits) return unsupported("{} units to share", p.as<RnnParams>().hidden);
  return {};
}

template <bool kTeams>
Result<std::unique_ptr<Kernel>> create_rnn(const Problem& p, const KernelOptions& options) {
  return std::unique_ptr<Kernel>(std::make_unique<RnnKernel>(p, options, kTeams));
}

template <bool kTeams>
double rnn_cost_us(const Problem& p, const KernelOptions& options) {
  const Result<Recurrence> r = at_optimum(p);
  return r.ok() ? split_layer(*r, options.isa, std::max(1, options.threads), kTeams).us : 0;
}

}  // namespace

const KernelEntry rnn_float_packed{Family::kRnn,      kSchemeLinear, rnn_applies,
                                   create_rnn<false>, true,          rnn_cost_us<false>};
const KernelEntry rnn_float_teams{Family::kRnn,     kSchemeLinear, applies_to_teams,
                                  create_rnn<true>, true,          rnn_cost_us<true>};

}  // namespace wootz::cpu
