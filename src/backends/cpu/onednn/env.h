// oneDNN's process-wide state, and its vocabulary in ours: engine, instruction set, types, layouts, exceptions.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

#include <exception>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/problem.h"
#include "base/cpu_info.h"
#include "base/status.h"

namespace wootz::cpu::dnn {

using dnnl::memory;

// The one CPU engine. The first call hands our threads to oneDNN and caps its instruction set at the process's cap
// (WOOTZ_ISA); the cap is then fixed for the process's life, which is oneDNN's rule.
Result<const dnnl::engine*> engine();

// The vector width that oneDNN really uses, and its own name for the instruction set, such as "avx512_core_amx".
Isa effective_isa();
const char* effective_isa_text();
// u8 times i8 summed in 32 bits without a 16-bit step that saturates.
bool exact_int8();
// VNNI multiplies u8 by i8; for i8 by i8 a correction is summed up as well. AMX has both.
bool prefers_unsigned_bytes();
bool runs_amx();
bool runs_f16();
// Products of these types by instructions that take them as they are, several times as many a cycle as of FP32.
bool computes_fast_in(DType dtype);
std::string version_text();

std::optional<memory::data_type> data_type(DType dtype);

// A logical tensor in one of our layouts. Throws dnnl::error; rank and extents were checked by the caller.
memory::desc layout_desc(Layout layout, const memory::dims& dims, memory::data_type type);
// Row-major strides over `dims`, the last two axes exchanged in memory when `swapped`.
memory::desc matrix_desc(const memory::dims& dims, memory::data_type type, bool swapped);

// oneDNN's names of a layout ("Acdb16a"): none where it carries compensation, several where extents of one make layouts
// coincide. Implementations may still tell those apart.
std::vector<std::string> tag_names(const memory::desc& desc);
// Undefined for names that no layout has.
memory::format_tag tag_from_name(std::string_view name);

// An implementation that is oneDNN's plain loops: hundreds of times slower than ours, so nothing to offer.
bool is_reference(std::string_view implementation);

// Runs f, which returns Status or Result, and turns what oneDNN throws into a Status that says what was tried.
Status from_error(std::string_view what, const dnnl::error& error);
template <typename F>
auto guarded(std::string_view what, F&& f) -> decltype(f()) {
  try {
    return f();
  } catch (const dnnl::error& error) {
    return from_error(what, error);
  } catch (const std::bad_alloc&) {
    return make_error(Code::kResourceExhausted, "oneDNN, {}: no memory", what);
  } catch (const std::exception& error) {
    return internal_error("oneDNN, {}: {}", what, error.what());
  }
}

}  // namespace wootz::cpu::dnn
