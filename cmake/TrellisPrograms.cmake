# Functions for the folders example/, perf_tests/ and unit_tests/.
#
#   trellis_add_example(NAME SOURCES file... [LIBRARIES target...])     ./run example NAME
#   trellis_add_benchmark(NAME SOURCES file... [LIBRARIES target...])   ./run perf NAME
#
# Both link Trellis::trellis. CLI11, nlohmann_json and Google Benchmark are linked when they are there.
# All programs lie in bin/ of the build tree, so ./run finds them without knowing the folders.

find_package(CLI11 CONFIG QUIET)

function(trellis_add_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "KIND" "SOURCES;LIBRARIES")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE Trellis::trellis trellis_warnings ${arg_LIBRARIES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  if(arg_KIND)
    # One file for each program: what ./run lists, and how it knows a name.
    file(WRITE ${PROJECT_BINARY_DIR}/programs/${arg_KIND}/${name} "")
  endif()
endfunction()
file(REMOVE_RECURSE ${PROJECT_BINARY_DIR}/programs)

function(trellis_add_example name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES")
  foreach(library CLI11::CLI11 nlohmann_json::nlohmann_json)
    if(TARGET ${library})
      list(APPEND arg_LIBRARIES ${library})
    endif()
  endforeach()
  trellis_add_program(${name} KIND example SOURCES ${arg_SOURCES} LIBRARIES ${arg_LIBRARIES})
endfunction()

function(trellis_add_benchmark name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES")
  foreach(library benchmark::benchmark CLI11::CLI11 nlohmann_json::nlohmann_json)
    if(TARGET ${library})
      list(APPEND arg_LIBRARIES ${library})
    endif()
  endforeach()
  trellis_add_program(${name} KIND perf SOURCES ${arg_SOURCES} LIBRARIES ${arg_LIBRARIES})
endfunction()

if(Trellis_ENABLE_BENCHMARKS AND EXISTS ${PROJECT_SOURCE_DIR}/perf_tests/CMakeLists.txt)
  find_package(benchmark CONFIG QUIET)
  if(NOT benchmark_FOUND)
    message(STATUS "Trellis: no Google Benchmark (Debian: libbenchmark-dev), so no benchmarks")
    set(Trellis_ENABLE_BENCHMARKS OFF)
  endif()
endif()
