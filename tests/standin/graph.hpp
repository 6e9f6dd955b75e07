// Graphs: what a capture recorded, and how it is run again. A node is a piece of work with the
// nodes that come before it; nodes that do not come one after another run beside each other, each
// branch on a thread of its own, since kernels of a graph may wait for each other. Guarded by the
// machine's lock while it grows; after that it does not change.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "standin/queue.hpp"

namespace strait::standin {

struct Event;

struct Node {
  Work work;
  std::vector<Node*> after;
  std::shared_ptr<Event> awaited = nullptr;   // at each launch anew: what was recorded by then
  std::shared_ptr<Event> recorded = nullptr;  // by each launch
};

// What the nodes with events wait for or complete in one launch.
using NodeTickets = std::map<const Node*, TicketRef>;

// Calls its function once nothing refers to it any more, on a thread of its own.
struct UserObject {
  HostFunction destroy = nullptr;
  void* argument = nullptr;
  unsigned references = 1;  // of the program
  ~UserObject();
};

struct GraphBody {
  std::deque<Node> nodes;
  std::vector<std::shared_ptr<UserObject>> kept;
};
using GraphBodyRef = std::shared_ptr<GraphBody>;

struct Graph {
  GraphBodyRef body = std::make_shared<GraphBody>();
};

struct GraphExec {
  GraphBodyRef body;
  TicketRef last;  // launches of one exec run one after another
};

// Runs all nodes and returns when the last is done.
void run_graph(const GraphBody& body, const NodeTickets& tickets);

}  // namespace strait::standin
