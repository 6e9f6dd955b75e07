#include "tools/strait/machine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/config.hpp"
#include "base/memory_room.hpp"
#include "base/units.hpp"
#include "codec/dispatch.hpp"
#include "comm/version.hpp"
#include "exec/reduce/kernel.hpp"
#include "topology/discover.hpp"
#include "transport/net/interfaces.hpp"

namespace strait::tool {
namespace {

// Control groups without a limit may say so by a number that no machine has.
constexpr uint64_t kNoLimitBytes = uint64_t{1} << 60;

std::string room_text(const std::optional<uint64_t>& bytes, const char* absent) {
  return bytes && *bytes < kNoLimitBytes ? format_bytes(*bytes) : absent;
}

// "eth0 10.0.0.2", best first.
Result<std::string> interfaces_text(const Config& config) {
  STRAIT_ASSIGN(const std::vector<net::Interface> interfaces, net::read_interfaces());
  STRAIT_ASSIGN(const std::vector<net::Address> addresses,
                net::choose_addresses(interfaces, config.socket_ifname, config.socket_family));
  std::vector<std::string> named;
  for (const net::Address& address : addresses) {
    const auto owner = std::find_if(interfaces.begin(), interfaces.end(),
                                    [&](const auto& each) { return each.address == address; });
    named.push_back(
        fmt::format("{} {}", owner == interfaces.end() ? "?" : owner->name, address.text()));
  }
  return fmt::format("{}", fmt::join(named, ", "));
}

void print_instructions() {
  std::vector<const char*> codec, reduce;
  for (const codec::Kernels* kernels : codec::available_kernels()) codec.push_back(kernels->name);
  for (const reduce::Target* target : reduce::targets_here()) reduce.push_back(target->name);
  fmt::print("codec kernels      {} (this processor runs {})\n", codec::kernels().name,
             fmt::join(codec, ", "));
  fmt::print("reduction kernels  {} (this processor runs {})\n", reduce.front(),
             fmt::join(reduce.rbegin(), reduce.rend(), ", "));
}

}  // namespace

Status show_machine() {
  STRAIT_ASSIGN(const Config config, Config::from_environment());
  const std::string host = host_identity(read_system_view(), config.host_id);
  const MemoryRoom room = memory_room();
  fmt::print("version            {}\n", kVersion);
  fmt::print("host               {}\n", host);
  fmt::print("domain of rank 0   {}\n",
             domain_name({config.domain, config.emulate_domains}, host, 0));
  print_instructions();
  fmt::print("free memory        {}, control group: {}\n", room_text(room.machine_bytes, "unknown"),
             room_text(room.cgroup_bytes, "no limit"));
  STRAIT_ASSIGN(const std::string interfaces, interfaces_text(config));
  fmt::print("interfaces         {}\n", interfaces);
  return {};
}

}  // namespace strait::tool
