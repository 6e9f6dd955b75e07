// Prints texts and hashes. Built with the packages and with what stands in for them where there are
// none (tools/cmake/substitutes); both must print the same.
#include <fmt/ranges.h>
#include <sodium.h>

#include <array>
#include <string>
#include <vector>

namespace {

using Bytes = std::vector<unsigned char>;

void print_numbers() {
  fmt::print("{} {} {} {} {}\n", 0, -42, ~0ull, true, 'c');
  fmt::print("{:#x} {:02x} {:08x} {:03} {:+d} {:05d} {:#010x}\n", 255, 10, 0xbeef, 7, 3, -7,
             0xabcu);
  fmt::print("{} {} {} {} {} {}\n", 1.0, 0.1, -2.5, 1e300, 1e-7, 123456789.0);
  fmt::print("{:.1f} {:.3g} {:.2f} {:8.2f} {:g} {:e} {:.0f}\n", 3.14159, 1234567.0, 0.005, -2.5,
             0.5, 12345.678, 2.5);
}

void print_texts() {
  const std::string text = "text";
  const char* const words = "words";
  fmt::print("[{:>8}] [{:8}] [{:<8}] [{:^9}] [{:*^10}] [{:40}]\n", "ab", 5, words, text,
             std::string_view("mid"), "left");
  fmt::print("{{}} {1} {0} {1:>6}\n", text, 7);
  const std::array<unsigned char, 3> bytes = {1, 0xab, 255};
  fmt::print("{:02x} {}\n", fmt::join(bytes, ""), fmt::join(std::vector{1, 2, 3}, ", "));
}

// One hash in pieces, with or without a key, around the borders of BLAKE2b's blocks.
void print_hash(size_t text_bytes, size_t key_bytes) {
  Bytes text(text_bytes), key(key_bytes), hash(32);
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<unsigned char>(i * 7 + 1);
  for (size_t i = 0; i < key.size(); ++i) key[i] = static_cast<unsigned char>(i * 5 + 3);
  crypto_generichash_state state;
  crypto_generichash_init(&state, key.data(), key.size(), hash.size());
  crypto_generichash_update(&state, text.data(), text.size() / 3);
  crypto_generichash_update(&state, text.data() + text.size() / 3, text.size() - text.size() / 3);
  crypto_generichash_final(&state, hash.data(), hash.size());
  fmt::print("{} {}: {:02x}\n", text_bytes, key_bytes, fmt::join(hash, ""));
}

// What is random, as far as both can say the same of it.
void print_random() {
  Bytes a(32), b(32), none(32);
  const bool ready = sodium_init() >= 0;
  randombytes_buf(a.data(), a.size());
  randombytes_buf(b.data(), b.size());
  fmt::print("{} {} {} {}\n", ready, sodium_memcmp(a.data(), a.data(), a.size()),
             sodium_memcmp(a.data(), b.data(), a.size()),
             sodium_memcmp(a.data(), none.data(), a.size()));
}

}  // namespace

int main() {
  print_numbers();
  print_texts();
  for (const size_t text : {0, 1, 127, 128, 129, 255, 256, 257, 1000})
    for (const size_t key : {0, 32, 64}) print_hash(text, key);
  print_random();
}
