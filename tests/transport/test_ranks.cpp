#include "transport/test_ranks.hpp"

#include <gtest/gtest.h>

#include "transport/fault/fault.hpp"
#include "transport/inproc/inproc.hpp"
#include "transport/shm/shm.hpp"
#include "transport/tcp/tcp.hpp"
#include "transport/throttle/throttle.hpp"
#include "transport/trace/trace.hpp"
#include "transport/ucx/ucx.hpp"
#include "transport/verbs/port.hpp"
#include "transport/verbs/verbs.hpp"

namespace strait::test {
namespace {

std::byte pattern(uint32_t number, size_t index) {
  return static_cast<std::byte>((number * 2654435761u + index * 40503u) >> 8);
}

}  // namespace

// Each transport by itself, and in each wrapper with nothing to do.
const std::vector<TransportKind>& transport_kinds() {
  static const std::vector<TransportKind> kinds = [] {
    std::vector<TransportKind> plain = {
        {"inproc", open_inproc},
        {"shm", open_shm},
        {"tcp", open_tcp},
    };
#if __has_include(<ucp/api/ucp.h>)
    plain.push_back({"ucx", open_ucx});
#endif
    // In the virtual machine of tools/rxe_vm, and on hosts that have it.
    if (!verbs::read_ports().empty()) plain.push_back({"verbs", open_verbs});
    std::vector<TransportKind> all = plain;
    for (const auto& [name, open] : plain) {
      all.push_back({name + "_throttled", throttled(open, 10'000'000'000)});
      all.push_back({name + "_traced", traced(open, "/dev/null")});
      all.push_back({name + "_faultless", faulty(open, "seed=1")});
      all.push_back({name + "_late", faulty(open, "seed=1,delay_us=20")});
    }
    return all;
  }();
  return kinds;
}

OpenTransport throttled(OpenTransport open, int64_t bytes_per_second) {
  // One uplink for all ranks that are opened this way.
  auto bucket = RateBucket::create(bytes_per_second);
  EXPECT_TRUE(bucket.ok()) << bucket.status().message();
  return [=](const TransportContext& context) -> Result<std::unique_ptr<Transport>> {
    STRAIT_ASSIGN(auto inner, open(context));
    return throttle(std::move(inner), *bucket);
  };
}

OpenTransport traced(OpenTransport open, const std::string& file) {
  return [=](const TransportContext& context) -> Result<std::unique_ptr<Transport>> {
    STRAIT_ASSIGN(auto inner, open(context));
    return trace(std::move(inner), std::make_shared<TraceSink>(file, context.rank));
  };
}

OpenTransport faulty(OpenTransport open, const std::string& spec) {
  return [=](const TransportContext& context) -> Result<std::unique_ptr<Transport>> {
    STRAIT_ASSIGN(const auto faults, parse_fault(spec));
    STRAIT_ASSIGN(auto inner, open(context));
    return inject_faults(std::move(inner), faults);
  };
}

std::vector<std::byte> secret_of(uint8_t first_byte) {
  return std::vector<std::byte>(32, static_cast<std::byte>(first_byte));
}

TestRank::TestRank(const OpenTransport& open, int rank, uint64_t comm_key, uint8_t secret) {
  auto memory = SharedMemory::create("doorbell", sizeof(DoorbellWord));
  EXPECT_TRUE(memory.ok()) << memory.status().message();
  memory_ = std::move(*memory);
  doorbell_ = std::make_unique<Doorbell>(reinterpret_cast<DoorbellWord*>(memory_.data()));
  context_.rank = rank;
  context_.comm_key = comm_key;
  context_.secret = secret_of(secret);
  context_.doorbell = doorbell_.get();
  context_.doorbell_fd = memory_.fd();
  auto transport = open(context_);
  EXPECT_TRUE(transport.ok()) << transport.status().message();
  transport_ = std::move(*transport);
}

bool TestRank::wait_for(const std::function<bool()>& condition) {
  const Deadline deadline = soon();
  while (true) {
    const uint32_t seen = doorbell_->read();
    if (condition()) return true;
    if (!doorbell_->wait(seen, deadline)) return condition();
  }
}

LinkPair open_pair(TestRank& sender, TestRank& receiver, const LinkSpec& spec) {
  auto send = sender.transport().connect(receiver.transport().address(), spec, soon());
  EXPECT_TRUE(send.ok()) << send.status().message();
  auto recv = receiver.transport().accept(sender.transport().address(), spec, soon());
  EXPECT_TRUE(recv.ok()) << recv.status().message();
  return {std::move(*send), std::move(*recv)};
}

bool send_numbered(TestRank& rank, SendLink& link, uint32_t number, size_t bytes) {
  std::span<std::byte> slot;
  if (!rank.wait_for([&] { return !(slot = link.send_slot()).empty(); })) return false;
  if (slot.size() < bytes) return false;
  for (size_t i = 0; i < bytes; ++i) slot[i] = pattern(number, i);
  link.commit(bytes, number);
  return true;
}

bool receive_numbered(TestRank& rank, RecvLink& link, uint32_t number, size_t bytes) {
  Message message;
  if (!rank.wait_for([&] { return !(message = link.recv_slot()).bytes.empty(); })) return false;
  if (message.bytes.size() != bytes || message.tag != number) return false;
  for (size_t i = 0; i < bytes; ++i)
    if (message.bytes[i] != pattern(number, i)) return false;
  link.release();
  return true;
}

}  // namespace strait::test
