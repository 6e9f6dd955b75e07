// Which RDMA ports a rank uses, from folders as the kernel shows them; no device is needed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "transport/verbs/address.hpp"

namespace strait::verbs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kIp4 = "0000:0000:0000:0000:0000:ffff:0a09:0001";
constexpr const char* kIp6 = "fd00:0000:0000:0000:0000:0000:0000:0007";
constexpr const char* kLocal = "fe80:0000:0000:0000:5c43:ffff:fe41:dd92";
constexpr const char* kNone = "0000:0000:0000:0000:0000:0000:0000:0000";

// A host with four devices: two of InfiniBand behind one bridge, one of RoCE behind another, and
// one whose cable is out.
class RdmaHost : public ::testing::Test {
 protected:
  RdmaHost() : root_(::testing::TempDir() + "/strait-rdma-" + std::to_string(getpid())) {
    std::filesystem::create_directories(root_ + "/class");
    const std::string bridge = "/devices/pci0000:00/0000:00:0";
    add("mlx5_0", bridge + "1.0/0000:01:00.0", "InfiniBand", "4: ACTIVE", "400 Gb/sec (4X NDR)");
    add("mlx5_1", bridge + "1.0/0000:02:00.0", "InfiniBand", "4: ACTIVE", "400 Gb/sec (4X NDR)");
    add("mlx5_2", bridge + "3.0/0000:81:00.0", "Ethernet", "4: ACTIVE", "100 Gb/sec (4X EDR)");
    add("mlx5_10", bridge + "3.0/0000:82:00.0", "Ethernet", "1: DOWN", "100 Gb/sec (4X EDR)");
    for (const char* device : {"mlx5_0", "mlx5_1"}) add_gid(device, 0, kLocal, "IB/RoCE v1");
    write("mlx5_0", "lid", "0x11");
    for (const char* device : {"mlx5_2", "mlx5_10"}) {
      int index = 0;
      for (const char* gid : {kLocal, kIp6, kIp4}) {
        add_gid(device, index++, gid, "IB/RoCE v1");
        add_gid(device, index++, gid, "RoCE v2");
      }
      add_gid(device, index, kNone, "");
    }
  }
  ~RdmaHost() override { std::filesystem::remove_all(root_); }

  std::vector<Port> ports() const { return read_ports(root_ + "/class"); }

  std::vector<std::string> chosen(const PortWishes& wishes) const {
    const auto result = choose_ports(ports(), wishes);
    if (!result.ok()) return {result.status().message()};
    std::vector<std::string> names;
    for (const Port& port : *result) names.push_back(port.name());
    return names;
  }
  void set_type(const std::string& device, const std::string& type) const {
    std::ofstream(root_ + "/class/" + device + "/node_type") << type << "\n";
  }
  std::vector<int> gids_of_roce(PortWishes wishes) const {
    wishes.names = "mlx5_2";
    const auto result = choose_ports(ports(), wishes);
    std::vector<int> indices;
    if (result.ok())
      for (const Gid& gid : result->front().gids) indices.push_back(gid.index);
    return indices;
  }

 private:
  void add(const std::string& device, const std::string& place, const std::string& link,
           const std::string& state, const std::string& rate) {
    const std::string home = root_ + place + "/infiniband/" + device;
    std::filesystem::create_directories(home + "/ports/1/gids");
    std::filesystem::create_directories(home + "/ports/1/gid_attrs/types");
    std::filesystem::create_directory_symlink(home, root_ + "/class/" + device);
    write(device, "link_layer", link);
    write(device, "state", state);
    write(device, "rate", rate);
    write(device, "lid", "0x0");
  }
  void add_gid(const std::string& device, int index, const std::string& gid,
               const std::string& type) const {
    write(device, "gids/" + std::to_string(index), gid);
    write(device, "gid_attrs/types/" + std::to_string(index), type);
  }
  void write(const std::string& device, const std::string& file, const std::string& text) const {
    std::ofstream(root_ + "/class/" + device + "/ports/1/" + file) << text << "\n";
  }

  const std::string root_;
};

TEST_F(RdmaHost, IsRead) {
  const std::vector<Port> all = ports();
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0].name(), "mlx5_0:1");
  EXPECT_FALSE(all[0].ethernet);
  EXPECT_EQ(all[0].lid, 0x11);
  EXPECT_DOUBLE_EQ(all[0].gigabits, 400);
  EXPECT_THAT(all[0].place, HasSubstr("0000:00:01.0/0000:01:00.0"));
  EXPECT_EQ(all[0].gids.front().kind, GidKind::kInfiniBand);
  EXPECT_TRUE(all[2].ethernet);
  EXPECT_EQ(all[2].gids.size(), 6U);
  EXPECT_EQ(all[2].gids[5].text(), "10.9.0.1");
  EXPECT_EQ(all[2].gids[3].text(), "fd00::7");
  EXPECT_FALSE(all[3].active());
  EXPECT_THAT(read_ports("/nowhere/at/all"), IsEmpty());
}

