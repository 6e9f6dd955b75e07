// ChildProcess: a fork that runs a piece of a test and can be killed, with a socket to exchange a
// few texts. Fork before anything in the parent starts threads. The child never returns into the
// test; its exit code is what the body returns.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "base/fd.hpp"

namespace strait::test {

// Short texts over a socket that keeps their boundaries.
class Channel {
 public:
  explicit Channel(UniqueFd socket) : socket_(std::move(socket)) {}
  void send(const std::string& text) const;
  std::string receive() const;  // waits up to ten seconds; empty: nothing came

 private:
  UniqueFd socket_;
};

class ChildProcess {
 public:
  explicit ChildProcess(const std::function<int(const Channel& parent)>& body);
  ~ChildProcess();

  const Channel& channel() const { return channel_; }
  pid_t process() const { return process_; }
  void kill_now();
  int exit_code();  // waits for the end; -1 when a signal ended it

 private:
  pid_t process_ = -1;
  Channel channel_{UniqueFd()};
  bool reaped_ = false;
};

}  // namespace strait::test
