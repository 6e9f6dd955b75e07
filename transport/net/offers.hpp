// Offers: the connections that peers have opened for links and that accept() has not yet asked for.
// put() comes from the reactor's thread, take() from the rank's; one lock.
#pragma once

#include <condition_variable>
#include <list>
#include <map>
#include <mutex>
#include <vector>

#include "transport/net/frame.hpp"
#include "transport/net/listener.hpp"

namespace strait::net {

// The connections of one peer's connect().
struct Offer {
  LinkNote note;
  Note whole{};  // the note with what the transport added
  Address remote;
  std::vector<Stream> fds;  // by index
  size_t present = 0;

  bool complete() const { return present == fds.size(); }
};

class Offers {
 public:
  explicit Offers(int rank) : rank_(rank) {}
  // Tells the peers whose links nobody accepted.
  ~Offers();

  void put(Caller caller);
  // Waits for the link; if the peer's slots differ, both sides learn it.
  Result<Offer> take(const LinkSpec& spec, Deadline deadline);

 private:
  using LinkName = std::pair<int, int>;  // source, lane

  Status missing(const LinkSpec& spec, int64_t waited_ms) const;

  const int rank_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<LinkName, std::list<Offer>> offers_;
};

}  // namespace strait::net
