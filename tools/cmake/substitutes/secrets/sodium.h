/* The calls of libsodium that the library makes, for builds on machines that have no libsodium
 * (STRAIT_DEVICE_BUILD): random bytes of the kernel, BLAKE2b as RFC 7693 has it (byte for byte
 * libsodium's crypto_generichash), and a comparison whose time tells nothing. Correct, but audited
 * by nobody, so what is built with it stays inside one host (STRAIT_ONE_HOST,
 * transport/net/reach.hpp). Any thread. */
#pragma once

#include <sys/random.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

inline constexpr size_t crypto_generichash_BYTES = 32;

inline int sodium_init() {
  return 0;
}

inline void randombytes_buf(void* target, size_t bytes) {
  auto* at = static_cast<unsigned char*>(target);
  while (bytes > 0) {
    const ssize_t count = getrandom(at, bytes, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      std::fputs("strait: the system gives no random numbers\n", stderr);
      std::abort();
    }
    at += count;
    bytes -= static_cast<size_t>(count);
  }
}

inline int sodium_memcmp(const void* a, const void* b, size_t bytes) {
  const auto* left = static_cast<const volatile unsigned char*>(a);
  const auto* right = static_cast<const volatile unsigned char*>(b);
  unsigned char differs = 0;
  for (size_t i = 0; i < bytes; ++i)
    differs = static_cast<unsigned char>(differs | (left[i] ^ right[i]));
  return differs == 0 ? 0 : -1;
}

struct crypto_generichash_state {
  uint64_t chain[8];
  uint64_t bytes_before;  // of the block
  unsigned char block[128];
  size_t filled;
};

namespace strait_blake2b {

inline constexpr uint64_t kStart[8] = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b,
                                       0xa54ff53a5f1d36f1, 0x510e527fade682d1, 0x9b05688c2b3e6c1f,
                                       0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};

// Which word of the block goes where, by round; rounds 10 and 11 are those of 0 and 1.
inline constexpr unsigned char kOrder[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

inline uint64_t rotated(uint64_t value, int bits) {
  return value >> bits | value << (64 - bits);
}

inline void mix(uint64_t* v, int a, int b, int c, int d, uint64_t x, uint64_t y) {
  v[a] += v[b] + x;
  v[d] = rotated(v[d] ^ v[a], 32);
  v[c] += v[d];
  v[b] = rotated(v[b] ^ v[c], 24);
  v[a] += v[b] + y;
  v[d] = rotated(v[d] ^ v[a], 16);
  v[c] += v[d];
  v[b] = rotated(v[b] ^ v[c], 63);
}

// Takes in the block, whose last byte is number `bytes` of all.
inline void compress(crypto_generichash_state* state, uint64_t bytes, bool last) {
  uint64_t words[16], v[16];
  std::memcpy(words, state->block, sizeof words);
  for (int i = 0; i < 8; ++i) {
    v[i] = state->chain[i];
    v[8 + i] = kStart[i];
  }
  v[12] ^= bytes;
  if (last) v[14] = ~v[14];
  for (int round = 0; round < 12; ++round) {
    const unsigned char* order = kOrder[round % 10];
    for (int i = 0; i < 8; ++i) {
      const int column = i % 4, turn = i / 4;  // four columns, then four diagonals
      mix(v, column, 4 + (column + turn) % 4, 8 + (column + 2 * turn) % 4,
          12 + (column + 3 * turn) % 4, words[order[2 * i]], words[order[2 * i + 1]]);
    }
  }
  for (int i = 0; i < 8; ++i) state->chain[i] ^= v[i] ^ v[8 + i];
}

}  // namespace strait_blake2b

inline int crypto_generichash_update(crypto_generichash_state* state, const unsigned char* bytes,
                                     unsigned long long count) {
  while (count > 0) {
    // A full block waits until it is known whether more follows: the last one is marked.
    if (state->filled == sizeof state->block) {
      state->bytes_before += sizeof state->block;
      strait_blake2b::compress(state, state->bytes_before, false);
      state->filled = 0;
    }
    const size_t room = sizeof state->block - state->filled;
    const size_t taken = count < room ? static_cast<size_t>(count) : room;
    std::memcpy(state->block + state->filled, bytes, taken);
    state->filled += taken;
    bytes += taken;
    count -= taken;
  }
  return 0;
}

inline int crypto_generichash_init(crypto_generichash_state* state, const unsigned char* key,
                                   size_t key_bytes, size_t hash_bytes) {
  *state = {};
  std::memcpy(state->chain, strait_blake2b::kStart, sizeof state->chain);
  state->chain[0] ^= 0x01010000 ^ key_bytes << 8 ^ hash_bytes;
  if (key_bytes == 0) return 0;
  std::memcpy(state->block, key, key_bytes);
  state->filled = sizeof state->block;
  return 0;
}

inline int crypto_generichash_final(crypto_generichash_state* state, unsigned char* hash,
                                    size_t hash_bytes) {
  std::memset(state->block + state->filled, 0, sizeof state->block - state->filled);
  strait_blake2b::compress(state, state->bytes_before + state->filled, true);
  std::memcpy(hash, state->chain, hash_bytes);
  return 0;
}
