// Two convolutions whose results are added up, as a product over the channels of two images.
#include "backend/chain_sum.h"
#include "backends/cuda/generate/fed.h"

namespace wootz::cuda {
namespace {

TileReads reads_of(const Problem& problem, std::span<const Dims> inputs, std::span<const Dims> results, int first) {
  TileReads reads;
  reads.problem = problem;
  reads.x = first;
  reads.w = first + 1;
  reads.dims.assign(inputs.begin(), inputs.end());
  reads.made.assign(results.begin(), results.end());
  return reads;
}

Result<FedImage> image_of(const TileReads& reads, const BindArgs& args) {
  FedImage image{.x = reads.x, .w = reads.w};
  WOOTZ_ASSIGN_OR_RETURN(image.b, describe_half(reads, args));
  image.b.window = true;  // pixels, which are not those of the other image
  return image;
}

bool is_of_pixels(const TileProduct& b) { return b.taps_h * b.taps_w == 1 && !b.padded; }

// The bias of the convolution without an expression, at operand 2 of the step, becomes the other one's.
Status take_bias(const TileReads& from, FedProduct* p) {
  if (from.problem.num_main != 3) return Status();
  const TensorDesc& bias = from.problem.inputs[2];
  TileReads& to = p->reads;
  p->bias = 2;
  if (to.problem.num_main == 3) {
    if (!bias.constant || !to.problem.inputs[2].constant) return unsupported("two biases that are not constant");
    p->bias = to.w + 1;
    p->added = 2;
    to.problem.inputs[2].dtype = DType::kF32;
    return Status();
  }
  to.problem.inputs.insert(to.problem.inputs.begin() + 2, bias);
  to.dims.insert(to.dims.begin() + 2, from.dims[2]);
  to.problem.num_main = 3;
  to.problem.as<ConvParams>().has_bias = true;
  --to.w;  // what the expression reads is behind it as if the bias were there
  return Status();
}

}  // namespace

Result<FedProduct> describe_fed_sum(const Problem& problem, const BindArgs& args) {
  WOOTZ_ASSIGN_OR_RETURN(ChainParts parts, sum_parts(problem));
  const size_t own = parts.first.inputs.size();
  if (args.inputs.size() != problem.inputs.size() || args.outputs.size() != 1)
    return invalid_argument("{} operands of a sum", args.inputs.size());
  parts.first.outputs[0].layout = problem.outputs[0].layout;
  parts.second.inputs.pop_back();
  parts.second.epilogue = problem.epilogue;
  const TileReads first = reads_of(parts.first, args.inputs.first(own), args.outputs, 0);
  FedProduct p;
  p.reads = reads_of(parts.second, args.inputs.subspan(own), args.outputs, static_cast<int>(own));
  WOOTZ_ASSIGN_OR_RETURN(FedImage one, image_of(p.reads, args));
  WOOTZ_ASSIGN_OR_RETURN(FedImage other, image_of(first, args));
  if (problem.inputs[0].dtype != problem.inputs[own].dtype) return unsupported("images of unlike types");
  if (!is_of_pixels(other.b)) std::swap(one, other);
  if (!is_of_pixels(other.b)) return unsupported("two convolutions of more than single pixels");
  p.images = {std::move(one), std::move(other)};
  WOOTZ_RETURN_IF_ERROR(take_bias(first, &p));
  const auto bias = static_cast<size_t>(p.bias);
  if (p.added >= 0 && args.constant_bytes.size() > bias && args.constants[bias] != nullptr &&
      args.constant_bytes[bias] < static_cast<size_t>(p.b().columns) * sizeof(float))
    return invalid_argument("{} bytes of packed biases", args.constant_bytes[bias]);
  return p;
}

}  // namespace wootz::cuda
