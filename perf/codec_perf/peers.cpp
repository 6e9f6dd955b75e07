#include <algorithm>
#include <cstring>

#include "perf/codec_perf/contender.hpp"

#if defined(STRAIT_PEER_ZSTD)
#include <zstd.h>
#endif
#if defined(STRAIT_PEER_LZ4)
#include <lz4.h>
#endif
#if defined(STRAIT_PEER_BLOSC)
#include <blosc.h>
#endif
#if defined(STRAIT_PEER_HTSCODECS)
#include <htscodecs/rANS_static4x16.h>
#endif

namespace strait::perf {
namespace {

#if defined(STRAIT_PEER_ZSTD)
class Zstd final : public Contender {
 public:
  Zstd() : compress_(ZSTD_createCCtx()), decompress_(ZSTD_createDCtx()) {}
  Zstd(const Zstd&) = delete;
  ~Zstd() override {
    ZSTD_freeCCtx(compress_);
    ZSTD_freeDCtx(decompress_);
  }
  std::string name() const override { return "zstd -1"; }
  bool handles(DataType) const override { return true; }
  size_t bound(DataType, size_t bytes) const override { return ZSTD_compressBound(bytes); }
  size_t encode(DataType, std::span<const std::byte> values, std::span<std::byte> out) override {
    const size_t bytes =
        ZSTD_compressCCtx(compress_, out.data(), out.size(), values.data(), values.size(), 1);
    return ZSTD_isError(bytes) ? 0 : bytes;
  }
  bool decode(DataType, std::span<const std::byte> chunk, std::span<std::byte> values) override {
    return ZSTD_decompressDCtx(decompress_, values.data(), values.size(), chunk.data(),
                               chunk.size()) == values.size();
  }

 private:
  ZSTD_CCtx* compress_;
  ZSTD_DCtx* decompress_;
};
#endif

#if defined(STRAIT_PEER_LZ4)
class Lz4 final : public Contender {
 public:
  std::string name() const override { return "lz4"; }
  bool handles(DataType) const override { return true; }
  size_t bound(DataType, size_t bytes) const override {
    return static_cast<size_t>(LZ4_compressBound(static_cast<int>(bytes)));
  }
  size_t encode(DataType, std::span<const std::byte> values, std::span<std::byte> out) override {
    return static_cast<size_t>(LZ4_compress_default(
        reinterpret_cast<const char*>(values.data()), reinterpret_cast<char*>(out.data()),
        static_cast<int>(values.size()), static_cast<int>(out.size())));
  }
  bool decode(DataType, std::span<const std::byte> chunk, std::span<std::byte> values) override {
    return LZ4_decompress_safe(reinterpret_cast<const char*>(chunk.data()),
                               reinterpret_cast<char*>(values.data()),
                               static_cast<int>(chunk.size()),
                               static_cast<int>(values.size())) == static_cast<int>(values.size());
  }
};
#endif

#if defined(STRAIT_PEER_BLOSC)
// Bytes of one place together, then the named compressor.
class Blosc final : public Contender {
 public:
  explicit Blosc(const char* compressor) : compressor_(compressor) {}
  std::string name() const override { return std::string("blosc ") + compressor_; }
  bool handles(DataType) const override { return true; }
  size_t bound(DataType, size_t bytes) const override { return bytes + BLOSC_MAX_OVERHEAD; }
  size_t encode(DataType type, std::span<const std::byte> values,
                std::span<std::byte> out) override {
    const int bytes = blosc_compress_ctx(1, BLOSC_SHUFFLE, size_of(type), values.size(),
                                         values.data(), out.data(), out.size(), compressor_, 0, 1);
    return bytes > 0 ? static_cast<size_t>(bytes) : 0;
  }
  bool decode(DataType, std::span<const std::byte> chunk, std::span<std::byte> values) override {
    return blosc_decompress_ctx(chunk.data(), values.data(), values.size(), 1) ==
           static_cast<int>(values.size());
  }

 private:
  const char* compressor_;
};
#endif

#if defined(STRAIT_PEER_HTSCODECS)
// The byte of sign and exponent, or of exponent alone, through 32 interleaved rANS states; the rest
// as it is. What DietGPU does, on a processor.
class Rans final : public Contender {
 public:
  std::string name() const override { return "rANS x32"; }
  bool handles(DataType type) const override { return size_of(type) == 2; }
  size_t bound(DataType, size_t bytes) const override {
    return bytes + rans_compress_bound_4x16(static_cast<unsigned>(bytes / 2), RANS_ORDER_X32) + 4;
  }
  size_t encode(DataType type, std::span<const std::byte> values,
                std::span<std::byte> out) override {
    const size_t count = values.size() / 2;
    exponents_.resize(count);
    const auto* in = reinterpret_cast<const unsigned char*>(values.data());
    const bool whole = type == DataType::kBfloat16;  // the exponent fills a byte
    for (size_t i = 0; i < count; ++i) {
      const unsigned low = in[2 * i], high = in[2 * i + 1];
      exponents_[i] = static_cast<unsigned char>(whole ? high << 1 | low >> 7 : high);
      out[4 + i] = static_cast<std::byte>(whole ? (low & 127) | (high & 128) : low);
    }
    auto size = static_cast<unsigned>(out.size() - 4 - count);
    auto* coded = reinterpret_cast<unsigned char*>(out.data()) + 4 + count;
    if (rans_compress_to_4x16(exponents_.data(), static_cast<unsigned>(count), coded, &size,
                              RANS_ORDER_X32) == nullptr)
      return 0;
    std::memcpy(out.data(), &size, 4);
    return 4 + count + size;
  }
  bool decode(DataType type, std::span<const std::byte> chunk,
              std::span<std::byte> values) override {
    const size_t count = values.size() / 2;
    exponents_.resize(count);
    unsigned coded = 0, size = static_cast<unsigned>(count);
    std::memcpy(&coded, chunk.data(), 4);
    auto* in = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(chunk.data())) + 4;
    if (rans_uncompress_to_4x16(in + count, coded, exponents_.data(), &size) == nullptr)
      return false;
    const bool whole = type == DataType::kBfloat16;
    for (size_t i = 0; i < count; ++i) {
      const unsigned rest = in[i], exponent = exponents_[i];
      values[2 * i] = static_cast<std::byte>(whole ? (rest & 127) | exponent << 7 : rest);
      values[2 * i + 1] = static_cast<std::byte>(whole ? (rest & 128) | exponent >> 1 : exponent);
    }
    return true;
  }

 private:
  std::vector<unsigned char> exponents_;
};
#endif

}  // namespace

std::vector<std::unique_ptr<Contender>> peer_contenders() {
  std::vector<std::unique_ptr<Contender>> all;
#if defined(STRAIT_PEER_ZSTD)
  all.push_back(std::make_unique<Zstd>());
#endif
#if defined(STRAIT_PEER_LZ4)
  all.push_back(std::make_unique<Lz4>());
#endif
#if defined(STRAIT_PEER_BLOSC)
  all.push_back(std::make_unique<Blosc>("lz4"));
  all.push_back(std::make_unique<Blosc>("zstd"));
#endif
#if defined(STRAIT_PEER_HTSCODECS)
  all.push_back(std::make_unique<Rans>());
#endif
  return all;
}

}  // namespace strait::perf
