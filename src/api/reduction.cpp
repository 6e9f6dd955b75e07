#include "api/reduction.hpp"

#include <cstring>

#include "api/export.hpp"
#include "api/result.hpp"

namespace strait::api {

Result<Reduction> find_reduction(int op, DataType type, Handle& handle) {
  if (op >= ncclSum && op < ncclNumOps)
    return Reduction{.kind = static_cast<ReduceKind>(op), .scalar = {}, .scalar_place = nullptr};
  std::lock_guard lock(handle.mutex);
  const auto found = handle.operations.find(op);
  if (found == handle.operations.end())
    return error(Code::kInvalidArgument,
                 "operation {} is neither built in nor made on this communicator", op);
  const UserOperation& user = found->second;
  if (user.type != type)
    return error(Code::kInvalidArgument, "the operation was made for {} but the call has {}",
                 name_of(user.type), name_of(type));
  Reduction reduction{
      .kind = ReduceKind::kPreMulSum, .scalar = user.scalar, .scalar_place = nullptr};
  if (user.scalar_place == nullptr) return reduction;
  if (handle.comm->device().gpu)
    reduction.scalar_place = user.scalar_place;
  else
    std::memcpy(reduction.scalar.data(), user.scalar_place, size_of(type));
  return reduction;
}

namespace {

Status create_pre_mul_sum(ncclRedOp_t* op, const void* scalar, ncclDataType_t type,
                          ncclScalarResidence_t residence, ncclComm_t comm) {
  STRAIT_ASSIGN(const auto handle, find_handle(comm));
  if (op == nullptr) return error(Code::kInvalidArgument, "op is NULL: give it a place to go");
  *op = ncclNumOps;  // what a refused call leaves
  if (scalar == nullptr)
    return error(Code::kInvalidArgument, "scalar is NULL: point it to a value");
  if (type < 0 || type >= ncclNumTypes)
    return error(Code::kInvalidArgument, "data type {} is none of NCCL's", static_cast<int>(type));
  if (residence != ncclScalarDevice && residence != ncclScalarHostImmediate)
    return error(Code::kInvalidArgument, "residence {} is neither device nor host",
                 static_cast<int>(residence));
  UserOperation user{.type = static_cast<DataType>(type), .scalar = {}, .scalar_place = nullptr};
  if (residence == ncclScalarHostImmediate)
    std::memcpy(user.scalar.data(), scalar, size_of(user.type));
  else
    user.scalar_place = scalar;
  std::lock_guard lock(handle->mutex);
  *op = static_cast<ncclRedOp_t>(handle->next_operation);
  handle->operations.emplace(handle->next_operation++, user);
  return Status();
}

Status destroy_operation(ncclRedOp_t op, ncclComm_t comm) {
  STRAIT_ASSIGN(const auto handle, find_handle(comm));
  if (op >= ncclSum && op < ncclNumOps)
    return error(Code::kInvalidArgument, "operation {} is built in and cannot be destroyed",
                 static_cast<int>(op));
  std::lock_guard lock(handle->mutex);
  if (handle->operations.erase(op) == 0)
    return error(Code::kInvalidArgument, "operation {} does not exist on this communicator",
                 static_cast<int>(op));
  return Status();
}

}  // namespace
}  // namespace strait::api

STRAIT_API(ncclResult_t, RedOpCreatePreMulSum,
           (ncclRedOp_t * op, void* scalar, ncclDataType_t datatype,
            ncclScalarResidence_t residence, ncclComm_t comm)) {
  return strait::api::guarded("ncclRedOpCreatePreMulSum", [&] {
    return strait::api::create_pre_mul_sum(op, scalar, datatype, residence, comm);
  });
}

STRAIT_API(ncclResult_t, RedOpDestroy, (ncclRedOp_t op, ncclComm_t comm)) {
  return strait::api::guarded("ncclRedOpDestroy",
                              [&] { return strait::api::destroy_operation(op, comm); });
}
