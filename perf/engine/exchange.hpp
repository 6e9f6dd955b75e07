// ExchangeGroup: sends and receives that run together, for collectives made of them. Lives for one
// call on one thread; keeps the first failure, and always ends the group it has begun.
#pragma once

#include "perf/engine/collective.hpp"

namespace strait::perf {

class ExchangeGroup {
 public:
  ExchangeGroup() : result_(ncclGroupStart()) {}

  void send(const std::byte* from, size_t count, int peer, const Call& call) {
    if (result_ == ncclSuccess)
      result_ = ncclSend(from, count, call.type, peer, call.comm, call.stream);
  }
  void receive(std::byte* to, size_t count, int peer, const Call& call) {
    if (result_ == ncclSuccess)
      result_ = ncclRecv(to, count, call.type, peer, call.comm, call.stream);
  }
  ncclResult_t end() {
    const ncclResult_t ended = ncclGroupEnd();
    return result_ != ncclSuccess ? result_ : ended;
  }

 private:
  ncclResult_t result_;
};

}  // namespace strait::perf
