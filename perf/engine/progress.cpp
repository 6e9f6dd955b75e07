#include "perf/engine/progress.hpp"

#include <cstdio>

#include "base/clock.hpp"

namespace strait::perf {
namespace {

constexpr int64_t kEveryNs = 5'000'000'000;

}  // namespace

Progress::Progress(size_t tests, bool tells)
    : tests_(tests), tells_(tells), begin_ns_(now_ns()), told_ns_(begin_ns_) {}

void Progress::begin_test(size_t done) {
  const int64_t now = now_ns();
  if (!tells_ || done == 0 || now - told_ns_ < kEveryNs) return;
  told_ns_ = now;
  const double spent_s = static_cast<double>(now - begin_ns_) / 1e9;
  const auto left = static_cast<double>(tests_ - done);
  std::fprintf(stderr, "# %zu of %zu tests in %.0f s, about %.0f s to go\n", done, tests_, spent_s,
               spent_s / static_cast<double>(done) * left);
}

}  // namespace strait::perf
