// Notes that ranks hand each other by name over the network.
#include <gmock/gmock.h>

#include <thread>

#include "transport/net/notes.hpp"

namespace strait::net {
namespace {

using testing::HasSubstr;

constexpr uint64_t kKey = 4711;

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

class Notes : public testing::Test {
 protected:
  std::unique_ptr<NoteBoard> open(int rank) {
    return std::move(NoteBoard::open(listener_, kKey, rank, secret_).value());
  }
  Result<std::vector<std::byte>> ask(int rank, const std::string& name, int64_t limit_ms = 5'000,
                                     const std::function<Status()>& stopped = {}) {
    Address address = *Address::parse("127.0.0.1:1");
    address.port = listener_->port();
    return ask_note({.board = {address}, .key = kKey, .rank = rank, .from = 1, .name = name},
                    secret_, Deadline::after_ms(limit_ms), stopped);
  }

  std::shared_ptr<Listener> listener_ = Listener::get("").value();
  std::vector<std::byte> secret_ = std::vector<std::byte>(32, std::byte{7});
};

TEST_F(Notes, ArriveWhetherTheyAreThereOrComeLater) {
  const auto board = open(0);
  board->put("there", bytes_of("a handle"));
  board->put("empty", {});
  EXPECT_EQ(ask(0, "there").value(), bytes_of("a handle"));
  EXPECT_EQ(ask(0, "there").value(), bytes_of("a handle"));
  EXPECT_EQ(ask(0, "empty").value(), bytes_of(""));
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    board->put("later", bytes_of(std::string(kNoteBytesMax, 'x')));
  });
  EXPECT_EQ(ask(0, "later").value(), bytes_of(std::string(kNoteBytesMax, 'x')));
  later.join();
}

TEST_F(Notes, OfSeveralRanksAndNamesAreKeptApart) {
  const auto zero = open(0);
  const auto one = open(1);
  for (int i = 0; i < 20; ++i) {
    zero->put("ring from " + std::to_string(i), bytes_of("zero" + std::to_string(i)));
    one->put("ring from " + std::to_string(i), bytes_of("one" + std::to_string(i)));
  }
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(ask(0, "ring from " + std::to_string(i)).value(),
              bytes_of("zero" + std::to_string(i)));
    EXPECT_EQ(ask(1, "ring from " + std::to_string(i)).value(),
              bytes_of("one" + std::to_string(i)));
  }
}

TEST_F(Notes, ThatDoNotComeEndInAVerdict) {
  auto board = open(0);
  const auto late = ask(0, "never", 100);
  EXPECT_EQ(late.status().code(), Code::kTimeout);
  EXPECT_THAT(late.status().message(), HasSubstr("rank 0 did not give never in time"));
  const auto stopped =
      ask(0, "never", 5'000, [] { return error(Code::kInvalidUsage, "it was aborted"); });
  EXPECT_THAT(stopped.status().message(), HasSubstr("it was aborted"));
  std::thread leaver([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    board.reset();
  });
  const auto left = ask(0, "never");
  EXPECT_EQ(left.status().code(), Code::kRemoteError);
  EXPECT_THAT(left.status().message(), HasSubstr("rank 0 left before it gave never"));
  leaver.join();
}

TEST_F(Notes, AreNotForStrangers) {
  const auto board = open(0);
  board->put("there", bytes_of("a handle"));
  secret_[0] = std::byte{8};
  EXPECT_FALSE(ask(0, "there", 1'000).ok());
}

}  // namespace
}  // namespace strait::net
