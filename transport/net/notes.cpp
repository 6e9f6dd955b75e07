#include "transport/net/notes.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <list>
#include <map>
#include <mutex>

#include "transport/net/dial.hpp"

namespace strait::net {
namespace {

constexpr int kStopTurnMs = 50;

// What travels: always of one size.
struct Letter {
  uint64_t bytes = 0;
  std::array<std::byte, kNoteBytesMax> value{};
};

Note note_of(const std::string& name) {
  Note note{};
  STRAIT_CHECK(name.size() < note.size(), "the name of a note has up to 31 bytes");
  std::memcpy(note.data(), name.data(), name.size());
  return note;
}

class ServedBoard final : public NoteBoard {
 public:
  explicit ServedBoard(std::shared_ptr<Listener> listener) : listener_(std::move(listener)) {}

  Status start(const ServiceKey& where, std::span<const std::byte> secret) {
    STRAIT_ASSIGN(registration_, listener_->serve(where, secret, [this](Caller caller) {
      on_caller(std::move(caller));
    }));
    return Status();
  }

  void put(const std::string& name, std::span<const std::byte> value) override {
    STRAIT_CHECK(value.size() <= kNoteBytesMax, "a note has up to 120 bytes");
    Letter letter{.bytes = value.size()};
    std::copy(value.begin(), value.end(), letter.value.begin());
    const Note note = note_of(name);
    std::lock_guard lock(mutex_);
    letters_[note] = letter;
    std::erase_if(waiting_, [&](Caller& caller) {
      if (caller.note != note) return false;
      answer(caller, letter);
      return true;
    });
  }

 private:
  void on_caller(Caller caller) {
    std::lock_guard lock(mutex_);
    const auto found = letters_.find(caller.note);
    if (found != letters_.end())
      answer(caller, found->second);
    else
      waiting_.push_back(std::move(caller));
  }

  // A new connection has room for it; one that has not is closed, and its caller learns that.
  static void answer(Caller& caller, const Letter& letter) {
    [[maybe_unused]] const ssize_t sent = caller.fd.send(std::as_bytes(std::span(&letter, 1)));
    caller.fd.discard();
  }

  const std::shared_ptr<Listener> listener_;
  std::mutex mutex_;
  std::map<Note, Letter> letters_;
  std::list<Caller> waiting_;                   // for notes that are not there yet
  std::unique_ptr<Registration> registration_;  // ends first
};

}  // namespace

Result<std::unique_ptr<NoteBoard>> NoteBoard::open(std::shared_ptr<Listener> listener, uint64_t key,
                                                   int rank, std::span<const std::byte> secret) {
  auto board = std::make_unique<ServedBoard>(std::move(listener));
  STRAIT_TRY(board->start({key, Service::kNotes, rank}, secret));
  return std::unique_ptr<NoteBoard>(std::move(board));
}

Result<std::vector<std::byte>> ask_note(const NoteQuestion& question,
                                        std::span<const std::byte> secret, Deadline deadline,
                                        const std::function<Status()>& stopped) {
  const Destination destination{.candidates = question.board,
                                .service = {question.key, Service::kNotes, question.rank},
                                .from = question.from,
                                .note = note_of(question.name)};
  STRAIT_ASSIGN(Connection connection, dial(destination, secret, deadline));
  Letter letter;
  auto rest = std::as_writable_bytes(std::span(&letter, 1));
  while (!rest.empty()) {
    const ssize_t count = connection.fd.receive(rest);
    if (count > 0) {
      rest = rest.subspan(static_cast<size_t>(count));
      continue;
    }
    if (count == 0)
      return error(Code::kRemoteError, "rank {} left before it gave {}", question.rank,
                   question.name);
    if (errno != EAGAIN && errno != EINTR)
      return system_error(fmt::format("asking rank {} for {}", question.rank, question.name));
    if (deadline.passed())
      return error(Code::kTimeout, "rank {} did not give {} in time", question.rank, question.name);
    if (stopped) STRAIT_TRY(stopped());
    pollfd wait{.fd = connection.fd.get(), .events = POLLIN, .revents = 0};
    poll(&wait, 1, std::min(deadline.left_ms(), kStopTurnMs));
  }
  if (letter.bytes > kNoteBytesMax)
    return error(Code::kRemoteError, "rank {} runs another version of the library", question.rank);
  return std::vector<std::byte>(letter.value.begin(),
                                letter.value.begin() + static_cast<ptrdiff_t>(letter.bytes));
}

}  // namespace strait::net
