#include "simt/kernel.hpp"

namespace strait::simt {
namespace {
constinit Kernel* first = nullptr;
}  // namespace

void add_kernel(Kernel* kernel) {
  kernel->next = first;
  first = kernel;
}

const Kernel* find_kernel(std::string_view name) {
  for (const Kernel* kernel = first; kernel != nullptr; kernel = kernel->next) {
    if (kernel->name == name) return kernel;
  }
  return nullptr;
}

}  // namespace strait::simt
