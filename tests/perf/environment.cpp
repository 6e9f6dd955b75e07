// Measuring programs of these tests sit on hosts, whatever GPUs the machine has; a test of GPUs
// says so.
#include <gtest/gtest.h>

#include <cstdlib>

namespace {

class OnHosts : public ::testing::Environment {
 public:
  void SetUp() override { setenv("STRAIT_DEVICE", "host", 1); }
};

[[maybe_unused]] const auto* const environment = ::testing::AddGlobalTestEnvironment(new OnHosts);

}  // namespace
