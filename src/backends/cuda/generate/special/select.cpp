// NonZero and Compress: blocks count what they have, one block adds up, blocks write where their part begins.
#include "backends/cuda/generate/special/select.h"

#include <algorithm>

#include "backends/cuda/generate/special/special.h"

namespace wootz::cuda {
namespace {

constexpr int kEach = 16;  // neighbours that each thread looks at

// Of the scratch memory that counts of parts take.
size_t counts_end(int64_t count) { return kCountsAt + static_cast<size_t>(part_blocks(count)) * sizeof(int64_t); }

}  // namespace

int64_t part_blocks(int64_t count) { return blocks_for(count, kBlock * kEach); }

KernelSource source_of_parts(std::string_view file, const Counted& counted) {
  KernelSource source(file, counted.arguments);
  source.type("X", counted.type);
  source.fixed("kThreads", kBlock);
  source.fixed("kEach", kEach);
  source.operand("const X*", "x", counted.x);
  source.number("count", counted.count);
  return source;
}

Status finish_parts(const Counted& counted, KernelSource* source, std::vector<Launch>* launches) {
  return source->finish(kBlock, part_blocks(counted.count), launches, counted.workspace);
}

Status add_count(const Counted& counted, std::vector<Launch>* launches) {
  KernelSource source = source_of_parts("select/count.cuh", counted);
  source.operand("s64* __restrict__", "sums", kSums);
  WOOTZ_RETURN_IF_ERROR(finish_parts(counted, &source, launches));
  return add_scan(part_blocks(counted.count), counted.arguments, counted.workspace, launches);
}

Select find_select(const Problem& p) {
  if (op_params<NonZeroOpParams>(p) != nullptr) return select_non_zero;
  if (op_params<CompressOpParams>(p) != nullptr) return select_compress;
  if (op_params<UniqueOpParams>(p) != nullptr) return select_unique;
  if (op_params<NonMaxSuppressionOpParams>(p) != nullptr) return select_boxes;
  return nullptr;
}

Status add_scan(int64_t count, bool arguments, size_t workspace, std::vector<Launch>* launches) {
  KernelSource source("select/scan.cuh", arguments);
  source.fixed("kThreads", kBlock);
  source.operand("s64* __restrict__", "total", kTotal);
  source.operand("s64* __restrict__", "sums", kSums);
  source.number("count", count);
  source.number("each", (count + kBlock - 1) / kBlock);
  return source.finish(kBlock, 1, launches, workspace);
}

Status select_non_zero(const Problem& p, const BindArgs& args, Selection* to) {
  if (p.inputs.size() != 1 || p.outputs.size() != 1 || p.outputs[0].dtype != DType::kI64)
    return invalid_argument("NonZero of {} operands", p.inputs.size());
  WOOTZ_RETURN_IF_ERROR(check_type(p.inputs[0].dtype));
  const Dims& x = args.inputs[0];
  const int64_t count = x.volume();
  WOOTZ_RETURN_IF_ERROR(check_count(count));
  to->results = {{x.rank(), -1}};
  to->most = count;
  if (count == 0) return Status();
  const Counted counted{storage_type(p.inputs[0].dtype), {false, 0}, count, counts_end(count), transient(p, args)};
  WOOTZ_RETURN_IF_ERROR(add_count(counted, &to->find));
  if (x.rank() == 0) return Status();
  KernelSource source = source_of_parts("select/non_zero.cuh", counted);
  source.fixed("kRank", x.rank());
  source.operand("s64* __restrict__", "y", {true, 0});
  source.operand("const s64*", "total", kTotal);
  source.operand("const s64*", "sums", kSums);
  source.list("extent", {x.begin(), x.end()});
  return finish_parts(counted, &source, &to->write);
}

namespace {

// Elements of `x` to the places of those along axis `a` of which `counted` counts.
Status move_counted(const Problem& p, const Dims& x, size_t a, const Counted& counted, Pointer places,
                    std::vector<Launch>* launches) {
  KernelSource source("select/compress.cuh", counted.arguments);
  source.type("T", bits_type(dtype_bits(p.inputs[0].dtype)));
  source.fixed("kThreads", kBlock);
  source.operand("T* __restrict__", "y", {true, 0});
  source.operand("const s64*", "total", kTotal);
  source.operand("const s64*", "places", places);
  source.operand("const T*", "x", {false, 0});
  source.number("count", x.volume());
  source.number("extent", x[a]);
  source.number("inner", volume_of(x, a + 1, x.size()));
  source.number("places", counted.count);
  return source.finish(kBlock, blocks_for(x.volume(), kBlock), launches, counted.workspace);
}

}  // namespace

Status select_compress(const Problem& p, const BindArgs& args, Selection* to) {
  if (p.inputs.size() != 2 || p.outputs.size() != 1 || p.inputs[1].dtype != DType::kBool ||
      p.inputs[0].dtype != p.outputs[0].dtype)
    return invalid_argument("Compress of {} operands", p.inputs.size());
  if (bits_type(dtype_bits(p.inputs[0].dtype)) == nullptr)
    return unsupported("Compress of {}", dtype_name(p.inputs[0].dtype));
  const MaybeInt& given = op_params<CompressOpParams>(p)->axis;
  const bool whole = !given;
  const Dims x = whole ? Dims{args.inputs[0].volume()} : args.inputs[0];
  int64_t axis = given.value_or(0);
  if (axis < 0) axis += x.rank();
  if (axis < 0 || axis >= x.rank()) return invalid_argument("Compress of {} along axis {}", x.to_string(), axis);
  const auto a = static_cast<size_t>(axis);
  const int64_t count = std::min(x[a], args.inputs[1].volume());
  WOOTZ_RETURN_IF_ERROR(check_count(x.volume()));
  to->results = {{x.begin(), x.end()}};
  to->results[0][a] = -1;
  to->most = count;
  if (count == 0) return Status();
  const Pointer places{false, -1, counts_end(count)};
  const Counted counted{
      "b8", {false, 1}, count, places.offset + static_cast<size_t>(count) * sizeof(int64_t), transient(p, args)};
  WOOTZ_RETURN_IF_ERROR(add_count(counted, &to->find));
  if (x.volume() == 0) return Status();
  KernelSource source = source_of_parts("select/places.cuh", counted);
  source.operand("s64* __restrict__", "places", places);
  source.operand("const s64*", "sums", kSums);
  WOOTZ_RETURN_IF_ERROR(finish_parts(counted, &source, &to->write));
  return move_counted(p, x, a, counted, places, &to->write);
}

}  // namespace wootz::cuda
