#include "codec/header.hpp"

#include "codec/bytes.hpp"

namespace strait::codec {
namespace {

uint32_t sum_of(const std::byte* chunk, size_t first_word, size_t end_byte) {
  uint32_t sum = 0;
  size_t at = first_word * 4;
  for (; at + 4 <= end_byte; at += 4)
    sum += scrambled(load<uint32_t>(chunk + at), static_cast<uint32_t>(at / 4));
  if (at < end_byte) {
    uint32_t word = 0;
    std::memcpy(&word, chunk + at, end_byte - at);
    sum += scrambled(word, static_cast<uint32_t>(at / 4));
  }
  return sum;
}

}  // namespace

void write_header(const Header& header, std::span<std::byte> chunk) {
  std::byte* out = chunk.data();
  const auto mode = static_cast<uint8_t>(header.mode);
  store<uint8_t>(out, kMagic);
  store<uint8_t>(out + 1, kVersion);
  store<uint8_t>(out + 2, header.payload_checked ? mode | kPayloadChecked : mode);
  store<uint8_t>(out + 3, static_cast<uint8_t>(header.type));
  store<uint32_t>(out + 4, header.count);
  store<uint32_t>(out + 8, header.payload_bytes);
  uint32_t sum = sum_of(out, 0, kCheckAt);
  if (header.payload_checked)
    sum += sum_of(out, kChunkOverhead / 4, kChunkOverhead + header.payload_bytes);
  store<uint32_t>(out + kCheckAt, sum);
}

const char* read_header(std::span<const std::byte> chunk, Header& header) {
  if (chunk.size() < kChunkOverhead) return "it is shorter than a header";
  const std::byte* in = chunk.data();
  if (load<uint8_t>(in) != kMagic) return "it does not start with the mark of a chunk";
  if (load<uint8_t>(in + 1) != kVersion) return "its format version is not known here";
  const uint8_t mode = load<uint8_t>(in + 2) & ~kPayloadChecked;
  const uint8_t type = load<uint8_t>(in + 3);
  if (mode > static_cast<uint8_t>(Mode::kDense)) return "its mode is not known here";
  if (type >= kDataTypeCount) return "its number type is not known here";
  header.mode = static_cast<Mode>(mode);
  header.payload_checked = (load<uint8_t>(in + 2) & kPayloadChecked) != 0;
  header.type = static_cast<DataType>(type);
  header.count = load<uint32_t>(in + 4);
  header.payload_bytes = load<uint32_t>(in + 8);
  if (header.payload_bytes > chunk.size() - kChunkOverhead) return "it is cut short";
  uint32_t sum = sum_of(in, 0, kCheckAt);
  if (header.payload_checked)
    sum += sum_of(in, kChunkOverhead / 4, kChunkOverhead + header.payload_bytes);
  if (sum != load<uint32_t>(in + kCheckAt)) return "its check does not match";
  return nullptr;
}

}  // namespace strait::codec
