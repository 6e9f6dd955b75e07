// Status and Result: the only way an operation inside Strait reports failure. A Status is a code
// and one sentence with cause, place and remedy; Result<T> is a T or the Status that explains its
// absence. Values, freely copied, any thread. An ok Status costs one empty string; the message is
// built only on failure.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "base/check.hpp"

namespace strait {

// The numbers are those of ncclResult_t, so that api/ translates by a cast.
enum class Code : int {
  kOk = 0,
  kCudaError = 1,
  kSystemError = 2,
  kInternalError = 3,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemoteError = 6,
  kInProgress = 7,
  kTimeout = 8,
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }

  // The same failure told from one level further out: "rank 3: <message>".
  Status at(const std::string& place) const {
    return ok() ? *this : Status(code_, place + ": " + message_);
  }

 private:
  Code code_ = Code::kOk;
  std::string message_;
};

template <class... Args>
Status error(Code code, fmt::format_string<Args...> format, Args&&... args) {
  return Status(code, fmt::format(format, std::forward<Args>(args)...));
}

// A failed system call: "<what>: <strerror(errno)>". Call it before anything else can change errno.
Status system_error(const std::string& what);

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT: implicit by design
  Result(Status status) : status_(std::move(status)) {  // NOLINT: implicit by design
    STRAIT_CHECK(!status_.ok(), "a Result without a value needs a failure");
  }

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& value() {
    STRAIT_CHECK(ok(), status_.message().c_str());
    return *value_;
  }
  const T& value() const {
    STRAIT_CHECK(ok(), status_.message().c_str());
    return *value_;
  }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace strait

#define STRAIT_JOIN_INNER(a, b) a##b
#define STRAIT_JOIN(a, b) STRAIT_JOIN_INNER(a, b)

// Returns the failure of a Status expression to the caller.
#define STRAIT_TRY(expression)                                                  \
  do {                                                                          \
    if (::strait::Status status_ = (expression); !status_.ok()) return status_; \
  } while (false)

// STRAIT_ASSIGN(auto x, make_x()): declares x from a Result, or returns its failure.
#define STRAIT_ASSIGN(declaration, expression) \
  STRAIT_ASSIGN_INNER(STRAIT_JOIN(result_, __LINE__), declaration, expression)
#define STRAIT_ASSIGN_INNER(temporary, declaration, expression) \
  auto temporary = (expression);                                \
  if (!temporary.ok()) return temporary.status();               \
  declaration = std::move(temporary.value())
