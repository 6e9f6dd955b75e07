// Library: a shared library opened at run time and never closed again (its threads and exit
// handlers may outlive us). A value; any thread. Opening costs milliseconds, a symbol a hash
// look-up.
#pragma once

#include <string>

#include "base/status.hpp"

namespace strait::cuda {

class Library {
 public:
  // `what` names it in errors: "CUDA driver".
  static Result<Library> open(const std::string& name, const char* what);

  void* symbol(const char* name) const;
  const std::string& name() const { return name_; }

 private:
  Library(std::string name, void* handle) : name_(std::move(name)), handle_(handle) {}

  std::string name_;
  void* handle_;
};

}  // namespace strait::cuda
