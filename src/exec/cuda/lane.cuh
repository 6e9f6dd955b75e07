// The interpreter on a GPU: a block walks the rounds and steps of one lane, exactly as
// plan/interpreter.hpp does on a host. Device code, for a whole block.
//
// One thread waits for the message and for room, all compute, one passes on:
//
//   thread 0:  wait message, wait room ─┐         ┌─> post, release
//   all:                             barrier ─ compute ─ barrier
//
// Small messages between GPUs go by the low-latency protocol, through shared memory, whose lines
// prove their own arrival: no flag is written after the data, and none is read before.
#pragma once

#include "exec/cuda/landing.cuh"
#include "exec/cuda/ports.cuh"

namespace strait::gpu {

// A block's shared memory besides its steps.
struct LaneShared {
  bool stop;
  bool recv_flagged;
  bool send_flagged;
  DeviceLane lane;
  unsigned char* received;
  unsigned char* slot;
  uint64_t received_bytes;
  uint64_t sent_bytes;  // of a coded chunk
  uint64_t took_ns;     // to encode it; 0: it was not encoded here
  uint8_t mode;         // in which it is encoded
};

// One step of one round.
struct Piece {
  const DeviceStep* step;
  uint32_t index;
  uint64_t offset;  // elements
  uint64_t count;
};

template <class N, class Coder>
class Lane {
 public:
  using Narrow = typename N::Narrow;
  using Value = typename N::Value;

  __device__ Lane(const DeviceCall& call, const DeviceLane& lane, LaneShared& shared,
                  typename Coder::Shared& coder_shared)
      : call_(call),
        lane_(lane),
        shared_(shared),
        coder_(call, lane, coder_shared),
        factor_(call.scalar_place != nullptr
                    ? N::read(*static_cast<const Narrow*>(call.scalar_place))
                    : N::factor(call.arithmetic.scale_float, call.arithmetic.scale_integer)) {}

  // `steps` are the lane's, in shared memory or where the call has them. False: told to stop.
  __device__ bool run(const DeviceStep* steps) {
    const uint64_t end = lane_.rounds * lane_.piece;
    for (uint64_t offset = 0; offset != end; offset += lane_.piece) {
      for (uint32_t index = 0; index < lane_.step_count; ++index) {
        const DeviceStep& step = steps[index];
        if (step.count <= offset) continue;
        const uint64_t left = step.count - offset;
        if (!run({&step, index, offset, left < lane_.piece ? left : lane_.piece})) return false;
      }
    }
    return true;
  }

 private:
  __device__ uint32_t tag() const { return lane_.tag != 0 ? lane_.tag : call_.tag; }

  __device__ bool run(const Piece& piece) {
    const DeviceStep& step = *piece.step;
    if (threadIdx.x == 0) prepare(piece);
    __syncthreads();
    // Read now: behind the next barriers thread 0 already prepares the next step.
    const bool stop = shared_.stop;
    const bool recv_flagged = shared_.recv_flagged;
    const bool send_flagged = shared_.send_flagged;
    if (stop) return false;
    if (recv_flagged && !receive(piece)) return false;
    if (!compute(piece)) return false;
    __syncthreads();
    if (send_flagged) {
      ::strait::gpu::send_flagged(*step.send_port, flagged_out(), narrow_bytes(piece), tag());
      __syncthreads();
    }
    if (threadIdx.x == 0) pass_on(piece, send_flagged);
    return true;
  }

  // All threads; false for all if one was told to stop.
  __device__ bool receive(const Piece& piece) {
    const bool came = receive_flagged(call_.report, *piece.step->recv_port, flagged_in(),
                                      static_cast<uint32_t>(shared_.received_bytes));
    const bool all_came = __syncthreads_and(came) != 0;
    if (!all_came && threadIdx.x == 0) tell_whom_it_waited_for(piece, true);
    return all_came;
  }

