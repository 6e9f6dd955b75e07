# How every part of Strait is compiled: language level, warnings, output folders, and the one way to declare a folder.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
# Checks (STRAIT_CHECK) stay on in release; they do not depend on NDEBUG.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1")

find_program(STRAIT_CCACHE ccache)
if(STRAIT_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${STRAIT_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${STRAIT_CCACHE})
endif()

include(${CMAKE_CURRENT_LIST_DIR}/StraitKernels.cmake)

find_package(Threads REQUIRED)

add_library(strait_flags INTERFACE)
target_compile_options(strait_flags INTERFACE -Wall -Wextra -Wshadow -Werror
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>)

target_include_directories(strait_flags INTERFACE
  ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(strait_flags INTERFACE Threads::Threads)
include(${CMAKE_CURRENT_LIST_DIR}/StraitNeeds.cmake)

# strait_folder(NAME): one object library strait_NAME of every .cpp below this folder.
function(strait_folder name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(NOT sources)
    return()
  endif()
  add_library(strait_${name} OBJECT ${sources})
  target_link_libraries(strait_${name} PUBLIC strait_flags)
  set_property(GLOBAL APPEND PROPERTY STRAIT_FOLDERS strait_${name})
endfunction()

# strait_standin_kernels(TARGET...): object libraries of strait_simt_kernels whose kernels the tests' stand-in driver
# launches (tests/standin).
function(strait_standin_kernels)
  set_property(GLOBAL APPEND PROPERTY STRAIT_STANDIN_KERNELS ${ARGN})
endfunction()

# strait_tests(NAME [PROPERTY VALUE]...): one GoogleTest program build/bin/test_NAME of every .cpp in this folder, each
# test known to ctest, with those properties.
function(strait_tests name)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(NOT sources)
    return()
  endif()
  add_executable(test_${name} ${sources})
  target_link_libraries(test_${name} PRIVATE strait_all GTest::gmock GTest::gtest GTest::gtest_main)
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  # The address sanitizer watches what is tested; in the tests themselves it would double the build.
  if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=address")
    target_compile_options(test_${name} PRIVATE -fno-sanitize=all)
  endif()
  target_compile_definitions(test_${name} PRIVATE
    STRAIT_SOURCE_DIR="${PROJECT_SOURCE_DIR}" STRAIT_BINARY_DIR="${CMAKE_BINARY_DIR}")
  gtest_discover_tests(test_${name} DISCOVERY_TIMEOUT 120 PROPERTIES TIMEOUT 300 ${ARGN})
endfunction()
