// Arrivals: the connections of a listener that have not yet proved who they are, each a small state
// machine on the reactor. Everything here runs on the reactor's thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "base/reactor.hpp"
#include "transport/net/service_board.hpp"

namespace strait::net {

class Arrivals {
 public:
  static constexpr int64_t kLimitMs = 5'000;  // to prove itself
  static constexpr size_t kMost = 4096;       // beyond, the oldest makes room

  Arrivals(std::shared_ptr<Reactor> reactor, std::shared_ptr<ServiceBoard> board);
  ~Arrivals();

  void take(UniqueFd fd);

 private:
  struct Arrival {
    Stream fd;
    Address local;
    Address remote;
    uint64_t timer = 0;
    bool greeted = false;
    size_t received = 0;  // of the message awaited: the greeting, then the proof
    Proof proof;
    std::vector<std::byte> secret;
    Handshake handshake;
  };
  using Place = std::map<uint64_t, Arrival>::iterator;  // by order of arrival

  void on_readable(uint64_t number);
  // Each returns true to go on reading.
  bool on_bytes(Place place);
  bool on_greeting(Place place);
  void on_proof(Place place);
  void refuse(Place place, Verdict verdict, const std::string& reason);
  void close(Place place, const std::string& reason);
  Arrival take_out(Place place);

  std::shared_ptr<Reactor> reactor_;
  std::shared_ptr<ServiceBoard> board_;
  uint64_t last_number_ = 0;
  std::map<uint64_t, Arrival> arrivals_;
};

}  // namespace strait::net
