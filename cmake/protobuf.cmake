# wootz_protobuf_lite: the lite runtime, compiled here from the source of the installed version (tools/setup/protobuf_source.sh),
# because Debian's static library is not position-independent. Static and hidden: a second protobuf in the process does not meet it.
set(WOOTZ_PROTOBUF_SOURCE ${WOOTZ_VENV}/src/protobuf CACHE PATH "Source tree of protobuf, the version of protoc")
set(root ${WOOTZ_PROTOBUF_SOURCE}/src)
if(NOT EXISTS ${root}/google/protobuf/message_lite.cc)
  message(FATAL_ERROR "no protobuf source at ${WOOTZ_PROTOBUF_SOURCE}: run ./dev setup")
endif()
set(sources
    any_lite arena arenastring arenaz_sampler extension_set generated_enum_util generated_message_tctable_lite
    generated_message_util implicit_weak_message inlined_string_field io/coded_stream io/io_win32 io/strtod
    io/zero_copy_stream io/zero_copy_stream_impl io/zero_copy_stream_impl_lite map message_lite parse_context
    repeated_field repeated_ptr_field stubs/bytestream stubs/common stubs/int128 stubs/status stubs/statusor
    stubs/stringpiece stubs/stringprintf stubs/structurally_valid stubs/strutil stubs/time wire_format_lite)
list(TRANSFORM sources PREPEND ${root}/google/protobuf/)
list(TRANSFORM sources APPEND .cc)
add_library(wootz_protobuf_lite STATIC ${sources})
target_include_directories(wootz_protobuf_lite SYSTEM PUBLIC ${root})
target_compile_definitions(wootz_protobuf_lite PRIVATE HAVE_PTHREAD=1)
target_compile_options(wootz_protobuf_lite PRIVATE -w -g0 -fno-sanitize=undefined)  # it calls memcpy(nullptr, 0)
target_link_libraries(wootz_protobuf_lite PUBLIC Threads::Threads)
