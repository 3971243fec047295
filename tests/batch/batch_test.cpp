// The lines, shards and durable outputs of a batch.

#include "server/batch/merge.hpp"
#include "server/batch/runner.hpp"
#include "tests/server/api_client.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/eventually.hpp"

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

#include <fmt/format.h>

using namespace etna;
using namespace etna::server::batch;
using etna::server::HttpReply;
using etna::server::HttpRequest;
using etna::server::Json;

namespace {

/// A folder for one test.
class BatchFolder {
public:
    BatchFolder() {
        std::string name = (std::filesystem::temp_directory_path() / "etna-batch-XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        path = name;
    }
    BatchFolder(const BatchFolder&) = delete;
    BatchFolder& operator=(const BatchFolder&) = delete;
    ~BatchFolder() { std::filesystem::remove_all(path); }

    [[nodiscard]] std::filesystem::path write(const std::string& name, const std::string& text) const {
        std::ofstream(path / name, std::ios::binary) << text;
        return path / name;
    }
    [[nodiscard]] std::string read(const std::string& name) const {
        std::ifstream stream(path / name, std::ios::binary);
        return {std::istreambuf_iterator<char>(stream), {}};
    }
    [[nodiscard]] std::vector<Json> records(const std::string& name) const {
        std::vector<Json> records;
        const std::string text = read(name);
        for (std::size_t begin = 0; begin < text.size();) {
            const std::size_t end = text.find('\n', begin);
            records.push_back(parse_json(text.substr(begin, end - begin)));
            begin = end == std::string::npos ? text.size() : end + 1;
        }
        return records;
    }

    std::filesystem::path path;
};

std::string line_of(const std::string& id, const std::string& body = "{}") {
    return R"({"custom_id": ")" + id + R"(", "method": "POST", "url": "/v1/completions", "body": )" + body +
           "}\n";
}

std::unique_ptr<ResultLog> open_log(const BatchFolder& folder, std::vector<std::string>* warnings = nullptr,
                                    const Shard& shard = {}) {
    std::vector<std::string> ignored;
    auto log = ResultLog::open(folder.path, shard, warnings == nullptr ? ignored : *warnings,
                               std::chrono::milliseconds(5));
    REQUIRE(log.has_value());
    return std::move(*log);
}

/// Answers with the body of the request.
HttpReply echo(const HttpRequest& request) {
    return {.headers = {{"x-request-id", "req"}}, .body = dump_json(*request.parsed_body) + "\n"};
}

StopMode never() {
    return StopMode::none;
}

std::string code_of(const InputLine& line) {
    const auto read = read_line(line, "");
    return read ? "" : read.error().code;
}

std::string result_of(const std::string& id) {
    return result_record(id, {.request_id = "r", .body = "{\"text\":\"" + id + "\"}\n"});
}

} // namespace

TEST_CASE("the shards of a batch partition its lines and parse as I/N") {
    CHECK(parse_shard("3/16")->index == 3);
    CHECK(parse_shard("0/1")->count == 1);
    for (const char* text : {"", "3", "16/16", "1/0", "-1/4", "1/4 ", "a/4", "1/100001", "/", "1/"})
        CHECK(!parse_shard(text));
    CHECK(Shard{.index = 3, .count = 16}.name() == "3-of-16");
    CHECK(parse_shard_name("3-of-16")->count == 16);
    for (uint64_t line = 1; line < 100; ++line) {
        int shards = 0;
        for (uint32_t index = 0; index < 7; ++index)
            shards += Shard{.index = index, .count = 7}.has(line) ? 1 : 0;
        CHECK(shards == 1);
    }
    CHECK(Shard{.index = 0, .count = 2}.has(1));
}

TEST_CASE("the shard of a job array's task is its position for any first id") {
    CHECK(shard_of_task({.id = 3, .count = 16})->index == 3);
    CHECK(shard_of_task({.id = 1, .count = 4, .min = 1})->index == 0);
    CHECK(shard_of_task({.id = 4, .count = 4, .min = 1})->index == 3);
    CHECK(shard_of_task({.id = 8, .count = 4, .step = 4})->index == 2);
    CHECK(!shard_of_task({.id = 4, .count = 4}));            // the minimum is unknown
    CHECK(!shard_of_task({.id = 0, .count = 4, .min = 1}));  // below it
    CHECK(!shard_of_task({.id = 7, .count = 3, .min = 1}));  // an array with gaps
    CHECK(!shard_of_task({.id = 2, .count = 4, .step = 4})); // between two ids
}

TEST_CASE("every invalid line has an error code for its cause") {
    const auto text = [](const std::string& line) { return InputLine{.number = 1, .text = line}; };
    CHECK(code_of(text(line_of("a"))).empty());
    CHECK(code_of(text("{")) == "invalid_json_line");
    CHECK(code_of(text("[]")) == "invalid_json_line");
    CHECK(code_of(text("{}")) == "missing_required_parameter");
    CHECK(code_of(text(R"({"custom_id": 3})")) == "missing_required_parameter");
    CHECK(code_of(text(line_of(""))) == "missing_required_parameter");
    CHECK(code_of(text(line_of(std::string(513, 'x')))) == "string_above_max_length");
    CHECK(code_of(text(R"({"custom_id": "a", "method": "GET"})")) == "invalid_method");
    CHECK(code_of(text(R"({"custom_id": "a", "method": "POST"})")) == "missing_required_parameter");
    CHECK(code_of(text(R"({"custom_id": "a", "method": "POST", "url": "/metrics"})")) == "invalid_url");
    CHECK(code_of(text(R"({"custom_id": "a", "method": "POST", "url": "/v1/completions"})")) ==
          "missing_required_parameter");
    CHECK(code_of(text(line_of("a", R"({"stream": true})"))) == "unsupported_value");
    CHECK(code_of(text(line_of("a", R"({"background": true})"))) == "unsupported_value");
    CHECK(code_of({.number = 1, .text = "", .is_too_long = true}) == "line_too_long");
    CHECK(read_line(text(line_of("a")), "/v1/embeddings").error().code == "mismatched_url");
    CHECK(code_of(text(R"({"body": )" + std::string(200, '[') + std::string(200, ']') + "}")) ==
          "invalid_json_line");
}

TEST_CASE("the reader numbers lines and skips blank and overlong ones in constant memory") {
    const BatchFolder folder;
    const std::string text = "one\n\n  \r\n" + std::string(5'000'000, 'x') + "\nfive\nsix";
    auto reader = LineReader::open(folder.write("in", text), 100);
    REQUIRE(reader.has_value());
    std::vector<std::pair<uint64_t, std::string>> lines;
    while (auto line = reader->next().value())
        lines.emplace_back(line->number, line->is_too_long ? "long" : line->text);
    CHECK(lines ==
          std::vector<std::pair<uint64_t, std::string>>{{1, "one"}, {4, "long"}, {5, "five"}, {6, "six"}});
    CHECK(!reader->next().value().has_value());
    const auto summary = summarize_input(folder.path / "in", {.index = 0, .count = 2});
    CHECK(summary->lines == 4);
    CHECK(summary->lines_of_shard == 2); // 1 and 5
    CHECK(summary->bytes == text.size());
    for (const char* short_text : {"", "\n", "a", "a\n"}) {
        const auto file = folder.write("short", short_text);
        auto one = LineReader::open(file, 100);
        uint64_t count = 0;
        while (one->next().value())
            ++count;
        CHECK(count == summarize_input(file, {})->lines);
        CHECK(count == (short_text[0] == 'a' ? 1 : 0));
    }
}

TEST_CASE("an output that is truncated at any byte retains its complete records") {
    const BatchFolder folder;
    const std::string first = result_of("first");
    const std::string second = result_of("second");
    for (std::size_t bytes = 0; bytes <= second.size(); ++bytes) {
        (void)folder.write("results-0-of-1.jsonl", first + second.substr(0, bytes));
        std::vector<std::string> warnings;
        {
            const auto log = open_log(folder, &warnings);
            CHECK(log->has_result("first"));
            CHECK(log->has_result("second") == (bytes == second.size()));
            CHECK(warnings.size() == (bytes == 0 || bytes == second.size() ? 0 : 1));
            if (!log->has_result("second"))
                REQUIRE(log->append(Output::results, second));
            CHECK(log->records(Output::results) == 2);
        }
        CHECK(folder.read("results-0-of-1.jsonl") == first + second);
    }
}

TEST_CASE("an output that is damaged in the middle is renamed and its intact records are copied") {
    const BatchFolder folder;
    const std::string first = result_of("first");
    const std::string last = result_of("last");
    const std::string damaged = first + std::string(100, '\0') + "\n" + last + "torn";
    (void)folder.write("results-0-of-1.jsonl", damaged);
    std::vector<std::string> warnings;
    {
        const auto log = open_log(folder, &warnings);
        CHECK(log->has_result("first"));
        CHECK(log->has_result("last"));
        REQUIRE(warnings.size() == 1);
        CHECK(warnings[0].find("damaged-1") != std::string::npos);
        REQUIRE(log->append(Output::results, result_of("more")));
    }
    CHECK(folder.read("results-0-of-1.jsonl").starts_with(first + last));
    CHECK(folder.records("results-0-of-1.jsonl").size() == 3);
    CHECK(folder.read("results-0-of-1.jsonl.damaged-1") == damaged);
}

TEST_CASE("a record has the model and the usage of its answer in the names of each endpoint") {
    const auto usage_of = [](const std::string& body) {
        const std::string record = result_record("a", {.body = body});
        const auto summary = read_record(std::string_view(record).substr(0, record.size() - 1));
        REQUIRE(summary);
        CHECK(summary->custom_id == "a");
        CHECK(summary->model == (body.starts_with(R"({"model": "m")") ? "m" : ""));
        return summary->usage;
    };
    CHECK(
        usage_of(R"({"model": "m", "usage": {"prompt_tokens": 5, "completion_tokens": 4, "total_tokens": 9,)"
                 R"( "prompt_tokens_details": {"cached_tokens": 3},)"
                 R"( "completion_tokens_details": {"reasoning_tokens": 2}}})") ==
        TokenUsage{.input = 5, .cached = 3, .output = 4, .reasoning = 2});
    CHECK(usage_of(
              R"({"model": "m", "usage": {"input_tokens": 5, "input_tokens_details": {"cached_tokens": 3},)"
              R"( "output_tokens": 4, "output_tokens_details": {"reasoning_tokens": 2}}})") ==
          TokenUsage{.input = 5, .cached = 3, .output = 4, .reasoning = 2});
    for (const char* const other :
         {R"({"usage": [{"prompt_tokens": 5}]})", R"({"usage": {"prompt_tokens": [5]}})",
          R"({"usage": {"prompt_tokens": -5}})", R"({"data": {"usage": {"prompt_tokens": 5}, "model": "x"}})",
          R"({"usage": null})"})
        CHECK(usage_of(other) == TokenUsage{});
    CHECK(!read_record(R"([{"custom_id": "a"}])"));
}

TEST_CASE("only one process at a time can open a shard") {
    const BatchFolder folder;
    const auto log = open_log(folder);
    std::vector<std::string> warnings;
    const auto second = ResultLog::open(folder.path, {}, warnings);
    REQUIRE(!second.has_value());
    CHECK(second.error().message.find("another process") != std::string::npos);
    CHECK(ResultLog::open(folder.path, {.index = 1, .count = 2}, warnings).has_value());
}

TEST_CASE("a runner answers every line once and bad lines fail individually with their numbers") {
    const BatchFolder folder;
    const std::string text = line_of("a", R"({"n": 1})") + "no JSON\n" + line_of("b") + line_of("a") +
                             R"({"custom_id": "c", "method": "POST", "url": "/", "body": {}})" + "\n" +
                             std::string(2000, ' ') + line_of("d");
    const auto input = folder.write("in.jsonl", text);
    {
        const auto log = open_log(folder);
        Runner runner({.input = input, .line_bytes_max = 1000, .lines_at_once = 3}, *log, echo);
        CHECK(runner.run(never).value() == Ending::complete);
        CHECK(runner.progress().results == 2);
        CHECK(runner.progress().errors == 4);
    }
    std::map<std::string, Json> results;
    for (const Json& record : folder.records("results-0-of-1.jsonl"))
        results[record["custom_id"]] = record;
    REQUIRE(results.size() == 2);
    CHECK(results["a"]["response"]["body"]["n"] == 1);
    CHECK(results["a"]["response"]["status_code"] == 200);
    CHECK(results["a"]["response"]["request_id"] == "req");
    CHECK(results["a"]["error"].is_null());
    std::map<int, std::string> errors;
    for (const Json& record : folder.records("errors-0-of-1.jsonl"))
        errors[record["error"]["line"]] = record["error"]["code"];
    CHECK(errors == std::map<int, std::string>{{2, "invalid_json_line"},
                                               {4, "duplicate_custom_id"},
                                               {5, "invalid_url"},
                                               {6, "line_too_long"}});
    const std::string before = folder.read("results-0-of-1.jsonl") + folder.read("errors-0-of-1.jsonl");
    const auto log = open_log(folder);
    Runner again({.input = input, .line_bytes_max = 1000}, *log,
                 [](const HttpRequest&) -> HttpReply { throw std::runtime_error("answered again"); });
    CHECK(again.run(never).value() == Ending::complete);
    CHECK(folder.read("results-0-of-1.jsonl") + folder.read("errors-0-of-1.jsonl") == before);
}

TEST_CASE("a line is retried after a server error but not after a client error") {
    const BatchFolder folder;
    const auto input = folder.write("in.jsonl", line_of("busy") + line_of("broken") + line_of("wrong"));
    std::map<std::string, int> calls;
    std::mutex mutex;
    const auto answer = [&](const HttpRequest& request) -> HttpReply {
        const std::scoped_lock lock(mutex);
        const std::string line = dump_json(*request.parsed_body);
        const int call = ++calls[line];
        (void)line;
        if (calls.size() == 1)
            return call > 3 ? echo(request) : HttpReply{.status = 429};
        return {.status = calls.size() == 2 ? 500 : 400,
                .body = R"({"error": {"code": "c", "message": "m"}})"};
    };
    (void)folder.write("in.jsonl", line_of("busy", R"({"k": 1})") + line_of("broken", R"({"k": 2})") +
                                       line_of("wrong", R"({"k": 3})"));
    const auto log = open_log(folder);
    Runner runner({.input = input, .lines_at_once = 1, .retries = 1}, *log, answer);
    CHECK(runner.run(never).value() == Ending::complete);
    CHECK(calls[R"({"k":1})"] == 4);
    CHECK(calls[R"({"k":2})"] == 2);
    CHECK(calls[R"({"k":3})"] == 1);
    const auto errors = folder.records("errors-0-of-1.jsonl");
    REQUIRE(errors.size() == 2);
    CHECK(errors[0]["response"]["status_code"] == 500);
    CHECK(errors[1]["custom_id"] == "wrong");
    CHECK(errors[1]["error"]["code"] == "c");
}

TEST_CASE("a server that fails all lines ends the run without recording them as failed") {
    const BatchFolder folder;
    std::string text;
    for (int i = 0; i < 200; ++i)
        text += line_of(fmt::format("{}", i));
    const auto log = open_log(folder);
    Runner runner({.input = folder.write("in.jsonl", text), .lines_at_once = 2, .retries = 0}, *log,
                  [](const HttpRequest&) { return HttpReply{.status = 503}; });
    const auto ending = runner.run(never);
    REQUIRE(!ending.has_value());
    CHECK(ending.error().message.find("in a row") != std::string::npos);
    CHECK(log->records(Output::errors) == 0);
}

TEST_CASE("server failures are recorded once another line succeeds or at the end") {
    for (const int failing : {15, 3}) {
        const BatchFolder folder;
        std::string text;
        for (int i = 0; i < 16; ++i)
            text += line_of(fmt::format("{}", i));
        const auto log = open_log(folder);
        std::atomic<int> call{0};
        Runner runner({.input = folder.write("in.jsonl", text), .lines_at_once = 1, .retries = 0}, *log,
                      [&](const HttpRequest& request) {
                          return call++ < failing ? HttpReply{.status = 503} : echo(request);
                      });
        CHECK(runner.run(never).value() == Ending::complete);
        CHECK(log->records(Output::errors) == static_cast<uint64_t>(failing));
        CHECK(log->records(Output::results) == static_cast<uint64_t>(16 - failing));
        CHECK(runner.progress().errors == static_cast<uint64_t>(failing));
    }
}

TEST_CASE("an answer truncated by a stop is not recorded") {
    const BatchFolder folder;
    const auto log = open_log(folder);
    std::atomic<bool> is_asked{false};
    Runner runner({.input = folder.write("in.jsonl", line_of("a")), .lines_at_once = 1}, *log,
                  [&](const HttpRequest& request) {
                      is_asked = true;
                      (void)test::eventually([&] { return request.is_client_gone(); });
                      return echo(request); // as an endpoint does: a partial answer with status 200
                  });
    CHECK(runner.run([&] { return is_asked ? StopMode::abandon : StopMode::none; }).value() ==
          Ending::incomplete);
    CHECK(log->records(Output::results) + log->records(Output::errors) == 0);
}

TEST_CASE("a line over the limits of a request body fails quickly") {
    std::string members;
    for (int i = 0; i < 200'000; ++i)
        members += fmt::format("{}\"m{}\": 1", i == 0 ? "" : ", ", i);
    const auto line =
        read_line({.number = 1,
                   .text = fmt::format(R"({{"custom_id": "a", "method": "POST", "body": {{{}}}}})", members)},
                  "");
    REQUIRE(!line.has_value());
    CHECK(line.error().code == "invalid_json_line");
}

TEST_CASE("a stopped run starts no line and abandons those that do not finish") {
    const BatchFolder folder;
    std::string text;
    for (int i = 0; i < 20; ++i)
        text += line_of(fmt::format("{}", i));
    const auto input = folder.write("in.jsonl", text);
    std::atomic<int> begun{0};
    {
        const auto log = open_log(folder);
        Runner runner({.input = input, .lines_at_once = 2}, *log, [&](const HttpRequest& request) {
            if (++begun <= 4)
                return echo(request);
            (void)test::eventually([&] { return request.is_client_gone(); });
            return HttpReply{.status = 503, .body = "{}"};
        });
        int polls = 0;
        CHECK(
            runner
                .run([&] {
                    return ++polls > 2 ? StopMode::abandon : ++polls > 1 ? StopMode::finish : StopMode::none;
                })
                .value() == Ending::incomplete);
        CHECK(log->records(Output::results) == 4);
        CHECK(log->records(Output::errors) == 0);
    }
    const auto log = open_log(folder);
    Runner runner({.input = input, .lines_at_once = 4}, *log, echo);
    CHECK(runner.run(never).value() == Ending::complete);
    std::set<std::string> ids;
    for (const Json& record : folder.records("results-0-of-1.jsonl"))
        CHECK(ids.insert(record["custom_id"]).second);
    CHECK(ids.size() == 20);
}

TEST_CASE("shards are merged in input order and missing lines are named") {
    const BatchFolder folder;
    std::string text = "not JSON\n";
    for (int i = 0; i < 30; ++i)
        text += line_of(fmt::format("id-{}", i), fmt::format("{{\"n\": {}}}", i));
    text += line_of("id-3");
    const auto input = folder.write("in.jsonl", text);
    for (const uint32_t index : {2U, 0U, 1U}) {
        const Shard shard = {.index = index, .count = 3};
        const auto summary = summarize_input(input, shard);
        REQUIRE(check_input(folder.path, shard, input, *summary));
        const auto log = open_log(folder, nullptr, shard);
        Runner runner({.input = input, .shard = shard, .lines_at_once = 4}, *log, echo);
        REQUIRE(runner.run(never).value() == Ending::complete);
        const auto report = merge(folder.path, {});
        REQUIRE(report.has_value());
        if (index == 1) {
            CHECK(report->missing == 0);
            CHECK(report->results == 30);
            CHECK(report->errors == 2);
        } else {
            CHECK(report->missing > 0);
            CHECK(report->missing_names.back() == (index == 2 ? "1/3" : "1/3"));
            CHECK(!std::filesystem::exists(folder.path / "results.jsonl"));
        }
    }
    const auto results = folder.records("results.jsonl");
    REQUIRE(results.size() == 30);
    for (int i = 0; i < 30; ++i) {
        CHECK(results[i]["custom_id"] == fmt::format("id-{}", i));
        CHECK(results[i]["response"]["body"]["n"] == i);
    }
    const auto errors = folder.records("errors.jsonl");
    REQUIRE(errors.size() == 2);
    CHECK(errors[0]["error"]["line"] == 1);
    CHECK(errors[1]["error"]["code"] == "duplicate_custom_id");
}

TEST_CASE("a changed input and another shard count are refused by name") {
    const BatchFolder folder;
    const auto input = folder.write("in.jsonl", line_of("a"));
    REQUIRE(check_input(folder.path, {}, input, *summarize_input(input, {})));
    REQUIRE(check_input(folder.path, {}, input, *summarize_input(input, {})));
    const auto other = check_input(folder.path, {.index = 0, .count = 2}, input, *summarize_input(input, {}));
    REQUIRE(!other.has_value());
    CHECK(other.error().message.find("1 shards") != std::string::npos);
    (void)folder.write("in.jsonl", line_of("b")); // of the same size
    const auto changed = check_input(folder.path, {}, input, *summarize_input(input, {}));
    REQUIRE(!changed.has_value());
    CHECK(changed.error().message.find("in.jsonl has changed") != std::string::npos);
    CHECK(!merge(folder.path, {}).has_value());
}

TEST_CASE("the server's endpoints answer the lines of a batch without a socket") {
    test::FakeService::Options options;
    options.chat_template = test::plain_template;
    options.says = " a dog";
    test::FakeService service(std::move(options));
    const BatchFolder folder;
    const std::string chat =
        R"({"custom_id": "chat", "method": "POST", "url": "/v1/chat/completions", "body":)"
        R"( {"model": "stories", "messages": [{"role": "user", "content": "x"}]}})";
    const std::string wrong = R"({"custom_id": "wrong", "method": "POST", "url": "/v1/chat/completions",)"
                              R"( "body": {"model": "stories"}})";
    const std::string response = R"({"custom_id": "response", "method": "POST", "url": "/v1/responses",)"
                                 R"( "body": {"model": "stories", "input": "x", "store": false}})";
    const auto input =
        folder.write("in.jsonl", chat + "\n" + wrong + "\n" + response + "\n" +
                                     line_of("completion", R"({"model": "stories", "prompt": "x"})"));
    const auto log = open_log(folder);
    Runner runner({.input = input, .lines_at_once = 4}, *log,
                  [&](const HttpRequest& request) { return service.router().answer(request); });
    CHECK(runner.run(never).value() == Ending::complete);
    CHECK(runner.progress().completion_tokens > 0);
    std::map<std::string, Json> results;
    for (const Json& record : folder.records("results-0-of-1.jsonl"))
        results[record["custom_id"]] = record["response"]["body"];
    CHECK(results["chat"]["choices"][0]["message"]["content"] == " a dog");
    CHECK(results["response"]["object"] == "response");
    CHECK(results["completion"]["object"] == "text_completion");
    const auto errors = folder.records("errors-0-of-1.jsonl");
    REQUIRE(errors.size() == 1);
    CHECK(errors[0]["custom_id"] == "wrong");
    CHECK(errors[0]["response"]["status_code"] == 400);
    CHECK(errors[0]["error"]["line"] == 2);
}
