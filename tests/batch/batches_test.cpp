// Files and batches of the server: /v1/files and /v1/batches.

#include "server/batch/multipart.hpp"
#include "tests/batch/batch_server.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/eventually.hpp"

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <utility>

#include <fmt/format.h>

using namespace etna;
using namespace etna::server::batch;
using etna::server::HttpReply;
using etna::server::HttpRequest;
using etna::server::Json;
using namespace etna::test;

namespace {

/// Answers three lines, then blocks until it is stopped. Counts the lines in `begun`.
auto three_answers(std::atomic<int>& begun) {
    return [&begun](const HttpRequest& request) -> HttpReply {
        if (++begun <= 3)
            return {.body = "{}"};
        (void)test::eventually([&] { return request.is_client_gone(); });
        return {.status = server::client_closed_status};
    };
}

} // namespace

TEST_CASE("a form is split into parts and a malformed one is refused") {
    const std::string body = form_of("line 1\r\n--xy\nline 2");
    const auto parts = parse_form("Multipart/Form-Data; charset=utf-8; boundary=\"xyz\"", body);
    REQUIRE(parts.has_value());
    REQUIRE(parts->size() == 2);
    CHECK((*parts)[0].name == "purpose");
    CHECK((*parts)[0].content == "batch");
    CHECK(!(*parts)[0].file_name);
    CHECK((*parts)[1].file_name == "in.jsonl");
    CHECK((*parts)[1].content == "line 1\r\n--xy\nline 2");
    CHECK(parse_form(form_type, "--xyz--\r\n")->empty());
    for (std::size_t bytes = 0; bytes + 4 < body.size(); ++bytes) // every truncated body
        CHECK(!parse_form(form_type, body.substr(0, bytes)).has_value());
    for (const char* type : {"", "application/json", "multipart/form-data", "multipart/form-data; boundary="})
        CHECK(parse_form(type, body).error().status == 415);
    CHECK(!parse_form(form_type, "--xyz\r\n\r\nno name\r\n--xyz--").has_value());
    CHECK(!parse_form(form_type, "--xyz\nContent-Disposition: form-data; name=a\n\nx\n--xyz--").has_value());
    std::string many;
    for (int i = 0; i < 33; ++i)
        many += "--xyz\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n";
    CHECK(!parse_form(form_type, many + "--xyz--").has_value());
}

TEST_CASE("a form's extended names are decoded and preferred") {
    const auto name_of = [](const std::string& parameters) {
        const std::string body =
            "--xyz\r\nContent-Disposition: form-data; " + parameters + "\r\n\r\nx\r\n--xyz--\r\n";
        const auto parts = parse_form(form_type, body);
        if (!parts)
            return std::string("refused");
        return parts->front().name + ": " + parts->front().file_name.value_or("none");
    };
    CHECK(name_of("name=\"file\"; filename*=UTF-8''%D1%80.jsonl") == "file: \u0440.jsonl");
    CHECK(name_of("name=\"file\"; filename*=utf-8'en'%D1%80.jsonl") == "file: \u0440.jsonl");
    CHECK(name_of("name=file; filename=\"a.jsonl\"; filename*=UTF-8''b.jsonl") == "file: b.jsonl");
    CHECK(name_of("name=file; filename*=UTF-8''b.jsonl; filename=\"a.jsonl\"") == "file: b.jsonl");
    CHECK(name_of("name=file; filename*=iso-8859-1''gr%FC%DFe") == "file: gr\u00fc\u00dfe");
    CHECK(name_of("name*=UTF-8''fi%6Ce; filename=a") == "file: a");
    CHECK(name_of("NAME=file; FileName*=UTF-8''a%20b%3B.txt") == "file: a b;.txt");
    for (const char* const malformed :
         {"UTF-8''%D1", "UTF-8''%", "UTF-8''%ZZ", "UTF-8'x", "x.txt", "UTF-7''a", "UTF-8''a%00b", "''a"}) {
        CAPTURE(malformed);
        CHECK(name_of("name=file; filename*=" + std::string(malformed)) == "file: none");
        CHECK(name_of("name=file; filename=a; filename*=" + std::string(malformed)) == "file: a");
    }
    CHECK(name_of("name*=UTF-8''%; filename=a") == "refused"); // no name is left
}

