# The two compilers of a kernel source: nvcc for the GPU (where there is one), g++ for the SIMT layer of the tests.
# Custom commands rather than CMake's CUDA language: that wants to link test programs with the toolkit's host
# toolchain, which takes seconds and fails on machines where compiling to a fatbin works.

find_program(STRAIT_NVCC nvcc PATHS $ENV{CUDA_HOME}/bin $ENV{CUDA_PATH}/bin /usr/local/cuda/bin /opt/cuda/bin)
if(STRAIT_NVCC)
  message(STATUS "Kernels for the GPU: ${STRAIT_NVCC}")
else()
  message(STATUS "Kernels for the GPU: skipped, there is no nvcc (put it on PATH, or set STRAIT_NVCC)")
endif()

set(STRAIT_CUDA_ARCHITECTURES
  -gencode arch=compute_90,code=sm_90 -gencode arch=compute_100,code=sm_100 -gencode arch=compute_90,code=compute_90
  CACHE STRING "What nvcc compiles kernels for")

# strait_simt_kernels(TARGET SOURCE...): an object library of kernel sources compiled by g++ for the SIMT layer. Whoever
# links it links strait_simt too. Aliasing is as nvcc sees it: kernels read one memory as several types.
function(strait_simt_kernels target)
  add_library(${target} OBJECT ${ARGN})
  set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CXX
    OBJECT_DEPENDS ${PROJECT_SOURCE_DIR}/tests/simt/cuda.hpp)
  target_compile_definitions(${target} PRIVATE STRAIT_SIMT)
  target_compile_options(${target} PRIVATE -include ${PROJECT_SOURCE_DIR}/tests/simt/cuda.hpp
    -fno-strict-aliasing -Wno-unknown-pragmas)
  target_link_libraries(${target} PUBLIC strait_flags)
endfunction()

# strait_cuda_kernels(TARGET SOURCE...): an object library that holds the fatbins of the sources and defines
# `DeviceImages device_images_TARGET()` (base/device_image.hpp); no images where there is no nvcc. What ptxas says of
# registers, spills and shared memory is left in <build>/ptxas/TARGET/SOURCE.txt.
function(strait_cuda_kernels target)
  set(declarations "")
  set(rows "")
  set(images "")
  if(STRAIT_NVCC)
    foreach(source ${ARGN})
      get_filename_component(name ${source} NAME_WE)
      get_filename_component(path ${source} ABSOLUTE)
      set(image ${CMAKE_CURRENT_BINARY_DIR}/${target}/${name}.fatbin)
      set(report ${CMAKE_BINARY_DIR}/ptxas/${target}/${name}.txt)
      file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${target} ${CMAKE_BINARY_DIR}/ptxas/${target})
      add_custom_command(OUTPUT ${image} ${report} DEPENDS ${path}
        COMMAND ${PROJECT_SOURCE_DIR}/tools/cmake/nvcc_image ${report} ${image} ${path} ${STRAIT_NVCC} -std=c++20 -O3
          --expt-relaxed-constexpr -Werror all-warnings -Xptxas -v -Xfatbin -compress-all ${STRAIT_CUDA_ARCHITECTURES}
          -I${PROJECT_SOURCE_DIR} -I${PROJECT_SOURCE_DIR}/src
        DEPFILE ${image}.d COMMENT "nvcc ${target}/${name}" VERBATIM)
      set(symbol strait_image_${target}_${name})
      string(APPEND declarations "asm(\".section .rodata\\n.balign 64\\n${symbol}:\\n.incbin \\\"${image}\\\"\\n\"
    \"${symbol}_end:\\n.byte 0\\n.previous\\n\");
extern \"C\" [[gnu::visibility(\"hidden\")]] const unsigned char ${symbol}[], ${symbol}_end[];
")
      string(APPEND rows "    {\"${name}\", ${symbol}, static_cast<size_t>(${symbol}_end - ${symbol})},\n")
      list(APPEND images ${image})
    endforeach()
  endif()
  set(table ${CMAKE_CURRENT_BINARY_DIR}/${target}_images.cpp)
  file(CONFIGURE OUTPUT ${table} @ONLY CONTENT [[
#include "base/device_image.hpp"

@declarations@
namespace strait {

DeviceImages device_images_@target@() {
  static const DeviceImage images[] = {
@rows@    {nullptr, nullptr, 0},
  };
  return DeviceImages(images, sizeof(images) / sizeof(images[0]) - 1);
}

}  // namespace strait
]])
  set_source_files_properties(${table} PROPERTIES OBJECT_DEPENDS "${images}")
  add_library(${target} OBJECT ${table})
  target_link_libraries(${target} PUBLIC strait_flags)
endfunction()
