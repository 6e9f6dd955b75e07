#include "simt/crew.hpp"
#include "simt/simt.hpp"

namespace strait::simt {
namespace {

constexpr uint64_t kMaxThreads = 1024;
constexpr size_t kMaxSharedBytes = 227 << 10;

Status check(const Launch& launch) {
  const uint64_t threads = uint64_t{1} * launch.block.x * launch.block.y * launch.block.z;
  const uint64_t blocks = uint64_t{1} * launch.grid.x * launch.grid.y * launch.grid.z;
  if (blocks == 0 || launch.grid.y > 65'535 || launch.grid.z > 65'535) {
    return error(Code::kInvalidArgument, "{}: a grid of {} x {} x {} blocks; y and z go to 65535",
                 launch.name, launch.grid.x, launch.grid.y, launch.grid.z);
  }
  if (threads == 0 || threads > kMaxThreads || launch.block.z > 64) {
    return error(Code::kInvalidArgument,
                 "{}: a block of {} x {} x {} threads; a GPU takes 1 to {}, and z to 64",
                 launch.name, launch.block.x, launch.block.y, launch.block.z, kMaxThreads);
  }
  if (launch.shared_bytes > kMaxSharedBytes) {
    return error(Code::kInvalidArgument, "{}: {} bytes of dynamic shared memory; a GPU has {}",
                 launch.name, launch.shared_bytes, kMaxSharedBytes);
  }
  return {};
}

}  // namespace

Status run(const Launch& launch, const std::function<void()>& body, const Options& options) {
  STRAIT_TRY(check(launch));
  Crew crew(launch, body, options);
  return crew.run();
}

}  // namespace strait::simt
