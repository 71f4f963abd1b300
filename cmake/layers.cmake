# src/: every line of layers.txt becomes a static library wootz_<layer>, its *_test.cpp one executable <layer>_test,
# its *cases.cpp (inputs to try ops on) the library wootz_<layer>_cases that only tests link, its *_bench.cpp one
# executable <layer>_bench (compiled with everything, run by hand), and each *_fuzz.cpp a fuzz target. A layer that has no sources yet is an
# empty interface library, so that links stand from the first day.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/layers.txt)
file(STRINGS ${CMAKE_SOURCE_DIR}/layers.txt layer_lines REGEX "^[a-z]")
set(WOOTZ_LAYERS)
foreach(line ${layer_lines})
  string(REGEX MATCH "^([a-z0-9_/]+):([^|]*)[|]?(.*)$" _ "${line}")
  set(layer ${CMAKE_MATCH_1})
  separate_arguments(WOOTZ_DEPS_${layer} UNIX_COMMAND "${CMAKE_MATCH_2}")
  separate_arguments(WOOTZ_TEST_DEPS_${layer} UNIX_COMMAND "${CMAKE_MATCH_3}")
  list(APPEND WOOTZ_LAYERS ${layer})
endforeach()

# What a layer links beyond other layers.
set(WOOTZ_EXTRA_onnx wootz_onnx_proto)
set(WOOTZ_EXTRA_backends/cpu wootz_dnnl wootz_hwy)

# A kernel file says by the end of its name which instructions it may use; the dispatcher checks the CPU before calling it.
# (-Wno-uninitialized: g++ 12's own intrinsics set it off.)
set(WOOTZ_ISA_FILE "_(avx2|avx512|vnni|bf16|fp16|amx)\\.cpp$")
set(isa_avx2 -mavx2 -mfma -mf16c -mbmi -mbmi2)
set(isa_avx512 ${isa_avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512cd -mprefer-vector-width=512)
set(isa_vnni ${isa_avx512} -mavx512vnni)
set(isa_bf16 ${isa_vnni} -mavx512bf16)
set(isa_fp16 ${isa_bf16} -mavx512fp16)
set(isa_amx ${isa_bf16} -mamx-tile -mamx-int8 -mamx-bf16)
function(wootz_isa_flags)
  foreach(file ${ARGN})
    if(file MATCHES "${WOOTZ_ISA_FILE}")
      set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS "${isa_${CMAKE_MATCH_1}};-Wno-uninitialized"
                                                     SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
endfunction()

# g++ 12 fails on this file at -O1: an internal error of its scalar replacement, which precompiled headers turn on again.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/backends/cpu/dense/tile.cpp PROPERTIES COMPILE_OPTIONS
                              -fno-tree-sra SKIP_PRECOMPILE_HEADERS ON)
endif()

# g++ moves loads away from the multiplications that they belong to: sums are up to 8 % slower.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/backends/cpu/dense/quads_tile.cpp
                              ${CMAKE_SOURCE_DIR}/src/backends/cpu/dense/crossed_tile.cpp PROPERTIES COMPILE_OPTIONS
                              -fno-schedule-insns2)
endif()

# Vector kernels take most of the time of tests that look for races, where nothing is optimized: each lane of each operation goes
# through memory, and each access of it is looked at.
function(wootz_optimize_vectors)
  if(NOT (CMAKE_BUILD_TYPE STREQUAL "Debug" AND WOOTZ_SANITIZE STREQUAL "thread"))
    return()
  endif()
  foreach(file ${ARGN})
    file(STRINGS ${file} highway REGEX "hwy/foreach_target\\.h" LIMIT_COUNT 1)
    if(highway)
      set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS -O1 SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
endfunction()

