// Discovery: what a machine says of itself, and the names of host and domain that follow from it.
// read_system_view() is the only function that looks at a machine; the rest are pure, so a captured
// view stands for its machine in tests. Any thread; a few small files are read once per
// communicator.
#pragma once

#include <cstdint>
#include <string>

namespace strait {

// Empty or zero where the machine does not tell.
struct SystemView {
  std::string host_name;
  std::string boot_id;             // of the running kernel: tells hosts with equal names apart
  uint64_t network_namespace = 0;  // inode: tells containers (and emulated racks) on one host apart

  bool operator==(const SystemView&) const = default;
};

SystemView read_system_view();

// Equal for two processes exactly if they are on the same host, as far as the network goes.
// `override_text` (STRAIT_HOSTID, NCCL_HOSTID) takes the place of what the machine says, unless it
// is empty.
std::string host_identity(const SystemView& view, const std::string& override_text);

// What decides the domain of a rank. Ranks of equal domain names share a domain.
struct DomainSettings {
  std::string domain{};         // STRAIT_DOMAIN; empty: unset
  int64_t emulate_domains = 0;  // STRAIT_EMULATE_DOMAINS: ranks per emulated domain; 0: unset
  std::string fabric{};  // the NVLink domain of the rank's GPU; empty: in none of several hosts
};

// Emulated domains come first (all ranks agree on that setting), then the given name, then the
// NVLink domain, then one domain per host. The four kinds of name never collide.
std::string domain_name(const DomainSettings& settings, const std::string& host, int rank);

}  // namespace strait
