// A process that has loaded two libraries named libnccl may have its calls split between them, with
// handles of one given to the other. Any thread; costs one walk over the loaded libraries.
#pragma once

#include <string>
#include <vector>

namespace strait::api {

// The files of the libraries named libnccl that are loaded besides the one that this code is in.
std::vector<std::string> other_nccl_libraries();
// Says so in a warning each.
void warn_of_other_nccl();

}  // namespace strait::api