function(wootz_glob out layer pattern)
  set(dir ${CMAKE_SOURCE_DIR}/src/${layer})
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${dir}/${pattern})
  foreach(other ${WOOTZ_LAYERS})  # a nested layer owns its files
    if(other MATCHES "^${layer}/")
      list(FILTER files EXCLUDE REGEX "^${CMAKE_SOURCE_DIR}/src/${other}/")
    endif()
  endforeach()
  set(${out} ${files} PARENT_SCOPE)
endfunction()

function(wootz_links out)  # layer names to target names
  set(targets)
  foreach(layer ${ARGN})
    string(REPLACE / _ name ${layer})
    list(APPEND targets wootz_${name})
  endforeach()
  set(${out} ${targets} PARENT_SCOPE)
endfunction()

# The CUDA kernels are part of the library, as texts: a C++ source with all of them.
function(wootz_embed_kernels out)
  set(folder ${CMAKE_SOURCE_DIR}/src/backends/cuda/kernels)
  set(made ${WOOTZ_GEN_DIR}/backends/cuda/kernel_files.cpp)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${folder}/*.cuh)
  add_custom_command(
    OUTPUT ${made}
    COMMAND ${CMAKE_COMMAND} -DFOLDER=${folder} -DOUTPUT=${made} -P ${CMAKE_SOURCE_DIR}/cmake/embed_kernels.cmake
    DEPENDS ${files} ${CMAKE_SOURCE_DIR}/cmake/embed_kernels.cmake
    VERBATIM)
  set(${out} ${made} PARENT_SCOPE)
endfunction()

# The CPU's kernels: the kernels.inc of every module, one after the other, as "backends/cpu/kernels.inc".
file(GLOB tables RELATIVE ${CMAKE_SOURCE_DIR}/src CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/backends/cpu/*/kernels.inc)
list(SORT tables)
list(TRANSFORM tables REPLACE "(.+)" "#include \"\\1\"\n")
string(JOIN "" tables ${tables})
file(CONFIGURE OUTPUT ${WOOTZ_GEN_DIR}/backends/cpu/kernels.inc @ONLY CONTENT
     "// Made by cmake/layers.cmake. KERNEL(name): the entry `name`, offered as \"<name>_avx2\" or \"<name>_avx512\".\n${tables}")

function(wootz_add_layer layer)
  string(REPLACE / _ name ${layer})
  set(target wootz_${name})
  wootz_glob(sources ${layer} *.cpp)
  if(layer STREQUAL "backends/cuda" AND NOT WOOTZ_CUDA)
    set(sources)
  endif()
  set(tests ${sources})
  set(cases ${sources})
  set(benches ${sources})
  set(fuzzers ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER cases INCLUDE REGEX "[_/]cases\\.cpp$")
  list(FILTER benches INCLUDE REGEX "_bench\\.cpp$")
  list(FILTER fuzzers INCLUDE REGEX "_fuzz\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "(_(test|bench|fuzz)|[_/]cases)\\.cpp$")
  if(layer STREQUAL "backends/cuda" AND sources)
    wootz_embed_kernels(kernels)
    list(APPEND sources ${kernels})
  endif()
  wootz_isa_flags(${sources})
  wootz_optimize_vectors(${sources})
  wootz_links(deps ${WOOTZ_DEPS_${layer}})
  wootz_links(test_deps ${WOOTZ_TEST_DEPS_${layer}})
  foreach(seen ${target} ${deps} ${test_deps})
    list(APPEND test_deps $<TARGET_NAME_IF_EXISTS:${seen}_cases>)
  endforeach()

  if(sources)
    add_library(${target} STATIC ${sources})
    if(WOOTZ_FUZZ)  # there, only what a fuzz target links
      set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
    target_link_libraries(${target} PUBLIC wootz_common ${WOOTZ_EXTRA_${layer}} ${deps})
    wootz_precompile(${target})
    wootz_unity(${target})
  else()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE wootz_common ${WOOTZ_EXTRA_${layer}} ${deps})
  endif()

  if(cases AND WOOTZ_TESTS)
    add_library(${target}_cases STATIC EXCLUDE_FROM_ALL ${cases})
    target_link_libraries(${target}_cases PUBLIC ${target})
    wootz_precompile(${target}_cases)
    wootz_unity(${target}_cases)
  endif()

  wootz_glob(schemas ${layer} *.fbs)
  if(schemas)
    wootz_schema(${layer} ${schemas})
    add_dependencies(${target} wootz_schema_${layer})
  endif()

  if(tests AND WOOTZ_TESTS)
    wootz_add_test(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE ${target} ${test_deps})
  endif()
  if(benches AND WOOTZ_TESTS AND NOT WOOTZ_FUZZ)
    add_executable(${name}_bench ${benches})
    target_link_libraries(${name}_bench PRIVATE ${target} ${test_deps} benchmark::benchmark_main)
  endif()
  foreach(file ${fuzzers})
    wootz_add_fuzzer(${file} ${target} ${test_deps})
  endforeach()
