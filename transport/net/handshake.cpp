#include "transport/net/handshake.hpp"

#include <sodium.h>

#include <algorithm>
#include <bit>

#include "base/check.hpp"

namespace strait::net {
namespace {

static_assert(std::endian::native == std::endian::little, "the messages are little-endian");
static_assert(kHashBytes == crypto_generichash_BYTES);

void ready_sodium() {
  static const bool ready = sodium_init() >= 0;
  STRAIT_CHECK(ready, "libsodium cannot start: no source of random numbers");
}

const unsigned char* raw(const void* bytes) {
  return static_cast<const unsigned char*>(bytes);
}

}  // namespace

void fill_random(std::span<std::byte> bytes) {
  ready_sodium();
  randombytes_buf(bytes.data(), bytes.size());
}

Hash keyed_hash(std::span<const std::byte> key, std::string_view label,
                std::span<const std::span<const std::byte>> pieces) {
  ready_sodium();
  crypto_generichash_state state;
  crypto_generichash_init(&state, raw(key.data()), key.size(), kHashBytes);
  // The label's length keeps "ab"+"c" and "a"+"bc" apart.
  const uint64_t label_bytes = label.size();
  crypto_generichash_update(&state, raw(&label_bytes), sizeof label_bytes);
  crypto_generichash_update(&state, raw(label.data()), label.size());
  for (const auto& piece : pieces)
    crypto_generichash_update(&state, raw(piece.data()), piece.size());
  Hash hash;
  crypto_generichash_final(&state, reinterpret_cast<unsigned char*>(hash.data()), hash.size());
  return hash;
}

Hash handshake_hash(std::span<const std::byte> secret, std::string_view label,
                    const Handshake& handshake) {
  const std::span<const std::byte> pieces[] = {std::as_bytes(std::span(&handshake.greeting, 1)),
                                               handshake.answer_nonce};
  return keyed_hash(secret, label, pieces);
}

bool equal_hash(const Hash& a, const Hash& b) {
  return sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string_view describe_stranger(std::span<const std::byte> first_bytes) {
  const std::string_view text(reinterpret_cast<const char*>(first_bytes.data()),
                              first_bytes.size());
  if (text.empty()) return "nothing";
  for (std::string_view method : {"GET ", "POST ", "HEAD ", "PUT ", "OPTIONS ", "CONNECT "})
    if (text.starts_with(method.substr(0, std::min(method.size(), text.size()))))
      return "an HTTP request";
  if (text[0] == '\x16') return "a TLS greeting";
  if (text.starts_with("SSH-")) return "an SSH greeting";
  return "unknown bytes";
}

}  // namespace strait::net