TEST_CASE("a file is uploaded, listed, shown, sent and deleted") {
    BatchServer server;
    const Json file = server.upload("{}\n");
    CHECK(file["object"] == "file");
    CHECK(file["bytes"] == 3);
    CHECK(file["filename"] == "in.jsonl");
    CHECK(file["purpose"] == "batch");
    CHECK(file["expires_at"] == 1'000'000 + default_file_lifetime_s);
    const std::string path = "/v1/files/" + file["id"].get<std::string>();
    CHECK(json_of(server.ask("GET", path)) == file);
    CHECK(server.ask("GET", path + "/content").body == "{}\n");
    const Json second = server.upload("second");
    const Json listed = json_of(server.ask("GET", "/v1/files"));
    CHECK(listed["data"].size() == 2);
    CHECK(listed["has_more"] == false);
    server.open(); // as after a kill
    CHECK(json_of(server.ask("GET", path)) == file);
    CHECK(json_of(server.ask("DELETE", path))["deleted"] == true);
    CHECK(server.ask("GET", path).status == 404);
    CHECK(server.ask("GET", path + "/content").status == 404);
    CHECK(server.ask("DELETE", path).status == 404);
    server.now_s = 1'000'000 + default_file_lifetime_s;
    CHECK(server.ask("GET", "/v1/files/" + second["id"].get<std::string>()).status == 404);
    CHECK(json_of(server.ask("GET", "/v1/files"))["data"].empty());
}

TEST_CASE("an uploaded file of text can be part of a message, for its owner only") {
    BatchServer server({test_key, "key-2"});
    const auto uploaded = [&](const std::string& content) {
        return test::json_of(server.ask("POST", "/v1/files", form_of(content, "user_data"), form_type))["id"];
    };
    const auto status = [&](const std::string& path, const Json& part, const std::string& key = test_key) {
        const bool is_response = path == "/v1/responses";
        const Json messages = Json::array({{{"role", "user"}, {"content", Json::array({part})}}});
        const Json body = {{is_response ? "input" : "messages", messages},
                           {"model", "stories"},
                           {is_response ? "max_output_tokens" : "max_tokens", 2}};
        return server.ask("POST", path, etna::dump_json(body), "application/json", key).status;
    };
    const Json id = uploaded("five cats");
    CHECK(status("/v1/responses", {{"type", "input_file"}, {"file_id", id}}) == 200);
    CHECK(status("/v1/chat/completions", {{"type", "file"}, {"file", {{"file_id", id}}}}) == 200);
    const Json source = {{"type", "file"}, {"file_id", id}};
    CHECK(status("/v1/messages", {{"type", "document"}, {"source", source}}) == 200);
    CHECK(status("/v1/responses", {{"type", "input_file"}, {"file_id", id}}, "key-2") == 400);
    CHECK(status("/v1/responses", {{"type", "input_file"}, {"file_id", "file-none"}}) == 400);
    CHECK(status("/v1/responses", {{"type", "input_file"}, {"file_id", uploaded("%PDF-1.4")}}) == 400);
    const Json batch = {{"input_file_id", id}, {"endpoint", "/v1/completions"}, {"completion_window", "24h"}};
    CHECK(server.ask("POST", "/v1/batches", etna::dump_json(batch)).status == 400); // of another purpose
}

