# CUDA: headers and compiler of a toolkit, from the system or from the wheels of `./dev setup cuda`. Libraries are opened at run
# time, so one build runs on machines with and without a GPU; nothing here links a CUDA library.
set(WOOTZ_HAVE_CUDA OFF)
set(WOOTZ_CUDA_ARCHS 80 86 89 90a CACHE STRING "GPU architectures of the compiled kernels")
if(WOOTZ_CUDA STREQUAL "OFF")
  return()
endif()
set(wheel ${WOOTZ_SITE}/nvidia/cu13)
find_path(WOOTZ_CUDA_INCLUDE NAMES cuda_runtime_api.h
          HINTS ${wheel}/include $ENV{CUDA_HOME}/include /usr/local/cuda/include NO_CMAKE_SYSTEM_PATH)
find_program(WOOTZ_NVCC nvcc HINTS ${wheel}/bin $ENV{CUDA_HOME}/bin /usr/local/cuda/bin)
if(NOT WOOTZ_CUDA_INCLUDE)
  if(WOOTZ_CUDA STREQUAL "ON")
    message(FATAL_ERROR "WOOTZ_CUDA=ON and no CUDA toolkit was found: run ./dev setup cuda")
  endif()
  return()
endif()
set(WOOTZ_HAVE_CUDA ON)

# wootz_cuda_headers: the toolkit, and cuDNN, its frontend and CUTLASS as far as they are there (WOOTZ_HAVE_CUDNN, ...).
add_library(wootz_cuda_headers INTERFACE)
target_include_directories(wootz_cuda_headers SYSTEM INTERFACE ${WOOTZ_CUDA_INCLUDE})
target_compile_definitions(wootz_cuda_headers INTERFACE WOOTZ_HAVE_CUDA=1)
function(wootz_cuda_part name header)
  find_path(WOOTZ_${name}_INCLUDE NAMES ${header} HINTS ${ARGN} ${WOOTZ_CUDA_INCLUDE} /usr/include)
  if(WOOTZ_${name}_INCLUDE)
    target_include_directories(wootz_cuda_headers SYSTEM INTERFACE ${WOOTZ_${name}_INCLUDE})
    target_compile_definitions(wootz_cuda_headers INTERFACE WOOTZ_HAVE_${name}=1)
  endif()
endfunction()
wootz_cuda_part(CUDNN cudnn.h ${WOOTZ_SITE}/nvidia/cudnn/include)
wootz_cuda_part(CUDNN_FRONTEND cudnn_frontend.h ${WOOTZ_SITE}/include)
wootz_cuda_part(CUTLASS cutlass/cutlass.h ${WOOTZ_SITE}/cutlass_library/source/include)

# Compiles FILE.cu into a fat binary that lies in the program as bytes, for cuLibraryLoadData:
#   extern "C" const unsigned char wootz_fatbin_FILE[], wootz_fatbin_FILE_end[];
function(wootz_cuda_sources target)
  if(NOT WOOTZ_NVCC)
    return()
  endif()
  foreach(arch ${WOOTZ_CUDA_ARCHS})
    list(APPEND codes -gencode arch=compute_${arch},code=sm_${arch})
  endforeach()
  set(includes -I${CMAKE_SOURCE_DIR}/src)
  if(WOOTZ_CUTLASS_INCLUDE)
    list(APPEND includes -I${WOOTZ_CUTLASS_INCLUDE})
  endif()
  foreach(file ${ARGN})
    get_filename_component(name ${file} NAME_WE)
    set(out ${WOOTZ_GEN_DIR}/cuda/${name})
    add_custom_command(
      OUTPUT ${out}.fatbin
      COMMAND ${CMAKE_COMMAND} -E make_directory ${WOOTZ_GEN_DIR}/cuda
      COMMAND ${WOOTZ_NVCC} -std=c++17 -O3 --expt-relaxed-constexpr -fatbin ${codes} ${includes} -MD -MF ${out}.d -MT
              ${out}.fatbin -o ${out}.fatbin ${file}
      DEPENDS ${file}
      DEPFILE ${out}.d
      COMMENT "nvcc ${name}.cu" VERBATIM)
    set(symbol wootz_fatbin_${name})
    file(CONFIGURE OUTPUT ${out}_fatbin.cpp @ONLY CONTENT [[// @generated
asm(".section .rodata, \"a\"\n.balign 64\n"
    ".globl @symbol@\n.hidden @symbol@\n@symbol@:\n.incbin \"@out@.fatbin\"\n"
    ".globl @symbol@_end\n.hidden @symbol@_end\n@symbol@_end:\n.byte 0\n.previous\n");
]])
    set_source_files_properties(${out}_fatbin.cpp PROPERTIES OBJECT_DEPENDS ${out}.fatbin)
    target_sources(${target} PRIVATE ${out}_fatbin.cpp)
  endforeach()
endfunction()
