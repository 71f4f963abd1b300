# cmake --install: headers, libraries and the command line, and what other builds find them by. Components: `runtime` (what
# loads and runs plans), `compiler`, `development` (headers and package files), `compat` (TensorRT's names, and all that they
# stand for: it is enough by itself, and a component that is installed twice writes the same files), and `python`, with the first
# three the Python package (python_package.cmake).
include(GNUInstallDirs)
set(lib ${CMAKE_INSTALL_LIBDIR})

foreach(component runtime compat)
  install(TARGETS libwootz_runtime wootz_omp wootz_libcuda_stub LIBRARY DESTINATION ${lib} COMPONENT ${component} NAMELINK_SKIP)
  install(FILES ${dnnl_copy} DESTINATION ${lib} COMPONENT ${component})
endforeach()
foreach(component compiler compat)
  install(TARGETS libwootz LIBRARY DESTINATION ${lib} COMPONENT ${component})
  install(TARGETS wootz_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${component})
endforeach()
set_target_properties(libwootz libwootz_runtime PROPERTIES INSTALL_RPATH "\$ORIGIN")
file(RELATIVE_PATH to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
set_target_properties(wootz_cli PROPERTIES INSTALL_RPATH "\$ORIGIN/${to_lib}")

set(package ${CMAKE_SOURCE_DIR}/cmake/package)
file(RELATIVE_PATH WOOTZ_PC_TO_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
foreach(file WootzConfigVersion.cmake wootz.pc)
  configure_file(${package}/${file}.in ${CMAKE_BINARY_DIR}/package/${file} @ONLY)
endforeach()
foreach(component development compat)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT ${component})
  install(FILES ${package}/WootzConfig.cmake ${CMAKE_BINARY_DIR}/package/WootzConfigVersion.cmake
          DESTINATION ${lib}/cmake/Wootz COMPONENT ${component})
  install(FILES ${CMAKE_BINARY_DIR}/package/wootz.pc DESTINATION ${lib}/pkgconfig COMPONENT ${component})
endforeach()
install(FILES ${package}/TensorRTConfig.cmake ${package}/TensorRTConfigVersion.cmake ${package}/FindTensorRT.cmake
        DESTINATION ${lib}/cmake/TensorRT COMPONENT compat)

# TensorRT's names, as links beside what they stand for.
foreach(pair ${WOOTZ_COMPAT_LIBRARIES})
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 name)
  list(GET pair 1 target)
  foreach(suffix so so.10 so.11)
    install(CODE "file(CREATE_LINK lib${target}.so
                       \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${lib}/lib${name}.${suffix}\" SYMBOLIC)"
            COMPONENT compat)
  endforeach()
endforeach()
install(CODE "file(CREATE_LINK wootz
                   \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/trtexec\" SYMBOLIC)"
        COMPONENT compat)

# CUDA's runtime API without a GPU, in a folder to put on library and include paths: it must not meet a toolkit's by accident.
set(hostcuda ${lib}/wootz-hostcuda)
install(TARGETS wootz_hostcuda LIBRARY DESTINATION ${hostcuda} COMPONENT compat)
foreach(suffix so so.11.0 so.12 so.13)
  install(CODE "file(CREATE_LINK libwootz_hostcuda.so
                     \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${hostcuda}/libcudart.${suffix}\" SYMBOLIC)"
          COMPONENT compat)
endforeach()
install(DIRECTORY ${CMAKE_SOURCE_DIR}/compat/include DESTINATION ${hostcuda} COMPONENT compat)

if(TARGET wootz_python)
  include(python_package)
endif()
