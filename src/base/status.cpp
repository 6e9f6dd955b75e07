#include "base/status.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace strait {

void check_failed(const char* condition, const char* why, const char* file, int line) {
  std::fprintf(stderr, "strait: bug: %s (%s) at %s:%d\n", why, condition, file, line);
  std::abort();
}

Status system_error(const std::string& what) {
  const int number = errno;
  return error(Code::kSystemError, "{}: {}", what, std::strerror(number));
}

}  // namespace strait
