// The transport of a host, or a build, that lacks what it needs: it opens, costs nothing, reaches
// nobody, and says why. Thread rules as in transport.hpp.
#pragma once

#include <memory>
#include <string>

#include "transport/transport.hpp"

namespace strait::net {

// "rank 3 is not reached by <way>: <why>"
std::unique_ptr<Transport> absent(std::string name, std::string way, Status why);

}  // namespace strait::net
