#include <cstring>

#include "codec/codec.hpp"
#include "exec/reduce.hpp"
#include "perf/codec_perf/contender.hpp"

namespace strait::perf {
namespace {

class Copy final : public Contender {
 public:
  std::string name() const override { return "memcpy"; }
  bool handles(DataType) const override { return true; }
  size_t bound(DataType, size_t bytes) const override { return bytes; }
  size_t encode(DataType, std::span<const std::byte> values, std::span<std::byte> out) override {
    std::memcpy(out.data(), values.data(), values.size());
    return values.size();
  }
  bool decode(DataType, std::span<const std::byte> chunk, std::span<std::byte> values) override {
    std::memcpy(values.data(), chunk.data(), values.size());
    return true;
  }
};

// Adds what is decoded to sums that stand where the values would.
class Adder final : public codec::BlockSink {
 public:
  Adder(DataType type, std::span<std::byte> sums)
      : arithmetic_(make_arithmetic(type, ReduceKind::kSum, 2, nullptr)), sums_(sums) {}
  void block(const void* values, size_t first, size_t count) override {
    std::byte* sum = sums_.data() + first * size_of(arithmetic_.type);
    combine(arithmetic_, {sum, Form::kNarrow}, {sum, Form::kNarrow, false},
            {values, Form::kNarrow, false}, true, count);
  }

 private:
  Arithmetic arithmetic_;
  std::span<std::byte> sums_;
};

class Ours final : public Contender {
 public:
  explicit Ours(codec::Mode mode) : mode_(mode) {}
  std::string name() const override {
    return mode_ == codec::Mode::kFast ? "strait fast" : "strait dense";
  }
  bool handles(DataType) const override { return true; }
  size_t bound(DataType type, size_t bytes) const override {
    return codec::bound(type, bytes / size_of(type));
  }
  size_t encode(DataType type, std::span<const std::byte> values,
                std::span<std::byte> out) override {
    return codec::encode(type, values.data(), values.size() / size_of(type), out, {mode_, false});
  }
  bool decode(DataType type, std::span<const std::byte> chunk,
              std::span<std::byte> values) override {
    return codec::decode(chunk, type, values.size() / size_of(type), values.data()).ok();
  }
  bool decode_add(DataType type, std::span<const std::byte> chunk,
                  std::span<std::byte> sums) override {
    Adder adder(type, sums);
    return codec::decode_blocks(chunk, type, sums.size() / size_of(type), adder).ok();
  }

 private:
  codec::Mode mode_;
};

}  // namespace

std::vector<std::unique_ptr<Contender>> our_contenders(const std::vector<std::string>& modes) {
  std::vector<std::unique_ptr<Contender>> all;
  all.push_back(std::make_unique<Copy>());
  for (const std::string& mode : modes)
    all.push_back(
        std::make_unique<Ours>(mode == "fast" ? codec::Mode::kFast : codec::Mode::kDense));
  return all;
}

}  // namespace strait::perf
