// TensorSource: real numbers from a safetensors file as every rank's input. Where the file has
// tensors under rank0/, rank1/,
// ... rank<k-1>/, rank r takes those under rank<r mod k>/; otherwise all ranks take all tensors.
// The tensors of the tested type are laid end to end and repeated. Immutable once made; any thread.
// Holds the file mapped, copies nothing.
#pragma once

#include <array>
#include <vector>

#include "perf/data/source.hpp"
#include "perf/safetensors.hpp"

namespace strait::perf {

class TensorSource : public Source {
 public:
  TensorSource(SafetensorsFile file, std::string path);

  void fill(const Problem& problem, int rank, uint64_t first, uint64_t count,
            std::byte* out) const override;
  Status supports(DataType type) const override;

 private:
  // All tensors of one type that one group of ranks takes.
  struct Series {
    std::vector<std::span<const std::byte>> parts;
    uint64_t bytes = 0;
  };
  using Group = std::array<Series, kDataTypeCount>;

  void collect(const std::string& prefix);

  SafetensorsFile file_;
  std::string path_;
  std::vector<Group> groups_;
};

}  // namespace strait::perf