  __device__ uint32_t narrow_bytes(const Piece& piece) const {
    return static_cast<uint32_t>(piece.count * sizeof(Narrow));
  }
  __device__ bool by_flags(const Piece& piece, const DevicePort& port, bool coded) const {
    return port.flagged != nullptr && !coded && piece.count * sizeof(Narrow) <= kFlaggedBytesMax;
  }

  // Thread 0: waits until the step can run, and tells the others what it found.
  __device__ void prepare(const Piece& piece) {
    const DeviceStep& step = *piece.step;
    shared_.received = nullptr;
    shared_.slot = nullptr;
    shared_.recv_flagged = false;
    shared_.send_flagged = false;
    shared_.stop = false;
    shared_.took_ns = 0;
    if (decodes(step)) fetch_ahead(operand(step.source, piece), piece.count);
    const bool has_message = step.recv_port == nullptr || find_message(piece);
    shared_.stop = !has_message || (step.send_port != nullptr && !find_room(piece));
    if (shared_.stop) tell_whom_it_waited_for(piece, !has_message);
  }

  // What decoded values will be combined with is on its way while the message is awaited.
  __device__ static void fetch_ahead(const Operand& own, uint64_t count) {
    if (own.data == nullptr) return;
    const uint64_t bytes = count * (own.wide ? sizeof(Value) : sizeof(Narrow));
    const auto before = static_cast<uint32_t>(-reinterpret_cast<uintptr_t>(own.data) & 15);
    if (bytes < before + 16) return;
    device::fetch_range_ahead(own.data + before, static_cast<uint32_t>(bytes - before) & ~15u);
  }

  // Thread 0, when the host said stop. Nobody listens if something else failed before.
  __device__ void tell_whom_it_waited_for(const Piece& piece, bool for_message) const {
    const DevicePort* port = for_message ? piece.step->recv_port : piece.step->send_port;
    fail(piece, DeviceFailure::kAborted, waited_for(port->peer, for_message), tag());
  }

  __device__ bool find_message(const Piece& piece) {
    const DeviceStep& step = *piece.step;
    const DevicePort& from = *step.recv_port;
    shared_.recv_flagged = by_flags(piece, from, step.recv_coded);
    const Arrived arrived = shared_.recv_flagged ? wait_for_flagged(call_.report, from)
                                                 : wait_for_message(call_.report, from);
    if (!arrived.ok) return false;
    if (arrived.tag != tag()) return fail(piece, DeviceFailure::kWrongTag, arrived.tag, tag());
    if (!decodes(step) && arrived.bytes != narrow_bytes(piece))
      return fail(piece, DeviceFailure::kWrongBytes, arrived.bytes, narrow_bytes(piece));
    const uint32_t lead = step.recv_coded && !decodes(step) ? kChunkLead : 0;
    shared_.received = shared_.recv_flagged ? flagged_in() : slot_of(from) + lead;
    shared_.received_bytes = arrived.bytes;
    return true;
  }

  __device__ bool find_room(const Piece& piece) {
    const DeviceStep& step = *piece.step;
    const DevicePort& to = *step.send_port;
    if (encodes(step)) shared_.mode = choose_mode(to);
    if (!wait_for_room(call_.report, to)) return false;
    shared_.send_flagged = by_flags(piece, to, step.send_coded);
    const uint32_t lead = step.send_coded && !encodes(step) ? kChunkLead : 0;
    shared_.slot = shared_.send_flagged ? flagged_out() : slot_of(to) + lead;
    return true;
  }

  // Read before the wait for room, which is as far away.
  __device__ uint8_t choose_mode(const DevicePort& to) const {
    if (call_.coding.chosen == 0) return call_.coding.mode;
    return static_cast<uint8_t>(device::load_relaxed(to.mode));
  }

  __device__ static unsigned char* flagged_in() { return device::dynamic_shared(); }
  __device__ static unsigned char* flagged_out() {
    return device::dynamic_shared() + kFlaggedBytesMax;
  }
  __device__ bool decodes(const DeviceStep& step) const {
    return Coder::kCodes && step.recv_port != nullptr && step.recv_coded && coder_.decodes();
  }
  __device__ bool encodes(const DeviceStep& step) const {
    return Coder::kCodes && step.send_port != nullptr && step.send_coded && coder_.encodes();
  }

