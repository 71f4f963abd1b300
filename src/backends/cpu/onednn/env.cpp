#include "backends/cpu/onednn/env.h"

#include <oneapi/dnnl/dnnl_debug.h>

#include "backends/cpu/onednn/threads.h"

namespace wootz::cpu::dnn {
namespace {

// Sets the cap before anything else touches oneDNN.
Status start(dnnl::engine* made) {
  return guarded("starting", [&]() -> Status {
    const Isa cap = usable_isa();
    connect_threads();
    if (cap == Isa::kNone) return unsupported("oneDNN: the processor, or the cap, is below AVX2");
    if (cap == Isa::kAvx2 || !amx_allowed()) {
      const auto narrow = cpu_info().avx_vnni ? dnnl::cpu_isa::avx2_vnni : dnnl::cpu_isa::avx2;
      const auto isa = cap == Isa::kAvx2 ? narrow : dnnl::cpu_isa::avx512_core_fp16;  // as far as the processor has it
      // Refused when other code in the process has already used the library: then it runs uncapped and
      // effective_isa() tells.
      const dnnl::status status = dnnl::set_max_cpu_isa(isa);
      if (status != dnnl::status::success && status != dnnl::status::invalid_arguments)
        return unsupported("oneDNN: cannot cap the instruction set (status {})", static_cast<int>(status));
    }
    *made = dnnl::engine(dnnl::engine::kind::cpu, 0);
    return Status();
  });
}

struct Shared {
  dnnl::engine engine;
  Status status;
  Shared() { status = start(&engine); }
};
const Shared& shared() {
  static const Shared* made = new Shared();  // never destroyed: kernels of static lifetime may outlive us
  return *made;
}

dnnl::cpu_isa isa() {
  shared();
  return dnnl::get_effective_cpu_isa();
}

struct IsaRow {
  dnnl::cpu_isa isa;
  const char* name;
  Isa width;
  bool exact_int8;
};
constexpr IsaRow kIsaRows[] = {
    {dnnl::cpu_isa::avx512_core_amx_fp16, "avx512_core_amx_fp16", Isa::kAvx512, true},
    {dnnl::cpu_isa::avx512_core_amx, "avx512_core_amx", Isa::kAvx512, true},
    {dnnl::cpu_isa::avx512_core_fp16, "avx512_core_fp16", Isa::kAvx512, true},
    {dnnl::cpu_isa::avx512_core_bf16, "avx512_core_bf16", Isa::kAvx512, true},
    {dnnl::cpu_isa::avx512_core_vnni, "avx512_core_vnni", Isa::kAvx512, true},
    {dnnl::cpu_isa::avx512_core, "avx512_core", Isa::kAvx512, false},
    {dnnl::cpu_isa::avx2_vnni_2, "avx2_vnni_2", Isa::kAvx2, true},
    {dnnl::cpu_isa::avx2_vnni, "avx2_vnni", Isa::kAvx2, true},
    {dnnl::cpu_isa::avx2, "avx2", Isa::kAvx2, false},
    {dnnl::cpu_isa::avx, "avx", Isa::kNone, false},
    {dnnl::cpu_isa::sse41, "sse41", Isa::kNone, false},
};
const IsaRow& isa_row() {
  static const IsaRow kUnknown{dnnl::cpu_isa::isa_default, "unknown", Isa::kNone, false};
  const dnnl::cpu_isa now = isa();
  for (const IsaRow& row : kIsaRows)
    if (row.isa == now) return row;
  return kUnknown;
}

}  // namespace

Result<const dnnl::engine*> engine() {
  if (!shared().status.ok()) return shared().status;
  return &shared().engine;
}

Isa effective_isa() { return isa_row().width; }
const char* effective_isa_text() { return isa_row().name; }
bool exact_int8() { return isa_row().exact_int8; }
bool runs_amx() { return std::string_view(effective_isa_text()).find("amx") != std::string_view::npos; }
bool prefers_unsigned_bytes() { return exact_int8() && !runs_amx(); }
bool runs_f16() {
  const std::string_view name = effective_isa_text();
  return name.find("fp16") != std::string_view::npos || name.find("amx") != std::string_view::npos;
}

bool computes_fast_in(DType dtype) {
  const std::string_view name = effective_isa_text();
  if (dtype == DType::kF16) return name.ends_with("amx_fp16");  // otherwise they are widened first
  return dtype == DType::kBF16 && name.starts_with("avx512_core") &&
         (name.find("bf16") != std::string_view::npos || name.find("amx") != std::string_view::npos || runs_f16());
}

std::string version_text() {
  const dnnl::version_t* v = dnnl::version();
  return fmt::format("{}.{}.{}-{:.8}-{}", v->major, v->minor, v->patch, v->hash, effective_isa_text());
}

std::optional<memory::data_type> data_type(DType dtype) {
  switch (dtype) {
    case DType::kF32: return memory::data_type::f32;
    case DType::kBF16: return memory::data_type::bf16;
    case DType::kF16: return memory::data_type::f16;
    case DType::kI32: return memory::data_type::s32;
    case DType::kI8: return memory::data_type::s8;
    case DType::kU8: return memory::data_type::u8;
    default: return std::nullopt;
  }
}

memory::desc layout_desc(Layout layout, const memory::dims& dims, memory::data_type type) {
  using tag = memory::format_tag;
  static constexpr tag kPlain[] = {tag::a, tag::ab, tag::abc, tag::abcd, tag::abcde, tag::abcdef};
  static constexpr tag kLast[] = {tag::acb, tag::acdb, tag::acdeb};
  static constexpr tag kBlock8[] = {tag::aBc8b, tag::aBcd8b, tag::aBcde8b};
  static constexpr tag kBlock16[] = {tag::aBc16b, tag::aBcd16b, tag::aBcde16b};
  const size_t rank = dims.size();
  if (layout != Layout::kLinear && rank >= 3 && rank <= 5) {
    const tag* tags = layout == Layout::kChannelsLast ? kLast : layout == Layout::kBlocked8 ? kBlock8 : kBlock16;
    return memory::desc(dims, type, tags[rank - 3]);
  }
  if (rank >= 1 && rank <= std::size(kPlain)) return memory::desc(dims, type, kPlain[rank - 1]);
  return matrix_desc(dims, type, false);
}

memory::desc matrix_desc(const memory::dims& dims, memory::data_type type, bool swapped) {
  memory::dims strides(dims.size(), 1);
  int64_t step = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = step;
    step *= dims[i];
  }
  if (swapped && dims.size() >= 2) {
    const size_t row = dims.size() - 2, column = row + 1;
    strides[row] = 1;
    strides[column] = dims[row];
  }
  return memory::desc(dims, type, strides);
}

