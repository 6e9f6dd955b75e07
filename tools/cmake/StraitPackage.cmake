# What users get: libnccl_static.a, and for `cmake --install` the headers, both libraries, nccl.pc and a CMake package.
# Included where `objects`, `archives` and NCCL_VERSION are known.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(static_parts ${archives})
if(TARGET strait_fmt)
  list(APPEND static_parts $<TARGET_FILE:strait_fmt>)
endif()
set(NCCL_STATIC_LIBRARY)
if(NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize" AND NOT "${archives}" MATCHES "\\.so")
  set(NCCL_STATIC_LIBRARY libnccl_static.a)
  set(archive ${CMAKE_ARCHIVE_OUTPUT_DIRECTORY}/${NCCL_STATIC_LIBRARY})
  set(make_archive ${PROJECT_SOURCE_DIR}/tools/cmake/static_archive)
  add_custom_command(OUTPUT ${archive} DEPENDS ${make_archive} ${objects} ${static_parts}
    COMMAND ${CMAKE_COMMAND} -E env LD=${CMAKE_LINKER} OBJCOPY=${CMAKE_OBJCOPY} NM=${CMAKE_NM} AR=${CMAKE_AR}
      ${make_archive} ${archive} ${objects} ${static_parts}
    COMMENT "Making ${NCCL_STATIC_LIBRARY}" COMMAND_EXPAND_LISTS VERBATIM)
  add_custom_target(nccl_static ALL DEPENDS ${archive})
  install(FILES ${archive} DESTINATION ${CMAKE_INSTALL_LIBDIR})
else()
  message(STATUS "without a static libsodium, or under a sanitizer, there is no libnccl_static.a")
endif()

install(TARGETS nccl LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")

# Both find their prefix from where they lie, so the installed tree can be moved.
set(pkgconfig_folder ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH prefix_from_pkgconfig /${pkgconfig_folder} /)
string(REGEX REPLACE "/$" "" prefix_from_pkgconfig ${prefix_from_pkgconfig})
configure_file(${CMAKE_CURRENT_LIST_DIR}/nccl.pc.in nccl.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/nccl.pc DESTINATION ${pkgconfig_folder})

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/nccl)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/nccl-config.cmake.in nccl-config.cmake
  INSTALL_DESTINATION ${package_folder} PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(nccl-config-version.cmake VERSION ${NCCL_VERSION} COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/nccl-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/nccl-config-version.cmake
  DESTINATION ${package_folder})
