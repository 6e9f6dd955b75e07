// What a test needs that plays a CUDA program on the stand-in: the driver calls that programs make
// beside the library (program.def), and the stand-in's levers. The stand-in must be the driver that
// driver() opens: use_standin() before the first question for one. One thread.
#pragma once

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <string>

#include "base/check.hpp"
#include "base/cuda/driver.hpp"
#include "standin/calls.hpp"

namespace strait::standin {

inline const std::string kCudaLibrary = STRAIT_BINARY_DIR "/standin/libcuda.so.1";
inline const std::string kNvmlLibrary = STRAIT_BINARY_DIR "/standin/libnvidia-ml.so.1";
// An image that the stand-in takes for a module with all of its kernels.
inline constexpr char kAnyImage[] = "strait-kernels";

inline void use_standin() {
  setenv("STRAIT_CUDA_LIBRARY", kCudaLibrary.c_str(), 0);
  setenv("STRAIT_NVML_LIBRARY", kNvmlLibrary.c_str(), 0);
}

struct Program {
#define STRAIT_CUDA_CALL(name, version, parameters) Entry<int parameters> name{#name, version};
#include "standin/program.def"
#undef STRAIT_CUDA_CALL
};

// A symbol of the library that driver() opened.
template <class Function>
Function symbol(const char* name) {
  static void* const library = dlopen(std::getenv("STRAIT_CUDA_LIBRARY"), RTLD_NOW);
  STRAIT_CHECK(library != nullptr, "the driver that was opened can be opened again");
  return reinterpret_cast<Function>(dlsym(library, name));
}

inline const Program& program() {
  static const Program all = [] {
    Program made;
    const auto find =
        symbol<int (*)(const char*, void**, int, uint64_t, int*)>("cuGetProcAddress_v2");
    const auto add = [&](auto& entry) {
      void* function = nullptr;
      find(entry.name(), &function, entry.version(), 0, nullptr);
      entry.set(function);
    };
#define STRAIT_CUDA_CALL(name, version, parameters) add(made.name);
#include "standin/program.def"
#undef STRAIT_CUDA_CALL
    return made;
  }();
  return all;
}

// Injected failures (faults.hpp), from now on in place of earlier ones; counts begin anew.
inline void fail(const std::string& plan) {
  symbol<void (*)(const char*)>("strait_standin_fail")(plan.c_str());
}
inline uint64_t calls_of(const std::string& name) {
  return symbol<uint64_t (*)(const char*)>("strait_standin_calls")(name.c_str());
}
// Objects that are not given back: contexts, memory, streams and all others.
inline uint64_t live_objects() {
  return symbol<uint64_t (*)()>("strait_standin_live")();
}
inline std::string last_kernel_failure() {
  std::array<char, 1024> text{};
  symbol<void (*)(char*, size_t)>("strait_standin_last_kernel_failure")(text.data(), text.size());
  return text.data();
}

}  // namespace strait::standin
