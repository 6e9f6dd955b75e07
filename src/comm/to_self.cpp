#include "comm/to_self.hpp"

namespace strait {

Result<std::vector<SelfCopy>> copies_to_self(std::span<const Operation> operations, int rank) {
  std::vector<const Operation*> sends;
  std::vector<const Operation*> receives;
  for (const Operation& operation : operations) {
    if (!is_to_self(operation.request, rank)) continue;
    auto& list = operation.request.collective == Collective::kSend ? sends : receives;
    list.push_back(&operation);
  }
  if (sends.size() != receives.size())
    return error(
        Code::kInvalidUsage,
        "rank {} sends {} times to itself and receives {} times: put matching ncclSend and "
        "ncclRecv into one group",
        rank, sends.size(), receives.size());
  std::vector<SelfCopy> copies;
  for (size_t i = 0; i < sends.size(); ++i) {
    const size_t bytes = sends[i]->request.count * size_of(sends[i]->request.type);
    const size_t room = receives[i]->request.count * size_of(receives[i]->request.type);
    if (bytes != room)
      return error(Code::kInvalidUsage,
                   "rank {} sends {} bytes to itself and receives {}: give both the same count",
                   rank, bytes, room);
    if (bytes > 0 && sends[i]->input != receives[i]->output)
      copies.push_back({.target = receives[i]->output, .source = sends[i]->input, .bytes = bytes});
  }
  return copies;
}

}  // namespace strait
