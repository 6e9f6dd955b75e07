// PlanCache: plans already made and bound, by request. Used by the thread that runs the
// communicator's work. Pointers stay valid until forget_excess() drops them, which happens only
// between batches.
#pragma once

#include <map>
#include <memory>
#include <tuple>

#include "exec/ports.hpp"
#include "plan/request.hpp"

namespace strait {

class PlanCache {
 public:
  const BoundPlan* find(const Request& request) const {
    const auto found = plans_.find(key(request));
    return found == plans_.end() ? nullptr : found->second.get();
  }
  const BoundPlan* insert(const Request& request, std::unique_ptr<BoundPlan> plan) {
    return (plans_[key(request)] = std::move(plan)).get();
  }
  void forget_all() { plans_.clear(); }
  // Programs with ever new sizes must not grow without bound. True: all are forgotten.
  bool forget_excess() {
    if (plans_.size() <= kPlansMax) return false;
    plans_.clear();
    return true;
  }

 private:
  static constexpr size_t kPlansMax = 1024;
  using Key = std::tuple<Collective, DataType, ReduceKind, uint64_t, int, Limits>;
  static Key key(const Request& request) {
    return {request.collective, request.type, request.reduce,
            request.count,      request.root, request.limits};
  }

  std::map<Key, std::unique_ptr<BoundPlan>> plans_;
};

}  // namespace strait
