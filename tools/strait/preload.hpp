// The environment in which a program finds one library wherever it looks for NCCL: preloaded before
// all others and in place of any other libnccl, first among the folders of dlopen, and in the
// variables that name a libnccl by its path (those of vLLM and SGLang, and any that ends alike). A
// module of the loader (one_nccl.c) answers for what is loaded by its path all the same. Functions
// of their arguments alone; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace strait::tool {

// Absolute paths.
struct Replacement {
  std::string library;
  std::string loader_module;  // empty: none
};

// Entries "NAME=value".
std::vector<std::string> environment_with(const Replacement& replacement,
                                          const std::vector<std::string>& environment);

// The loader cuts its lists at spaces, colons and semicolons, and expands "$".
Status check_listable(const std::string& path);

}  // namespace strait::tool
