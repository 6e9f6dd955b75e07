// Progress: tells on standard error, every few seconds, how far a long sweep is. Owned and used by
// the thread that reports; costs a clock reading per test.
#pragma once

#include <cstddef>
#include <cstdint>

namespace strait::perf {

class Progress {
 public:
  // `tells` false: silent.
  Progress(size_t tests, bool tells);

  void begin_test(size_t done);

 private:
  const size_t tests_;
  const bool tells_;
  const int64_t begin_ns_;
  int64_t told_ns_;
};

}  // namespace strait::perf
