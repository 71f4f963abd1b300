# What the build takes from the system, asked for at once, so that one run names all that is missing. A line: the header or
# program that shows it, and its packages on Debian (and Ubuntu) and on Fedora.
set(WOOTZ_REQUIREMENTS
    "fmt/core.h|libfmt-dev|fmt-devel"
    "nlohmann/json.hpp|nlohmann-json3-dev|json-devel"
    "CLI/CLI.hpp|libcli11-dev|cli11-devel"
    "xxhash.h|libxxhash-dev|xxhash-devel"
    "hwy/highway.h|libhwy-dev|highway-devel"
    "flatbuffers/flatbuffers.h|libflatbuffers-dev|flatbuffers-devel"
    "google/protobuf/message_lite.h|libprotobuf-dev|protobuf-lite-devel"
    "flatc|flatbuffers-compiler|flatbuffers-compiler"
    "protoc|protobuf-compiler|protobuf-compiler")

set(missing)
set(debian)
set(fedora)
foreach(line ${WOOTZ_REQUIREMENTS})
  string(REPLACE "|" ";" line ${line})
  list(GET line 0 what)
  unset(found CACHE)
  if(what MATCHES "\\.h(pp)?$")
    find_path(found NAMES ${what})
  else()
    find_program(found NAMES ${what})
  endif()
  if(NOT found)
    list(GET line 1 debian_package)
    list(GET line 2 fedora_package)
    list(APPEND missing ${what})
    list(APPEND debian ${debian_package})
    list(APPEND fedora ${fedora_package})
  endif()
  unset(found CACHE)
endforeach()
if(missing)
  list(JOIN missing ", " missing)
  list(JOIN debian " " debian)
  list(JOIN fedora " " fedora)
  message(FATAL_ERROR "Wootz cannot be built here. Missing: ${missing}\n"
                      "  Debian, Ubuntu: apt-get install ${debian}\n  Fedora: dnf install ${fedora}\n")
endif()
