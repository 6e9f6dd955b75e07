// The transport of a host without RDMA: it opens, costs nothing, reaches nobody, and says why.
// Thread rules as in transport.hpp.
#pragma once

#include <memory>

#include "transport/transport.hpp"

namespace strait::verbs {

std::unique_ptr<Transport> no_verbs(Status why);

}  // namespace strait::verbs
