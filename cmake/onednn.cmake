# oneDNN (PyPI's GNU OpenMP build), as <oneapi/dnnl/dnnl.hpp> and the target wootz_dnnl.
#
# Its parallel regions must run on our own pool of threads: a second pool that spins against ours costs more than either
# gains. So the build links a private copy, libwootz_dnnl.so.3, in which the few OpenMP entry points that it imports are
# renamed (shims/omp/renames.txt) and come from libwootz_omp.so.1. libgomp and an application's OpenMP are not touched.
# So are operator new and delete: what oneDNN needs for a moment in each execution is kept (shims/omp/block_cache.h).
file(REAL_PATH ${WOOTZ_DNNL_LIB} dnnl_real)

add_library(wootz_omp SHARED ${CMAKE_SOURCE_DIR}/shims/omp/omp_shim.cpp ${CMAKE_SOURCE_DIR}/shims/omp/block_cache.cpp)
set_target_properties(wootz_omp PROPERTIES SOVERSION 1 LINK_DEPENDS ${CMAKE_SOURCE_DIR}/shims/omp/exports.map)
target_include_directories(wootz_omp PUBLIC ${CMAKE_SOURCE_DIR} PRIVATE ${CMAKE_SOURCE_DIR}/src)
target_link_options(wootz_omp PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/shims/omp/exports.map)

set(dnnl_copy ${CMAKE_BINARY_DIR}/lib/libwootz_dnnl.so.3)
add_custom_command(
  OUTPUT ${dnnl_copy}
  COMMAND ${WOOTZ_PATCHELF} --rename-dynamic-symbols ${CMAKE_SOURCE_DIR}/shims/omp/renames.txt
          --replace-needed libgomp.so.1 libwootz_omp.so.1 --set-soname libwootz_dnnl.so.3 --set-rpath "\$ORIGIN"
          --output ${dnnl_copy} ${dnnl_real}
  DEPENDS ${dnnl_real} ${CMAKE_SOURCE_DIR}/shims/omp/renames.txt
  COMMENT "patchelf libwootz_dnnl.so.3" VERBATIM)
add_custom_target(wootz_dnnl_copy DEPENDS ${dnnl_copy})
add_library(wootz_dnnl SHARED IMPORTED GLOBAL)
set_target_properties(wootz_dnnl PROPERTIES IMPORTED_LOCATION ${dnnl_copy} IMPORTED_SONAME libwootz_dnnl.so.3)
target_include_directories(wootz_dnnl SYSTEM INTERFACE ${WOOTZ_DNNL_INCLUDE})
target_link_libraries(wootz_dnnl INTERFACE wootz_omp)
add_dependencies(wootz_dnnl wootz_dnnl_copy)
