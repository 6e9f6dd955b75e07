// Modules and functions: kernels of the SIMT layer by name, which were linked into the stand-in. A
// module knows every one of them, whatever its image. Guarded by the machine's lock.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "simt/kernel.hpp"
#include "standin/calls.hpp"

namespace strait::standin {

struct Context;

struct Function {
  const simt::Kernel* kernel = nullptr;
  std::shared_ptr<Context> context;
  int shared_bytes_max = 48 << 10;  // dynamic, until the function is given more
};

struct Module {
  std::shared_ptr<Context> context;
  std::map<std::string, Function> functions;  // made when first asked for; their places are handles
};

}  // namespace strait::standin
