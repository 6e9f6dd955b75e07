#include "transport/ucx/worker.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include "base/log.hpp"
#include "transport/net/handshake.hpp"

namespace strait::ucx {
namespace {

constexpr int kProgressMost = 1000;
constexpr int kArmTries = 100;
constexpr int64_t kLookAgainNs = 1'000'000;
constexpr int64_t kFlushMs = 500;
constexpr int64_t kForceMs = 1'000;

void on_sent(void* request, ucs_status_t status, void* user) {
  auto& operation = *static_cast<Operation*>(user);
  operation.flight->calls().request_free(request);
  operation.flight->land(operation, status, 0);
}

void on_received(void* request, ucs_status_t status, const ucp_tag_recv_info_t* info, void* user) {
  auto& operation = *static_cast<Operation*>(user);
  const size_t bytes = status == UCS_OK ? info->length : 0;
  operation.flight->calls().request_free(request);
  operation.flight->land(operation, status, bytes);
}

void on_endpoint_error(void* user, ucp_ep_h, ucs_status_t status) {
  auto& endpoint = *static_cast<Endpoint*>(user);
  if (!endpoint.failure.ok()) return;
  endpoint.failure = error(
      Code::kRemoteError,
      "rank {} is not reached by UCX any more ({}): it has died, or the way that UCX chose is "
      "down; look at its host, at UCX_TLS and UCX_NET_DEVICES, and at what UCX_LOG_LEVEL=info says",
      endpoint.peer, endpoint.calls->status_string(status));
  for (EndpointUser* user_of_it : endpoint.users) user_of_it->on_endpoint_failed(endpoint.failure);
}

}  // namespace

Worker::Worker(const Calls& calls, std::shared_ptr<Reactor> reactor)
    : calls_(calls), reactor_(std::move(reactor)), process_(getpid()) {
  net::fill_random(std::as_writable_bytes(std::span(&last_id_, 1)));
}

Result<std::shared_ptr<Worker>> Worker::open(const Calls& calls, std::shared_ptr<Reactor> reactor) {
  std::shared_ptr<Worker> worker(new Worker(calls, std::move(reactor)));
  STRAIT_TRY(worker->create());
  return worker;
}

Status Worker::create() {
  ucp_params_t wish{};
  wish.field_mask = UCP_PARAM_FIELD_FEATURES;
  wish.features = UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP;
  ucs_status_t status =
      calls_.init_version(UCP_API_MAJOR, UCP_API_MINOR, &wish, nullptr, &context_);
  if (status != UCS_OK)
    return ucx_error(calls_, "UCX does not start (look at UCX_TLS, UCX_NET_DEVICES)", status);
  ucp_worker_params_t terms{};
  terms.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  terms.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  status = calls_.worker_create(context_, &terms, &worker_);
  if (status != UCS_OK)
    return ucx_error(calls_, "UCX gives no worker (look at UCX_TLS, UCX_NET_DEVICES)", status);
  ucp_address_t* address = nullptr;
  size_t bytes = 0;
  status = calls_.worker_get_address(worker_, &address, &bytes);
  if (status != UCS_OK) return ucx_error(calls_, "UCX tells no address", status);
  const auto* const first = reinterpret_cast<const std::byte*>(address);
  address_.assign(first, first + bytes);
  calls_.worker_release_address(worker_, address);
  status = calls_.worker_get_efd(worker_, &event_fd_);
  if (status != UCS_OK) return ucx_error(calls_, "UCX gives no descriptor to wait for", status);
  STRAIT_TRY(reactor_->add(event_fd_, 0, [this](uint32_t) { on_event(); }));
  watched_ = true;
  std::lock_guard lock(mutex_);
  arm();
  return Status();
}

Worker::~Worker() {
  if (getpid() != process_) return;  // only inherited by a fork: it is the parent's
  uint64_t timer = 0;
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
    timer = timer_;
  }
  if (watched_) reactor_->remove(event_fd_);
  if (timer != 0) reactor_->cancel(timer);
  if (worker_ != nullptr) {
    close_endpoints(0, kFlushMs);
    close_endpoints(UCP_EP_CLOSE_FLAG_FORCE, kForceMs);
    forget_strays();
    calls_.worker_destroy(worker_);
  }
  if (context_ != nullptr) calls_.cleanup(context_);
}

// What an endpoint that has not failed still holds goes on its way first; what cannot is given up.
void Worker::close_endpoints(unsigned flags, int64_t patience_ms) {
  const bool force = (flags & UCP_EP_CLOSE_FLAG_FORCE) != 0;
  std::vector<void*> requests;
  for (auto& [address, endpoint] : endpoints_) {
    if (endpoint->handle == nullptr || (!force && !endpoint->failure.ok())) continue;
    ucp_request_param_t how{};
    how.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    how.flags = flags;
    void* const request = calls_.ep_close_nbx(endpoint->handle, &how);
    endpoint->handle = nullptr;
    if (UCS_PTR_IS_PTR(request)) requests.push_back(request);
  }
  const Deadline deadline = Deadline::after_ms(patience_ms);
  for (void* const request : requests) {
    while (calls_.request_check_status(request) == UCS_INPROGRESS && !deadline.passed()) progress();
    calls_.request_free(request);
  }
}

