# Several source files compiled as one, where nothing of one can be seen by another (unity_groups.py): half of the time of a build from
# nothing goes into headers that each file reads again. For builds that are made whole, as for the sanitizers: a change of one
# file compiles its group.
option(WOOTZ_UNITY "Compile files of a target together, where they are independent of each other" OFF)
set(WOOTZ_UNITY_SIZE 20 CACHE STRING "So many files at most")

# The files of a group stand in one of ours, which names them from where it lies: so it has the same text in every checkout, and
# ccache knows it again (CMake's own unity builds write absolute paths).
function(wootz_unity target)
  if(NOT WOOTZ_UNITY)
    return()
  endif()
  get_target_property(all ${target} SOURCES)
  set(others)
  set(sources)
  foreach(file ${all})
    wootz_goes_with_others(together ${file})
    if(together)
      cmake_path(NORMAL_PATH file OUTPUT_VARIABLE file)
      list(APPEND sources ${file})
    else()
      list(APPEND others ${file})
    endif()
  endforeach()
  list(SORT sources)
  # What files declare decides: configured again when one has changed.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sources} ${CMAKE_SOURCE_DIR}/cmake/unity_groups.py)
  execute_process(COMMAND ${WOOTZ_UNITY_PYTHON} ${CMAKE_SOURCE_DIR}/cmake/unity_groups.py ${WOOTZ_UNITY_SIZE}
                          ${WOOTZ_GEN_DIR}/unity/${target} ${sources}
                  OUTPUT_VARIABLE lines OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" lines "${lines}")
  foreach(line ${lines})
    string(REGEX MATCH "^([0-9]+) (.*)$" _ "${line}")
    set(group ${CMAKE_MATCH_1})
    list(REMOVE_ITEM sources ${CMAKE_MATCH_2})
    list(APPEND others ${WOOTZ_GEN_DIR}/unity/${target}_${group}.cpp)
  endforeach()
  list(REMOVE_DUPLICATES others)
  set_target_properties(${target} PROPERTIES SOURCES "${sources};${others}")
endfunction()

# Ours, without flags of its own.
function(wootz_goes_with_others out file)
  set(${out} OFF PARENT_SCOPE)
  if(NOT file MATCHES "^${CMAKE_SOURCE_DIR}/.*\\.cpp$" OR file MATCHES "^${CMAKE_BINARY_DIR}/|${WOOTZ_ISA_FILE}")
    return()
  endif()
  # tests/versions has its own in the place of this object; the other declares what the rest of its folder does, otherwise.
  if(file MATCHES "/src/plan/format\\.cpp$|/shims/hostcuda/exports\\.cpp$")
    return()
  endif()
  get_source_file_property(options ${file} COMPILE_OPTIONS)
  get_source_file_property(definitions ${file} COMPILE_DEFINITIONS)
  if(NOT options AND NOT definitions)
    set(${out} ON PARENT_SCOPE)
  endif()
endfunction()

if(WOOTZ_UNITY)
  find_program(WOOTZ_UNITY_PYTHON python3 REQUIRED)
endif()
