// Op NonZero: elements are counted piece by piece, then every piece writes where its part begins.
#include <array>

#include "backend/op_kernels.h"
#include "backends/cpu/function_kernel.h"

namespace wootz::cpu {
namespace {

// Elements as bits; `mask` takes the sign of floats away, so that -0 is zero.
template <class T>
int64_t count_bits(const void* x, int64_t begin, int64_t end, uint64_t mask) {
  const T* p = static_cast<const T*>(x);
  const auto m = static_cast<T>(mask);
  int64_t n = 0;
  for (int64_t i = begin; i < end; ++i) n += (p[i] & m) != 0;
  return n;
}
template <class T>
void find_bits(const void* x, int64_t begin, int64_t end, uint64_t mask, int64_t* to) {
  const T* p = static_cast<const T*>(x);
  const auto m = static_cast<T>(mask);
  for (int64_t i = begin; i < end; ++i)
    if ((p[i] & m) != 0) *to++ = i;
}

struct Finder {
  int64_t (*count)(const void* x, int64_t begin, int64_t end, uint64_t mask) = nullptr;
  void (*find)(const void* x, int64_t begin, int64_t end, uint64_t mask, int64_t* to) = nullptr;
  uint64_t mask = 0;
};
Finder finder_of(DType type) {
  const int bits = dtype_bits(type);
  Finder f;
  if (bits == 8) f = {count_bits<uint8_t>, find_bits<uint8_t>, ~uint64_t{0}};
  if (bits == 16) f = {count_bits<uint16_t>, find_bits<uint16_t>, ~uint64_t{0}};
  if (bits == 32) f = {count_bits<uint32_t>, find_bits<uint32_t>, ~uint64_t{0}};
  if (bits == 64) f = {count_bits<uint64_t>, find_bits<uint64_t>, ~uint64_t{0}};
  if (is_float(type)) f.mask = ~(uint64_t{1} << (bits - 1));
  return f;
}

class NonZeroCall final : public Call {
 public:
  static constexpr int kMostPieces = 64;
  static constexpr int64_t kGrain = 16384;
  Dims x;
  Finder finder;

  bool outputs_known() const override { return false; }
  Status run(const RunArgs& args) const override {
    if (args.allocator == nullptr) return invalid_argument("there is no allocator for as many results as are found");
    const int64_t total = x.volume();
    const int pieces = std::min(kMostPieces, std::max(1, parallel_pieces(total, kGrain)));
    std::array<int64_t, kMostPieces> begin{};
    const auto each = [&](const auto& work) {
      parallel_for(pieces, 1, [&](int64_t first, int64_t end) {
        for (int64_t p = first; p < end; ++p)
          work(static_cast<size_t>(p), piece_begin(total, pieces, static_cast<int>(p)),
               piece_begin(total, pieces, static_cast<int>(p) + 1));
      });
    };
    each([&](size_t p, int64_t from, int64_t to) { begin[p] = finder.count(args.inputs[0], from, to, finder.mask); });
    int64_t found = 0;
    for (size_t p = 0; p < static_cast<size_t>(pieces); ++p) found += std::exchange(begin[p], found);
    const Dims dims{x.rank() == 0 ? 1 : x.rank(), found};
    auto* const y = static_cast<int64_t*>(args.allocator->allocate(0, dims));
    if (found == 0) return {};
    if (y == nullptr) return make_error(Code::kResourceExhausted, "no memory for results {}", dims.to_string());
    each([&](size_t p, int64_t from, int64_t to) {
      const int64_t last = p + 1 < static_cast<size_t>(pieces) ? begin[p + 1] : found;
      // Flat places where the last axis' row is, then taken apart from the last axis to the first.
      int64_t* const row = y + (dims[0] - 1) * found;
      finder.find(args.inputs[0], from, to, finder.mask, row + begin[p]);
      if (x.rank() < 2) return;
      for (int64_t k = begin[p]; k < last; ++k) {
        int64_t rest = row[k];
        for (int64_t a = dims[0] - 1; a >= 0; --a) {
          const int64_t extent = x[static_cast<size_t>(a)];
          y[a * found + k] = rest % extent;
          rest /= extent;
        }
      }
    });
    return {};
  }
};

Result<std::unique_ptr<Call>> bind_non_zero(const Problem& p, const KernelOptions&, const BindArgs& args) {
  auto call = std::make_unique<NonZeroCall>();
  call->x = args.inputs[0];
  call->finder = finder_of(p.inputs[0].dtype);
  return std::unique_ptr<Call>(std::move(call));
}

Status non_zero_applies(const Problem& p) {
  if (op_params<NonZeroOpParams>(p) == nullptr) return unsupported("op {}", p.as<OpParams>().op);
  WOOTZ_RETURN_IF_ERROR(check_counts(p, 1, 1));
  WOOTZ_RETURN_IF_ERROR(check_linear(p, false));
  if (!p.as<OpParams>().own_sizes) return unsupported("results of known size");
  if (finder_of(p.inputs[0].dtype).count == nullptr || p.outputs[0].dtype != DType::kI64)
    return unsupported("elements of {}, places as {}", dtype_name(p.inputs[0].dtype), dtype_name(p.outputs[0].dtype));
  return try_bind(bind_non_zero, p);
}

}  // namespace

const KernelEntry op_any_non_zero{Family::kOp, kSchemeLinear, non_zero_applies, make_function_kernel<bind_non_zero>};

}  // namespace wootz::cpu