TEST_CASE("an upload is refused without a file, a purpose or room") {
    BatchServer server;
    const auto param_of = [&](const std::string& body, const std::string& type = form_type) {
        return error_of(server.ask("POST", "/v1/files", body, type))["param"];
    };
    CHECK(param_of(form_of("x", "assistants")) == "purpose");
    CHECK(param_of("--xyz--\r\n") == "file");
    CHECK(server.ask("POST", "/v1/files", "{}").status == 415);
    const std::string lifetime =
        "--xyz\r\nContent-Disposition: form-data; name=\"expires_after[seconds]\"\r\n\r\n";
    CHECK(param_of(form_of("x", "batch", lifetime + "10\r\n")) == "expires_after[seconds]");
    CHECK(json_of(server.ask("POST", "/v1/files", form_of("x", "batch", lifetime + "3600\r\n"),
                             form_type))["expires_at"] == 1'003'600);
    CHECK(server.service().post("/v1/completions", "{}").status == 400);
    CHECK(server.ask("POST", "/v1/completions", form_of("x"), form_type).status == 415);
    server.limits.files_bytes_max = 100;
    server.open();
    CHECK(error_of(server.ask("POST", "/v1/files", form_of(std::string(200, 'x')), form_type), 413)["code"] ==
          "storage_full");
}

TEST_CASE("a batch is answered, and its outputs are files") {
    BatchServer server;
    server.start();
    const Json batch = server.create(server.upload(request_lines(12) + "no JSON\n" + request_line_of(3)));
    CHECK(batch["object"] == "batch");
    CHECK(batch["status"] == "validating");
    CHECK(batch["expires_at"] == 1'000'000 + 24 * 3600);
    CHECK(batch["metadata"]["run"] == "7");
    CHECK((batch["usage"]["total_tokens"] == 0 && !batch.contains("model")));
    const Json done = server.wait_for(batch, "completed");
    CHECK(done["request_counts"] == Json({{"total", 14}, {"completed", 12}, {"failed", 2}}));
    for (const char* name : {"in_progress_at", "finalizing_at", "completed_at"})
        CHECK(done[name] == 1'000'000);
    const auto results = server.content(done["output_file_id"]);
    CHECK(results.size() == 12);
    CHECK(results.at("id-3")["response"]["body"]["choices"][0]["text"] == "  a dog");
    int input = 0;
    int output = 0;
    for (const auto& [id, record] : results) {
        const Json& usage = record["response"]["body"]["usage"];
        input += usage["prompt_tokens"].get<int>();
        output += usage["completion_tokens"].get<int>();
    }
    CHECK(done["model"] == "stories");
    CHECK(done["usage"]["input_tokens"] == input);
    CHECK(done["usage"]["output_tokens"] == output);
    CHECK(done["usage"]["total_tokens"] == input + output);
    CHECK((input > 0 && output > 0));
    const auto errors = server.content(done["error_file_id"]);
    CHECK(errors.at("")["error"]["line"] == 13);
    CHECK(errors.at("id-3")["error"]["code"] == "duplicate_custom_id");
    CHECK(json_of(server.ask("GET", "/v1/batches"))["data"].size() == 1);
    CHECK(error_of(server.ask("POST", "/v1/batches/" + batch["id"].get<std::string>() + "/cancel"),
                   409)["code"] == "batch_not_cancellable");
    server.open();
    CHECK(server.show(batch) == done);
    CHECK(server.content(done["output_file_id"]).size() == 12);
}

TEST_CASE("a request for a batch is checked") {
    BatchServer server;
    const Json file = server.upload(request_lines(1));
    const auto param_of = [&](Json body) {
        return error_of(server.ask("POST", "/v1/batches", etna::dump_json(body)))["param"];
    };
    const Json good = {
        {"input_file_id", file["id"]}, {"endpoint", "/v1/completions"}, {"completion_window", "24h"}};
    for (const char* name : {"input_file_id", "endpoint", "completion_window"}) {
        Json body = good;
        body.erase(name);
        CHECK(param_of(body) == name);
        body[name] = "other";
        CHECK(param_of(body) == name);
    }
    CHECK(server.ask("GET", "/v1/batches/batch_none").status == 404);
    CHECK(server.ask("POST", "/v1/batches/batch_none/cancel").status == 404);
    server.limits.batches_max = 1;
    server.open();
    CHECK(json_of(server.ask("POST", "/v1/batches", etna::dump_json(good)))["id"].is_string());
    CHECK(server.ask("POST", "/v1/batches", etna::dump_json(good)).status == 429);
}

