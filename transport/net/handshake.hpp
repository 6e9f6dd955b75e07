// The handshake by which two processes of one communicator recognise each other on a new
// connection: three messages of fixed size, a nonce from each side, and a keyed hash (BLAKE2b under
// the communicator's secret) from each side over all that was said. Pure functions over bytes; any
// thread; about two microseconds a hash.
//
//   caller                                              listener
//   Greeting: magic, version, service, key, from/to,   ->
//             note, nonce
//                                                       <-  Answer: verdict, nonce,
//                                                       hash("listener", greeting, nonce)
//   Proof: hash("caller", greeting, answer's nonce)     ->
//
// The caller may send its own data right behind the proof.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace strait::net {

inline constexpr size_t kHashBytes = 32;
using Hash = std::array<std::byte, kHashBytes>;
using Nonce = std::array<std::byte, 16>;
using Note = std::array<std::byte, 64>;

enum class Service : uint16_t {
  kBootstrap = 1,
  kLink = 2,
  kPing = 3,
  kNotes = 4,
  kVerbs = 5,
  kVerbsTrial = 6,
  kUcx = 7,
  kUcxTrial = 8
};

inline constexpr uint64_t kMagic = 0x0a1a'0d74'6961'7274;  // "trait" and bytes no text begins with
inline constexpr uint16_t kHandshakeVersion = 1;

// All numbers in the byte order of little-endian machines, the only ones supported.
struct Greeting {
  uint64_t magic = kMagic;
  uint16_t version = kHandshakeVersion;
  Service service = Service::kPing;
  uint32_t reserved = 0;
  uint64_t key = 0;  // the communicator's, by which the listener finds the secret
  int32_t from = 0;  // ranks
  int32_t to = 0;
  Note note{};  // the service's own
  Nonce nonce{};
};
static_assert(sizeof(Greeting) == 112);

enum class Verdict : uint32_t {
  kGoOn = 0x0c0c'0001,
  kUnknown = 0x0c0c'0002,
  kOtherVersion = 0x0c0c'0003
};

struct Answer {
  Verdict verdict = Verdict::kGoOn;
  uint32_t version = kHandshakeVersion;
  Nonce nonce{};
  Hash hash{};
};
static_assert(sizeof(Answer) == 56);

struct Proof {
  Hash hash{};
};

// What both sides know of a connection once it stands.
struct Handshake {
  Greeting greeting;
  Nonce answer_nonce{};
};

void fill_random(std::span<std::byte> bytes);
// Hash of one side ("listener", "caller") or the key of a purpose ("session").
Hash handshake_hash(std::span<const std::byte> secret, std::string_view label,
                    const Handshake& handshake);
// Takes the same time wherever the two differ.
bool equal_hash(const Hash& a, const Hash& b);

// Keyed hash over several pieces, for whatever else needs one.
Hash keyed_hash(std::span<const std::byte> key, std::string_view label,
                std::span<const std::span<const std::byte>> pieces);

// For the log: what a stranger's first bytes look like ("an HTTP request", "a TLS greeting",
// "unknown bytes").
std::string_view describe_stranger(std::span<const std::byte> first_bytes);

}  // namespace strait::net
