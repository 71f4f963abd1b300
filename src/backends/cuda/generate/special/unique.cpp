// Unique. Places along the axis are sorted by what lies there (runs that double, each element finds its place in the
// merged run by bisection); neighbours that are equal are a group, and its first place is the lowest.
#include <algorithm>

#include "backends/cuda/generate/special/select.h"
#include "backends/cuda/generate/special/special.h"

namespace wootz::cuda {
namespace {

// Arrays in scratch memory, one number a place.
struct Arrays {
  int64_t count;
  size_t bytes;
  Pointer add(size_t each) {
    const Pointer at{false, -1, bytes};
    bytes += (static_cast<size_t>(count) * each + 255) / 256 * 256;
    return at;
  }
};

// Extents before, along and behind the axis.
struct Slices {
  Dims x;
  size_t axis = 0;
  int64_t outer = 1, n = 0, inner = 1;
};

// The launches for one problem, and where their arrays are.
class Grouping {
 public:
  Grouping(const Problem& p, const BindArgs& args, Slices slices)
      : p_(p),
        slices_(std::move(slices)),
        sorted_(op_params<UniqueOpParams>(p)->sorted),
        arguments_(transient(p, args)) {
    Arrays arrays{slices_.n,
                  (kCountsAt + static_cast<size_t>(part_blocks(slices_.n)) * sizeof(int64_t) + 255) / 256 * 256};
    for (Pointer* numbers : {&order_, &other_, &start_, &group_, &way_, &members_, &shown_}) *numbers = arrays.add(4);
    for (Pointer* flags : {&head_, &first_}) *flags = arrays.add(1);
    workspace_ = arrays.bytes;
  }
  Status sort(std::vector<Launch>* launches);
  Status find_groups(std::vector<Launch>* launches);
  Status write_places(std::vector<Launch>* launches);
  Status write_slices(std::vector<Launch>* launches);

 private:
  // A thread for each of `count` things.
  KernelSource begin(std::string_view file, int64_t count) const {
    KernelSource source(file, arguments_);
    source.fixed("kThreads", kBlock);
    source.number("count", count);
    return source;
  }
  Status finish(int64_t count, KernelSource* source, std::vector<Launch>* launches) const {
    return source->finish(kBlock, blocks_for(count, kBlock), launches, workspace_);
  }
  // What unique/compare.cuh asks for.
  void add_slices(KernelSource* source) const {
    source->operand(fmt::format("const {}*", storage_type(p_.inputs[0].dtype)), "x", {false, 0});
    source->number("outer", slices_.outer);
    source->number("n", slices_.n);
    source->number("inner", slices_.inner);
  }
  Status number_flags(Pointer flags, Pointer where, Pointer upto, std::vector<Launch>* launches) const;

