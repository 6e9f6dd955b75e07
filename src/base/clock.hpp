// Time as everything in Strait counts it: nanoseconds of the monotonic clock, and deadlines made of
// them. Any thread; one vDSO call per reading.
#pragma once

#include <cstdint>

namespace strait {

int64_t now_ns();

class Deadline {
 public:
  static Deadline after_ms(int64_t ms) { return Deadline(now_ns() + ms * 1'000'000); }
  static Deadline after_ns(int64_t ns) { return Deadline(now_ns() + ns); }
  static Deadline at_ns(int64_t ns) { return Deadline(ns); }

  bool passed() const { return now_ns() >= at_ns_; }
  int64_t at_ns() const { return at_ns_; }
  int64_t left_ns() const {
    const int64_t left = at_ns_ - now_ns();
    return left > 0 ? left : 0;
  }
  int left_ms() const { return static_cast<int>((left_ns() + 999'999) / 1'000'000); }

 private:
  explicit Deadline(int64_t at_ns) : at_ns_(at_ns) {}
  int64_t at_ns_;
};

}  // namespace strait
