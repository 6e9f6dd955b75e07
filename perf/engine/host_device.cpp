#include <strait.h>

#include "perf/engine/rank_device.hpp"

namespace strait::perf {
namespace {

class HostDevice : public RankDevice {
 public:
  explicit HostDevice(int number) : number_(number) {}
  ~HostDevice() override {
    // Nothing can be done about a failure here, and the measurement is over.
    if (stream_ != nullptr) (void)straitStreamDestroy(stream_);
  }

  int number() const override { return number_; }
  std::string bus() const override { return ""; }
  std::string name() const override { return "host"; }

  Status enter() override { return {}; }
  Status make_stream() override { return told("straitStreamCreate", straitStreamCreate(&stream_)); }
  cudaStream_t stream() const override { return stream_; }
  Status synchronize(ncclComm_t comm) override {
    if (stream_ != nullptr)
      STRAIT_TRY(told("straitStreamSynchronize", straitStreamSynchronize(stream_)));
    return failure_of(comm);
  }

  Status write(std::byte* target, size_t, const std::function<void(std::byte*)>& edit) override {
    edit(target);
    return {};
  }
  Status read(const std::byte* source, size_t,
              const std::function<void(const std::byte*)>& look) override {
    look(source);
    return {};
  }

  Status begin_capture() override { return no_graphs(); }
  Status end_capture() override { return no_graphs(); }
  Status launch_graph() override { return no_graphs(); }
  Status drop_graph() override { return no_graphs(); }

 private:
  static Status no_graphs() {
    return error(Code::kInvalidUsage, "there are no CUDA graphs on host devices; leave -G out");
  }

  int number_;
  cudaStream_t stream_ = nullptr;
};

}  // namespace

std::unique_ptr<RankDevice> open_host(int number) {
  return std::make_unique<HostDevice>(number);
}

}  // namespace strait::perf
