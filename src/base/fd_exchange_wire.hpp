// What FdExchange and its clients say to each other: three fixed-size messages over a
// sequenced-packet socket, and the proofs in them. Pure but for the two functions that send and
// receive one packet; any thread.
//
//   server -> client  Hello    a nonce
//   client -> server  Request  which communicator, rank and name; a nonce; proof over both nonces
//   server -> client  Reply    proof the other way round, and the descriptor (SCM_RIGHTS)
//   server -> client  Goodbye  the rank left in good order; an end of file without it means that
//   the process died
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "base/fd.hpp"
#include "base/status.hpp"

namespace strait::fd_wire {

inline constexpr size_t kNonceBytes = 16;
inline constexpr size_t kNameBytes = 128;
using Nonce = std::array<unsigned char, kNonceBytes>;
using Proof = std::array<unsigned char, 32>;
using Magic = std::array<char, 8>;

inline constexpr Magic kHello = {'S', 'T', 'R', 'F', 'D', 'H', 'I', '1'};
inline constexpr Magic kRequest = {'S', 'T', 'R', 'F', 'D', 'R', 'Q', '1'};
inline constexpr Magic kReply = {'S', 'T', 'R', 'F', 'D', 'O', 'K', '1'};
inline constexpr Magic kRefusal = {'S', 'T', 'R', 'F', 'D', 'N', 'O', '1'};
inline constexpr Magic kGoodbye = {'S', 'T', 'R', 'F', 'D', 'B', 'Y', '1'};

struct Hello {
  Magic magic;
  Nonce nonce;
};

struct Request {
  Magic magic;
  uint64_t comm_key;
  int64_t rank;
  Nonce nonce;
  std::array<char, kNameBytes> name;  // ends with a NUL
  Proof proof;
};

struct Reply {
  Magic magic;
  Proof proof;
};

struct Goodbye {
  Magic magic;
};

enum class Side : unsigned char { kClient = 1, kServer = 2 };

Nonce fresh_nonce();
// The keyed hash that shows who knows the secret: over both nonces and everything the request asks
// for.
Proof prove(std::span<const std::byte> secret, Side side, const Nonce& server_nonce,
            const Request& request);
bool same_proof(const Proof& a, const Proof& b);

// One packet, with a descriptor if it is 0 or more. Never blocks; false when the packet could not
// go.
bool send_packet(int socket, std::span<const std::byte> packet, int fd = -1);
template <class T>
bool send_packet(int socket, const T& packet, int fd = -1) {
  return send_packet(socket, std::as_bytes(std::span(&packet, 1)), fd);
}
// One packet into `packet`: its length, 0 at the end of the line, -1 with errno. Never blocks. A
// descriptor that comes along is put into `fd`, or closed when `fd` is null.
ssize_t receive_packet(int socket, std::span<std::byte> packet, UniqueFd* fd = nullptr);
template <class T>
ssize_t receive_packet(int socket, T& packet, UniqueFd* fd = nullptr) {
  return receive_packet(socket, std::as_writable_bytes(std::span(&packet, 1)), fd);
}

}  // namespace strait::fd_wire
