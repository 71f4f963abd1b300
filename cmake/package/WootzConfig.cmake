# find_package(Wootz): the targets Wootz::wootz (builds and runs) and Wootz::runtime (runs plans only). With Wootz_API set to 11
# before, programs that link them are compiled at level 11 of the API.
get_filename_component(_wootz_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
get_filename_component(_wootz_lib "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
while(NOT EXISTS "${_wootz_prefix}/include/NvInfer.h" AND NOT _wootz_prefix STREQUAL "/")  # lib may be lib/<architecture>
  get_filename_component(_wootz_prefix "${_wootz_prefix}" DIRECTORY)
endwhile()

# wootz_package_target(TARGET LIBRARY LEVEL): an imported library, and the level that those who link it are compiled at.
function(wootz_package_target target library level)
  if(TARGET ${target})
    return()
  endif()
  add_library(${target} SHARED IMPORTED)
  set_target_properties(${target} PROPERTIES
    IMPORTED_LOCATION "${_wootz_lib}/lib${library}.so"
    IMPORTED_SONAME "lib${library}.so"
    IMPORTED_LINK_DEPENDENT_LIBRARIES "${_wootz_lib}/libwootz_dnnl.so.3;${_wootz_lib}/libwootz_omp.so.1"
    INTERFACE_INCLUDE_DIRECTORIES "${_wootz_prefix}/include")
  if(level EQUAL 11)
    set_target_properties(${target} PROPERTIES INTERFACE_COMPILE_DEFINITIONS WOOTZ_TENSORRT_API=11)
  endif()
endfunction()

if(NOT DEFINED Wootz_API)
  set(Wootz_API 10)
endif()
wootz_package_target(Wootz::wootz wootz ${Wootz_API})
wootz_package_target(Wootz::runtime wootz_runtime ${Wootz_API})
set(Wootz_INCLUDE_DIRS "${_wootz_prefix}/include")
