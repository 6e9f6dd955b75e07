// SafetensorsFile: the tensors of a safetensors file, mapped read-only. The file is untrusted:
// whatever its bytes are, open() returns tensors whose spans lie inside the mapping, or one
// sentence that says what is wrong. Owned by whoever opened it; the spans live as long as it does.
// Reading from any thread. Opening costs one mmap and one parse of the header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "base/types.hpp"

namespace strait::perf {

struct Tensor {
  std::string name;
  std::string dtype;             // the file's word for it: "BF16"
  std::optional<DataType> type;  // absent where the collectives have no such type ("BOOL", "I16")
  std::vector<uint64_t> shape;
  std::span<const std::byte> bytes;
};

class SafetensorsFile {
 public:
  static Result<SafetensorsFile> open(const std::string& path);
  // The same from memory that outlives the value; `name` stands in messages.
  static Result<SafetensorsFile> parse(std::span<const std::byte> file, const std::string& name);

  // In the order of their bytes in the file.
  const std::vector<Tensor>& tensors() const { return tensors_; }

 private:
  std::shared_ptr<const void> mapping_;
  std::vector<Tensor> tensors_;
};

}  // namespace strait::perf
