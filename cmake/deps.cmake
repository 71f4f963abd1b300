# Third-party targets. Debian packages come through find_package; PyPI's lie in the repository's .venv, or, where pip builds, in
# the environment that it made for this.
set(WOOTZ_VENV ${CMAKE_SOURCE_DIR}/.venv CACHE PATH "The virtual environment that ./dev setup makes")
if(SKBUILD)
  set(WOOTZ_PYTHON_PROGRAM ${Python_EXECUTABLE})
else()
  set(WOOTZ_PYTHON_PROGRAM ${WOOTZ_VENV}/bin/python)
endif()
if(NOT EXISTS ${WOOTZ_PYTHON_PROGRAM})
  message(FATAL_ERROR "no Python environment at ${WOOTZ_VENV}: run ./dev setup")
endif()
execute_process(COMMAND ${WOOTZ_PYTHON_PROGRAM} ${CMAKE_SOURCE_DIR}/cmake/python_packages.py
                OUTPUT_VARIABLE packages ERROR_VARIABLE packages_missing RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${packages_missing}Run ./dev setup, or pip with build isolation")
endif()
cmake_language(EVAL CODE "${packages}")
include(requirements)

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(PkgConfig QUIET)
find_package(Flatbuffers CONFIG QUIET)
find_program(WOOTZ_FLATC flatc REQUIRED)
find_program(WOOTZ_PROTOC protoc REQUIRED)

# What every layer may use. xxhash is header-only here and fmt is compiled by src/base/fmt.cpp, so that the shared
# libraries need nothing of Debian's.
add_library(wootz_common INTERFACE)
target_include_directories(wootz_common INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include ${WOOTZ_GEN_DIR})
target_link_libraries(wootz_common INTERFACE nlohmann_json::nlohmann_json Threads::Threads
                                             ${CMAKE_DL_LIBS})
target_compile_definitions(wootz_common INTERFACE XXH_INLINE_ALL)

# A shared library that ships beside ours, found there by $ORIGIN.
function(wootz_bundled target soname file)
  set(copy ${CMAKE_BINARY_DIR}/lib/${soname})
  file(REAL_PATH ${file} real)
  file(COPY_FILE ${real} ${copy} ONLY_IF_DIFFERENT)
  add_library(${target} SHARED IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${copy} IMPORTED_SONAME ${soname})
endfunction()
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/lib)

# Highway: SIMD in our own kernels. Debian has no static build of it.
find_library(WOOTZ_HWY_LIB NAMES libhwy.so REQUIRED)
wootz_bundled(wootz_hwy libhwy.so.1 ${WOOTZ_HWY_LIB})

include(onednn)

# ONNX messages: protobuf-lite from the wheel's .proto, as "onnx/onnx.pb.h", namespace onnx.
include(protobuf)
set(onnx_proto ${WOOTZ_ONNX_PROTO})
set(onnx_gen ${WOOTZ_GEN_DIR}/onnx)
file(MAKE_DIRECTORY ${onnx_gen})
add_custom_command(
  OUTPUT ${onnx_gen}/onnx.pb.cc ${onnx_gen}/onnx.pb.h
  COMMAND ${CMAKE_COMMAND} -E copy ${onnx_proto} ${onnx_gen}/onnx.proto
  COMMAND ${WOOTZ_PROTOC} -I${onnx_gen} --cpp_out=lite:${onnx_gen} ${onnx_gen}/onnx.proto
  DEPENDS ${onnx_proto}
  COMMENT "protoc onnx.proto" VERBATIM)
add_library(wootz_onnx_proto STATIC ${onnx_gen}/onnx.pb.cc)
target_include_directories(wootz_onnx_proto SYSTEM PUBLIC ${WOOTZ_GEN_DIR})
target_link_libraries(wootz_onnx_proto PUBLIC wootz_protobuf_lite)
target_compile_options(wootz_onnx_proto PRIVATE -w -g0 -fno-sanitize=undefined)

# FlatBuffers: header-only for us. wootz_schema(layer file.fbs...) makes "<layer>/<name>_generated.h".
function(wootz_schema layer)
  set(headers)
  foreach(fbs ${ARGN})
    get_filename_component(name ${fbs} NAME_WE)
    set(out ${WOOTZ_GEN_DIR}/${layer})
    add_custom_command(
      OUTPUT ${out}/${name}_generated.h
      COMMAND ${WOOTZ_FLATC} --cpp --cpp-std c++17 --scoped-enums --reflect-names --gen-object-api -o ${out} ${fbs}
      DEPENDS ${fbs}
      COMMENT "flatc ${layer}/${name}.fbs" VERBATIM)
    list(APPEND headers ${out}/${name}_generated.h)
  endforeach()
  add_custom_target(wootz_schema_${layer} DEPENDS ${headers})
endfunction()


if(WOOTZ_TESTS)
  find_package(GTest REQUIRED)
  find_package(benchmark REQUIRED)
endif()
include(precompiled)