std::vector<std::string> tag_names(const memory::desc& desc) {
  std::vector<std::string> names;
  if (desc.get_format_kind() != memory::format_kind::blocked) return names;
  const memory::dims dims = desc.get_dims();
  for (int t = static_cast<int>(dnnl_format_tag_any) + 1; t < static_cast<int>(dnnl_format_tag_last); ++t) {
    const auto tag = static_cast<memory::format_tag>(t);
    const memory::desc made(dims, desc.get_data_type(), tag, true);  // empty where the tag is for another rank
    // The size tells of compensation after the weights, which no tag has.
    if (made.get(true) != nullptr && made == desc && made.get_size() == desc.get_size())
      names.emplace_back(dnnl_fmt_tag2str(static_cast<dnnl_format_tag_t>(t)));
  }
  return names;
}

memory::format_tag tag_from_name(std::string_view name) {
  for (int t = static_cast<int>(dnnl_format_tag_any) + 1; t < static_cast<int>(dnnl_format_tag_last); ++t)
    if (name == dnnl_fmt_tag2str(static_cast<dnnl_format_tag_t>(t))) return static_cast<memory::format_tag>(t);
  return memory::format_tag::undef;
}

bool is_reference(std::string_view implementation) {
  return implementation.starts_with("ref") || implementation.find(":ref") != std::string_view::npos ||
         implementation.find("_ref") != std::string_view::npos;
}

Status from_error(std::string_view what, const dnnl::error& error) {
  const Code code = error.status == dnnl_out_of_memory       ? Code::kResourceExhausted
                    : error.status == dnnl_invalid_arguments ? Code::kInvalidArgument
                    : error.status == dnnl_unimplemented     ? Code::kUnsupported
                                                             : Code::kInternal;
  return make_error(code, "oneDNN, {}: {} ({})", what, error.message ? error.message : "failed",
                    dnnl_status2str(error.status));
}

}  // namespace wootz::cpu::dnn
