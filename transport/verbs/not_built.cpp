// In place of verbs.cpp where the header of libibverbs was absent when the library was built.
#include "transport/net/absent.hpp"
#include "transport/verbs/verbs.hpp"

namespace strait {

Result<std::unique_ptr<Transport>> open_verbs(const TransportContext&) {
  return net::absent("verbs", "RDMA",
                     error(Code::kInvalidUsage,
                           "this build has no RDMA: build it where libibverbs-dev is installed"));
}

}  // namespace strait
