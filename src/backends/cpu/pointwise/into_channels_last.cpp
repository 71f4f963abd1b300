// Family pointwise, from row-major operands to channels-last results of few channels: what a network does first with
// its image. Blocks of each plane are computed as they lie, and woven while they are in the first-level cache.
#include <algorithm>

#include "backends/cpu/function_kernel.h"
#include "backends/cpu/move/transpose_block.h"
#include "backends/cpu/pointwise/engine.h"
#include "base/thread_pool.h"

namespace wootz::cpu {
namespace {

constexpr int64_t kMostChannels = 8;  // heads of attention are more, and no images
constexpr int64_t kBlockBytes = 16 * 1024;
constexpr int64_t kMostPositions = 4096;

class IntoChannelsLastCall final : public Call {
 public:
  BoundPointwise planes;  // over the output as if it were row-major
  int64_t batch = 0, channels = 0, positions = 0;
  int bytes = 1;  // of an element of the output

  Status run(const RunArgs& args) const override {
    parallel_for(batch * positions, std::max<int64_t>(1, planes.grain() / channels), [&](int64_t begin, int64_t end) {
      const int64_t most = std::min(kMostPositions, kBlockBytes / (bytes * channels));
      while (begin < end) {
        const int64_t n = std::min({end - begin, positions - begin % positions, most});
        block(args, begin, n);
        begin += n;
      }
    });
    return {};
  }

 private:
  // n positions of an image from `at` on, images before it included.
  void block(const RunArgs& args, int64_t at, int64_t n) const {
    alignas(64) char found[kBlockBytes];
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t first = (at / positions * channels + c) * positions + at % positions;
      // Where the output would have to begin for these elements to lie in the block.
      auto* to =
          reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(found) + static_cast<uintptr_t>((c * n - first) * bytes));
      planes.run(first, first + n, args.inputs, &to);
    }
    transpose_plane(found, n, static_cast<char*>(args.outputs[0]) + at * channels * bytes, channels, n, channels,
                    bytes);
  }
};

Result<std::unique_ptr<Call>> bind_into(const Problem& p, const KernelOptions& options, const BindArgs& args) {
  auto call = std::make_unique<IntoChannelsLastCall>();
  WOOTZ_ASSIGN_OR_RETURN(auto code, PointwiseCode::compile(p.epilogue, options.isa));
  std::vector<PwView> views;
  for (size_t i = 0; i < p.inputs.size(); ++i) views.push_back({p.inputs[i].dtype, Layout::kLinear, args.inputs[i]});
  const Dims& out = args.outputs[0];
  WOOTZ_ASSIGN_OR_RETURN(call->planes,
                         BoundPointwise::bind(std::move(code), views, {p.outputs[0].dtype, Layout::kLinear, out}));
  if (out[1] > kMostChannels) return unsupported("pointwise: {} channels", out[1]);
  call->batch = out.volume() == 0 ? 0 : out[0];
  call->channels = std::max<int64_t>(1, out[1]);
  call->positions = call->batch == 0 ? 1 : out.volume() / (out[0] * out[1]);
  call->bytes = dtype_bits(p.outputs[0].dtype) / 8;
  return std::unique_ptr<Call>(std::move(call));
}

Status into_applies(const Problem& p) {
  if (p.epilogue.empty() || p.num_main != 0 || p.outputs.size() != 1 || p.epilogue.outputs.size() != 1)
    return unsupported("pointwise: {} outputs", p.outputs.size());
  if (p.epilogue.num_inputs > p.inputs.size())
    return invalid_argument("pointwise: {} operands, the expression has {}", p.inputs.size(), p.epilogue.num_inputs);
  const TensorDesc& y = p.outputs[0];
  if (y.dtype != p.epilogue.output_type())
    return invalid_argument("pointwise: the output is {}, the expression gives {}", dtype_name(y.dtype),
                            dtype_name(p.epilogue.output_type()));
  if (y.layout != Layout::kChannelsLast || y.dims.rank() < 3 || dtype_bits(y.dtype) % 8 != 0)
    return unsupported("pointwise: {} in layout {}", dtype_name(y.dtype), layout_name(y.layout));
  for (const TensorDesc& x : p.inputs)
    if (x.layout != Layout::kLinear) return unsupported("pointwise: an operand in layout {}", layout_name(x.layout));
  if (y.max_dims[1] > kMostChannels) return unsupported("pointwise: {} channels", y.max_dims[1]);
  return try_bind(bind_into, p);
}

}  // namespace

const KernelEntry pointwise_into_channels_last{Family::kPointwise, kSchemeIntoChannelsLast, into_applies,
                                               make_function_kernel<bind_into>};

}  // namespace wootz::cpu
