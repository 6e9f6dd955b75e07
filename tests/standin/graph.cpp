#include "standin/graph.hpp"

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

namespace strait::standin {
namespace {

// One run of a graph: how many nodes each node still waits for, and how many are left in all.
class Run {
 public:
  Run(const GraphBody& body, const NodeTickets& tickets)
      : tickets_(tickets), left_(body.nodes.size()) {
    for (const Node& node : body.nodes) {
      waiting_[&node] = node.after.size();
      for (const Node* before : node.after) followers_[before].push_back(&node);
    }
  }

  void all() {
    std::vector<const Node*> first;
    for (const auto& [node, count] : waiting_)
      if (count == 0) first.push_back(node);
    for (const Node* node : first) branch(node);
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [this] { return left_ == 0 && branches_ == 0; });
  }

 private:
  void branch(const Node* node) {
    {
      const std::lock_guard lock(mutex_);
      ++branches_;
    }
    std::thread([this, node] { follow(node); }).detach();
  }

  void follow(const Node* node) {
    while (node != nullptr) {
      const auto ticket = tickets_.find(node);
      if (ticket == tickets_.end())
        perform(node->work);
      else if (node->recorded != nullptr)
        ticket->second->complete();
      else
        ticket->second->wait();
      const std::vector<const Node*> ready = leave(node);
      node = ready.empty() ? nullptr : ready.front();
      for (size_t i = 1; i < ready.size(); ++i) branch(ready[i]);
    }
    const std::lock_guard lock(mutex_);
    --branches_;
    finished_.notify_all();
  }

  std::vector<const Node*> leave(const Node* node) {
    const std::lock_guard lock(mutex_);
    --left_;
    std::vector<const Node*> ready;
    for (const Node* next : followers_[node])
      if (--waiting_[next] == 0) ready.push_back(next);
    return ready;
  }

  const NodeTickets& tickets_;
  std::mutex mutex_;
  std::condition_variable finished_;
  std::map<const Node*, size_t> waiting_;
  std::map<const Node*, std::vector<const Node*>> followers_;
  size_t left_;
  size_t branches_ = 0;
};

}  // namespace

UserObject::~UserObject() {
  std::thread([function = destroy, what = argument] { call_back(function, what); }).detach();
}

void run_graph(const GraphBody& body, const NodeTickets& tickets) {
  if (!body.nodes.empty()) Run(body, tickets).all();
}

}  // namespace strait::standin
