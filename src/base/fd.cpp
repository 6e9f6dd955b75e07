#include "base/fd.hpp"

#include <unistd.h>

namespace strait {

void UniqueFd::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

}  // namespace strait
