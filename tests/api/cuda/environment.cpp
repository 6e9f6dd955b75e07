// Every test of this program runs on the stand-in driver.
#include <gtest/gtest.h>

#include "standin/program.hpp"

namespace {

class Standin : public ::testing::Environment {
 public:
  void SetUp() override {
    setenv("STRAIT_STANDIN_DEVICES", "4", 1);
    strait::standin::use_standin();
  }
};

[[maybe_unused]] const auto* const environment = ::testing::AddGlobalTestEnvironment(new Standin);

}  // namespace