TEST_CASE("files and batches of one key are invisible to another") {
    BatchServer server({"key-1", "key-2"});
    server.start();
    const Json file = server.upload(request_lines(2));
    const Json batch = server.create(file);
    const Json done = server.wait_for(batch, "completed"); // run with its owner's key
    const auto as_other = [&](const std::string& method, const std::string& path,
                              const std::string& body = "") {
        return server.ask(method, path, body, "application/json", "key-2");
    };
    for (const Json& id : {file["id"], done["output_file_id"]}) {
        const std::string path = "/v1/files/" + id.get<std::string>();
        CHECK(as_other("GET", path).status == 404);
        CHECK(as_other("GET", path + "/content").status == 404);
        CHECK(as_other("DELETE", path).status == 404);
    }
    const std::string path = "/v1/batches/" + batch["id"].get<std::string>();
    CHECK(as_other("GET", path).status == 404);
    CHECK(as_other("POST", path + "/cancel").status == 404);
    CHECK(json_of(as_other("GET", "/v1/files"))["data"].empty());
    CHECK(json_of(as_other("GET", "/v1/batches"))["data"].empty());
    const Json body = {
        {"input_file_id", file["id"]}, {"endpoint", "/v1/completions"}, {"completion_window", "24h"}};
    CHECK(as_other("POST", "/v1/batches", etna::dump_json(body)).status == 400);
    CHECK(server.ask("GET", "/v1/files", "", "", "wrong").status == 401);
}

TEST_CASE("the lines of a batch have its owner's key and lower priority than interactive requests") {
    BatchServer server({test_key});
    std::atomic<int64_t> priority{0};
    std::atomic<bool> has_key{false};
    server.start([&](const HttpRequest& request) -> HttpReply {
        priority = request.priority;
        has_key = request.header("authorization") == "Bearer key-1";
        return {.body = "{}"};
    });
    (void)server.wait_for(server.create(server.upload(request_lines(1))), "completed");
    CHECK(priority == line_priority);
    CHECK(has_key);
}

TEST_CASE("a cancelled batch returns the completed answers") {
    BatchServer server;
    std::atomic<int> begun{0};
    server.start(three_answers(begun));
    const Json batch = server.create(server.upload(request_lines(20)));
    CHECK(test::eventually([&] { return begun >= 7; }));
    const Json cancelling =
        json_of(server.ask("POST", "/v1/batches/" + batch["id"].get<std::string>() + "/cancel"));
    CHECK(cancelling["cancelling_at"] == 1'000'000);
    const Json done = server.wait_for(batch, "cancelled");
    CHECK(done["request_counts"] == Json({{"total", 20}, {"completed", 3}, {"failed", 0}}));
    CHECK(server.content(done["output_file_id"]).size() == 3);
    CHECK(done["error_file_id"].is_null());
}

TEST_CASE("a batch that completes while its cancellation arrives stays completed") {
    BatchServer server;
    std::atomic<bool> may_answer{false};
    server.start([&](const HttpRequest&) -> HttpReply {
        may_answer.wait(false);
        return {.body = "{}"};
    });
    const Json batch = server.create(server.upload(request_lines(1)));
    (void)server.wait_for(batch, "in_progress");
    at_next_time = [&] { // of the cancellation
        may_answer = true;
        may_answer.notify_all();
        (void)server.wait_for(batch, "completed");
    };
    const FakeAnswer answer = server.ask("POST", "/v1/batches/" + batch["id"].get<std::string>() + "/cancel");
    CHECK(may_answer);
    CHECK(error_of(answer, 409)["code"] == "batch_not_cancellable");
    CHECK(server.show(batch)["status"] == "completed");
}

