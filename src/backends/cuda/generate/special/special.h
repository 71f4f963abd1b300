// Kernels for ops that are no family of their own, by the op's name.
#pragma once

#include "backend/op_kernels.h"
#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/kernel_source.h"

namespace wootz::cuda {

constexpr int kSpecialBlock = 256;

bool has_operand(const Problem& problem, size_t input);
// At least so many inputs, the first of them given, and one result.
Status check_operands(const Problem& problem, size_t inputs);

// The operands as "y0", ... and "x0", ... of types Y0, ... and X0, ..., omitted ones left out. Errors: types or layouts
// that kernels do not take.
Status add_operands(const Problem& problem, KernelSource* source);
// A kernel of one thread for each of `count` things, which it finds in `count`: kThreads of them a block. With all
// operands.
Result<KernelSource> source_of_each(std::string_view file, const Problem& problem, const BindArgs& args, int64_t count);
Status finish_each(int64_t count, KernelSource* source, std::vector<Launch>* launches, size_t workspace = 0);

// The op's kernel may write its result over operand 0.
bool special_in_place(const Problem& problem);

// The attribute, or else a small constant operand that is one integer; nullopt: neither.
std::optional<int64_t> special_int(const Problem& problem, const MaybeInt& attribute, size_t operand);

Status generate_bit_cast(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_cast_e8m0(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_dynamic_quantize(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_cumulative(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_one_hot(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_eye(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_range(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_filled(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_slice(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_counted_topk(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_padded(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_space_to_depth(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_auto_padded_conv(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_auto_padded_pool(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_einsum(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_integer_product(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_integer_conv(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_trilu(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_lrn(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_reverse_sequence(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_grid_sample(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_affine_grid(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_roi_align(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_tensor_scatter(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_hardmax(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_center_crop_pad(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_col2im(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_max_roi_pool(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_nll(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_det(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_dft(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_stft(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_deform_conv(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_random_state(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_random(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_bernoulli(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_expert_product(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_multinomial(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);

}  // namespace wootz::cuda
