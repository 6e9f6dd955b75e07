#include "perf/device/tensor_file.hpp"

#include <cstdint>
#include <fstream>

namespace strait::device_check {

Result<std::vector<std::byte>> read_tensors(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const auto size = file ? static_cast<uint64_t>(file.tellg()) : 0;
  uint64_t header = 0;
  file.seekg(0);
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  if (!file || header > size - sizeof header)
    return error(Code::kInvalidArgument, "{} is no safetensors file that can be read", path);
  std::vector<std::byte> bytes(size - sizeof header - header);
  file.seekg(static_cast<std::streamoff>(sizeof header + header));
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file) return error(Code::kInvalidArgument, "{} ends early", path);
  return bytes;
}

}  // namespace strait::device_check