// What came for links that have gone. UCX would complain of it.
void Worker::forget_strays() {
  ucp_tag_recv_info_t info{};
  while (ucp_tag_message_h stray = calls_.tag_probe_nb(worker_, 0, 0, 1, &info)) {
    const ucp_request_param_t how{};
    void* const request = calls_.tag_msg_recv_nbx(worker_, nullptr, 0, stray, &how);
    if (UCS_PTR_IS_PTR(request)) calls_.request_free(request);
  }
}

Result<Endpoint*> Worker::endpoint(int peer, const std::vector<std::byte>& address) {
  auto found = endpoints_.find(address);
  if (found == endpoints_.end()) {
    auto endpoint = std::make_unique<Endpoint>();
    endpoint->calls = &calls_;
    endpoint->peer = peer;
    ucp_ep_params_t wish{};
    wish.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
    wish.address = reinterpret_cast<const ucp_address_t*>(address.data());
    wish.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    wish.err_handler = {.cb = on_endpoint_error, .arg = endpoint.get()};
    const ucs_status_t status = calls_.ep_create(worker_, &wish, &endpoint->handle);
    if (status != UCS_OK)
      return ucx_error(calls_,
                       fmt::format("UCX finds no way to rank {} (look at UCX_TLS and "
                                   "UCX_NET_DEVICES on both hosts)",
                                   peer),
                       status);
    found = endpoints_.emplace(address, std::move(endpoint)).first;
  }
  Endpoint& endpoint = *found->second;
  if (!endpoint.failure.ok()) return endpoint.failure;
  return &endpoint;
}

void Worker::send(Endpoint& to, Operation& operation, std::span<const std::byte> bytes,
                  uint64_t tag, Landing landing) {
  ucp_request_param_t how{};
  how.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  how.cb.send = on_sent;
  how.user_data = &operation;
  how.memory_type = UCS_MEMORY_TYPE_HOST;
  const auto post =
      landing == Landing::kAcknowledged ? calls_.tag_send_sync_nbx : calls_.tag_send_nbx;
  void* const request = post(to.handle, bytes.data(), bytes.size(), tag, &how);
  if (UCS_PTR_IS_PTR(request))
    operation.request = request;
  else
    operation.flight->land(operation, UCS_PTR_STATUS(request), 0);
}

void Worker::receive(Operation& operation, std::span<std::byte> place, uint64_t tag) {
  ucp_tag_recv_info_t info{};
  ucp_request_param_t how{};
  how.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                     UCP_OP_ATTR_FIELD_MEMORY_TYPE | UCP_OP_ATTR_FIELD_RECV_INFO;
  how.cb.recv = on_received;
  how.user_data = &operation;
  how.memory_type = UCS_MEMORY_TYPE_HOST;
  how.recv_info.tag_info = &info;
  void* const request =
      calls_.tag_recv_nbx(worker_, place.data(), place.size(), tag, ~uint64_t{0}, &how);
  if (UCS_PTR_IS_PTR(request))
    operation.request = request;
  else
    operation.flight->land(operation, UCS_PTR_STATUS(request), info.length);
}

void Worker::cancel(std::span<Operation> operations) {
  if (getpid() != process_) return;
  for (Operation& operation : operations)
    if (operation.request != nullptr) calls_.request_cancel(worker_, operation.request);
}

void Worker::progress() {
  for (int i = 0; i < kProgressMost && calls_.worker_progress(worker_) != 0; ++i) {
  }
}

void Worker::arm() {
  if (armed_ || closing_) return;
  for (int i = 0; i < kArmTries; ++i) {
    const ucs_status_t status = calls_.worker_arm(worker_);
    if (status == UCS_OK) {
      armed_ = true;
      reactor_->modify(event_fd_, EPOLLIN);
      return;
    }
    if (status != UCS_ERR_BUSY) break;
    progress();
  }
  look_later();  // there is no end of what comes
}

void Worker::on_event() {
  std::lock_guard lock(mutex_);
  armed_ = false;
  reactor_->modify(event_fd_, 0);
  heard_ = false;
  progress();
  // UCX's own messages concern no end, and the owner sleeps on.
  if (heard_)
    look_later();
  else
    arm();
}

void Worker::look_later() {
  if (timer_ != 0 || closing_) return;
  timer_ = reactor_->schedule(now_ns() + kLookAgainNs, [this] {
    std::lock_guard lock(mutex_);
    timer_ = 0;
    progress();
    arm();
  });
}

}  // namespace strait::ucx
