# bin/wootz, the end-to-end tests in tests/<name>/, examples/, and the Python package in build/<preset>/python.
file(GLOB_RECURSE cli CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tools/cli/*.cpp)
set(cli_tests ${cli})
list(FILTER cli EXCLUDE REGEX "_test\\.cpp$")
list(FILTER cli_tests INCLUDE REGEX "_test\\.cpp$")
if(cli AND NOT WOOTZ_FUZZ)
  list(FILTER cli EXCLUDE REGEX "/main\\.cpp$")
  add_library(wootz_cli_files OBJECT ${cli})  # the program's and its test's
  target_link_libraries(wootz_cli_files PRIVATE wootz_api CLI11::CLI11)
  wootz_precompile(wootz_cli_files)
  wootz_unity(wootz_cli_files)
  add_executable(wootz_cli ${CMAKE_SOURCE_DIR}/tools/cli/main.cpp $<TARGET_OBJECTS:wootz_cli_files>)
  # Plugin libraries find the registry of the program that opens them.
  set_target_properties(wootz_cli PROPERTIES OUTPUT_NAME wootz BUILD_RPATH "\$ORIGIN/../lib" ENABLE_EXPORTS ON)
  target_link_libraries(wootz_cli PRIVATE wootz_api CLI11::CLI11)
  if(TARGET libwootz_runtime)
    add_dependencies(wootz_cli libwootz_runtime)
  endif()
endif()
if(cli_tests AND WOOTZ_TESTS AND NOT WOOTZ_FUZZ)
  wootz_add_test(cli_test ${cli_tests} $<TARGET_OBJECTS:wootz_cli_files>)
  target_include_directories(cli_test PRIVATE ${CMAKE_SOURCE_DIR}/tools)
  target_link_libraries(cli_test PRIVATE wootz_api CLI11::CLI11)
endif()

# Each folder of tests/ with C++ files is one executable, linked with every layer. A folder may bring its own CMakeLists.txt
# (for instance to link only the shared library, as a user's program would).
if(WOOTZ_TESTS)
  file(GLOB test_dirs CONFIGURE_DEPENDS LIST_DIRECTORIES true ${CMAKE_SOURCE_DIR}/tests/*)
  foreach(dir ${test_dirs})
    get_filename_component(name ${dir} NAME)
    if(EXISTS ${dir}/CMakeLists.txt)
      if(NOT WOOTZ_FUZZ)
        add_subdirectory(${dir})
      endif()
      continue()
    endif()
    file(GLOB_RECURSE files CONFIGURE_DEPENDS ${dir}/*.cpp)
    if(files)
      wootz_add_test(${name}_e2e ${files})
      target_include_directories(${name}_e2e PRIVATE ${CMAKE_SOURCE_DIR}/tests)
      target_link_libraries(${name}_e2e PRIVATE wootz_api)
      if(TARGET libwootz_runtime)
        add_dependencies(${name}_e2e libwootz_runtime)  # which version-compatible plans carry
      endif()
      if(name STREQUAL "conformance")  # 56 files, which a build of a few tests need not wait for
        target_link_libraries(${name}_e2e PRIVATE wootz_ops_cases)
      endif()
    endif()
  endforeach()
endif()

# What users write: examples/, at both levels of the API.
if(WOOTZ_TESTS AND TARGET libwootz)
  add_subdirectory(${CMAKE_SOURCE_DIR}/examples)
endif()

file(GLOB_RECURSE binding CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/python/*.cpp)
if(WOOTZ_FUZZ)
  return()
endif()
if(WOOTZ_PYTHON AND NOT WOOTZ_SANITIZE)
  set(package ${CMAKE_BINARY_DIR}/python)
  file(GLOB_RECURSE modules CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/python ${CMAKE_SOURCE_DIR}/python/*.py
       ${CMAKE_SOURCE_DIR}/python/*.pyi ${CMAKE_SOURCE_DIR}/python/*/py.typed)
  list(FILTER modules EXCLUDE REGEX "^tests/")
  foreach(module ${modules})
    configure_file(${CMAKE_SOURCE_DIR}/python/${module} ${package}/${module} COPYONLY)
  endforeach()
endif()
# The extension, once for each level of the API: the same sources, and the same libwootz.so. `wootz_python` makes both. Compiled for
# CPython's stable ABI, over nanobind's backend in a package of its own, it serves every Python from 3.11 on. A free-threaded Python has no
# stable ABI: its extension is for that version alone, and has nanobind within.
function(wootz_extension target level module)
  if(Python_SOABI MATCHES "[0-9]t")
    set(kind FREE_THREADED NB_STATIC)
  else()
    set(kind BACKEND_MODULE nanobind_backend STABLE_ABI_VERSION 3.11)
  endif()
  nanobind_add_module(${target} ${kind} NOMINSIZE NB_DOMAIN ${module} ${ARGN})
  target_compile_options(${target} PRIVATE -UWOOTZ_TENSORRT_API -DWOOTZ_TENSORRT_API=${level} -DWOOTZ_MODULE=${module}
                         -DWOOTZ_NO_DEPRECATION=)
  target_link_libraries(${target} PRIVATE libwootz)
  wootz_unity(${target})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${module} LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/python/wootz
                                             BUILD_RPATH "\$ORIGIN/../../lib" INSTALL_RPATH "\$ORIGIN/lib")
  add_dependencies(wootz_python ${target})
endfunction()
if(binding AND WOOTZ_PYTHON AND NOT WOOTZ_SANITIZE)
  set(WOOTZ_PYTHON_FOR ${WOOTZ_PYTHON_PROGRAM} CACHE FILEPATH "The Python that the extension is for, if not that of the build's packages")
  set(Python_EXECUTABLE ${WOOTZ_PYTHON_FOR})
  find_package(Python 3.11 COMPONENTS Interpreter Development.Module REQUIRED)
  find_package(nanobind CONFIG REQUIRED)
  file(GLOB stale ${package}/wootz/_wootz*.cpython-*.so)  # of earlier builds: Python would take them first
  if(stale)
    file(REMOVE ${stale})
  endif()
  add_custom_target(wootz_python ALL DEPENDS libwootz_runtime)  # which version-compatible plans carry
  wootz_extension(wootz_python_10 10 _wootz ${binding})
  wootz_extension(wootz_python_11 11 _wootz_11 ${binding})
  set(stubs ${package}/wootz/_wootz.pyi)
  add_custom_command(
    OUTPUT ${stubs}
    COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1 ${Python_EXECUTABLE} ${CMAKE_SOURCE_DIR}/cmake/python_stubs.py
            ${package} ${CMAKE_SOURCE_DIR}/python/stubs.pattern ${stubs}
    DEPENDS wootz_python_10 wootz_python_11 ${CMAKE_SOURCE_DIR}/cmake/python_stubs.py ${CMAKE_SOURCE_DIR}/python/stubs.pattern
    COMMENT "types of the extension" VERBATIM)
  add_custom_target(wootz_python_stubs DEPENDS ${stubs})
  add_dependencies(wootz_python wootz_python_stubs)
endif()
