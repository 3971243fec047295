// `etna bench`: the arithmetic of its report, the steps that count, and the command on a fake executor.

#include "cli/bench/bench_report.hpp"
#include "cli/bench/chart.hpp"
#include "cli/bench/model_bench.hpp"
#include "cli/bench/step_meter.hpp"
#include "cli/bench/timeline.hpp"
#include "tests/cli/harness.hpp"
#include "tests/support/catch.hpp"

#include <chrono>
#include <fstream>
#include <map>
#include <utility>
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
            .barriers = 8,
            .is_repeated = true};
}

BenchReport one_row() {
    BenchReport report;
    report.model = "tiny";
    report.device = "a GPU";
    report.copy_bytes_s = 2e9;
    report.matrix_flop_s = 2e10;
    BenchRow row;
    row.batch = 4;
    row.generation_tok_s = {.median = 200, .min = 190, .max = 230};
    row.step_weight_bytes = 10'000'000;
    row.prompt_tok_s = {.median = 1000, .min = 900, .max = 1100};
    row.row_weights = 3'000'000;
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

TEST_CASE("a prompt computes two operations for each weight and token") {
    BenchReport report = one_row();
    CHECK(report.rows[0].prompt_flop_s().value() == Approx(6e9));
    CHECK(matrix_share(report, report.rows[0]).value() == Approx(0.3));
    CHECK(contains(bench_text(report), "30%"));
    const Json json = bench_json(report);
    CHECK(json["matrix_flop_s"].get<double>() == Approx(2e10));
    CHECK(json["rows"][0]["prompt_flop_s"].get<double>() == Approx(6e9));
    CHECK(json["rows"][0]["prompt_of_matrix_rate"].get<double>() == Approx(0.3));
    report.matrix_flop_s.reset();
    CHECK_FALSE(matrix_share(report, report.rows[0]));
    CHECK(bench_json(report)["rows"][0]["prompt_of_matrix_rate"].is_null());
    report.matrix_flop_s = 2e10;
    report.rows[0].row_weights = 0;
    CHECK_FALSE(report.rows[0].prompt_flop_s());
    CHECK_FALSE(matrix_share(report, report.rows[0]));
}

TEST_CASE("texts are compared with the matrix rate, as prompts are") {
    EmbeddingReport report;
    report.matrix_flop_s = 2e10;
    EmbeddingRow row;
    row.tok_s = {.median = 1000, .min = 900, .max = 1100};
    row.row_weights = 3'000'000;
    report.rows.push_back(row);
    CHECK(report.rows[0].flop_s().value() == Approx(6e9));
    CHECK(bench_json(report)["rows"][0]["of_matrix_rate"].get<double>() == Approx(0.3));
    CHECK(contains(bench_text(report), "30%"));
    report.rows[0].row_weights = 0;
    CHECK_FALSE(report.rows[0].flop_s());
    CHECK(bench_json(report)["rows"][0]["flop_s"].is_null());
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
    CHECK(contains(bench_text(report), "copies -; matrix rate 0.020 TFLOP/s\n"));
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
    steps[3].is_repeated = false;
    steps[4].found_idle = true;
    const auto span = generation_span(steps, 2);
    REQUIRE(span);
    CHECK(span->recorded == 1);
    CHECK(span->idle == 1);
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

namespace {

std::vector<vk::Timing> small_step() {
    return {{.label = "embed", .start_us = 0, .microseconds = 2},
            {.label = "layer 0/attention/rms_norm", .start_us = 3, .microseconds = 1},
            {.label = "layer 0/attention/linear", .start_us = 5, .microseconds = 4},
            {.label = "layer 0/feed forward/linear", .start_us = 10, .microseconds = 6},
            {.label = "layer 1/attention/rms_norm", .start_us = 17, .microseconds = 3}};
}

} // namespace

TEST_CASE("a timeline nests dispatches in their regions") {
    const Json trace = chrome_trace(small_step());
    std::map<std::string, std::pair<double, double>> regions; // start and length; names are unique but one
    int dispatches = 0;
    for (const Json& event : trace["traceEvents"]) {
        CHECK(event["ph"] == "X");
        if (event["cat"] == "region") {
            regions[event["name"].get<std::string>()] = {event["ts"].get<double>(),
                                                         event["dur"].get<double>()};
        } else {
            ++dispatches;
        }
    }
    CHECK(dispatches == 5);
    CHECK(regions.size() == 4);
    CHECK(regions["layer 0"] == std::pair(3.0, 13.0));
    CHECK(regions["feed forward"] == std::pair(10.0, 6.0));
    CHECK(regions["layer 1"] == std::pair(17.0, 3.0));
    CHECK(regions["attention"] == std::pair(17.0, 3.0)); // of layer 1; that of layer 0 is another event
    CHECK(trace["traceEvents"].size() == 5 + 5);
}

TEST_CASE("kernels of a step are summed up, the longest first") {
    CHECK(kernel_totals(small_step()) ==
          std::vector<KernelTotal>{{.kernel = "linear", .dispatches = 2, .microseconds = 10},
                                   {.kernel = "rms_norm", .dispatches = 2, .microseconds = 4},
                                   {.kernel = "embed", .dispatches = 1, .microseconds = 2}});
    const std::string text = totals_text(small_step());
    CHECK(contains(text, "linear                       2  10.0        50.0%\n"));
    CHECK(contains(text, "between dispatches               4.0        20.0%\n"));
    CHECK(contains(text, "step                         5  20.0       100.0%\n"));
    CHECK(kernel_totals({}).empty());
}

TEST_CASE("bench --timeline writes a trace, and fails on a device without timestamps") {
    Harness etna;
    const std::string file = etna.write("step.json", "").string();
    const std::vector<std::string> arguments = {"bench", "stories", "-b", "1", "-c", "0", "--timeline", file};
    const Outcome refused = etna.run(arguments);
    CHECK(refused.code == 1);
    CHECK(contains(refused.error, "fake device has no timestamps"));
    CHECK(etna.asked->timestamps);
    etna.timings = small_step();
    const Outcome outcome = etna.run(arguments);
    CHECK(outcome.code == 0);
    CHECK(contains(outcome.output, "rms_norm"));
    std::ifstream written(file);
    CHECK(nlohmann::json::parse(written)["traceEvents"].size() == 10);
    CHECK(outcome.error == "note: one step of " + std::to_string(etna.timings.size()) + " dispatches is in " +
                               file + "; chrome://tracing and ui.perfetto.dev show it\n");
    const std::string picture = etna.write("step.svg", "").string();
    const Outcome drawn = etna.run({"bench", "stories", "-b", "1", "-c", "0", "--timeline", picture});
    CHECK(contains(drawn.error, "is in " + picture + "; a web browser shows it\n"));
    std::ifstream svg(picture);
    CHECK(std::string{std::istreambuf_iterator<char>(svg), {}}.starts_with("<svg "));
    CHECK(etna.run({"bench", "stories", "--timeline", "/nonexistent/step.json"}).code == 1);
    CHECK(etna.run({"bench", "stories", "--timeline", file, "--json"}).code == 2);
}

TEST_CASE("bench --kernels reports bytes and sums per second") {
    Harness etna;
    etna.kernel_timings = runtime::KernelTimings{
        .device_name = "a GPU",
        .copy_bytes_s = 4e9,
        .kernels = {{.name = "linear",
                     .bytes = 1'000'000,
                     .operations = 8'000'000'000,
                     .samples_us = {900, 1000, 1300}},
                    {.name = "rms_norm", .bytes = 2'000, .operations = 0, .samples_us = {2}}}};
    const Outcome text = etna.run({"bench", "--kernels", "lin"});
    REQUIRE(text.code == 0);
    CHECK(etna.kernel_filter == "lin");
    CHECK(contains(text.output, "a GPU, copies 4.00 GB/s\n"));
    CHECK(contains(text.output, "linear    1000.0 ±20%  1.00        25%    8.000\n"));
    CHECK(contains(text.output, "rms_norm      2.0 ±0%  1.00        25%        -\n"));
    const auto json = nlohmann::json::parse(etna.run({"bench", "--kernels", "--json"}).output);
    CHECK(etna.kernel_filter.empty());
    CHECK(json["kernels"][0]["bytes_of_copy_rate"].get<double>() == Approx(0.25));
    CHECK(json["kernels"][0]["flop_s"].get<double>() == Approx(8e12));
    CHECK(json["kernels"][1]["flop_s"].is_null());
    etna.kernel_timings = Error{ErrorKind::not_found, "no kernel is called `x`", ""};
    CHECK(etna.run({"bench", "--kernels", "x"}).code == 1);
    CHECK(etna.run({"bench", "--kernels", "--timeline", "f"}).code == 2);
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

TEST_CASE("bench measures texts of an encoder for each batch") {
    Harness etna;
    etna.answer.reset();
    etna.row_weights = 1000;
    etna.step_delay = std::chrono::milliseconds(2);
    const Outcome outcome = etna.run({"bench", "demo-embed", "-b", "1,4", "-p", "12", "-r", "3", "--json"});
    INFO(outcome.error);
    REQUIRE(outcome.code == 0);
    CHECK(outcome.error.empty());
    const auto json = nlohmann::json::parse(outcome.output);
    CHECK(json["device"] == "fake device");
    CHECK(json["text_tokens"] == 12);
    CHECK(json["repetitions"] == 3);
    CHECK(json["not_measured"].empty());
    REQUIRE(json["rows"].size() == 2);
    for (const auto& row : json["rows"]) {
        const double batch = row["batch"].get<double>();
        const double batch_ms = row["batch_ms"]["median"].get<double>();
        CHECK(batch_ms >= 2 * batch); // a step holds one text of 12 tokens
        CHECK(row["texts_s"]["median"].get<double>() == Approx(batch * 1e3 / batch_ms));
        CHECK(row["tok_s"]["median"].get<double>() == Approx(12 * batch * 1e3 / batch_ms));
        CHECK(row["flop_s"].get<double>() == Approx(2 * 1000 * row["tok_s"]["median"].get<double>()));
        CHECK(row["of_matrix_rate"].is_null());
    }
    CHECK(json["rows"][1]["batch"] == 4);
    CHECK(etna.prompt_token_count() == (1 + 3) * (1 + 4) * 12); // a warm-up and three repetitions
    REQUIRE(etna.asked);
    CHECK(etna.asked->context_tokens == 0); // as `etna embed`
    CHECK(etna.asked->sequences_max == 4);
}

TEST_CASE("bench shortens an encoder's texts to the model's maximum, and says so") {
    Harness etna;
    etna.answer.reset();
    const Outcome outcome = etna.run({"bench", "demo-embed", "-b", "1,5", "-r", "1"});
    CHECK(outcome.code == 1); // for the batch that does not fit
    CHECK(contains(outcome.error, "texts have 16 tokens, the model's maximum, not 512"));
    CHECK(contains(outcome.error, "batch 5 is not measured: memory limits the sequences to 4"));
    CHECK(contains(outcome.output, "demo-embed on fake device\n"));
    CHECK(contains(outcome.output, "texts of 16 tokens; medians of 1"));
    CHECK(contains(outcome.output, "\nembeddings:\nbatch "));
    CHECK(contains(outcome.output, " texts/s "));
    CHECK_FALSE(contains(outcome.output, "generat"));
    CHECK(etna.prompt_token_count() == 2 * 16);
}

TEST_CASE("bench refuses options of generation for an encoder, before it loads") {
    Harness etna;
    const auto refusal = [&](const std::string& option, const std::string& value) {
        const Outcome outcome = etna.run({"bench", "demo-embed", option, value});
        CHECK(outcome.code == 1);
        CHECK(outcome.output.empty());
        CHECK(contains(outcome.error, "hint: leave it out"));
        return outcome.error;
    };
    CHECK(contains(refusal("-n", "128"), "--generated-tokens: demo-embed embeds texts and generates none"));
    CHECK(contains(refusal("-c", "0"), "--depth: demo-embed"));
    const std::string file = etna.write("step.json", "").string();
    CHECK(contains(refusal("--timeline", file), "--timeline: demo-embed"));
    CHECK_FALSE(etna.asked);
}

TEST_CASE("bench ends with the error of a device that is lost while an encoder runs") {
    Harness etna;
    etna.answer.reset();
    etna.lost_at_step = 3;
    const Outcome outcome = etna.run({"bench", "demo-embed", "-b", "2", "-p", "12", "-r", "5"});
    CHECK(outcome.code == 1);
    CHECK(outcome.output.empty());
    CHECK(contains(outcome.error, "the fake device was lost"));
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

TEST_CASE("a chart has a line for each batch over the depth, and for each depth over the batch") {
    BenchReport report;
    report.model = "tiny & <quick>";
    report.prompt_tokens = 512;
    for (const uint32_t depth : {0U, 4096U}) {
        for (const uint32_t batch : {1U, 4U, 16U}) {
            BenchRow row = one_row().rows.front();
            row.batch = batch;
            row.depth = depth;
            report.rows.push_back(row);
        }
    }
    const std::string svg = chart_svg(report);
    const auto count = [&](const std::string& part) {
        std::size_t found = 0;
        for (std::size_t at = svg.find(part); at != std::string::npos; at = svg.find(part, at + 1))
            ++found;
        return found;
    };
    CHECK(contains(svg, "tiny &amp; &lt;quick&gt;"));
    CHECK(count("<polyline ") == 2 * (3 + 2)); // of prompts and of generation
    CHECK(count("<circle ") == 4 * 6);
    CHECK(count("batch 16: 1000.0 tok/s") == 2);
    CHECK(count("depth 4096: 200.0 tok/s") == 3);
    CHECK(chart_svg({}).ends_with("</svg>\n"));
}

TEST_CASE("a picture of a step has a bar for each dispatch and region") {
    const std::string svg = timeline_svg(small_step(), "a <model>");
    CHECK(contains(svg, "a &lt;model&gt;"));
    std::size_t bars = 0;
    for (std::size_t at = svg.find("<title>"); at != std::string::npos; at = svg.find("<title>", at + 1))
        ++bars;
    CHECK(bars == chrome_trace(small_step())["traceEvents"].size());
    CHECK(timeline_svg({}, "nothing").ends_with("</svg>\n"));
}

TEST_CASE("the time of a benchmark is bounded by its first repetition") {
    const BenchPlan plan = {
        .prompt_tokens = 48, .generated_tokens = 16, .batches = {1, 4}, .depths = {0, 128}, .repetitions = 3};
    CHECK(seconds_at_most(plan, 2) == Approx(2 * (1 + 4) * (4 + 4 + 2)));
}

TEST_CASE("bench has smaller defaults on a CPU, and keeps what is given") {
    Harness etna;
    runtime::DeviceReport device;
    device.profile.type = vk::DeviceType::cpu;
    device.is_chosen = true;
    etna.devices = runtime::DeviceReports{device};
    const auto json = nlohmann::json::parse(etna.run({"bench", "stories", "-n", "8", "--json"}).output);
    CHECK(json["generated_tokens"] == 8);
    CHECK(json["prompt_tokens"] == cpu_bench_plan().prompt_tokens);
    CHECK(json["repetitions"] == cpu_bench_plan().repetitions);
    REQUIRE(json["rows"].size() == 2);
    CHECK(json["rows"][1]["batch"] == 4);
    CHECK(json["rows"][1]["depth"] == 0);
}

TEST_CASE("bench --chart writes a picture and says so") {
    Harness etna;
    const std::string file = etna.write("speed.svg", "").string();
    const std::vector<std::string> short_run = {"bench", "stories", "-b", "1",  "-c", "0",      "-p",
                                                "8",     "-n",      "4",  "-r", "1",  "--chart"};
    auto arguments = short_run;
    arguments.push_back(file);
    const Outcome outcome = etna.run(arguments);
    CHECK(outcome.code == 0);
    CHECK(outcome.error == "note: the chart is in " + file + "; a web browser shows it\n");
    std::ifstream svg(file);
    CHECK(contains({std::istreambuf_iterator<char>(svg), {}}, "stories on fake device"));
    arguments.back() = "/nonexistent/speed.svg";
    CHECK(etna.run(arguments).code == 1);
    CHECK(etna.run({"bench", "--kernels", "--chart", file}).code == 2);
    CHECK(etna.run({"bench", "stories", "--chart", file, "--timeline", file}).code == 2);
}
