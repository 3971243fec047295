// `etna bench`: the arithmetic of its report, the steps that count, and the command on a fake executor.

#include "cli/bench/bench_report.hpp"
#include "cli/bench/step_meter.hpp"
#include "tests/cli/harness.hpp"
#include "tests/support/catch.hpp"

#include <chrono>
#include <vector>

#include <nlohmann/json.hpp>

using namespace etna;
using namespace etna::cli;
using namespace etna::test;

namespace {

std::chrono::steady_clock::time_point at_ms(int milliseconds) {
    return std::chrono::steady_clock::time_point(std::chrono::milliseconds(milliseconds));
}

MeteredStep generation_step(int done_ms, double host_us, uint32_t rows) {
    return {.done_at = at_ms(done_ms),
            .host_us = host_us,
            .generation_rows = rows,
            .dispatches = 10,
            .barriers = 8};
}

BenchReport one_row() {
    BenchReport report;
    report.model = "tiny";
    report.device = "a GPU";
    report.copy_bytes_s = 2e9;
    BenchRow row;
    row.batch = 4;
    row.generation_tok_s = {.median = 200, .min = 190, .max = 230};
    row.step_weight_bytes = 10'000'000;
    report.rows.push_back(row);
    return report;
}

} // namespace

TEST_CASE("the median of samples in any order, and their extremes") {
    const Spread odd = spread_of({3, 1, 8});
    CHECK(odd.median == 3);
    CHECK(odd.min == 1);
    CHECK(odd.max == 8);
    const Spread even = spread_of({4, 1, 2, 9});
    CHECK(even.median == 3);
    CHECK(even.half_range() == Approx(4.0 / 3));
    CHECK(spread_of({0}).half_range() == 0);
}

TEST_CASE("a batch reads the weights once for all of its tokens") {
    const BenchReport report = one_row();
    CHECK(report.rows[0].weight_bytes_s().value() == Approx(10e6 * 200 / 4));
    CHECK(copy_share(report, report.rows[0]).value() == Approx(0.25));
    BenchReport without_rate = report;
    without_rate.copy_bytes_s.reset();
    CHECK_FALSE(copy_share(without_rate, report.rows[0]));
    BenchRow mixture = report.rows[0];
    mixture.step_weight_bytes.reset();
    CHECK_FALSE(mixture.weight_bytes_s());
    CHECK_FALSE(copy_share(report, mixture));
}

TEST_CASE("unknown figures are a dash in the table and null in JSON") {
    BenchReport report = one_row();
    CHECK(contains(bench_text(report), "25%"));
    CHECK(contains(bench_text(report), "200.0 ±10%"));
    report.copy_bytes_s.reset();
    const Json json = bench_json(report);
    CHECK(json["copy_bytes_s"].is_null());
    CHECK(json["device_peak_bytes"].is_null());
    CHECK(json["rows"][0]["weights_of_copy_rate"].is_null());
    CHECK(json["rows"][0]["per_token"]["dispatches"].is_null());
    CHECK(json["rows"][0]["weight_bytes_s"].get<double>() == Approx(5e8));
    CHECK(contains(bench_text(report), "copies -\n"));
}

TEST_CASE("generation is measured between the first and the last step of the full batch") {
    std::vector<MeteredStep> steps = {
        {.done_at = at_ms(0), .host_us = 0, .prompt_rows = 2}, // the first tokens
        generation_step(100, 50, 1),                           // the batch is not full yet
        generation_step(110, 60, 2),
        generation_step(120, 64, 2),
        generation_step(140, 80, 2),
        generation_step(150, 90, 1), // one has ended
    };
    const auto span = generation_span(steps, 2);
    REQUIRE(span);
    CHECK(span->tokens == 4);
    CHECK(span->submits == 2);
    CHECK(span->dispatches == 20);
    CHECK(span->barriers == 16);
    CHECK(span->seconds == Approx(0.03));
    CHECK(span->host_us == Approx(20));
    CHECK_FALSE(generation_span(steps, 3));
    steps[3].prompt_rows = 1; // interrupts the run: no two steps follow each other
    CHECK_FALSE(generation_span(steps, 2));
    CHECK_FALSE(generation_span({}, 1));
}

TEST_CASE("bench measures each batch at each depth") {
    Harness etna;
    const Outcome outcome =
        etna.run({"bench", "stories", "-b", "1,4", "-c", "0,32", "-p", "24", "-n", "8", "-r", "2", "--json"});
    INFO(outcome.error);
    REQUIRE(outcome.code == 0);
    const auto json = nlohmann::json::parse(outcome.output);
    CHECK(json["device"] == "fake device");
    CHECK(json["not_measured"].empty());
    REQUIRE(json["rows"].size() == 4);
    CHECK(json["rows"][1]["batch"] == 4);
    CHECK(json["rows"][2]["depth"] == 32);
    for (const auto& row : json["rows"]) {
        CHECK(row["prompt_tok_s"]["median"].get<double>() > 0);
        CHECK(row["generation_tok_s"]["median"].get<double>() > 0);
        CHECK(row["per_token"]["submits"].get<double>() == Approx(1 / row["batch"].get<double>()));
    }
    REQUIRE(etna.asked);
    CHECK(etna.asked->sequences_max == 4);
    CHECK(etna.asked->context_tokens >= 32 + 24);
}

TEST_CASE("bench prompts are never served from the cache, apart from the depth") {
    Harness etna;
    REQUIRE(etna.run({"bench", "stories", "-b", "1", "-c", "0", "-p", "16", "-n", "3", "-r", "1"}).code == 0);
    const std::size_t shallow = etna.prompt_token_count();
    CHECK(shallow == 2 * (16 + 1)); // warm-up and one repetition, each a prompt and a generation
    REQUIRE(etna.run({"bench", "stories", "-b", "1", "-c", "64", "-p", "16", "-n", "3", "-r", "1"}).code ==
            0);
    CHECK(etna.prompt_token_count() == shallow + 64);
}

TEST_CASE("bench reports a batch that does not fit, and measures the others") {
    Harness etna;
    const Outcome outcome =
        etna.run({"bench", "stories", "-b", "1,5", "-c", "0", "-p", "8", "-n", "4", "-r", "1"});
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.error, "batch 5 at depth 0 is not measured: memory limits the sequences to 4"));
    CHECK(contains(outcome.output, "stories on fake device\n"));
}

TEST_CASE("bench rejects lists that are not numbers in range") {
    Harness etna;
    for (const char* list : {"", "0", "1,", "1,x", "257", "1;2"}) {
        const Outcome outcome = etna.run({"bench", "stories", "--batch", list});
        INFO(list);
        CHECK(outcome.code == 2);
        CHECK(contains(outcome.error, "--batch"));
    }
    CHECK(etna.run({"bench"}).code == 2);
}

TEST_CASE("bench ends with the error of a lost device") {
    Harness etna;
    etna.lost_at_step = 6;
    const Outcome outcome =
        etna.run({"bench", "stories", "-b", "1", "-c", "0", "-p", "8", "-n", "8", "-r", "1"});
    CHECK(outcome.code == 1);
    CHECK(outcome.output.empty());
    CHECK(contains(outcome.error, "the fake device was lost"));
}
