# The shared libraries. Only what cmake/exports.map names is visible; static archives stay hidden.
function(wootz_shared name whole)
  set(target lib${name})
  get_target_property(type ${whole} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    message(STATUS "${target}.so: nothing in ${whole} yet, skipped")
    return()
  endif()
  set(map ${CMAKE_SOURCE_DIR}/cmake/exports.map)
  # The layers whose C symbols are exported go in whole; the others by need.
  add_library(${target} SHARED)
  foreach(layer ${whole} ${ARGN})
    get_target_property(type ${layer} TYPE)
    if(NOT type STREQUAL "INTERFACE_LIBRARY")
      target_sources(${target} PRIVATE $<TARGET_OBJECTS:${layer}>)
    endif()
    target_link_libraries(${target} PRIVATE ${layer})
  endforeach()
  target_link_options(${target} PRIVATE -Wl,--version-script=${map} -Wl,--exclude-libs,ALL -Wl,--gc-sections
                      -Wl,-Bsymbolic-functions)  # a plan's runtime calls its own functions, not those of a program
  if(NOT WOOTZ_SANITIZE)
    target_link_options(${target} PRIVATE -Wl,-z,defs)
  endif()
  # The second path serves those who open the library by a name in compat/.
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} LINK_DEPENDS ${map} BUILD_RPATH "\$ORIGIN:\$ORIGIN/..")
  target_include_directories(${target} INTERFACE ${CMAKE_SOURCE_DIR}/include)
endfunction()

if(NOT WOOTZ_FUZZ)
  wootz_shared(wootz wootz_api wootz_api_runtime)
  wootz_shared(wootz_runtime wootz_api_runtime)
endif()

# TensorRT's names: links to the libraries, and to the command line, which answers to trtexec as well.
set(WOOTZ_COMPAT_LIBRARIES nvinfer:wootz nvinfer_plugin:wootz nvonnxparser:wootz nvinfer_lean:wootz_runtime
                           nvinfer_dispatch:wootz_runtime)
if(TARGET libwootz)
  set(compat ${CMAKE_BINARY_DIR}/lib/compat)
  file(MAKE_DIRECTORY ${compat})
  foreach(pair ${WOOTZ_COMPAT_LIBRARIES})
    string(REPLACE ":" ";" pair ${pair})
    list(GET pair 0 name)
    list(GET pair 1 target)
    foreach(suffix so so.10 so.11)
      file(CREATE_LINK ../lib${target}.so ${compat}/lib${name}.${suffix} SYMBOLIC)
    endforeach()
  endforeach()
  file(CREATE_LINK ../../bin/wootz ${compat}/trtexec SYMBOLIC)
endif()

# The stub of libcuda that cuDNN finds in place of a driver while plans are built where none is: src/backends/cuda/device/libcuda_stub.h.
if(NOT WOOTZ_FUZZ)
  add_library(wootz_libcuda_stub SHARED ${CMAKE_SOURCE_DIR}/shims/libcuda/libcuda.cpp)
  target_include_directories(wootz_libcuda_stub PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_link_options(wootz_libcuda_stub PRIVATE -Wl,-soname,libcuda.so.1 -nostdlib)
  set_target_properties(wootz_libcuda_stub PROPERTIES CXX_VISIBILITY_PRESET hidden NO_SONAME ON)
  if(WOOTZ_SANITIZE)
    target_compile_options(wootz_libcuda_stub PRIVATE -fno-sanitize=all)
  endif()
  if(TARGET libwootz)
    add_dependencies(libwootz wootz_libcuda_stub)
  endif()
endif()

# CUDA's runtime API on machines without a GPU.
if(NOT WOOTZ_FUZZ)
  add_subdirectory(${CMAKE_SOURCE_DIR}/shims/hostcuda)
endif()