endfunction()

# Of most tests, compiling takes longer than running.
function(wootz_compile_test target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  wootz_unity(${target})
endfunction()

# One ctest entry an executable: discovery test by test costs more than the tests. Data: $WOOTZ_SOURCE_DIR. In a fuzzing
# build, which has the sanitizers, only those that are asked for (./dev test asks for some).
function(wootz_add_test name)
  add_executable(${name} ${ARGN} $<TARGET_OBJECTS:wootz_test_main>)
  target_link_libraries(${name} PRIVATE wootz_common GTest::gmock GTest::gtest)
  wootz_precompile(${name} _PIE)
  wootz_compile_test(${name})
  add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
  if(WOOTZ_FUZZ)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  if(name MATCHES "slow")
    set_tests_properties(${name} PROPERTIES LABELS slow)
  endif()
  if(name MATCHES "^(conformance|cuda|plugins|no_memory)_e2e$")  # minutes: they start first, the others beside them
    set_tests_properties(${name} PROPERTIES COST 1000)
  endif()
  if(name MATCHES "scaling")  # compares times
    set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
  endif()
endfunction()
if(WOOTZ_TESTS)
  add_library(wootz_test_main OBJECT ${CMAKE_SOURCE_DIR}/cmake/test_main.cpp)
  target_include_directories(wootz_test_main PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(wootz_test_main PRIVATE GTest::gmock GTest::gtest)
  target_compile_definitions(wootz_test_main PRIVATE WOOTZ_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
endif()

# With the fuzz preset a libFuzzer program; otherwise the same target replays its corpus and fixed mutations as a test.
function(wootz_add_fuzzer file)
  get_filename_component(name ${file} NAME_WE)
  if(WOOTZ_FUZZ)
    add_executable(${name} ${file})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
  elseif(WOOTZ_TESTS)
    add_executable(${name} ${file} ${CMAKE_SOURCE_DIR}/cmake/fuzz_replay.cpp)
    string(REGEX REPLACE "\\.cpp$" "_corpus" corpus ${file})
    add_test(NAME ${name} COMMAND ${name} ${corpus})
  else()
    return()
  endif()
  target_link_libraries(${name} PRIVATE ${ARGN})
endfunction()

foreach(layer ${WOOTZ_LAYERS})
  wootz_add_layer(${layer})
endforeach()

# oneDNN's instruction set is fixed for a process: its kernels for lesser processors are tested in processes of their own.
if(TARGET backends_cpu_test)
  foreach(cap WOOTZ_ISA=avx2 ONEDNN_MAX_CPU_ISA=AVX512_CORE_VNNI)
    string(REGEX REPLACE ".*=" "" isa ${cap})
    string(TOLOWER onednn_${isa}_test name)
    add_test(NAME ${name} COMMAND backends_cpu_test --gtest_brief=1 --gtest_filter=Onednn*)
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "WOOTZ_SOURCE_DIR=${CMAKE_SOURCE_DIR};${cap}")
  endforeach()
endif()
