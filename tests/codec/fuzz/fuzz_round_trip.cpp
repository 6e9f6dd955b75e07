// libFuzzer: any values through encode and back. Every implementation gives the same chunk, no
// longer than promised, and the same values again.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "codec/codec.hpp"
#include "codec/dispatch.hpp"

using namespace strait;
using namespace strait::codec;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

// What the fuzzer gives is short; repeated with small changes it fills several blocks.
std::vector<uint8_t> values_of(const uint8_t* data, size_t size, size_t bytes, uint8_t change) {
  std::vector<uint8_t> values(bytes);
  for (size_t i = 0; i < bytes; ++i)
    values[i] = static_cast<uint8_t>(data[i % size] + (i / size) * (change & 3));
  return values;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 5) return 0;
  const auto type = static_cast<DataType>(data[0] % kDataTypeCount);
  const Options options = {static_cast<Mode>(data[1] % 4), (data[1] & 16) != 0};
  const size_t most = (data[1] & 32) != 0 ? 40000 : 3000;  // several tiles, or more tries
  const size_t count = (data[2] | data[3] << 8) % most;
  const std::vector<uint8_t> values =
      values_of(data + 4, size - 4, count * size_of(type), data[1] >> 6);
  std::vector<std::byte> expected;
  for (const Kernels* kernels : available_kernels()) {
    require(force_kernels(kernels->name));
    std::vector<std::byte> chunk(bound(type, count));
    chunk.resize(encode(type, values.data(), count, chunk, options));
    if (expected.empty()) expected = chunk;
    require(chunk == expected);
    std::vector<uint8_t> back(values.size());
    require(decode(chunk, type, count, back.data()).ok());
    require(back == values);
  }
  return 0;
}
