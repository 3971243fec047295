// `etna tune` on a fake tuner: its report, its options and its exit codes.

#include "tests/cli/harness.hpp"
#include "tests/support/catch.hpp"

#include <nlohmann/json.hpp>

using namespace etna;
using namespace etna::test;

namespace {

runtime::TuneReport two_choices() {
    const kernels::Layout tiles{kernels::Format::q4_k, kernels::Arrangement::tiles};
    return {
        .device_name = "a GPU",
        .choices =
            {{.shape =
                  {.kernel = kernels::TunedKernel::linear, .layout = tiles, .rows = 4096, .columns = 1024},
              .sizes = {.workgroup = 256, .rows = 2, .subgroup = 16},
              .policy = {.workgroup = 512, .rows = 1},
              .time_us = 10,
              .policy_us = 15,
              .candidates = 6,
              .wrong = 1},
             {.shape = {.kernel = kernels::TunedKernel::attention, .rows = 32, .columns = 128, .kv_heads = 8},
              .sizes = {.workgroup = 64, .rows = 4},
              .policy = {.workgroup = 64, .rows = 4},
              .time_us = 20,
              .policy_us = 20,
              .candidates = 3}},
        .left_out = {}};
}

} // namespace

TEST_CASE("tune prints each shape's sizes and their speed against the policy's") {
    Harness etna;
    etna.tune_report = two_choices();
    const Outcome outcome = etna.run({"tune", "stories", "--device", "1", "--precision", "fast"});
    REQUIRE(outcome.code == 0);
    CHECK(outcome.error.empty());
    CHECK(contains(outcome.output, "a GPU\n"));
    CHECK(contains(outcome.output, "linear q4_k 4096 x 1024"));
    CHECK(contains(outcome.output, "1.50"));
    CHECK(contains(outcome.output, "workgroup 256, 2 groups of rows, subgroup 16\n"));
    CHECK(contains(outcome.output, "workgroup 64, 4 heads (policy)\n"));
    REQUIRE(etna.tune_request);
    CHECK(etna.tune_request->device == "1");
    CHECK(etna.tune_request->precision == kernels::Precision::fast);
    CHECK_FALSE(etna.tune_request->cache_folder.empty());
    const auto json = nlohmann::json::parse(etna.run({"tune", "stories", "--json"}).output);
    CHECK(json["device"] == "a GPU");
    CHECK(json["interrupted"] == false);
    REQUIRE(json["choices"].size() == 2);
    CHECK(json["choices"][0]["sizes"] == nlohmann::json{{"workgroup", 256}, {"rows", 2}, {"subgroup", 16}});
    CHECK(json["choices"][0]["wrong"] == 1);
}

TEST_CASE("tune reports shapes without a right candidate, errors and interrupts") {
    Harness etna;
    runtime::TuneReport report = two_choices();
    report.left_out = {report.choices[0].shape};
    report.is_cancelled = true;
    etna.tune_report = report;
    const Outcome cut = etna.run({"tune", "stories"});
    CHECK(cut.code == 130);
    CHECK(contains(cut.output, "attention, heads of 128, 32 to 8"));
    CHECK(contains(cut.error,
                   "linear q4_k 4096 x 1024: no candidate gives right results; the policy's sizes stay"));
    CHECK(contains(cut.error, "interrupted; the finished choices are stored"));
    etna.tune_report = Error{ErrorKind::device_lost, "the GPU was lost", "restart"};
    const Outcome failed = etna.run({"tune", "stories"});
    CHECK(failed.code == 1);
    CHECK(contains(failed.error, "hint: restart"));
    etna.variables.clear();
    const Outcome homeless = etna.run({"tune", "demo"});
    CHECK(homeless.code == 1);
    CHECK(contains(homeless.error, "set HOME or XDG_CACHE_HOME"));
}

TEST_CASE("tune --reset forgets a device's choices, and takes no model") {
    Harness etna;
    const Outcome outcome = etna.run({"tune", "--reset", "--device", "GPU"});
    CHECK(outcome.code == 0);
    CHECK(etna.reset_device == "GPU");
    CHECK(contains(outcome.error, "a GPU: the measured sizes are forgotten"));
    CHECK(nlohmann::json::parse(etna.run({"tune", "--reset", "--json"}).output)["device"] == "a GPU");
    CHECK(etna.run({"tune", "stories", "--reset"}).code == 2);
    CHECK(etna.run({"tune"}).code == 2);
}
