#include <array>

#include "plan/text.hpp"

namespace strait {
namespace {

constexpr std::array<std::string_view, 3> kBufferNames = {"input", "output", "scratch"};

std::string format_place(const Place& place) {
  return fmt::format("{}[{}]", kBufferNames[static_cast<size_t>(place.buffer)], place.offset);
}

std::string format_edge(std::string_view verb, int peer, Wire wire) {
  return fmt::format("{} {}{}", verb, peer, wire == Wire::kCoded ? " coded" : "");
}

std::string format_operands(const Step& step) {
  std::string text;
  const auto join = [&text](const std::string& operand) {
    if (!text.empty()) text += " + ";
    text += operand;
  };
  if (step.recv_from != kNoPeer) join(format_edge("recv", step.recv_from, step.recv_wire));
  if (step.source) join(format_place(*step.source));
  if (!step.source && (step.addend || text.empty())) join("nothing");
  if (step.addend) join(format_place(*step.addend));
  return text;
}

}  // namespace

std::string format(const Step& step) {
  std::string text = format_operands(step);
  if (step.target) text += " -> " + format_place(*step.target);
  if (step.send_to != kNoPeer) text += " " + format_edge("send", step.send_to, step.send_wire);
  if (step.finish) text += " finish";
  return text + fmt::format(" x{}", step.count);
}

std::string format(const Plan& plan) {
  std::string text = fmt::format("plan rank {} of {}", plan.rank, plan.rank_count);
  if (plan.scratch_count > 0) text += fmt::format(" scratch {}", plan.scratch_count);
  text += fmt::format(" slots {}\n", plan.slots_min);
  for (size_t i = 0; i < plan.lanes.size(); ++i) {
    text += fmt::format("lane {} piece {}\n", i, plan.lanes[i].piece);
    for (const Step& step : plan.lanes[i].steps) text += "  " + format(step) + "\n";
  }
  return text;
}

std::string format(const std::vector<Plan>& plans) {
  std::string text;
  for (const Plan& plan : plans) text += (text.empty() ? "" : "\n") + format(plan);
  return text;
}

}  // namespace strait
