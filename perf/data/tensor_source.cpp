#include "perf/data/tensor_source.hpp"

#include <algorithm>
#include <cstring>
#include <set>

namespace strait::perf {

TensorSource::TensorSource(SafetensorsFile file, std::string path)
    : file_(std::move(file)), path_(std::move(path)) {
  const auto has_prefix = [&](const std::string& prefix) {
    return std::any_of(file_.tensors().begin(), file_.tensors().end(),
                       [&](const Tensor& tensor) { return tensor.name.starts_with(prefix); });
  };
  for (int group = 0; has_prefix(fmt::format("rank{}/", group)); ++group)
    collect(fmt::format("rank{}/", group));
  if (groups_.empty()) collect("");
}

void TensorSource::collect(const std::string& prefix) {
  Group& group = groups_.emplace_back();
  for (const Tensor& tensor : file_.tensors()) {
    if (!tensor.type || tensor.bytes.empty() || !tensor.name.starts_with(prefix)) continue;
    Series& series = group[static_cast<size_t>(*tensor.type)];
    series.parts.push_back(tensor.bytes);
    series.bytes += tensor.bytes.size();
  }
}

Status TensorSource::supports(DataType type) const {
  for (size_t i = 0; i < groups_.size(); ++i) {
    if (groups_[i][static_cast<size_t>(type)].bytes > 0) continue;
    std::set<std::string> present;
    for (const Tensor& tensor : file_.tensors())
      present.insert(tensor.type ? std::string(name_of(*tensor.type)) : tensor.dtype);
    return error(Code::kInvalidArgument, "{} has no {} tensors{}; it holds: {} (choose with -d)",
                 path_, name_of(type), groups_.size() > 1 ? fmt::format(" under rank{}/", i) : "",
                 present.empty() ? "nothing" : fmt::format("{}", fmt::join(present, ", ")));
  }
  return {};
}

void TensorSource::fill(const Problem& problem, int rank, uint64_t first, uint64_t count,
                        std::byte* out) const {
  const Group& group = groups_[static_cast<size_t>(rank) % groups_.size()];
  const Series& series = group[static_cast<size_t>(problem.type)];
  STRAIT_CHECK(series.bytes > 0, "supports() is asked before fill()");
  uint64_t left = count * size_of(problem.type);
  uint64_t at = first * size_of(problem.type) % series.bytes;
  while (left > 0) {
    for (const auto& part : series.parts) {
      if (at >= part.size()) {
        at -= part.size();
        continue;
      }
      const uint64_t take = std::min<uint64_t>(left, part.size() - at);
      std::memcpy(out, part.data() + at, take);
      out += take;
      left -= take;
      at = 0;
    }
  }
}

}  // namespace strait::perf
