#include "transport/verbs/queue.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "transport/net/handshake.hpp"

namespace strait::verbs {
namespace {

constexpr uint32_t kSequenceMask = 0xff'ffff;
constexpr uint8_t kHopsMax = 64;
constexpr uint8_t kReceiverWait = 12;  // 0.64 ms until a receiver that was not ready is tried again
constexpr uint8_t kReceiverRetries = 6;  // never needed: whoever sends has been promised room
constexpr size_t kSubnetBytes = 8;       // of a GID

bool same_subnet(const GidBytes& a, const GidBytes& b) {
  return std::equal(a.begin(), a.begin() + kSubnetBytes, b.begin());
}

ibv_ah_attr way_to(const Side& remote, const Queue::Terms& terms) {
  ibv_ah_attr way{};
  way.port_num = static_cast<uint8_t>(terms.port_number);
  way.sl = terms.packets.service_level;
  way.dlid = remote.lid;
  if (!terms.port.ethernet && same_subnet(terms.gid.bytes, remote.gid)) return way;
  way.is_global = 1;
  std::memcpy(&way.grh.dgid, remote.gid.data(), remote.gid.size());
  way.grh.sgid_index = static_cast<uint8_t>(terms.gid.index);
  way.grh.hop_limit = kHopsMax;
  way.grh.traffic_class = terms.packets.traffic_class;
  return way;
}

ibv_sge entry_of(const Queue::Piece& piece) {
  return {.addr = reinterpret_cast<uint64_t>(piece.bytes.data()),
          .length = static_cast<uint32_t>(piece.bytes.size()),
          .lkey = piece.key};
}

}  // namespace

Result<Queue> Queue::create(const Terms& terms, CompletionListener* listener) {
  Queue queue;
  queue.terms_ = terms;
  STRAIT_TRY(queue.create_objects(listener));
  queue.side_ = {.gid = terms.gid.bytes,
                 .number = queue.pair_->qp_num,
                 .sequence = 0,
                 .lid = terms.port.lid,
                 .mtu = terms.port.mtu};
  net::fill_random(std::as_writable_bytes(std::span(&queue.side_.sequence, 1)));
  queue.side_.sequence &= kSequenceMask;
  STRAIT_TRY(queue.initialize());
  for (uint32_t i = 0; i < terms.receives; ++i)
    if (const int number = queue.receive_again(); number != 0)
      return verbs_error("posting a receive on " + terms.device->name(), number);
  return queue;
}

Status Queue::create_objects(CompletionListener* listener) {
  const Device& device = *terms_.device;
  const Calls& calls = device.calls();
  const int depth = static_cast<int>(terms_.sends + terms_.receives);
  completions_ = own(calls.create_cq(device.context(), depth, listener, device.channel(), 0),
                     calls.destroy_cq);
  if (!completions_) return verbs_error(device.name() + " gives no completion queue", errno);
  ibv_qp_init_attr wish{};
  wish.send_cq = wish.recv_cq = completions_.get();
  wish.cap.max_send_wr = terms_.sends;
  wish.cap.max_recv_wr = terms_.receives;
  wish.cap.max_send_sge = kPiecesMax;
  wish.cap.max_recv_sge = 1;
  wish.qp_type = IBV_QPT_RC;
  pair_ = own(calls.create_qp(device.domain(), &wish), calls.destroy_qp);
  return pair_ ? Status() : verbs_error(device.name() + " gives no queue pair", errno);
}

Status Queue::modify(ibv_qp_attr& attributes, int mask, const char* what) {
  const int number = terms_.device->calls().modify_qp(pair_.get(), &attributes, mask);
  if (number == 0) return Status();
  return verbs_error(fmt::format("{} on {}:{} from {}", what, terms_.device->name(),
                                 terms_.port_number, terms_.gid.text()),
                     number);
}

Status Queue::initialize() {
  ibv_qp_attr to{};
  to.qp_state = IBV_QPS_INIT;
  to.pkey_index = terms_.packets.key_index;
  to.port_num = static_cast<uint8_t>(terms_.port_number);
  to.qp_access_flags = static_cast<unsigned>(terms_.access);
  return modify(to, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
                "preparing a connection (STRAIT_IB_PKEY)");
}

Status Queue::start(const Side& remote) {
  STRAIT_TRY(make_ready_to_receive(remote));
  return make_ready_to_send();
}

Status Queue::make_ready_to_receive(const Side& remote) {
  ibv_qp_attr to{};
  to.qp_state = IBV_QPS_RTR;
  to.path_mtu = static_cast<ibv_mtu>(std::clamp<uint8_t>(remote.mtu, IBV_MTU_256, side_.mtu));
  to.dest_qp_num = remote.number;
  to.rq_psn = remote.sequence;
  to.max_dest_rd_atomic = 1;
  to.min_rnr_timer = kReceiverWait;
  to.ah_attr = way_to(remote, terms_);
  const Gid there{.kind = terms_.gid.kind, .bytes = remote.gid};
  return modify(to,
                IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                    IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
                "finding the way")
      .at("to " + there.text());
}

Status Queue::make_ready_to_send() {
  ibv_qp_attr to{};
  to.qp_state = IBV_QPS_RTS;
  to.sq_psn = side_.sequence;
  to.timeout = terms_.packets.timeout;
  to.retry_cnt = terms_.packets.retries;
  to.rnr_retry = kReceiverRetries;
  to.max_rd_atomic = 1;
  return modify(to,
                IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                    IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC,
                "starting a connection (STRAIT_IB_TIMEOUT, STRAIT_IB_RETRY_CNT)");
}

int Queue::write(std::span<const Piece> pieces, const Place& to, uint32_t tag) {
  std::array<ibv_sge, kPiecesMax> list{};
  for (size_t i = 0; i < pieces.size(); ++i) list[i] = entry_of(pieces[i]);
  ibv_send_wr work{};
  work.wr_id = static_cast<uint64_t>(Work::kWrite);
  work.sg_list = list.data();
  work.num_sge = static_cast<int>(pieces.size());
  work.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  work.send_flags = IBV_SEND_SIGNALED;
  work.imm_data = htonl(tag);
  work.wr.rdma.remote_addr = to.address;
  work.wr.rdma.rkey = to.key;
  ibv_send_wr* refused = nullptr;
  return ibv_post_send(pair_.get(), &work, &refused);
}

int Queue::read(const Piece& into, const Place& from) {
  ibv_sge entry = entry_of(into);
  ibv_send_wr work{};
  work.wr_id = static_cast<uint64_t>(Work::kRead);
  work.sg_list = &entry;
  work.num_sge = 1;
  work.opcode = IBV_WR_RDMA_READ;
  work.send_flags = IBV_SEND_SIGNALED;
  work.wr.rdma.remote_addr = from.address;
  work.wr.rdma.rkey = from.key;
  ibv_send_wr* refused = nullptr;
  return ibv_post_send(pair_.get(), &work, &refused);
}

int Queue::send_word(uint32_t word, bool signaled) {
  ibv_send_wr work{};
  work.wr_id = static_cast<uint64_t>(Work::kWord);
  work.opcode = IBV_WR_SEND_WITH_IMM;
  work.send_flags = signaled ? IBV_SEND_SIGNALED : 0;
  work.imm_data = htonl(word);
  ibv_send_wr* refused = nullptr;
  return ibv_post_send(pair_.get(), &work, &refused);
}

int Queue::receive_again() {
  ibv_recv_wr work{};
  work.wr_id = static_cast<uint64_t>(Work::kReceive);
  ibv_recv_wr* refused = nullptr;
  return ibv_post_recv(pair_.get(), &work, &refused);
}

}  // namespace strait::verbs
