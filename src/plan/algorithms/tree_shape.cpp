#include "plan/algorithms/tree_shape.hpp"

#include "plan/algorithms/ring_order.hpp"

namespace strait {
namespace {

// The place in [low, high] (1 <= low) that the highest power of two divides: the root of the
// in-order tree over them.
int root_of(int low, int high) {
  int shift = 0;
  while (((high >> (shift + 1)) << (shift + 1)) >= low) ++shift;
  return (high >> shift) << shift;
}

// Places from 1.
TreeNode in_order_node(int place_count, int place) {
  TreeNode node;
  int low = 1;
  int high = place_count;
  int root = root_of(low, high);
  while (root != place) {
    node.parent = root;
    (place < root ? high : low) = place < root ? root - 1 : root + 1;
    root = root_of(low, high);
  }
  if (low < place) node.children[0] = root_of(low, place - 1);
  if (place < high) node.children[1] = root_of(place + 1, high);
  return node;
}

template <class Rename>
TreeNode renamed(TreeNode node, Rename rename) {
  for (int* place : {&node.parent, &node.children[0], &node.children[1]})
    if (*place != kNoPeer) *place = rename(*place);
  return node;
}

}  // namespace

TreeNode tree_node(int place_count, int place, TreeKind kind) {
  if (kind == TreeKind::kFirst)
    return renamed(in_order_node(place_count, place + 1), [](int p) { return p - 1; });
  if (place_count % 2 == 0)
    return renamed(in_order_node(place_count, place_count - place),
                   [place_count](int p) { return place_count - p; });
  return renamed(in_order_node(place_count, (place + 1) % place_count + 1),
                 [place_count](int p) { return (p - 2 + place_count) % place_count; });
}

namespace {

// What the order of addition may depend on.
const Topology& layout_of(const PlanContext& context, const Topology& flat) {
  return context.choice.reproducible == Reproducible::kWhateverPlacement ? flat : context.topology;
}
TreeKind tree_of(const PlanContext& context, int lane) {
  return context.choice.reproducible == Reproducible::kOnLayout ? tree_of_lane(lane)
                                                                : TreeKind::kFirst;
}

}  // namespace

TreeNode tree_ranks(const PlanContext& context, int lane) {
  const Topology flat = Topology::flat(context.rank_count());
  // Ring order keeps the ranks of a domain in neighbouring places, so few edges cross domains. Lane
  // 0 for all: both trees must be over the same places.
  const RingPlace ring = ring_place(layout_of(context, flat), 0, context.rank);
  return renamed(tree_node(ring.size(), ring.position, tree_of(context, lane)),
                 [&](int place) { return ring.order[static_cast<size_t>(place)]; });
}

TreeNode rooted_tree_ranks(const PlanContext& context, int lane) {
  const Topology flat = Topology::flat(context.rank_count());
  const RingPlace chain =
      chain_place(layout_of(context, flat), 0, context.rank, context.request.root);
  const int others = chain.size() - 1;
  const TreeKind kind = tree_of(context, lane);
  const auto rank_at = [&](int place) { return chain.order[static_cast<size_t>(place) + 1]; };
  if (chain.position > 0) {
    TreeNode node = renamed(tree_node(others, chain.position - 1, kind), rank_at);
    if (node.parent == kNoPeer) node.parent = context.request.root;
    return node;
  }
  TreeNode root;
  for (int place = 0; place < others; ++place)
    if (tree_node(others, place, kind).parent == kNoPeer) root.children[0] = rank_at(place);
  return root;
}

}  // namespace strait
