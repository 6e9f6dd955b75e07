// For tests whose kernels are lambdas: the layer, CUDA's words, and what a launch should come to.
// Included last, since CUDA's words are macros. Any thread; a launch of one block takes some 0.1
// ms.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "simt/simt.hpp"
// Behind the headers that would trip over it.
#include "simt/cuda.hpp"

namespace strait::simt {

inline constexpr unsigned kAll = 0xffffffffu;

// In order, and in a few drawn orders: what is right must be right in each.
inline void run_all_orders(const Launch& launch, const std::function<void()>& body) {
  for (const uint64_t seed : {0, 1, 2, 3}) {
    const Status status = run(launch, body, {.seed = seed});
    ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status.message();
  }
}

inline std::string failure_of(const Launch& launch, const std::function<void()>& body,
                              const Options& options = {}) {
  const Status status = run(launch, body, options);
  return status.ok() ? "it ended well" : status.message();
}

}  // namespace strait::simt
