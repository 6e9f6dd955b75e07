// Door: what every call of the stand-in passes on its way in: the checks that hold for all of them,
// injected failures, and the machine's lock for as long as the call runs. Any thread.
#pragma once

#include <mutex>

#include "standin/calls.hpp"

namespace strait::standin {

class Visit {
 public:
  explicit Visit(Call call);
  int refusal() const { return refusal_; }  // 0: come in

 private:
  std::unique_lock<std::mutex> lock_;
  int refusal_ = 0;
};

template <Call call, auto function>
struct Door;

template <Call call, class... Parameters, int (*function)(Parameters...)>
struct Door<call, function> {
  static int enter(Parameters... parameters) {
    const Visit visit(call);
    return visit.refusal() != 0 ? visit.refusal() : function(parameters...);
  }
};

}  // namespace strait::standin