  const Problem& p_;
  Slices slices_;
  bool sorted_, arguments_;
  Pointer order_, other_, start_, group_, way_, members_, shown_, head_, first_;
  size_t workspace_ = 0;
};

Status Grouping::sort(std::vector<Launch>* launches) {
  KernelSource start = begin("unique/start.cuh", slices_.n);
  start.operand("int* __restrict__", "order", order_);
  WOOTZ_RETURN_IF_ERROR(finish(slices_.n, &start, launches));
  for (int64_t run = 1; run < slices_.n; run *= 2) {
    KernelSource source = begin("unique/merge.cuh", slices_.n);
    source.operand("int* __restrict__", "to", other_);
    source.operand("const int*", "from", order_);
    add_slices(&source);
    source.argument("run", run);
    WOOTZ_RETURN_IF_ERROR(finish(slices_.n, &source, launches));
    std::swap(order_, other_);
  }
  return Status();
}

Status Grouping::number_flags(Pointer flags, Pointer where, Pointer upto, std::vector<Launch>* launches) const {
  const Counted counted{"u8", flags, slices_.n, workspace_, arguments_};
  WOOTZ_RETURN_IF_ERROR(add_count(counted, launches));
  KernelSource source = source_of_parts("unique/number.cuh", counted);
  source.operand("int* __restrict__", "where", where);
  source.operand("int* __restrict__", "upto", upto);
  source.operand("const s64*", "sums", kSums);
  return finish_parts(counted, &source, launches);
}

Status Grouping::find_groups(std::vector<Launch>* launches) {
  KernelSource heads = begin("unique/heads.cuh", slices_.n);
  heads.operand("u8* __restrict__", "head", head_);
  heads.operand("u8* __restrict__", "first", first_);
  heads.operand("const int*", "order", order_);
  add_slices(&heads);
  WOOTZ_RETURN_IF_ERROR(finish(slices_.n, &heads, launches));
  if (!sorted_) WOOTZ_RETURN_IF_ERROR(number_flags(first_, start_, shown_, launches));
  WOOTZ_RETURN_IF_ERROR(number_flags(head_, start_, group_, launches));
  KernelSource source = begin("unique/groups.cuh", slices_.n);
  source.fixed("kSorted", sorted_);
  source.operand("int* __restrict__", "way", way_);
  source.operand("int* __restrict__", "members", members_);
  source.operand("const int*", "order", order_);
  source.operand("const int*", "start", start_);
  source.operand("const int*", "group", group_);
  source.operand("const int*", "shown", shown_);
  source.operand("const s64*", "total", kTotal);
  return finish(slices_.n, &source, launches);
}

Status Grouping::write_places(std::vector<Launch>* launches) {
  if (p_.outputs.size() < 2) return Status();
  KernelSource source = begin("unique/places.cuh", slices_.n);
  const char* const wanted[] = {nullptr, "kFirst", "kInverse", "kCounts"};
  for (size_t o = 1; o < std::size(wanted); ++o) {
    const DType type = o < p_.outputs.size() ? p_.outputs[o].dtype : DType::kInvalid;
    if (type != DType::kInvalid && type != DType::kI64) return invalid_argument("places of {}", dtype_name(type));
    source.fixed(wanted[o], type == DType::kI64);
    if (type == DType::kI64) source.operand("s64* __restrict__", fmt::format("y{}", o), {true, static_cast<int>(o)});
  }
  source.operand("const int*", "way", way_);
  source.operand("const int*", "members", members_);
  source.operand("const u8*", "first", first_);
  return finish(slices_.n, &source, launches);
}

Status Grouping::write_slices(std::vector<Launch>* launches) {
  const int64_t count = slices_.x.volume();
  if (count == 0) return Status();
  KernelSource source = begin("unique/slices.cuh", count);
  const char* type = storage_type(p_.inputs[0].dtype);
  source.operand(fmt::format("{}* __restrict__", type), "y", {true, 0});
  source.operand(fmt::format("const {}*", type), "x", {false, 0});
  source.operand("const int*", "way", way_);
  source.operand("const u8*", "first", first_);
  source.operand("const s64*", "total", kTotal);
  source.number("n", slices_.n);
  source.number("inner", slices_.inner);
  return finish(count, &source, launches);
}

Result<Slices> read_slices(const Problem& p, const BindArgs& args) {
  if (p.inputs.size() != 1 || p.outputs.empty() || p.outputs.size() > 4 || p.outputs[0].dtype != p.inputs[0].dtype)
    return invalid_argument("Unique of {} operands", p.inputs.size());
  WOOTZ_RETURN_IF_ERROR(check_type(p.inputs[0].dtype));
  const MaybeInt& given = op_params<UniqueOpParams>(p)->axis;
  Slices s;
  s.x = given ? args.inputs[0] : Dims{args.inputs[0].volume()};
  int64_t axis = given.value_or(0);
  if (axis < 0) axis += s.x.rank();
  if (axis < 0 || axis >= s.x.rank()) return invalid_argument("Unique of {} along axis {}", s.x.to_string(), axis);
  s.axis = static_cast<size_t>(axis);
  s.n = s.x[s.axis];
  s.outer = volume_of(s.x, 0, s.axis);
  s.inner = volume_of(s.x, s.axis + 1, s.x.size());
  if (s.n >= int64_t{1} << 30) return unsupported("{} places to sort", s.n);
  WOOTZ_RETURN_IF_ERROR(check_count(s.x.volume()));
  return s;
}

}  // namespace

Status select_unique(const Problem& p, const BindArgs& args, Selection* to) {
  WOOTZ_ASSIGN_OR_RETURN(const Slices slices, read_slices(p, args));
  const int64_t n = slices.n;
  to->results = {{slices.x.begin(), slices.x.end()}, {-1}, {n}, {-1}};
  to->results[0][slices.axis] = -1;
  to->results.resize(p.outputs.size());
  to->most = n;
  if (n == 0) return Status();
  Grouping grouping(p, args, slices);
  WOOTZ_RETURN_IF_ERROR(grouping.sort(&to->find));
  WOOTZ_RETURN_IF_ERROR(grouping.find_groups(&to->find));
  WOOTZ_RETURN_IF_ERROR(grouping.write_places(&to->write));
  return grouping.write_slices(&to->write);
}

}  // namespace wootz::cuda
