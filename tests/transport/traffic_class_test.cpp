// The traffic class on sockets of both families.

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "transport/net/socket.hpp"

namespace strait::net {
namespace {

int option_of(int fd, int level, int option) {
  int value = -1;
  socklen_t length = sizeof value;
  EXPECT_EQ(getsockopt(fd, level, option, &value, &length), 0);
  return value;
}

TEST(TrafficClass, IsThatOfTheSetting) {
  auto v4 = open_socket(AF_INET);
  auto v6 = open_socket(AF_INET6);
  ASSERT_TRUE(v4.ok());
  set_traffic_class(v4->get(), 104);
  EXPECT_EQ(option_of(v4->get(), IPPROTO_IP, IP_TOS), 104);
  set_traffic_class(v4->get(), -1);
  EXPECT_EQ(option_of(v4->get(), IPPROTO_IP, IP_TOS), 104);
  if (!v6.ok()) GTEST_SKIP() << "this machine has no IPv6";
  set_traffic_class(v6->get(), 40);
  EXPECT_EQ(option_of(v6->get(), IPPROTO_IPV6, IPV6_TCLASS), 40);
}

}  // namespace
}  // namespace strait::net