  // All threads; false for all if what arrived is damaged.
  __device__ bool compute(const Piece& piece) {
    const DeviceStep& step = *piece.step;
    Operand first = operand(step.source, piece);
    Operand second = operand(step.addend, piece);
    Outputs out = outputs(piece);
    const Arithmetic<N> arithmetic{call_.arithmetic.operation, factor_,
                                   step.finish ? call_.arithmetic.divisor : 1};
    if (decodes(step)) return land(piece, arithmetic, out, first);
    if (step.recv_port != nullptr) {
      const Operand received{.data = shared_.received};
      if (first.data == nullptr) {
        first = received;
        second = Operand{};
      } else {
        second = received;
      }
    }
    if (encodes(step)) return encode(piece, arithmetic, out, first, second);
    if (!is_in_place(out, first, second, arithmetic))
      combine<N>(arithmetic, out, first, second, piece.count);
    return true;
  }

  __device__ Outputs outputs(const Piece& piece) const {
    const DevicePlace& target = piece.step->target;
    Outputs out;
    out.slot = shared_.slot;
    if (target.buffer == DeviceBuffer::kNone) return out;
    out.target = address(target, piece);
    out.target_wide = N::kHasWideForm && target.buffer == DeviceBuffer::kScratch;
    return out;
  }

  __device__ void forward(unsigned char* slot) {
    const uint64_t bytes = shared_.received_bytes;
    const uint64_t whole = copy_vectors({.slot = slot}, shared_.received, bytes);
    for (uint64_t i = whole + threadIdx.x; i < bytes; i += blockDim.x)
      slot[i] = shared_.received[i];
    if (threadIdx.x == 0) shared_.sent_bytes = bytes;
  }

  // What arrived coded is decoded straight into the step's result. A result that travels on coded
  // is encoded from where it lies.
  __device__ bool land(const Piece& piece, const Arithmetic<N>& arithmetic, Outputs out,
                       const Operand& own) {
    unsigned char* const slot = out.slot;
    const unsigned char* leaving = nullptr;
    if (encodes(*piece.step)) {
      out.slot = nullptr;
      if (own.data == nullptr) {
        // Encoded once by its owner: the chunk travels on as it came.
        forward(slot);
        if (out.target == nullptr) return true;
      } else if (out.target != nullptr && !out.target_wide) {
        leaving = out.target;
      } else {
        leaving = out.slot = coder_.leaving();
      }
    }
    if (!decode(piece, {own, out, arithmetic.operation, arithmetic.factor})) return false;
    if (leaving != nullptr) encode_from(leaving, piece, slot);
    return true;
  }

  // All threads, which have met since the values were written.
  __device__ void encode_from(const unsigned char* values, const Piece& piece,
                              unsigned char* slot) {
    DeviceCoding coding = call_.coding;
    coding.mode = shared_.mode;
    const uint64_t began = device::globaltimer();
    const uint32_t bytes = coder_.encode(values, piece.count, slot, coding);
    if (threadIdx.x != 0) return;
    shared_.sent_bytes = bytes;
    shared_.took_ns = device::globaltimer() - began;
  }

  __device__ SlotMark facts(const Piece& piece) const {
    SlotMark facts = {.word = 0,
                      .tag = tag(),
                      .type = static_cast<uint8_t>(lane_.type),
                      .mode = kNoMode,
                      .took = 0,
                      .value_bytes = narrow_bytes(piece)};
    if (!encodes(*piece.step) || call_.coding.chosen == 0) return facts;
    const uint64_t took = shared_.took_ns / kTookUnitNs;
    facts.mode = shared_.mode;
    facts.took = static_cast<uint16_t>(took < 0xffff ? took : 0xffff);
    return facts;
  }

