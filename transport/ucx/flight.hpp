// The slots of one end of a link, and the requests of UCX that read or write them. Owned by the
// link's end, by a device that uses the slots' places, and by itself while a request is under way:
// what UCX may touch is not freed, though the link may have gone. All below the mutex of the
// worker.
//
// A slot holds a message and, right behind it, the message's tag. Each slot has two operations: its
// message's, and that of the word which gives it back.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "transport/transport.hpp"
#include "transport/ucx/calls.hpp"

namespace strait::ucx {

class Flight;

// One request at a time, again and again.
struct Operation {
  Flight* flight = nullptr;
  uint64_t sequence = 0;    // of the message
  void* request = nullptr;  // UCX's, while it is under way
  size_t bytes = 0;         // that came
  bool is_word = false;
  bool under_way = false;
  bool done = false;  // since it was begun last
};

// The end of a link, for as long as there is one.
class Lands {
 public:
  virtual void on_landed(Operation& operation, ucs_status_t status) = 0;

 protected:
  ~Lands() = default;
};

class Flight : public std::enable_shared_from_this<Flight> {
 public:
  static constexpr size_t kTagBytes = sizeof(uint32_t);

  static Result<std::shared_ptr<Flight>> allocate(const LinkSpec& spec, const Calls& calls,
                                                  Lands* end);
  // The end goes.
  void detach() { end_ = nullptr; }

  std::span<std::byte> slot(uint64_t sequence) const {
    return {memory_.get() + sequence % slots_ * stride_, slot_bytes_ + kTagBytes};
  }
  SlotPlaces places(uint64_t next) const {
    return {memory_, {memory_.get(), bytes_}, memory_.get(), stride_, slots_, next};
  }
  Operation& message(uint64_t sequence) { return messages_[sequence % slots_]; }
  Operation& word(uint64_t sequence) { return words_[sequence % slots_]; }
  std::span<Operation> messages() { return messages_; }
  std::span<Operation> words() { return words_; }

  const Calls& calls() const { return calls_; }
  void begin(Operation& operation, uint64_t sequence);
  void land(Operation& operation, ucs_status_t status, size_t bytes);

 private:
  explicit Flight(const Calls& calls) : calls_(calls) {}

  const Calls calls_;  // may outlive the worker
  Lands* end_ = nullptr;
  uint32_t slots_ = 0;
  size_t slot_bytes_ = 0;
  size_t stride_ = 0;
  size_t bytes_ = 0;
  std::shared_ptr<std::byte> memory_;
  std::vector<Operation> messages_;
  std::vector<Operation> words_;
  size_t under_way_ = 0;
  std::shared_ptr<Flight> self_;  // while something is under way
};

}  // namespace strait::ucx
