# The standard library's headers, precompiled: a quarter of the time of a build from nothing. None of ours is among them, so that
# a change of one compiles no more than before. Once as -fPIC and once as -fPIE, with which programs are compiled. That a
# file names the headers it needs is what lint checks (standard_headers).
option(WOOTZ_PRECOMPILED "Precompile the standard library's headers" ON)
set(standard_headers
    <algorithm> <array> <atomic> <cmath> <cstddef> <cstdint> <cstdlib> <cstring> <functional> <limits> <map> <memory> <mutex>
    <numeric> <optional> <set> <span> <sstream> <string> <string_view> <tuple> <unordered_map> <utility> <variant> <vector>
    <fmt/core.h>)
if(WOOTZ_PRECOMPILED)
  file(CONFIGURE OUTPUT ${WOOTZ_GEN_DIR}/precompiled.cpp CONTENT "// @generated\nint main() { return 0; }\n")
  add_library(wootz_precompiled STATIC ${WOOTZ_GEN_DIR}/precompiled.cpp)
  add_executable(wootz_precompiled_pie EXCLUDE_FROM_ALL ${WOOTZ_GEN_DIR}/precompiled.cpp)
  foreach(target wootz_precompiled wootz_precompiled_pie)
    target_link_libraries(${target} PRIVATE wootz_common)
    target_precompile_headers(${target} PRIVATE ${standard_headers})
    # The time of what it includes is no part of it: else ccache knows nothing that is compiled with it again.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>)
  endforeach()
  if(WOOTZ_TESTS)
    target_link_libraries(wootz_precompiled_pie PRIVATE GTest::gmock GTest::gtest)
    target_precompile_headers(wootz_precompiled_pie PRIVATE <gtest/gtest.h>)
    target_compile_options(wootz_precompiled_pie PRIVATE $<$<CONFIG:Release>:-O1>)  # as wootz_compile_test's
  endif()
endif()

# Files of `target`, a library or (PIE) a program, see those headers precompiled; those of other instruction sets do not.
function(wootz_precompile target)
  if(WOOTZ_PRECOMPILED)
    list(JOIN ARGN "" kind)
    string(TOLOWER "wootz_precompiled${kind}" from)
    target_precompile_headers(${target} REUSE_FROM ${from})
  endif()
endfunction()
