// The receiving end of a TCP link. Whoever comes first reads: the owner when it looks for a
// message, otherwise the reactor, straight into the free slots. The reactor hands the connection
// over after it has delivered something, and takes it back when the owner finds nothing: so a busy
// owner reads by itself, hot in its own cache, and a sleeping one is woken.
#pragma once

#include <memory>

#include "transport/tcp/send_link.hpp"

namespace strait::tcp {

Result<std::unique_ptr<RecvLink>> make_recv_link(LinkParts parts);

}  // namespace strait::tcp
