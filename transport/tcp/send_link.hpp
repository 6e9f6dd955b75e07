// The sending end of a TCP link. commit() writes the slot to the kernel at once if nothing waits
// before it; what the connection does not take then, the reactor writes when there is room. A slot
// is free again when the kernel has its bytes.
#pragma once

#include <memory>
#include <vector>

#include "base/doorbell.hpp"
#include "base/reactor.hpp"
#include "transport/link.hpp"
#include "transport/net/address.hpp"
#include "transport/net/frame.hpp"
#include "transport/net/link_failure.hpp"
#include "transport/net/stream.hpp"
#include "transport/transport.hpp"

namespace strait::tcp {

using net::connection_ended;
using net::LinkFailure;
using net::reason_frame;
using net::send_reason;

// What both ends of a link are made of.
struct LinkParts {
  LinkSpec spec;
  std::vector<net::Stream> fds;  // the connections, in order
  net::Address remote;           // for people
  std::shared_ptr<Reactor> reactor;
  Doorbell* doorbell = nullptr;
};

Result<std::unique_ptr<SendLink>> make_send_link(LinkParts parts);

}  // namespace strait::tcp
