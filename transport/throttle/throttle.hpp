// throttle: another transport whose sending ends share one uplink of a given rate (a rack's, say):
// it delays what is sent until the bucket lets it go, and changes nothing else. Receiving ends are
// the inner transport's own.
#pragma once

#include <memory>

#include "transport/throttle/rate_bucket.hpp"
#include "transport/transport.hpp"

namespace strait {

std::unique_ptr<Transport> throttle(std::unique_ptr<Transport> inner,
                                    std::shared_ptr<RateBucket> bucket);

}  // namespace strait
