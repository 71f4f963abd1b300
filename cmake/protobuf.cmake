# wootz_protobuf_lite: the lite runtime, compiled here from the source of the installed version (tools/setup/protobuf_source.sh),
# because Debian's static library is not position-independent. Static and hidden: a second protobuf in the process does not meet it.
# Where pip builds, apt fetches that source here, or, on systems without it, the system's shared library is linked.
set(WOOTZ_PROTOBUF_SOURCE ${WOOTZ_VENV}/src/protobuf CACHE PATH "Source tree of protobuf, the version of protoc")
set(source ${WOOTZ_PROTOBUF_SOURCE})
set(shows src/google/protobuf/message_lite.h)
if(NOT EXISTS ${source}/${shows} AND SKBUILD)
  set(source ${CMAKE_BINARY_DIR}/protobuf)
  if(NOT EXISTS ${source}/${shows})
    message(STATUS "fetching the source of protobuf by apt")
    execute_process(COMMAND bash ${CMAKE_SOURCE_DIR}/tools/setup/protobuf_source.sh ${source} ERROR_VARIABLE why)
  endif()
  if(NOT EXISTS ${source}/${shows})
    find_package(Protobuf REQUIRED)
    message(STATUS "not fetched, the system's libprotobuf-lite ${Protobuf_VERSION} is linked: ${why}")
    add_library(wootz_protobuf_lite INTERFACE)
    target_link_libraries(wootz_protobuf_lite INTERFACE protobuf::libprotobuf-lite)
    return()
  endif()
endif()
if(NOT EXISTS ${source}/${shows})
  message(FATAL_ERROR "no protobuf source at ${WOOTZ_PROTOBUF_SOURCE}: run ./dev setup")
endif()
set(root ${source}/src)
# Three files compiled instead of 32, which read the same headers. The last of each leaves its macros defined.
set(groups
    "any_lite arena arenastring extension_set generated_enum_util generated_message_util implicit_weak_message io/coded_stream io/strtod \
io/zero_copy_stream io/zero_copy_stream_impl io/zero_copy_stream_impl_lite arenaz_sampler"
    "io/io_win32 map message_lite parse_context repeated_field repeated_ptr_field wire_format_lite generated_message_tctable_lite"
    "stubs/bytestream stubs/common stubs/int128 stubs/status stubs/statusor stubs/stringpiece stubs/stringprintf \
stubs/structurally_valid stubs/strutil stubs/time inlined_string_field")
set(sources)
foreach(group ${groups})
  string(REGEX REPLACE "([^ ]+) *" "#include \"google/protobuf/\\1.cc\"\n" text "${group}")
  list(LENGTH sources number)
  set(made ${WOOTZ_GEN_DIR}/protobuf_${number}.cpp)
  file(CONFIGURE OUTPUT ${made} CONTENT "// @generated\n${text}" @ONLY)
  list(APPEND sources ${made})
endforeach()
add_library(wootz_protobuf_lite STATIC ${sources})
target_include_directories(wootz_protobuf_lite SYSTEM PUBLIC ${root})
target_compile_definitions(wootz_protobuf_lite PRIVATE HAVE_PTHREAD=1)
target_compile_options(wootz_protobuf_lite PRIVATE -w -g0 -fno-sanitize=undefined)  # it calls memcpy(nullptr, 0)
target_link_libraries(wootz_protobuf_lite PUBLIC Threads::Threads)
