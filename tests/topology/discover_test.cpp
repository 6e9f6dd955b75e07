#include "topology/discover.hpp"

#include <gtest/gtest.h>

namespace strait {
namespace {

const SystemView kNode{.host_name = "node7", .boot_id = "b00t", .network_namespace = 42};

TEST(HostIdentity, ChangesWithEachThingThatTellsHostsApart) {
  const std::string identity = host_identity(kNode, "");
  EXPECT_EQ(identity, "node7/b00t/42");
  SystemView other = kNode;
  other.host_name = "node8";
  EXPECT_NE(host_identity(other, ""), identity);
  other = kNode;
  other.boot_id = "b01t";
  EXPECT_NE(host_identity(other, ""), identity);
  other = kNode;
  other.network_namespace = 43;
  EXPECT_NE(host_identity(other, ""), identity);
}

TEST(HostIdentity, IsWhatTheUserSays) {
  EXPECT_EQ(host_identity(kNode, "left"), "left");
}

TEST(DomainName, IsTheHostByDefault) {
  const std::string name = domain_name({}, host_identity(kNode, ""), 5);
  EXPECT_EQ(name, "host-node7/b00t/42");
  EXPECT_EQ(domain_name({}, host_identity(kNode, ""), 6), name);
  EXPECT_NE(domain_name({}, "other", 5), name);
}

TEST(DomainName, IsTheGivenNameOnAnyHost) {
  const DomainSettings settings{.domain = "rack-3"};
  EXPECT_EQ(domain_name(settings, "a", 0), domain_name(settings, "b", 9));
  EXPECT_NE(domain_name(settings, "a", 0), domain_name({.domain = "rack-4"}, "a", 0));
}

TEST(DomainName, IsTheNvlinkDomainOfTheGpu) {
  const DomainSettings settings{.fabric = "ab12/7"};
  EXPECT_EQ(domain_name(settings, "a", 0), domain_name(settings, "b", 9));
  EXPECT_NE(domain_name(settings, "a", 0), domain_name({.fabric = "ab12/8"}, "a", 0));
  EXPECT_NE(domain_name(settings, "a", 0), domain_name({.domain = "ab12/7"}, "a", 0));
  EXPECT_EQ(domain_name({.domain = "rack-3", .fabric = "ab12/7"}, "a", 0),
            domain_name({.domain = "rack-3"}, "a", 0));
}

TEST(DomainName, EmulatesDomainsByRank) {
  const DomainSettings settings{.domain = "ignored", .emulate_domains = 4};
  EXPECT_EQ(domain_name(settings, "a", 3), "emulated-0");
  EXPECT_EQ(domain_name(settings, "a", 4), "emulated-1");
  EXPECT_EQ(domain_name(settings, "b", 11), "emulated-2");
}

TEST(DomainName, KindsNeverCollide) {
  EXPECT_NE(domain_name({.domain = "emulated-0"}, "a", 0),
            domain_name({.emulate_domains = 4}, "a", 0));
  EXPECT_NE(domain_name({.domain = "a"}, "b", 0), domain_name({}, "a", 0));
}

TEST(ReadSystemView, FindsThisMachineAndItStaysTheSame) {
  const SystemView view = read_system_view();
  EXPECT_FALSE(view.host_name.empty());
  EXPECT_NE(view.network_namespace, 0u);
  EXPECT_EQ(read_system_view(), view);
}

}  // namespace
}  // namespace strait
