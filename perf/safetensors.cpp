#include "perf/safetensors.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/fd.hpp"

namespace strait::perf {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kLengthBytes = 8;

struct DtypeRow {
  const char* name;
  uint64_t bytes;
  std::optional<DataType> type;
};

constexpr std::array<DtypeRow, 15> kDtypes = {{
    {"BF16", 2, DataType::kBfloat16},
    {"F16", 2, DataType::kFloat16},
    {"F32", 4, DataType::kFloat32},
    {"F64", 8, DataType::kFloat64},
    {"F8_E4M3", 1, DataType::kFloat8e4m3},
    {"F8_E5M2", 1, DataType::kFloat8e5m2},
    {"I8", 1, DataType::kInt8},
    {"U8", 1, DataType::kUint8},
    {"I32", 4, DataType::kInt32},
    {"U32", 4, DataType::kUint32},
    {"I64", 8, DataType::kInt64},
    {"U64", 8, DataType::kUint64},
    {"I16", 2, std::nullopt},
    {"U16", 2, std::nullopt},
    {"BOOL", 1, std::nullopt},
}};

const DtypeRow* find_dtype(const std::string& name) {
  for (const DtypeRow& row : kDtypes)
    if (name == row.name) return &row;
  return nullptr;
}

Status malformed(const std::string& name, const std::string& what) {
  return error(Code::kInvalidArgument, "{}: {}; it is not a whole safetensors file", name, what);
}

// The unsigned integers of a JSON array, or nothing when it is anything else.
std::optional<std::vector<uint64_t>> unsigned_list(const Json& entry, const char* key) {
  const auto found = entry.find(key);
  if (found == entry.end() || !found->is_array()) return std::nullopt;
  std::vector<uint64_t> values;
  for (const Json& value : *found) {
    if (!value.is_number_unsigned()) return std::nullopt;
    values.push_back(value.get<uint64_t>());
  }
  return values;
}

// elements * bytes of a shape, or nothing on overflow.
std::optional<uint64_t> shape_bytes(const std::vector<uint64_t>& shape, uint64_t element_bytes) {
  uint64_t product = element_bytes;
  for (const uint64_t extent : shape)
    if (__builtin_mul_overflow(product, extent, &product)) return std::nullopt;
  return product;
}

Result<Tensor> read_entry(const std::string& name, const Json& entry,
                          std::span<const std::byte> data) {
  if (!entry.is_object() || !entry.contains("dtype") || !entry["dtype"].is_string())
    return error(Code::kInvalidArgument, "tensor \"{}\" has no dtype", name);
  Tensor tensor;
  tensor.name = name;
  tensor.dtype = entry["dtype"].get<std::string>();
  const auto shape = unsigned_list(entry, "shape");
  const auto offsets = unsigned_list(entry, "data_offsets");
  if (!shape) return error(Code::kInvalidArgument, "tensor \"{}\" has no valid shape", name);
  if (!offsets || offsets->size() != 2)
    return error(Code::kInvalidArgument, "tensor \"{}\" has no valid data_offsets", name);
  tensor.shape = *shape;
  const uint64_t begin = (*offsets)[0], end = (*offsets)[1];
  if (begin > end || end > data.size())
    return error(Code::kInvalidArgument, "tensor \"{}\" claims bytes {} to {} of {} data bytes",
                 name, begin, end, data.size());
  if (const DtypeRow* row = find_dtype(tensor.dtype)) {
    tensor.type = row->type;
    const auto expected = shape_bytes(tensor.shape, row->bytes);
    if (!expected || *expected != end - begin)
      return error(Code::kInvalidArgument,
                   "tensor \"{}\" has {} bytes, which its shape of {} does not fill", name,
                   end - begin, tensor.dtype);
  }
  tensor.bytes = data.subspan(begin, end - begin);
  return tensor;
}

Status refuse_overlap(const std::vector<Tensor>& sorted, const std::string& name) {
  for (size_t i = 1; i < sorted.size(); ++i) {
    const Tensor& before = sorted[i - 1];
    if (before.bytes.data() + before.bytes.size() > sorted[i].bytes.data())
      return malformed(
          name, fmt::format("tensors \"{}\" and \"{}\" overlap", before.name, sorted[i].name));
  }
  return {};
}

struct Mapping {
  void* address;
  size_t bytes;
  ~Mapping() {
    if (bytes > 0) ::munmap(address, bytes);
  }
};

}  // namespace

Result<SafetensorsFile> SafetensorsFile::parse(std::span<const std::byte> file,
                                               const std::string& name) {
  if (file.size() < kLengthBytes)
    return malformed(name, fmt::format("{} bytes hold no header", file.size()));
  uint64_t header_bytes = 0;
  for (uint64_t i = 0; i < kLengthBytes; ++i)
    header_bytes |= static_cast<uint64_t>(file[i]) << (8 * i);
  if (header_bytes > file.size() - kLengthBytes)
    return malformed(name, fmt::format("the header claims {} bytes, {} are there", header_bytes,
                                       file.size() - kLengthBytes));
  const char* text = reinterpret_cast<const char*>(file.data()) + kLengthBytes;
  const Json header = Json::parse(text, text + header_bytes, nullptr, false);
  if (!header.is_object()) return malformed(name, "the header is not a JSON object");

  const std::span<const std::byte> data = file.subspan(kLengthBytes + header_bytes);
  SafetensorsFile result;
  for (const auto& [key, entry] : header.items()) {
    if (key == "__metadata__") continue;
    auto tensor = read_entry(key, entry, data);
    if (!tensor.ok()) return malformed(name, tensor.status().message());
    result.tensors_.push_back(std::move(*tensor));
  }
  std::stable_sort(result.tensors_.begin(), result.tensors_.end(),
                   [](const Tensor& a, const Tensor& b) {
                     return std::pair(a.bytes.data(), a.bytes.size()) <
                            std::pair(b.bytes.data(), b.bytes.size());
                   });
  STRAIT_TRY(refuse_overlap(result.tensors_, name));
  return result;
}

Result<SafetensorsFile> SafetensorsFile::open(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return system_error("cannot open " + path);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return system_error("cannot look at " + path);
  if (!S_ISREG(info.st_mode))
    return error(Code::kInvalidArgument, "{} is not a regular file", path);
  const size_t bytes = static_cast<size_t>(info.st_size);
  auto mapping = std::make_shared<Mapping>(Mapping{nullptr, 0});
  if (bytes > 0) {
    void* address = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (address == MAP_FAILED) return system_error("cannot map " + path);
    mapping->address = address;
    mapping->bytes = bytes;
  }
  STRAIT_ASSIGN(SafetensorsFile file,
                parse({static_cast<const std::byte*>(mapping->address), bytes}, path));
  file.mapping_ = std::move(mapping);
  return file;
}

}  // namespace strait::perf
