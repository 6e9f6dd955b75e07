#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "transport/net/interfaces.hpp"

namespace strait::net {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Address host(const std::string& text) {
  const bool six = text.find(':') != std::string::npos;
  return Address::parse(six ? "[" + text + "]:1" : text + ":1")->with_port(0);
}

Interface on(const std::string& name, const std::string& address) {
  return {.name = name, .address = host(address), .loopback = name == "lo"};
}

std::vector<Interface> some_host() {
  std::vector<Interface> result = {on("lo", "127.0.0.1"),       on("lo", "::1"),
                                   on("docker0", "172.17.0.1"), on("eth0", "10.0.0.2"),
                                   on("eth1", "10.1.0.2"),      on("eth10", "10.10.0.2"),
                                   on("eth0", "fd00::2"),       on("eth0", "fe80::2"),
                                   on("tun0", "10.8.0.1"),      on("eth9", "10.9.0.2")};
  result[8].tunnel = true;
  result[9].up = false;
  return result;
}

std::vector<std::string> chosen(const std::string& names, const std::string& family = "any",
                                const std::vector<Interface>& interfaces = some_host()) {
  const auto result = choose_addresses(interfaces, names, family);
  if (!result.ok()) return {result.status().message()};
  std::vector<std::string> texts;
  for (const Address& address : *result) texts.push_back(address.text());
  return texts;
}

TEST(ChooseAddresses, NetworksComeBeforeBridgesAndLoopbackStaysHome) {
  EXPECT_THAT(chosen(""),
              ElementsAre("10.0.0.2", "10.1.0.2", "10.10.0.2", "fd00::2", "172.17.0.1"));
}

TEST(ChooseAddresses, LoopbackWhereThereIsNothingElse) {
  EXPECT_THAT(chosen("", "any", {on("lo", "127.0.0.1"), on("lo", "::1"), on("eth0", "fe80::2")}),
              ElementsAre("127.0.0.1", "::1"));
}

TEST(ChooseAddresses, AnInterfaceWhoseCarrierIsNotSeenYetIsBetterThanLoopback) {
  std::vector<Interface> fresh = {on("lo", "127.0.0.1"), on("eth0", "10.0.0.2"),
                                  on("eth1", "10.1.0.2")};
  fresh[1].carrier = false;
  fresh[2].carrier = false;
  EXPECT_THAT(chosen("", "any", fresh), ElementsAre("10.0.0.2", "10.1.0.2"));
  fresh[2].up = false;
  EXPECT_THAT(chosen("", "any", fresh), ElementsAre("10.0.0.2"));
}

TEST(ChooseAddresses, FamilyIsHeeded) {
  EXPECT_THAT(chosen("", "AF_INET6"), ElementsAre("fd00::2"));
  EXPECT_THAT(chosen("eth0", "AF_INET"), ElementsAre("10.0.0.2"));
}

TEST(ChooseAddresses, PrefixesInTheOrderOfTheList) {
  EXPECT_THAT(chosen("eth1,eth0", "AF_INET"), ElementsAre("10.1.0.2", "10.10.0.2", "10.0.0.2"));
}

TEST(ChooseAddresses, ExactNames) {
  EXPECT_THAT(chosen("=eth1"), ElementsAre("10.1.0.2"));
  EXPECT_THAT(chosen("=eth1,docker0"), ElementsAre("10.1.0.2", "172.17.0.1"));
}

TEST(ChooseAddresses, Exclusion) {
  EXPECT_THAT(chosen("^docker,eth1", "AF_INET"), ElementsAre("10.0.0.2"));
  EXPECT_THAT(chosen("^=eth1,docker0", "AF_INET"), ElementsAre("10.0.0.2", "10.10.0.2"));
}

TEST(ChooseAddresses, TunnelsLinkLocalAndLoopbackWhenNamed) {
  EXPECT_THAT(chosen("tun0"), ElementsAre("10.8.0.1"));
  EXPECT_THAT(chosen("lo", "AF_INET"), ElementsAre("127.0.0.1"));
  EXPECT_THAT(chosen("=eth0", "AF_INET6"), ElementsAre("fd00::2", "fe80::2"));
}

TEST(ChooseAddresses, NameThatMatchesNothingIsExplained) {
  for (const char* names : {"ib", "=eth", "eth9", "^eth,docker,lo"}) {
    const auto result = choose_addresses(some_host(), names, "any");
    ASSERT_FALSE(result.ok()) << names;
    EXPECT_THAT(result.status().message(), HasSubstr("STRAIT_SOCKET_IFNAME"));
    EXPECT_THAT(result.status().message(), HasSubstr("eth0 10.0.0.2"));
  }
}

TEST(ReadInterfaces, FindsLoopback) {
  const auto interfaces = read_interfaces();
  ASSERT_TRUE(interfaces.ok());
  EXPECT_THAT(*interfaces, ::testing::Contains(::testing::Field(&Interface::loopback, true)));
}

TEST(AddressText, PrintsAndParses) {
  for (const char* text : {"10.0.0.2:4711", "[fd00::2]:4711", "[::1]:1", "127.0.0.1:65535"}) {
    const auto address = Address::parse(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(address->text(), text);
    sockaddr_storage storage;
    address->to(&storage);
    EXPECT_EQ(Address::from(reinterpret_cast<sockaddr*>(&storage)), address);
  }
}

TEST(AddressText, RefusesWhatIsNone) {
  for (const char* text : {"", "10.0.0.2", "10.0.0.2:", "10.0.0.2:0", "10.0.0.2:65536", "fd00::2:1",
                           "host:1", "[fd00::2]", "10.0.0.2:1x", "[]:1", ":1"})
    EXPECT_FALSE(Address::parse(text)) << text;
}

TEST(AddressText, MappedIpv4IsIpv4) {
  sockaddr_storage storage;
  Address::parse("[::ffff:10.0.0.2]:99")->to(&storage);
  EXPECT_EQ(Address::from(reinterpret_cast<sockaddr*>(&storage))->text(), "10.0.0.2:99");
}

}  // namespace
}  // namespace strait::net
