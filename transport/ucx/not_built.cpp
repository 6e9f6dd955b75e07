// In place of ucx.cpp where the headers of UCX were absent when the library was built.
#include "transport/net/absent.hpp"
#include "transport/ucx/ucx.hpp"

namespace strait {

Result<std::unique_ptr<Transport>> open_ucx(const TransportContext& context) {
  return open_ucx_of(context, "");
}

Result<std::unique_ptr<Transport>> open_ucx_of(const TransportContext&, const std::string&) {
  return net::absent(
      "ucx", "UCX",
      error(Code::kInvalidUsage, "this build has no UCX: build it where libucx-dev is installed"));
}

}  // namespace strait
