// Notes: small values that ranks of a communicator hand each other by name over the network, where
// no file descriptor can go: a handle to memory of a GPU, for example. A rank puts its notes on a
// board; whoever asks for a note waits until it is there, or until the board is gone. Asking costs
// a connection. Any thread, but for the reactor's; never on the hot path.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "transport/net/listener.hpp"

namespace strait::net {

inline constexpr size_t kNoteBytesMax = 120;

class NoteBoard {
 public:
  // Of one rank of a communicator; its secret is that of the communicator.
  static Result<std::unique_ptr<NoteBoard>> open(std::shared_ptr<Listener> listener, uint64_t key,
                                                 int rank, std::span<const std::byte> secret);
  virtual ~NoteBoard() = default;
  // Names have up to 31 bytes, values up to kNoteBytesMax. Whoever waits for it gets it at once.
  virtual void put(const std::string& name, std::span<const std::byte> value) = 0;
};

struct NoteQuestion {
  std::vector<Address> board;  // where the rank's process listens
  uint64_t key = 0;
  int rank = 0;  // whose note it is
  int from = 0;  // who asks
  std::string name;
};
// `stopped`, where there is one, is asked now and then; when it has a reason, that is the answer.
Result<std::vector<std::byte>> ask_note(const NoteQuestion& question,
                                        std::span<const std::byte> secret, Deadline deadline,
                                        const std::function<Status()>& stopped = {});

}  // namespace strait::net
