// Ranks without a communicator: what a transport needs of one (doorbell, key, secret), and the
// kinds of transport that the contract suite runs over. Each test owns its ranks; thread rules are
// those of what is tested.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/shared_memory.hpp"
#include "transport/transport.hpp"

namespace strait::test {

using OpenTransport =
    std::function<Result<std::unique_ptr<Transport>>(const TransportContext& context)>;

struct TransportKind {
  std::string name;
  OpenTransport open;
};

// To add a transport to the contract: a line there.
const std::vector<TransportKind>& transport_kinds();

// Another kind in a wrapper.
OpenTransport throttled(OpenTransport open, int64_t bytes_per_second);
OpenTransport traced(OpenTransport open, const std::string& file);
OpenTransport faulty(OpenTransport open, const std::string& spec);

std::vector<std::byte> secret_of(uint8_t first_byte);

// One rank of a communicator with a transport of its own.
class TestRank {
 public:
  TestRank(const OpenTransport& open, int rank, uint64_t comm_key = 1, uint8_t secret = 1);

  Transport& transport() { return *transport_; }
  Doorbell& doorbell() { return *doorbell_; }
  const TransportContext& context() const { return context_; }
  void drop_transport() { transport_.reset(); }

  // Sleeps on the doorbell until the condition holds; false after ten seconds.
  bool wait_for(const std::function<bool()>& condition);

 private:
  SharedMemory memory_;
  std::unique_ptr<Doorbell> doorbell_;
  TransportContext context_;
  std::unique_ptr<Transport> transport_;
};

inline Deadline soon() {
  return Deadline::after_ms(10'000);
}

struct LinkPair {
  std::unique_ptr<SendLink> send;
  std::unique_ptr<RecvLink> recv;
};

// Connects first, then accepts, as a communicator does. Fails the test if either fails.
LinkPair open_pair(TestRank& sender, TestRank& receiver, const LinkSpec& spec);

// Fills and posts one message whose bytes follow from `number`; false if no slot came in ten
// seconds.
bool send_numbered(TestRank& rank, SendLink& link, uint32_t number, size_t bytes);
// Waits for a message, checks that it is the one of `number`, gives it back.
bool receive_numbered(TestRank& rank, RecvLink& link, uint32_t number, size_t bytes);

}  // namespace strait::test
