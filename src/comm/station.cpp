#include "comm/station.hpp"

#include <algorithm>

namespace strait {

int Station::take_band() {
  std::lock_guard lock(mutex);
  return next_band++;
}

void Station::skip_to(int band) {
  std::lock_guard lock(mutex);
  next_band = std::max(next_band, band + 1);
}

}  // namespace strait
