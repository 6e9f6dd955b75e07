// The hazard of lending: a step that overwrites what a peer has not read yet must wait, and so must
// the end of the call. Three ranks whose plans make it happen, run by hand over links in memory.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <numeric>

#include "exec/host_execution.hpp"
#include "transport/inproc/inproc.hpp"

namespace strait {
namespace {

constexpr uint64_t kCount = 4096;
constexpr int kRanks = 3;
constexpr Place kInput{Buffer::kInput, 0};
constexpr Place kOutput{Buffer::kOutput, 0};

Step send(int peer) {
  return {.count = kCount, .source = kInput, .send_to = peer};
}
Step receive(int peer) {
  return {.count = kCount, .recv_from = peer, .target = kOutput};
}

// What rank 0 sends to rank 1 is overwritten by what rank 2 sends to it.
const std::array<std::vector<Step>, kRanks> kSteps = {
    std::vector<Step>{send(1), receive(2)},
    std::vector<Step>{receive(2), receive(0)},
    std::vector<Step>{send(0), send(1)},
};

class ExecutionLoans : public testing::Test {
 protected:
  ExecutionLoans() {
    for (int rank = 0; rank < kRanks; ++rank) open(rank);
    connect(0, 1);
    connect(2, 0);
    connect(2, 1);
    for (int rank = 0; rank < kRanks; ++rank) bind(rank);
  }

