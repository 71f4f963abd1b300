# Several source files compiled as one, where nothing of one can be seen by another (unity_groups.py): half of the time of a build from
# nothing goes into headers that each file reads again. For builds that are made whole, as for the sanitizers: a change of one
# file compiles its group.
option(WOOTZ_UNITY "Compile files of a target together, where they are independent of each other" OFF)
set(WOOTZ_UNITY_SIZE 8 CACHE STRING "So many files at most")

function(wootz_unity target)
  if(NOT WOOTZ_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "^${CMAKE_SOURCE_DIR}/.*\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "^${CMAKE_BINARY_DIR}/")
  list(FILTER sources EXCLUDE REGEX "${WOOTZ_ISA_FILE}")  # of their own flags
  list(SORT sources)
  # What files declare decides: configured again when one has changed.
  set(read)
  foreach(file ${sources})
    cmake_path(NORMAL_PATH file OUTPUT_VARIABLE file)
    list(APPEND read ${file})
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${read} ${CMAKE_SOURCE_DIR}/cmake/unity_groups.py)
  execute_process(COMMAND ${WOOTZ_UNITY_PYTHON} ${CMAKE_SOURCE_DIR}/cmake/unity_groups.py ${WOOTZ_UNITY_SIZE} ${sources}
                  OUTPUT_VARIABLE lines OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" lines "${lines}")
  foreach(line ${lines})
    if(NOT line MATCHES "/src/plan/format\\.cpp$")  # tests/versions has its own in the place of this object
      string(REGEX MATCH "^([0-9]+) (.*)$" _ "${line}")
      set_source_files_properties(${CMAKE_MATCH_2} PROPERTIES UNITY_GROUP ${target}_${CMAKE_MATCH_1})
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
if(WOOTZ_UNITY)
  find_program(WOOTZ_UNITY_PYTHON python3 REQUIRED)
endif()
