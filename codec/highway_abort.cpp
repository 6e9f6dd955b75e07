// Highway's headers call this one function of its library when a check of theirs fails (they check
// in builds with sanitizers). Debian has no static archive of it, so it is here.
#if defined(STRAIT_CODEC_HIGHWAY)
#include <hwy/base.h>

#include "base/check.hpp"

namespace hwy {

HWY_NORETURN void HWY_FORMAT(3, 4) Abort(const char* file, int line, const char* format, ...) {
  strait::check_failed(format, "a vector operation was used wrongly", file, line);
}

}  // namespace hwy
#endif
