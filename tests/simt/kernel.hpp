// The kernels of this program by name: each source names its own with STRAIT_SIMT_KERNEL, and who
// launches by name (as cuLaunchKernel does) finds them here. Registered before main, never removed;
// any thread may look one up, which walks a list.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

namespace strait::simt {

struct Parameter {
  size_t offset;  // in a packed buffer of parameters, as CUDA lays it out
  size_t bytes;
};

struct Kernel {
  const char* name;
  std::span<const Parameter> parameters;
  void (*function)();
  void (*thunk)(void (*function)(), void** arguments);
  const Kernel* next;

  // On a thread of the grid: the arguments are pointers to the values, in order.
  void operator()(void** arguments) const { thunk(function, arguments); }
};

const Kernel* find_kernel(std::string_view name);
void add_kernel(Kernel* kernel);

template <class... Args>
struct Signature {
  static constexpr size_t kCount = sizeof...(Args);
  struct Layout {
    Parameter parameters[kCount + 1] = {};
    constexpr Layout() {
      size_t at = 0, index = 0;
      ((at = (at + alignof(Args) - 1) / alignof(Args) * alignof(Args),
        parameters[index++] = {at, sizeof(Args)}, at += sizeof(Args)),
       ...);
    }
  };
  static constexpr Layout kLayout{};

  static void thunk(void (*function)(), void** arguments) {
    call(reinterpret_cast<void (*)(Args...)>(function), arguments,
         std::make_index_sequence<kCount>());
  }
  template <size_t... index>
  static void call(void (*function)(Args...), [[maybe_unused]] void** arguments,
                   std::index_sequence<index...>) {
    function(*static_cast<Args*>(arguments[index])...);
  }
};

class Registration {
 public:
  template <class... Args>
  Registration(const char* name, void (*function)(Args...))
      : kernel_{name,
                {Signature<Args...>::kLayout.parameters, sizeof...(Args)},
                reinterpret_cast<void (*)()>(function),
                &Signature<Args...>::thunk,
                nullptr} {
    add_kernel(&kernel_);
  }

 private:
  Kernel kernel_;
};

}  // namespace strait::simt
