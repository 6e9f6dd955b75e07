#include "api/version.hpp"

#include <algorithm>
#include <charconv>

#include "api/export.hpp"
#include "api/result.hpp"
#include "base/config.hpp"
#include "nccl.h"

namespace strait::api {
namespace {

constexpr int kDigitsMax = 99;  // of the second and third number

Status report_version(int* version) {
  if (version == nullptr)
    return error(Code::kInvalidArgument, "version is NULL: give it a place to go");
  STRAIT_ASSIGN(const Config config, Config::from_environment());
  *version = NCCL_VERSION_CODE;
  if (config.nccl_version.empty()) return Status();
  STRAIT_ASSIGN(*version, parse_nccl_version(config.nccl_version));
  return Status();
}

}  // namespace

Result<int> parse_nccl_version(std::string_view text) {
  int numbers[3] = {0, 0, 0};
  size_t count = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  bool readable = !text.empty();
  while (readable && count < 3) {
    const auto parsed = std::from_chars(at, end, numbers[count]);
    readable = parsed.ec == std::errc() && numbers[count] >= 0;
    ++count;
    at = parsed.ptr;
    if (at == end) break;
    readable = readable && *at++ == '.';
  }
  const auto [major, minor, patch] = numbers;
  if (readable && at == end && count == 1 && major >= NCCL_VERSION(2, 0, 0)) return major;
  if (readable && at == end && count > 1 && major > 0 && major <= kDigitsMax &&
      std::max(minor, patch) <= kDigitsMax)
    return NCCL_VERSION(major, minor, patch);
  return error(Code::kInvalidArgument,
               "STRAIT_NCCL_VERSION=\"{}\" is no version; write it as 2.28.9 or 22809", text);
}

}  // namespace strait::api

STRAIT_API(ncclResult_t, GetVersion, (int* version)) {
  return strait::api::guarded("ncclGetVersion",
                              [&] { return strait::api::report_version(version); });
}
