# What the library needs of others: {fmt} and libsodium. With STRAIT_DEVICE_BUILD, for GPU machines that have a compiler
# and nvcc and no packages, a missing one is replaced by what tools/cmake/substitutes has: enough to check and measure
# on one host, and no more.

# strait_package(NAME VARIABLE...): whether all variables were found; if not, an error that says how to go on, or in a
# device build a line that says what follows.
function(strait_package found name consequence)
  set(${found} TRUE PARENT_SCOPE)
  foreach(variable ${ARGN})
    if(${variable})
      continue()
    endif()
    set(${found} FALSE PARENT_SCOPE)
    if(NOT STRAIT_DEVICE_BUILD)
      message(FATAL_ERROR "${name} is missing: run tools/setup --minimal, or configure with "
        "-DSTRAIT_DEVICE_BUILD=ON for a library that needs no packages and stays inside one host")
    endif()
    message(STATUS "Without ${name}: ${consequence}")
    return()
  endforeach()
endfunction()

set(substitutes ${CMAKE_CURRENT_LIST_DIR}/substitutes)

# {fmt}: its compiled part once, where we know how to make it; header-only costs seconds in every object.
find_path(FMT_INCLUDE fmt/core.h)
strait_package(have_fmt "{fmt}" "a substitute formats messages" FMT_INCLUDE)
if(have_fmt)
  file(STRINGS ${FMT_INCLUDE}/fmt/core.h fmt_version REGEX "define FMT_VERSION 9")
  if(fmt_version)
    add_library(strait_fmt STATIC ${CMAKE_CURRENT_LIST_DIR}/fmt_library.cpp)
    target_link_libraries(strait_flags INTERFACE strait_fmt)
  else()
    target_compile_definitions(strait_flags INTERFACE FMT_HEADER_ONLY=1)
  endif()
else()
  target_include_directories(strait_flags INTERFACE ${substitutes}/formatting)
endif()

find_library(SODIUM_LIBRARY NAMES libsodium.a sodium)
find_path(SODIUM_INCLUDE sodium.h)
strait_package(have_sodium "libsodium" "ranks meet inside one host only" SODIUM_LIBRARY SODIUM_INCLUDE)
if(have_sodium)
  target_include_directories(strait_flags INTERFACE ${SODIUM_INCLUDE})
  set(archives ${SODIUM_LIBRARY})  # inside the library, and hidden there
else()
  target_include_directories(strait_flags INTERFACE ${substitutes}/secrets)
  target_compile_definitions(strait_flags INTERFACE STRAIT_ONE_HOST)
  set(archives)
endif()
