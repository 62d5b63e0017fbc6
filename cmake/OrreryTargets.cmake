# How Orrery's targets are made: one library per folder, one test binary per
# folder, the same flags for all of them, and two precompiled headers shared by
# all (the library's and the tests').

find_program(ORRERY_CCACHE ccache)
if(ORRERY_CCACHE)
  # Precompiled headers need these two liberties to be cached at all.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
      ${ORRERY_CCACHE})
endif()

add_library(orrery_flags INTERFACE)
target_include_directories(orrery_flags INTERFACE ${PROJECT_SOURCE_DIR})
# Here because their definitions must be the same wherever a precompiled header
# is used.
target_link_libraries(orrery_flags INTERFACE fmt::fmt absl::strings
  absl::status absl::statusor absl::span absl::flat_hash_map)
# Contraction to fused multiply-add would let results differ between machines.
target_compile_options(orrery_flags INTERFACE
  -Wall -Wextra -Wconversion -Wshadow -ffp-contract=off -fpch-preprocess
  -Winvalid-pch $<$<BOOL:${ORRERY_WERROR}>:-Werror>)
if(CMAKE_UNITY_BUILD)
  # Files that are compiled as one see each other's names (their own are in
  # unnamed namespaces); the preset dev compiles each alone, with these warnings.
  target_compile_options(orrery_flags INTERFACE
    -Wno-shadow -Wno-subobject-linkage)
endif()
if(ORRERY_EVENT_QUEUE STREQUAL heap)
  target_compile_definitions(orrery_flags INTERFACE ORRERY_HEAP_EVENT_QUEUE)
elseif(NOT ORRERY_EVENT_QUEUE STREQUAL radix)
  message(FATAL_ERROR
    "ORRERY_EVENT_QUEUE is '${ORRERY_EVENT_QUEUE}'; it can be radix or heap")
endif()
if(ORRERY_SANITIZE)
  # GCC 12 sees uninitialised members of std::function and std::optional that
  # are none, once sanitizers are in between.
  target_compile_options(orrery_flags INTERFACE
    -fsanitize=${ORRERY_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer -Wno-maybe-uninitialized)
  target_link_options(orrery_flags INTERFACE -fsanitize=${ORRERY_SANITIZE})
endif()

# The headers nearly every file needs, compiled once.
add_library(orrery_pch OBJECT ${PROJECT_SOURCE_DIR}/cmake/pch.cc)
target_link_libraries(orrery_pch PRIVATE orrery_flags)
target_precompile_headers(orrery_pch PRIVATE ${PROJECT_SOURCE_DIR}/cmake/pch.h)
add_library(orrery_test_pch OBJECT ${PROJECT_SOURCE_DIR}/cmake/pch.cc)
target_link_libraries(orrery_test_pch PRIVATE orrery_flags GTest::gmock)
target_precompile_headers(orrery_test_pch PRIVATE
  ${PROJECT_SOURCE_DIR}/cmake/test_pch.h)

# orrery_library(NAME SOURCES ... HEADERS ... DEPS ...)
# Each header is verified to compile alone (target
# all_verify_interface_header_sets, part of scripts/presubmit).
function(orrery_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;HEADERS;DEPS" ${ARGN})
  set(target orrery_${name})
  if(ARG_SOURCES)
    add_library(${target} STATIC ${ARG_SOURCES})
    target_sources(${target} PUBLIC FILE_SET HEADERS
      BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${ARG_HEADERS})
    target_link_libraries(${target} PUBLIC orrery_flags ${ARG_DEPS})
    target_precompile_headers(${target} REUSE_FROM orrery_pch)
  else()
    add_library(${target} INTERFACE)
    target_sources(${target} INTERFACE FILE_SET HEADERS
      BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${ARG_HEADERS})
    target_link_libraries(${target} INTERFACE orrery_flags ${ARG_DEPS})
  endif()
endfunction()

# orrery_test(NAME SOURCES ... DEPS ... [LABELS ...] [DATA])
# A GoogleTest binary run from the source folder, so that tests name files by
# their path in the tree.
function(orrery_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE orrery_flags ${ARG_DEPS}
    GTest::gmock GTest::gtest_main)
  target_precompile_headers(${name} REUSE_FROM orrery_test_pch)
  # Tests run briefly and are half of what there is to compile; what they test
  # is optimised as for users.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  add_test(NAME ${name} COMMAND ${name}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES ENVIRONMENT
    "ORRERY_BINARY=$<TARGET_FILE:orrery>;ORRERY_CATALOG=${PROJECT_SOURCE_DIR}/catalog")
  if(ARG_LABELS)
    set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}")
  endif()
  if(ARG_TIMEOUT)
    set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT})
  endif()
endfunction()

# orrery_benchmark(NAME SOURCES ... DEPS ...)
# A Google Benchmark binary; its test only checks that it runs.
function(orrery_benchmark name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE orrery_flags ${ARG_DEPS}
    benchmark::benchmark benchmark::benchmark_main)
  target_precompile_headers(${name} REUSE_FROM orrery_pch)
endfunction()