TEST_F(RdmaHost, ActivePortsAreUsed) {
  EXPECT_THAT(chosen({}), ElementsAre("mlx5_0:1", "mlx5_1:1", "mlx5_2:1"));
}

TEST_F(RdmaHost, PortsAreNamedAsForNccl) {
  EXPECT_THAT(chosen({.names = "mlx5_1"}), ElementsAre("mlx5_1:1"));
  EXPECT_THAT(chosen({.names = "mlx5_0,mlx5_2"}), ElementsAre("mlx5_0:1", "mlx5_2:1"));
  EXPECT_THAT(chosen({.names = "=mlx5_1"}), ElementsAre("mlx5_1:1"));
  EXPECT_THAT(chosen({.names = "^mlx5_0,mlx5_2"}), ElementsAre("mlx5_1:1"));
  EXPECT_THAT(chosen({.names = "^=mlx5_1"}), ElementsAre("mlx5_0:1", "mlx5_2:1"));
  EXPECT_THAT(chosen({.names = "=mlx5_1:1:0"}), ElementsAre("mlx5_1:1")) << "a rail behind it";
  EXPECT_THAT(chosen({.names = "=mlx5_0:2"}).front(), HasSubstr("mlx5_0:1 is not named"));
}

TEST_F(RdmaHost, WhyThereIsNoneIsTold) {
  EXPECT_THAT(chosen({.names = "=mlx5_10"}).front(), HasSubstr("mlx5_10:1 is DOWN"));
  EXPECT_THAT(chosen({.names = "rxe"}).front(), HasSubstr("STRAIT_IB_HCA"));
  EXPECT_THAT(chosen({.names = "mlx5_2", .gid_index = 40}).front(),
              HasSubstr("no GID at index 40 (STRAIT_IB_GID_INDEX)"));
  EXPECT_EQ(choose_ports({}, {}).status().message(), "this host has no RDMA device");
}

TEST_F(RdmaHost, OtherAdaptersAreNotUsed) {
  set_type("mlx5_0", "1: CA");
  set_type("mlx5_1", "4: RNIC");
  EXPECT_THAT(chosen({}), ElementsAre("mlx5_0:1", "mlx5_2:1"));
  EXPECT_THAT(chosen({.names = "=mlx5_1"}).front(),
              HasSubstr("mlx5_1:1 is no channel adapter (4: RNIC)"));
}

TEST_F(RdmaHost, TheBestGidsComeFirst) {
  EXPECT_THAT(gids_of_roce({}), ElementsAre(5, 3, 1, 0, 2, 4));
  EXPECT_THAT(gids_of_roce({.gid_index = 3}), ElementsAre(3));
  EXPECT_THAT(gids_of_roce({.roce_version = 1}), ElementsAre(0, 2, 4));
  EXPECT_THAT(gids_of_roce({.family = "AF_INET", .roce_version = 2}), ElementsAre(5));
  EXPECT_THAT(gids_of_roce({.family = "AF_INET6", .roce_version = 2}), ElementsAre(3, 1));
}

TEST_F(RdmaHost, TheNearestPortsAreUsed) {
  const std::string devices = ports().front().place.substr(0, ports().front().place.find("/pci"));
  EXPECT_THAT(chosen({.near = devices + "/pci0000:00/0000:00:01.0/0000:02:00.0"}),
              ElementsAre("mlx5_1:1"));
  EXPECT_THAT(chosen({.near = devices + "/pci0000:00/0000:00:01.0/0000:07:00.0"}),
              ElementsAre("mlx5_0:1", "mlx5_1:1"));
  EXPECT_THAT(chosen({.near = devices + "/pci0000:00/0000:00:03.0/0000:80:00.0"}),
              ElementsAre("mlx5_2:1"));
  EXPECT_THAT(chosen({.near = devices + "/pci0000:40/0000:40:01.0"}),
              ElementsAre("mlx5_0:1", "mlx5_1:1", "mlx5_2:1"))
      << "equally far";
}