TEST_CASE("a batch that several models answer names none") {
    BatchServer server;
    std::atomic<int> answers{0};
    server.start([&](const HttpRequest&) {
        return HttpReply{.body = fmt::format(R"({{"model": "m{}"}})", ++answers)};
    });
    const Json done = server.wait_for(server.create(server.upload(request_lines(2))), "completed");
    CHECK(!done.contains("model"));
    CHECK(done["usage"]["total_tokens"] == 0);
}

TEST_CASE("a batch that exceeds its completion window expires and each line has a record") {
    BatchServer server;
    std::atomic<int> begun{0};
    server.start(three_answers(begun));
    const Json batch = server.create(server.upload(request_lines(20)));
    CHECK(test::eventually([&] { return begun >= 7; }));
    server.now_s = 1'000'000 + completion_window_s;
    const Json done = server.wait_for(batch, "expired");
    CHECK(done["request_counts"] == Json({{"total", 20}, {"completed", 3}, {"failed", 17}}));
    const auto errors = server.content(done["error_file_id"]);
    CHECK(errors.size() == 17);
    CHECK(errors.begin()->second["error"]["code"] == "batch_expired");
    CHECK(server.content(done["output_file_id"]).size() == 3);
}

TEST_CASE("a batch resumes after the server stopped at any line") {
    BatchServer server;
    const auto answer = [](const HttpRequest& /*request*/) -> HttpReply {
        return {.body = R"({"model": "m", "usage": {"input_tokens": 3, "output_tokens": 2,
            "input_tokens_details": {"cached_tokens": 2}, "output_tokens_details": {"reasoning_tokens": 1}}})"};
    };
    const Json batch = server.create(server.upload(request_lines(30)));
    std::atomic<int> answered{0};
    for (int run = 1; run <= 5; ++run) {
        const int limit = run * 5;
        server.start([&, limit](const HttpRequest& request) -> HttpReply {
            if (++answered <= limit)
                return answer(request);
            (void)test::eventually([&] { return request.is_client_gone(); });
            return {.status = 503, .body = "{}"};
        });
        CHECK(test::eventually([&] { return answered > limit; }));
        server.open();
        answered = limit;
    }
    server.start(answer);
    const Json done = server.wait_for(batch, "completed");
    CHECK(done["request_counts"] == Json({{"total", 30}, {"completed", 30}, {"failed", 0}}));
    CHECK(done["model"] == "m");
    CHECK(done["usage"] == Json({{"input_tokens", 90},
                                 {"input_tokens_details", {{"cached_tokens", 60}}},
                                 {"output_tokens", 60},
                                 {"output_tokens_details", {{"reasoning_tokens", 30}}},
                                 {"total_tokens", 150}}));
    CHECK(server.content(done["output_file_id"]).size() == 30);
}

TEST_CASE("a batch that was finalizing when the server was killed is finished, not answered again") {
    BatchServer server;
    server.start();
    const Json batch = server.create(server.upload(request_lines(3)));
    const Json done = server.wait_for(batch, "completed");
    server.open(); // joins the threads
    const auto state_file = server.folder / "batches" / batch["id"].get<std::string>() / "batch.json";
    std::ifstream stream(state_file);
    Json state = parse_json(std::string{std::istreambuf_iterator<char>(stream), {}});
    stream.close();
    state["object"]["status"] = "finalizing";
    std::ofstream(state_file) << etna::dump_json(state);
    server.open();
    server.start([](const HttpRequest&) -> HttpReply { throw std::runtime_error("answered again"); });
    CHECK(server.content(server.wait_for(batch, "completed")["output_file_id"]).size() == 3);
}

