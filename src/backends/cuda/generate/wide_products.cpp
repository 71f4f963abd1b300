#include "backends/cuda/generate/wide_products.h"

#include <fmt/format.h>

namespace wootz::cuda {
namespace {

struct Sums {
  std::string places, operands;  // of the instruction
  int count;
};

Sums sums_of(int columns) {
  Sums s{{}, {}, columns / 2};
  for (int i = 0; i < s.count; ++i) {
    s.places += fmt::format("{}%{}", i == 0 ? "" : ",", i);
    s.operands += fmt::format("{}\"+f\"(d[{}][{}])", i == 0 ? "" : ", ", i / 4, i % 4);
  }
  return s;
}

const char* name_of(DType type) {
  switch (type) {
    case DType::kF8E4M3: return "e4m3";
    case DType::kF8E5M2: return "e5m2";
    case DType::kBF16: return "bf16";
    default: return "f16";
  }
}

}  // namespace

std::string wide_product(int columns, DType rows, DType weights) {
  const Sums s = sums_of(columns);
  const bool bytes = dtype_bits(rows) == 8;
  return fmt::format(
      "#ifndef WOOTZ_ON_HOST\n"
      "W_FN void w_wide_mma(float (&d)[{0}][4], u64 a, u64 b, int on) {{\n"
      "  asm volatile(\"{{\\n.reg .pred p;\\nsetp.ne.b32 p, %{3}, 0;\\n\"\n"
      "      \"wgmma.mma_async.sync.aligned.m64n{4}k{5}.f32.{6}.{7} {{{8}}}, %{1}, %{2}, p, 1, 1{9};\\n}}\"\n"
      "      : {10} : \"l\"(a), \"l\"(b), \"r\"(on));\n}}\n#endif\n",
      columns / 8, s.count, s.count + 1, s.count + 2, columns, bytes ? 32 : 16, name_of(rows), name_of(weights),
      s.places, bytes ? "" : ", 0, 0", s.operands);
}

std::string sparse_product(int columns, DType type) {
  const Sums s = sums_of(columns);
  return fmt::format(
      "#ifndef WOOTZ_ON_HOST\n"
      "template <int kSelected>\n"
      "W_FN void w_sparse_mma(float (&d)[{0}][4], u64 a, u64 b, u32 choices, int on) {{\n"
      "  asm volatile(\"{{\\n.reg .pred p;\\nsetp.ne.b32 p, %{5}, 0;\\n\"\n"
      "      \"wgmma.mma_async.sp.sync.aligned.m64n{6}k32.f32.{7}.{7} {{{8}}}, %{1}, %{2}, %{3}, %{4}, p, 1, 1, 0, "
      "0;\\n}}\"\n"
      "      : {9} : \"l\"(a), \"l\"(b), \"r\"(choices), \"n\"(kSelected), \"r\"(on));\n}}\n#endif\n",
      columns / 8, s.count, s.count + 1, s.count + 2, s.count + 3, s.count + 4, columns, name_of(type), s.places,
      s.operands);
}

std::string turned_product(int columns, DType type) {
  const Sums s = sums_of(columns);
  const int n = s.count;
  return fmt::format(
      "#ifndef WOOTZ_ON_HOST\n"
      "W_FN void w_turned_mma(float (&d)[{0}][4], const u32 (&a)[4], u64 b, int on) {{\n"
      "  asm volatile(\"{{\\n.reg .pred p;\\nsetp.ne.b32 p, %{6}, 0;\\n\"\n"
      "      \"wgmma.mma_async.sync.aligned.m64n{7}k16.f32.{8}.{8} {{{9}}}, {{%{1},%{2},%{3},%{4}}}, %{5}, p, 1, 1, "
      "1;\\n}}\"\n"
      "      : {10} : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"l\"(b), \"r\"(on));\n}}\n#endif\n",
      columns / 8, n, n + 1, n + 2, n + 3, n + 4, n + 5, columns, name_of(type), s.places, s.operands);
}

}  // namespace wootz::cuda