TEST(RdmaDistance, IsToldByTheBridgesBetween) {
  const std::string nic = "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0";
  EXPECT_EQ(distance(nic, "/sys/devices/pci0000:00/0000:00:01.0/0000:02:00.0"),
            Distance::kSameBridge);
  EXPECT_EQ(distance(nic, "/sys/devices/pci0000:00/0000:00:03.0/0000:02:00.0"),
            Distance::kSameRoot);
  EXPECT_EQ(distance(nic, "/sys/devices/pci0000:80/0000:80:01.0"), Distance::kFar);
  EXPECT_EQ(distance(nic, ""), Distance::kSameBridge);
  EXPECT_EQ(distance_of("SYS"), Distance::kFar);
  EXPECT_EQ(distance_of("PHB"), Distance::kSameRoot);
  EXPECT_EQ(distance_of("PIX"), Distance::kSameBridge);
}

Gid gid(GidKind kind, uint8_t last) {
  Gid result{.kind = kind};
  result.bytes[15] = last;
  return result;
}

RankAddress some_address() {
  RankAddress address;
  address.listener = {*net::Address::parse("10.0.0.2:4711"),
                      *net::Address::parse("[fd00::2]:4711")};
  address.ports = {{.ethernet = false, .mtu = 5, .lid = 17, .gids = {gid(GidKind::kInfiniBand, 1)}},
                   {.ethernet = true,
                    .mtu = 3,
                    .lid = 0,
                    .gids = {gid(GidKind::kRoceV2Ip4, 2), gid(GidKind::kRoceV1, 3)}}};
  return address;
}

TEST(VerbsAddress, ComesBackAsItWas) {
  const auto back = parse_address(format(some_address()));
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, some_address());
}

TEST(VerbsAddress, WhatCannotBeIsRefused) {
  const std::string good = format(some_address());
  for (size_t length = 0; length < good.size(); ++length) {
    // Cut between two GIDs it is an address still, of a rank that has fewer.
    EXPECT_NE(parse_address(good.substr(0, length)), some_address());
  }
  const std::string listener = "10.0.0.2:4711";
  const std::string zeros(32, '0');
  for (const std::string& ports :
       {std::string("|eth"), std::string("|eth;4;0;"), "|eth;6;0;0." + zeros, "|eth;0;0;0." + zeros,
        "|eth;4;65536;0." + zeros, "|eth;4;0;4." + zeros, "|ib;4;0;0." + zeros,
        "|eth;4;0;9." + zeros, "|eth;4;0;0." + zeros + "0", "|eth;4;0;0." + zeros.substr(1) + "g",
        "|eth;4;0;0.-" + zeros.substr(1), "|eth;4;-1;0." + zeros, "|x;4;0;0." + zeros,
        std::string("|\0\0\0", 4)})
    EXPECT_FALSE(parse_address(listener + ports)) << ports;
  EXPECT_FALSE(parse_address(""));
  EXPECT_FALSE(parse_address("|eth;4;0;0." + zeros));
  EXPECT_FALSE(parse_address(std::string(100'000, '|')));
  std::string many = listener;
  for (int i = 0; i < 33; ++i) many += "|eth;4;0;0." + zeros;
  EXPECT_FALSE(parse_address(many));
}

TEST(VerbsRoute, LanesTakePortsInTurn) {
  const std::vector<PortAddress> rails = {
      {.ethernet = true, .mtu = 5, .lid = 0, .gids = {gid(GidKind::kRoceV2Ip4, 1)}},
      {.ethernet = true, .mtu = 5, .lid = 0, .gids = {gid(GidKind::kRoceV1, 9)}},
      {.ethernet = true,
       .mtu = 5,
       .lid = 0,
       .gids = {gid(GidKind::kRoceV1, 4), gid(GidKind::kRoceV2Ip4, 2)}}};
  const auto route = [&](int lane) { return *route_of(rails, rails, GidKind::kRoceV2Ip4, lane); };
  EXPECT_EQ(route(0), (Route{{0, 0}, {0, 0}}));
  EXPECT_EQ(route(1), (Route{{2, 1}, {2, 1}}));
  EXPECT_EQ(route(2), (Route{{0, 0}, {0, 0}}));
  const std::vector<PortAddress> one = {rails[2]};
  EXPECT_EQ(*route_of(rails, one, GidKind::kRoceV2Ip4, 0), (Route{{0, 0}, {0, 1}}));
  EXPECT_EQ(*route_of(rails, one, GidKind::kRoceV2Ip4, 1), (Route{{2, 1}, {0, 1}}));
  EXPECT_FALSE(route_of(rails, one, GidKind::kInfiniBand, 0));
  EXPECT_FALSE(route_of(rails, {}, GidKind::kRoceV1, 0));
}

}  // namespace
}  // namespace strait::verbs
