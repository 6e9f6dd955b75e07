#include "transport/ucx/flight.hpp"

#include <sys/mman.h>

namespace strait::ucx {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kLineBytes = 64;

size_t rounded(size_t bytes, size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

Result<std::shared_ptr<Flight>> Flight::allocate(const LinkSpec& spec, const Calls& calls,
                                                 Lands* end) {
  std::shared_ptr<Flight> flight(new Flight(calls));
  flight->end_ = end;
  flight->slots_ = spec.slots;
  flight->slot_bytes_ = spec.slot_bytes;
  flight->stride_ = rounded(spec.slot_bytes + kTagBytes, kLineBytes);
  flight->bytes_ = rounded(flight->stride_ * spec.slots, kPageBytes);
  void* const memory = mmap(nullptr, flight->bytes_, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED)
    return error(Code::kSystemError,
                 "link {}->{} lane {}: no memory for {} slots of {} bytes; lower STRAIT_SLOTS or "
                 "STRAIT_SLOT_BYTES",
                 spec.source, spec.destination, spec.lane, spec.slots, spec.slot_bytes);
  flight->memory_.reset(static_cast<std::byte*>(memory),
                        [bytes = flight->bytes_](std::byte* pages) { munmap(pages, bytes); });
  flight->messages_.assign(spec.slots, {.flight = flight.get()});
  flight->words_.assign(spec.slots, {.flight = flight.get(), .is_word = true});
  return flight;
}

void Flight::begin(Operation& operation, uint64_t sequence) {
  STRAIT_CHECK(!operation.under_way, "an operation is one request at a time");
  operation.sequence = sequence;
  operation.request = nullptr;
  operation.under_way = true;
  operation.done = false;
  if (under_way_++ == 0) self_ = shared_from_this();
}

void Flight::land(Operation& operation, ucs_status_t status, size_t bytes) {
  std::shared_ptr<Flight> last;  // goes at the end
  if (--under_way_ == 0) last = std::move(self_);
  operation.request = nullptr;
  operation.bytes = bytes;
  operation.under_way = false;
  operation.done = status == UCS_OK;
  if (end_ != nullptr) end_->on_landed(operation, status);
}

}  // namespace strait::ucx