TEST_CASE("a batch whose outputs cannot be written waits and completes once they can") {
    BatchServer server;
    const Json batch = server.create(server.upload(request_lines(3)));
    const auto errors = server.folder / "batches" / batch["id"].get<std::string>() / "errors-0-of-1.jsonl";
    REQUIRE(std::filesystem::create_directory(errors)); // which a file cannot replace
    server.start();
    (void)server.wait_for(batch, "in_progress");
    std::this_thread::sleep_for(std::chrono::milliseconds(50)); // for an end that must not come
    CHECK(server.show(batch)["status"] == "in_progress");
    std::filesystem::remove(errors);
    server.now_s += 60;
    CHECK(server.wait_for(batch, "completed")["request_counts"]["completed"] == 3);
}

TEST_CASE("the input of a batch may be deleted, and an input without lines fails the batch") {
    BatchServer server;
    const Json file = server.upload(request_lines(3));
    const Json batch = server.create(file);
    CHECK(server.ask("DELETE", "/v1/files/" + file["id"].get<std::string>()).status == 200);
    server.start();
    CHECK(server.wait_for(batch, "completed")["request_counts"]["completed"] == 3);
    const Json empty = server.wait_for(server.create(server.upload("\n")), "failed");
    CHECK(empty["errors"]["data"][0]["code"] == "empty_file");
}

TEST_CASE("a server without a store has no files and batches") {
    FakeService service({});
    CHECK(error_of(service.get("/v1/files"))["code"] == "unsupported_operation");
    CHECK(error_of(service.get("/v1/batches"))["code"] == "unsupported_operation");
}

TEST_CASE("a file or batch whose description is damaged is not found, and stays on the disk") {
    BatchServer server;
    const Json file = server.upload(request_lines(2));
    const Json batch = server.create(file);
    const auto id = file["id"].get<std::string>();
    const auto descriptions = server.stored(".json");
    REQUIRE(descriptions.size() == 2);
    const std::size_t before = server.stored("").size();
    for (const auto& path : descriptions)
        std::ofstream(path, std::ios::trunc) << "";
    server.open();
    CHECK(server.ask("GET", "/v1/files/" + id).status == 404);
    CHECK(server.ask("GET", "/v1/batches/" + batch["id"].get<std::string>()).status == 404);
    CHECK(server.stored("").size() == before);
}

TEST_CASE("a batch that cannot run deletes its copy of the input") {
    BatchServer server;
    server.start();
    const Json batch = server.create(server.upload(" \n"));
    (void)server.wait_for(batch, "failed");
    CHECK(test::eventually([&] { return server.stored("input.jsonl").empty(); }));
}

TEST_CASE("a batch is retried if its input cannot be read") {
    BatchServer server;
    const Json batch = server.create(server.upload(request_lines(2)));
    const auto inputs = server.stored("input.jsonl");
    REQUIRE(inputs.size() == 1);
    const std::filesystem::path& input = inputs[0];
    const std::filesystem::path moved = input.string() + ".moved";
    std::filesystem::rename(input, moved);
    std::filesystem::create_directory(input);
    server.start();
    std::this_thread::sleep_for(std::chrono::milliseconds(300)); // for a failure that must not come
    CHECK(server.show(batch)["status"] == "validating");
    std::filesystem::remove(input);
    std::filesystem::rename(moved, input);
    server.now_s += 60; // more than the delay before a retry
    CHECK(server.wait_for(batch, "completed")["request_counts"]["completed"] == 2);
}

TEST_CASE("a batch expires if the server no longer has its key") {
    BatchServer server({test_key});
    (void)server.create(server.upload(request_lines(2)));
    server.set_keys({"another"});
    server.start();
    server.now_s = 1'000'000 + completion_window_s;
    const auto is_expired = [&] {
        for (const auto& path : server.stored(".json")) {
            std::ifstream stream(path);
            const std::string text{std::istreambuf_iterator<char>(stream), {}};
            if (text.find(R"("status":"expired")") != std::string::npos)
                return true;
        }
        return false;
    };
    CHECK(test::eventually(is_expired));
}
