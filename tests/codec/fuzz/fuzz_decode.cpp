// libFuzzer: any bytes to decode. The first bytes choose type and count, the rest is a payload; the
// header is made true, so that the fuzzer does not have to guess a check. Whatever comes out,
// nothing outside the chunk is read and nothing outside the values is written, and every
// implementation agrees.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "codec/codec.hpp"
#include "codec/dispatch.hpp"
#include "codec/header.hpp"

using namespace strait;
using namespace strait::codec;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

class CountingSink final : public BlockSink {
 public:
  void block(const void* values, size_t first, size_t count) override {
    require(first == total && count > 0);
    const auto* bytes = static_cast<const volatile uint8_t*>(values);
    (void)bytes[0];
    total += count;
  }
  size_t total = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<std::byte> plain(size);
  if (size != 0) std::memcpy(plain.data(), data, size);
  (void)inspect(plain).ok();
  if (size < 4) return 0;
  Header header;
  header.type = static_cast<DataType>(data[0] % kDataTypeCount);
  header.mode = static_cast<Mode>(data[1] % 4);
  header.count = (data[2] | data[3] << 8) % 40000;
  header.payload_bytes = static_cast<uint32_t>(size - 4);
  std::vector<std::byte> chunk(kChunkOverhead + size - 4);
  if (size > 4) std::memcpy(chunk.data() + kChunkOverhead, data + 4, size - 4);
  write_header(header, chunk);

  std::vector<std::byte> expected;
  bool first = true, expected_ok = false;
  for (const Kernels* kernels : available_kernels()) {
    require(force_kernels(kernels->name));
    std::vector<std::byte> values(header.count * size_of(header.type));
    const bool ok = decode(chunk, header.type, header.count, values.data()).ok();
    CountingSink sink;
    require(decode_blocks(chunk, header.type, header.count, sink).ok() == ok);
    require(!ok || sink.total == header.count);
    if (first) {
      expected = values;
      expected_ok = ok;
    }
    require(ok == expected_ok && (!ok || values == expected));
    first = false;
  }
  return 0;
}
