# Compiler and linker settings that every target shares.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g -D_GLIBCXX_ASSERTIONS")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1 -D_GLIBCXX_ASSERTIONS")

find_program(WOOTZ_CCACHE ccache)
if(WOOTZ_CCACHE)
  # Paths relative to the checkout, so that several checkouts share one cache; headers as the compiler names them, so that
  # a file which is not in the cache is preprocessed once, not twice. Precompiled headers count by what they include.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
                                  CCACHE_DEPEND=1 CCACHE_SLOPPINESS=pch_defines,time_macros
                                  CCACHE_IGNOREOPTIONS=--param=ggc*
                                  ${WOOTZ_CCACHE})
endif()
find_program(WOOTZ_LLD NAMES ld.lld ld.lld-14)
if(WOOTZ_LLD)
  add_link_options(-fuse-ld=lld)
endif()

add_compile_options(-Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers -Wnon-virtual-dtor
                    -Woverloaded-virtual -Wno-dangling-else)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # A compilation ends before collecting garbage would pay: a tenth of its time, for a tenth more memory.
  add_compile_options(--param=ggc-min-heapsize=1000000)
  # g++ 12 reports these falsely in -O2 library code.
  add_compile_options(-Wno-maybe-uninitialized -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds
                      -Wno-stringop-overread -Wno-dangling-pointer -Wno-psabi)
endif()
if(WOOTZ_WERROR)
  add_compile_options(-Werror)
endif()

# Results must not depend on the optimizer: no -ffast-math, and nothing of it that changes a value. These two only drop
# errno and floating-point traps, which nobody reads here.
add_compile_options(-fno-math-errno -fno-trapping-math)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  add_compile_options(-march=x86-64-v2)  # the floor; files with an ISA suffix go higher (cmake/layers.cmake)
endif()

# Named from where commands run, so that ccache knows a command again in another checkout.
file(RELATIVE_PATH lists ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR}/cmake/sanitize)
if(WOOTZ_SANITIZE)
  add_compile_options(-fsanitize=${WOOTZ_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${WOOTZ_SANITIZE})
  string(REPLACE " -g " " -g1 " CMAKE_CXX_FLAGS_DEBUG "${CMAKE_CXX_FLAGS_DEBUG}")  # lines of a stack, no variables
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")  # as g++ does
    string(REGEX MATCH "address|thread" sanitizer "${WOOTZ_SANITIZE}")
    string(TOUPPER "${sanitizer}" sanitizer)
    add_compile_definitions(__SANITIZE_${sanitizer}__=1)
    add_compile_options(-Wno-psabi)
    if(WOOTZ_SANITIZE MATCHES "undefined")
      add_compile_options(-fsanitize-ignorelist=${lists}/unchecked.txt)
    endif()
  endif()
endif()
option(WOOTZ_DEBUG_LINES "Files and lines in stacks (-g1); without, a build from nothing takes a tenth less" ON)
if(NOT WOOTZ_DEBUG_LINES)
  foreach(kind RELEASE RELWITHDEBINFO DEBUG)
    string(REPLACE "-g1" "-g0" CMAKE_CXX_FLAGS_${kind} "${CMAKE_CXX_FLAGS_${kind}}")
  endforeach()
endif()
if(WOOTZ_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link -fsanitize-coverage-ignorelist=${lists}/uncovered.txt)
endif()
add_compile_definitions(WOOTZ_TENSORRT_API=10)  # include/wootz/level.h: the library serves 11 as well
if(NOT WOOTZ_CUDA)
  add_compile_definitions(WOOTZ_NO_CUDA)
endif()