  // In place: what is received overwrites what was sent.
  std::vector<int>& values(int rank) { return values_[static_cast<size_t>(rank)]; }
  HostExecution& run(int rank) { return *executions_[static_cast<size_t>(rank)]; }
  uint64_t advance(int rank) {
    const auto ran = run(rank).advance();
    EXPECT_TRUE(ran.ok()) << ran.status().message();
    return ran.ok() ? *ran : 0;
  }
  std::vector<int> sent_by(int rank) const {
    std::vector<int> values(kCount);
    std::iota(values.begin(), values.end(), rank * 10'000);
    return values;
  }
  uint64_t lent_bytes() const { return traffic_.lent_bytes; }

  std::map<std::pair<int, int>, SendPort> senders_;
  std::map<std::pair<int, int>, std::unique_ptr<RecvLink>> receivers_;

 private:
  void open(int rank) {
    TransportContext context;
    context.rank = rank;
    context.comm_key = 7;
    context.secret.resize(32);
    context.doorbell = &doorbell_;
    auto transport = open_inproc(context);
    ASSERT_TRUE(transport.ok());
    transports_.push_back(std::move(*transport));
  }
  void connect(int from, int to) {
    const LinkSpec spec{.source = from, .destination = to, .slots = 2, .slot_bytes = 1 << 16};
    auto& sender = *transports_[static_cast<size_t>(from)];
    auto& receiver = *transports_[static_cast<size_t>(to)];
    auto link = sender.connect(receiver.address(), spec, Deadline::after_ms(1000));
    ASSERT_TRUE(link.ok());
    links_.push_back(std::move(*link));
    SendPort& port = senders_[{from, to}];
    port.link = links_.back().get();
    port.peer = to;
    port.lends_from = 1;
    auto end = receiver.accept(sender.address(), spec, Deadline::after_ms(1000));
    ASSERT_TRUE(end.ok());
    receivers_[{from, to}] = std::move(*end);
  }
  void bind(int rank) {
    BoundPlan& bound = plans_[static_cast<size_t>(rank)];
    bound.plan = {.rank = rank,
                  .rank_count = kRanks,
                  .lanes = {{.piece = kCount, .steps = kSteps[static_cast<size_t>(rank)]}}};
    auto& ports = bound.ports.emplace_back();
    for (const Step& step : bound.plan.lanes[0].steps) {
      StepPorts& port = ports.emplace_back();
      if (step.send_to != kNoPeer) port.send = &senders_.at({rank, step.send_to});
      if (step.recv_from != kNoPeer) port.recv = receivers_.at({step.recv_from, rank}).get();
      if (step.send_to != kNoPeer) port.loan = Loan::kAlways;
    }
    place_staging(bound);
    bound.loans_max = {4};
    values(rank) = sent_by(rank);
    const Request request{
        .collective = Collective::kBroadcast, .type = DataType::kInt32, .count = kCount};
    auto* const bytes = reinterpret_cast<std::byte*>(values(rank).data());
    executions_[static_cast<size_t>(rank)] = std::make_unique<HostExecution>(
        bound,
        HostCall{.request = request,
                 .arithmetic = make_arithmetic(request.type, request.reduce, kRanks, nullptr),
                 .memory = {.input = bytes, .output = bytes},
                 .coding = {}},
        traffic_);
  }

  DoorbellWord word_;
  Doorbell doorbell_{&word_};
  TrafficCounters traffic_;
  std::array<std::vector<int>, kRanks> values_;
  std::vector<std::unique_ptr<Transport>> transports_;
  std::vector<std::unique_ptr<SendLink>> links_;
  std::array<BoundPlan, kRanks> plans_;
  std::array<std::unique_ptr<HostExecution>, kRanks> executions_;
};

TEST_F(ExecutionLoans, AStepWaitsToOverwriteWhatAPeerHasNotRead) {
  EXPECT_EQ(advance(0), 1U);
  EXPECT_EQ(advance(2), 2U);
  EXPECT_EQ(lent_bytes(), 3 * kCount * sizeof(int)) << "nothing was lent: there is no hazard";
  EXPECT_EQ(advance(0), 0U);
  EXPECT_EQ(values(0), sent_by(0));
  EXPECT_EQ(advance(1), 2U);
  EXPECT_EQ(values(1), sent_by(0));
  EXPECT_EQ(advance(0), 1U);
  EXPECT_EQ(values(0), sent_by(2));
  for (int rank = 0; rank < kRanks; ++rank) EXPECT_TRUE(run(rank).done());
}

TEST_F(ExecutionLoans, TheCallEndsWhenTheReadersAreDone) {
  EXPECT_EQ(advance(2), 2U);
  EXPECT_FALSE(run(2).done()) << "its values are still to be read";
  EXPECT_NE(run(2).where().find("waits for rank 0 to read what it was sent"), std::string::npos)
      << run(2).where();
  for (const int reader : {0, 1}) {
    RecvLink& link = *receivers_.at({2, reader});
    ASSERT_FALSE(link.recv_slot().bytes.empty());
    link.release();
  }
  EXPECT_TRUE(run(2).done());
}

TEST_F(ExecutionLoans, AReaderThatFailsEndsTheWait) {
  EXPECT_EQ(advance(2), 2U);
  receivers_.at({2, 1})->abort(error(Code::kRemoteError, "out of paper"));
  receivers_.at({2, 0})->recv_slot();
  receivers_.at({2, 0})->release();
  const auto ran = run(2).advance();
  ASSERT_FALSE(ran.ok());
  EXPECT_NE(ran.status().message().find("out of paper"), std::string::npos)
      << ran.status().message();
}

// Who has read and left owes nothing, whoever else is still reading.
TEST_F(ExecutionLoans, AReaderMayLeaveWhenItIsDone) {
  EXPECT_EQ(advance(2), 2U);
  ASSERT_FALSE(receivers_.at({2, 0})->recv_slot().bytes.empty());
  receivers_.at({2, 0})->release();
  receivers_.at({2, 0}).reset();
  EXPECT_EQ(advance(2), 0U) << "waits for the other reader";
  ASSERT_FALSE(receivers_.at({2, 1})->recv_slot().bytes.empty());
  receivers_.at({2, 1})->release();
  EXPECT_TRUE(run(2).done());
}

TEST_F(ExecutionLoans, SmallMessagesAreCopied) {
  senders_.at({0, 1}).lends_from = kCount * sizeof(int) + 1;
  EXPECT_EQ(advance(0), 1U);
  EXPECT_EQ(lent_bytes(), 0U);
  EXPECT_EQ(advance(2), 2U);
  EXPECT_EQ(advance(0), 1U) << "there is nothing to wait for";
}

}  // namespace
}  // namespace strait