  __device__ bool decode(const Piece& piece, const Landing<N>& landing) {
    const uint32_t fault =
        coder_.decode(shared_.received, shared_.received_bytes, piece.count, landing);
    if (fault != 0 && threadIdx.x == 0) fail(piece, DeviceFailure::kDamaged, fault, 0);
    __syncthreads();
    return fault == 0;
  }

  // From where the value lies as it is on the wire, or by way of the lane's staging.
  __device__ bool encode(const Piece& piece, const Arithmetic<N>& arithmetic, Outputs out,
                         const Operand& first, const Operand& second) {
    unsigned char* const slot = out.slot;
    const bool as_it_is = second.data == nullptr && !first.wide && !first.scaled &&
                          (N::kIsFloat || arithmetic.divisor == 1);
    const bool in_target = out.target != nullptr && !out.target_wide;
    const unsigned char* values = as_it_is ? first.data : in_target ? out.target : coder_.leaving();
    out.slot = as_it_is || in_target ? nullptr : coder_.leaving();
    if ((out.target != nullptr || out.slot != nullptr) &&
        !is_in_place(out, first, second, arithmetic))
      combine<N>(arithmetic, out, first, second, piece.count);
    __syncthreads();
    encode_from(values, piece, slot);
    return true;
  }

  // A copy of a range onto itself, as in-place calls make it.
  __device__ bool is_in_place(const Outputs& out, const Operand& first, const Operand& second,
                              const Arithmetic<N>& arithmetic) const {
    return out.slot == nullptr && second.data == nullptr && out.target == first.data &&
           out.target_wide == first.wide && !first.scaled && arithmetic.divisor == 1;
  }

  // Thread 0, when all have written.
  __device__ void pass_on(const Piece& piece, bool send_flagged) {
    const DeviceStep& step = *piece.step;
    if (step.send_port != nullptr) {
      DevicePort& to = *step.send_port;
      if (send_flagged)
        ++to.sequence;
      else
        post(to, encodes(step) ? shared_.sent_bytes : narrow_bytes(piece), facts(piece));
    }
    if (step.recv_port != nullptr) release(*step.recv_port);
    device::store_relaxed(&call_.report->progress, ++steps_done_ << 8 | blockIdx.x);
  }

  __device__ unsigned char* address(const DevicePlace& place, const Piece& piece) const {
    switch (place.buffer) {
      case DeviceBuffer::kInput:
        return const_cast<unsigned char*>(call_.input) +
               (place.offset + piece.offset) * sizeof(Narrow);
      case DeviceBuffer::kOutput:
        return call_.output + (place.offset + piece.offset) * sizeof(Narrow);
      case DeviceBuffer::kScratch:
        return call_.scratch + place.offset * sizeof(Value);
      case DeviceBuffer::kNone:
        break;
    }
    return nullptr;
  }

  __device__ Operand operand(const DevicePlace& place, const Piece& piece) const {
    return {.data = address(place, piece),
            .wide = N::kHasWideForm && place.buffer == DeviceBuffer::kScratch,
            .scaled = call_.arithmetic.scales_input && place.buffer == DeviceBuffer::kInput};
  }

  // Thread 0. The first failure of the communicator is told; later ones are its consequences.
  __device__ bool fail(const Piece& piece, DeviceFailure failure, uint64_t found,
                       uint64_t expected) const {
    DeviceReport* report = call_.report;
    if (atomicCAS(&report->failure, 0u, static_cast<uint32_t>(failure)) != 0) return false;
    report->lane = blockIdx.x;
    report->step = piece.index;
    report->round = piece.offset / lane_.piece;
    report->found = found;
    report->expected = expected;
    device::store_release_system(&report->complete, 1u);
    return false;
  }

  const DeviceCall& call_;
  const DeviceLane& lane_;
  LaneShared& shared_;
  Coder coder_;
  const Value factor_;
  uint64_t steps_done_ = 0;
};

}  // namespace strait::gpu
