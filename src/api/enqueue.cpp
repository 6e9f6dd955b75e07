#include "api/enqueue.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/call_config.hpp"
#include "api/handle.hpp"
#include "api/reduction.hpp"
#include "api/result.hpp"
#include "base/mapped.hpp"
#include "comm/group.hpp"

namespace strait::api {
namespace {

Status check_buffer(const Communicator& comm, const char* name, const void* pointer,
                    uint64_t elements, size_t element_bytes) {
  if (elements == 0) return Status();
  if (pointer == nullptr)
    return error(Code::kInvalidArgument, "{} is NULL but {} elements are needed there", name,
                 elements);
  const bool looks = comm.config().check_pointers == 1 && !comm.device().gpu;
  if (!looks || is_mapped(pointer, elements * element_bytes)) return Status();
  return error(Code::kInvalidArgument,
               "{} is {}, but there is no memory for {} elements of {} bytes", name, pointer,
               elements, element_bytes);
}

// More than a process can address: such a count is a mistake, and its bytes may not fit 64 bits.
constexpr uint64_t kBufferBytesMax = uint64_t{1} << 48;

Status check_count(const Request& request, int rank_count) {
  Request one = request;
  one.count = 1;
  const uint64_t blocks = std::max(input_count(one, request.root, rank_count),
                                   output_count(one, request.root, rank_count));
  if (request.count <= kBufferBytesMax / size_of(request.type) / blocks) return Status();
  return error(Code::kInvalidArgument,
               "count {} needs a buffer larger than a process can address; count elements of {}, "
               "and see that no negative number was passed",
               request.count, name_of(request.type));
}

Result<Operation> check(const Arguments& arguments, const CallConfig& config, Handle& handle) {
  const Communicator& comm = *handle.comm;
  if (arguments.type < 0 || arguments.type >= ncclNumTypes)
    return error(Code::kInvalidArgument, "data type {} is none of NCCL's (0 to {})",
                 static_cast<int>(arguments.type), ncclNumTypes - 1);
  if (arguments.root < 0 || arguments.root >= comm.rank_count())
    return error(Code::kInvalidArgument, "root or peer {} is not among the {} ranks (0 to {})",
                 arguments.root, comm.rank_count(), comm.rank_count() - 1);
  Request request{.collective = arguments.collective,
                  .type = static_cast<DataType>(arguments.type),
                  .reduce = ReduceKind::kSum,
                  .count = arguments.count,
                  .root = arguments.root,
                  .limits = config.limits};
  STRAIT_ASSIGN(const Reduction reduction, find_reduction(arguments.op, request.type, handle));
  request.reduce = reduction.kind;
  STRAIT_TRY(check_count(request, comm.rank_count()));
  const size_t element_bytes = size_of(request.type);
  STRAIT_TRY(check_buffer(comm, "sendbuff", arguments.input,
                          input_count(request, comm.rank(), comm.rank_count()), element_bytes));
  STRAIT_TRY(check_buffer(comm, "recvbuff", arguments.output,
                          output_count(request, comm.rank(), comm.rank_count()), element_bytes));
  Operation operation = make_operation(request, comm.rank_count(), reduction.scalar.data(),
                                       arguments.input, arguments.output);
  operation.wires = config.wires;
  operation.scalar_place = reduction.scalar_place;
  return operation;
}

Status enqueue(const Arguments& arguments) {
  // As in NCCL, a refused config does not spoil the group.
  STRAIT_ASSIGN(const CallConfig config, read_call_config(arguments.config));
  Group& group = Group::current();
  auto handle = find_handle(arguments.comm);
  if (!handle.ok()) return group.refuse(handle.status());
  if (const Status usable = check_usable(**handle); !usable.ok()) return group.refuse(usable);
  auto operation = check(arguments, config, **handle);
  if (!operation.ok())
    return group.refuse(operation.status().at(fmt::format("rank {}", (*handle)->comm->rank())));
  if (const Status there = (*handle)->comm->check_places(*operation, arguments.stream); !there.ok())
    return group.refuse(there);
  STRAIT_TRY((*handle)->comm->check_limits(operation->request));
  return group.submit((*handle)->comm, *operation, arguments.stream);
}

}  // namespace

ncclResult_t call(const char* function, const Arguments& arguments) {
  return guarded(function, [&] { return enqueue(arguments); });
}

}  // namespace strait::api
