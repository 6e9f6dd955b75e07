#include "plan/text.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "plan/cases.hpp"

namespace strait::plan_test {
namespace {

TEST(PlanText, AStepReadsAsASentence) {
  EXPECT_EQ(format(Step{.count = 64,
                        .recv_from = 3,
                        .source = Place{Buffer::kScratch, 0},
                        .target = Place{Buffer::kOutput, 128},
                        .send_to = 2,
                        .send_wire = Wire::kCoded,
                        .finish = true}),
            "recv 3 + scratch[0] -> output[128] send 2 coded finish x64");
  EXPECT_EQ(format(Step{.count = 8,
                        .source = Place{Buffer::kScratch, 4},
                        .addend = Place{Buffer::kInput, 9},
                        .target = Place{Buffer::kScratch, 4}}),
            "scratch[4] + input[9] -> scratch[4] x8");
  EXPECT_EQ(format(Step{}), "nothing x0");
}

TEST(PlanText, APlanPrintsHeaderLanesAndSteps) {
  const Request request{.collective = Collective::kAllReduce, .count = 10};
  const Choice choice{.algorithm = Algorithm::kRing, .lanes = 2, .piece = 4, .reason = {}};
  EXPECT_EQ(format(make_plan(request, layout("1+1"), choice, 1).value()),
            "plan rank 1 of 2 slots 2\n"
            "lane 0 piece 4\n"
            "  input[3] send 0 coded x2\n"
            "  recv 0 coded + input[0] -> output[0] send 0 coded finish x3\n"
            "  recv 0 coded -> output[3] x2\n"
            "lane 1 piece 4\n"
            "  input[8] send 0 coded x2\n"
            "  recv 0 coded + input[5] -> output[5] send 0 coded finish x3\n"
            "  recv 0 coded -> output[8] x2\n");
}

TEST(PlanText, EveryPlanComesBackExactly) {
  for (const PlannerRow& row : planner_rows())
    for (const Topology& topology : all_layouts()) {
      std::vector<Plan> plans;
      for (const Call& call :
           make_calls({.collective = row.collective, .count = 29}, topology,
                      {.algorithm = row.algorithm, .lanes = 2, .piece = 7, .reason = {}}))
        plans.push_back(call.plan);
      const Result<std::vector<Plan>> parsed = parse_plans(format(plans));
      ASSERT_TRUE(parsed.ok()) << parsed.status().message();
      ASSERT_EQ(parsed.value(), plans);
      ASSERT_EQ(parse_plan(format(plans.back())).value(), plans.back());
    }
}

TEST(PlanText, BrokenStepsComeBackToo) {
  const Step no_source{.count = 1,
                       .recv_from = 0,
                       .addend = Place{Buffer::kInput, 5},
                       .target = Place{Buffer::kOutput, 18446744073709551615u}};
  const Plan plan{
      .rank = 0, .rank_count = 1, .lanes = {{.piece = 1, .steps = {Step{}, no_source}}}};
  EXPECT_EQ(parse_plan(format(plan)).value(), plan);
}

TEST(PlanText, CommentsAndBlanksAreFree) {
  const Result<Plan> plan = parse_plan(
      "# from a bug report\n\n  plan rank 0 of 1 slots 1 # header\r\n"
      "lane 0 piece 3\n\t input[0]->output[0]x3#all\n");
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const Step step{
      .count = 3, .source = Place{Buffer::kInput, 0}, .target = Place{Buffer::kOutput, 0}};
  EXPECT_EQ(plan->lanes.at(0).steps, std::vector<Step>{step});
}

struct Refusal {
  std::string text;
  std::string why;
};

TEST(PlanText, RefusalsNamePlaceAndExpectation) {
  const std::string head = "plan rank 0 of 2 slots 1\nlane 0 piece 4\n";
  for (const auto& [text, why] : std::vector<Refusal>{
           {"lane 0 piece 4", "line 1, column 1: expected 'plan', found 'lane'"},
           {"plan 0 of 2", "line 1, column 6: expected 'rank', found '0'"},
           {"plan rank -1 of 2 slots 1",
            "line 1, column 11: expected the number of a rank, found '-1'"},
           {"plan rank 0 slots 1", "line 1, column 13: expected 'of', found 'slots'"},
           {"plan rank 0 of 2", "line 1, column 17: expected 'slots', found the end of the line"},
           {"plan rank 0 of 2 slots 1 more",
            "line 1, column 26: expected the end of the line, found 'more'"},
           {"plan rank 0 of 2 scratch slots 1",
            "line 1, column 26: expected a number of elements, found 'slots'"},
           {"plan rank 0 of 2 slots 1\ninput[0] x1",
            "line 2, column 1: expected 'lane', found 'input[0]'"},
           {"plan rank 0 of 2 slots 1\nlane 1 piece 4",
            "line 2, column 6: expected lane 0, found '1'"},
           {"plan rank 0 of 2 slots 1\nlane 0 piece 0",
            "line 2, column 14: expected a piece of 1 element or more, found '0'"},
           {head + "  recv x2", "line 3, column 8: expected the number of a rank, found 'x2'"},
           {head + "  recv 1 + x2",
            "line 3, column 12: expected input[..], output[..] or scratch[..], found 'x2'"},
           {head + "  buffer[0] x2",
            "line 3, column 3: expected input[..], output[..] or scratch[..], found 'buffer[0]'"},
           {head + "  input 0 x2", "line 3, column 9: expected '[', found '0'"},
           {head + "  input[0 x2", "line 3, column 11: expected ']', found 'x2'"},
           {head + "  input[99999999999999999999] x2",
            "line 3, column 9: expected an offset in elements, found '99999999999999999999]'"},
           {head + "  input[0] -> send 1 x2",
            "line 3, column 15: expected input[..], output[..] or scratch[..], found 'send'"},
           {head + "  input[0] send 1",
            "line 3, column 18: expected 'x', found the end of the line"},
           {head + "  input[0] send 1 x2 x3",
            "line 3, column 22: expected the end of the line, found 'x3'"},
           {"", "expected one plan, found 0"},
           {head + head, "expected one plan, found 2"},
       }) {
    const Result<Plan> plan = parse_plan(text);
    ASSERT_FALSE(plan.ok()) << text;
    EXPECT_EQ(plan.status().message(), why);
  }
}

// Plans that people should look at when they change. STRAIT_BLESS=1 rewrites them.
struct Golden {
  const char* name;
  Request request;
  const char* layout;
  Choice choice;
};

std::vector<Golden> goldens() {
  const auto all_reduce = [](uint64_t count) {
    return Request{.collective = Collective::kAllReduce, .count = count};
  };
  const auto with = [](Algorithm algorithm, int lanes, uint64_t piece) {
    return Choice{.algorithm = algorithm, .lanes = lanes, .piece = piece, .reason = {}};
  };
  return {
      {"all_reduce_ring_3", all_reduce(30), "3", with(Algorithm::kRing, 1, 8)},
      {"all_reduce_tree_7", all_reduce(20), "7", with(Algorithm::kTree, 2, 8)},
      {"all_reduce_one_shot_4", all_reduce(16), "4", with(Algorithm::kOneShot, 1, 16)},
      {"all_reduce_two_shot_4", all_reduce(16), "4", with(Algorithm::kTwoShot, 1, 4)},
      {"all_reduce_hierarchical_2x2", all_reduce(64), "2+2", with(Algorithm::kHierarchical, 2, 8)},
      {"all_reduce_hierarchical_1+3", all_reduce(16), "1+3", with(Algorithm::kHierarchical, 1, 8)},
      {"broadcast_tree_5",
       {.collective = Collective::kBroadcast, .count = 12, .root = 2},
       "5",
       with(Algorithm::kTree, 2, 4)},
      {"reduce_scatter_ring_2x2",
       {.collective = Collective::kReduceScatter, .count = 10},
       "2+2",
       with(Algorithm::kRing, 1, 10)},
      {"all_gather_hierarchical_1+2",
       {.collective = Collective::kAllGather, .count = 16},
       "1+2",
       with(Algorithm::kHierarchical, 2, 8)},
      {"reduce_scatter_hierarchical_2x2",
       {.collective = Collective::kReduceScatter, .count = 16},
       "2+2",
       with(Algorithm::kHierarchical, 1, 8)},
      {"broadcast_hierarchical_2x3",
       {.collective = Collective::kBroadcast, .count = 24, .root = 1},
       "3+3",
       with(Algorithm::kHierarchical, 1, 8)},
      {"reduce_hierarchical_2x2",
       {.collective = Collective::kReduce, .count = 16, .root = 1},
       "2+2",
       with(Algorithm::kHierarchical, 1, 8)},
  };
}

TEST(PlanText, GoldenPlans) {
  for (const Golden& golden : goldens()) {
    std::vector<Plan> plans;
    for (const Call& call : make_calls(golden.request, layout(golden.layout), golden.choice))
      plans.push_back(call.plan);
    const std::string path =
        fmt::format("{}/tests/plan/golden/{}.plan", STRAIT_SOURCE_DIR, golden.name);
    const std::string text =
        fmt::format("# {}\n", describe(golden.request, layout(golden.layout), golden.choice)) +
        format(plans);
    if (std::getenv("STRAIT_BLESS") != nullptr) std::ofstream(path) << text;
    std::ostringstream wanted;
    wanted << std::ifstream(path).rdbuf();
    EXPECT_EQ(text, wanted.str()) << path << " differs; STRAIT_BLESS=1 rewrites it";
    EXPECT_EQ(parse_plans(text).value(), plans);
  }
}

}  // namespace
}  // namespace strait::plan_test
