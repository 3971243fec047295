// Requests of OpenAI's API and its dialects: annotations, beams, limits, caches, and fields without effect.
#include "core/base/json.hpp"
#include "tests/server/api_client.hpp"
#include "tests/support/catch.hpp"

#include <ctime>
#include <string>
#include <utility>

using namespace etna;
using namespace etna::test;

namespace {

/// A chat with one message, and more fields.
std::string one_message(const std::string& more) {
    return R"({"messages": [{"role": "user", "content": "Once"}], "max_tokens": 2, "temperature": 0)" + more +
           "}";
}

/// A completion of one prompt, and more fields.
std::string one_prompt(const std::string& more) {
    return R"({"prompt": "Once", "max_tokens": 2, "temperature": 0)" + more + "}";
}

/// The data of every event of that name in a stream.
std::vector<Json> events_named(const FakeAnswer& answer, const std::string& name) {
    std::vector<Json> found;
    const std::string line = "event: " + name + "\n";
    for (std::size_t at = answer.body.find(line); at != std::string::npos;
         at = answer.body.find(line, at + 1)) {
        const std::size_t begin = answer.body.find("data: ", at) + 6;
        found.push_back(etna::parse_json(answer.body.substr(begin, answer.body.find('\n', begin) - begin)));
    }
    return found;
}

} // namespace

TEST_CASE("unknown annotations are reported, and refused with etna-strict") {
    FakeService service({});
    const std::string body = one_prompt(R"(, "nvext": {"annotations": ["timing", "weather"]})");
    const FakeAnswer answer = service.post(completions_path, body);
    CHECK(answer.status == 200);
    CHECK(ignored_fields(answer) == "nvext.annotations.weather");
    const FakeAnswer refused = post_strictly(service, completions_path, body);
    CHECK(refused.status == 400);
    CHECK(contains(refused, R"("param":"nvext.annotations.weather")"));
    CHECK(contains(service.post(completions_path, one_prompt(R"(, "nvext": {"annotations": [5]})")),
                   R"("param":"nvext.annotations")"));
}

TEST_CASE("with use_raw_prompt, template fields are validated and reported as without effect") {
    FakeService service({});
    const std::string raw = R"(, "nvext": {"use_raw_prompt": true})";
    for (const char* wrong :
         {R"("tools": 5)", R"("tools": [5])", R"("tool_choice": "perhaps")", R"("tool_choice": "required")",
          R"("response_format": {"type": "xml"})", R"("response_format": 5)", R"("documents": 5)",
          R"("chat_template_kwargs": 5)", R"("reasoning_effort": 5)"})
        CHECK(service.post(chats_path, one_message(raw + ", " + wrong)).status == 400);
    const FakeAnswer answer = service.post(
        chats_path, one_message(raw + R"(, "tools": [{"type": "function", "function": {"name": "f"}}],
                            "tool_choice": "auto", "response_format": {"type": "text"})"));
    CHECK(answer.status == 200);
    CHECK(ignored_fields(answer) == "tools, tool_choice, response_format");
    CHECK(ignored_fields(service.post(chats_path, one_message(raw))).empty());
}

TEST_CASE("annotations cover every prompt, with its index if there are several") {
    FakeService service({});
    const std::string annotations =
        R"(, "ignore_eos": true, "nvext": {"annotations": ["token_ids", "formatted_prompt"]})";
    const std::string two = R"({"prompt": ["Once", "One day"], "max_tokens": 2)" + annotations;
    const Json complete = etna::parse_json(service.post(completions_path, two + "}").body)["nvext"];
    REQUIRE(complete["formatted_prompt"].size() == 2);
    CHECK(complete["formatted_prompt"][1] == Json({{"index", 1}, {"formatted_prompt", "One day"}}));
    REQUIRE(complete["token_ids"].size() == 2);
    CHECK(complete["token_ids"][1]["index"] == 1);
    CHECK(complete["token_ids"][0]["token_ids"] != complete["token_ids"][1]["token_ids"]);

    const FakeAnswer stream = service.post(completions_path, two + R"(, "stream": true})");
    for (const char* name : {"token_ids", "formatted_prompt"}) {
        const std::vector<Json> sent = events_named(stream, name);
        REQUIRE(sent.size() == 2);
        CHECK(Json(sent) == complete[name]);
    }
    const Json one = etna::parse_json(service.post(completions_path, one_prompt(annotations)).body)["nvext"];
    CHECK(one["formatted_prompt"] == "Once");
    CHECK(one["token_ids"] == complete["token_ids"][0]["token_ids"]);
}

TEST_CASE("biases that ban every token are refused before the stream starts") {
    FakeService service({});
    Json bias = Json::object();
    for (int token = 0; token < 512; ++token)
        bias[std::to_string(token)] = -100;
    for (const char* stream : {"true", "false"}) {
        const FakeAnswer refused =
            service.post(completions_path, one_prompt(", \"logit_bias\": " + etna::dump_json(bias) +
                                                      ", \"stream\": " + stream));
        CHECK(refused.status == 400);
        CHECK(contains(refused, "logit_bias bans every token"));
    }
    bias.erase("300");
    CHECK(service.post(completions_path, one_prompt(", \"logit_bias\": " + etna::dump_json(bias))).status ==
          200);
}

TEST_CASE("truncate_prompt_tokens -1 truncates to the context less one answer token") {
    FakeService service({});
    std::string prompt;
    for (int i = 0; i < 2000; ++i)
        prompt += "dog ";
    const auto shortened = [&](const std::string& tokens) {
        return service.post(completions_path, R"({"max_tokens": 1, "truncate_prompt_tokens": )" + tokens +
                                                  R"(, "prompt": ")" + prompt + "\"}");
    };
    const FakeAnswer answer = shortened("-1");
    REQUIRE(answer.status == 200);
    CHECK(etna::parse_json(answer.body)["usage"]["prompt_tokens"] == 511); // the context has 512
    for (const char* wrong : {"0", "-2"})
        CHECK(contains(shortened(wrong), R"("param":"truncate_prompt_tokens")"));
    const FakeAnswer refused = shortened("null");
    CHECK(contains(refused, R"("param":"prompt","code":"context_length_exceeded")"));
}

TEST_CASE("best_of and beams follow each dialect") {
    FakeService service({.chat_template = plain_template});
    const auto post_with = [&](const std::string& path, const std::string& more) {
        const bool is_chat = path.find("chat") != std::string::npos;
        return service.post(path, (is_chat ? one_message(", " + more) : one_prompt(", " + more)));
    };
    const auto status = [&](const std::string& path, const std::string& more) {
        return post_with(path, more).status;
    };
    for (const char* path : {"/v1/completions", "/v1/chat/completions"}) {
        CHECK(status(path, R"("diversity_penalty": 0)") == 200);
        CHECK(status(path, R"("diversity_penalty": 1.0)") == 400);
        CHECK(contains(post_with(path, R"("length_penalty": 0.7)"), "only with beam search"));
        CHECK(contains(post_with(path, R"("early_stopping": "never")"), "only with beam search"));
        CHECK(status(path, R"("best_of": 2)") == 200);
        CHECK(status(path, R"("best_of": 21)") == 400);
        // Not for samples; at temperature 0, best_of is a beam search.
        CHECK(status(path, R"("temperature": 1, "best_of": 2, "length_penalty": 0.5)") == 400);
        CHECK(status(path, R"("temperature": 0, "best_of": 2, "length_penalty": 0.5)") == 200);
        CHECK(status(path, R"("length_penalty": 1.0, "num_beams": 1)") == 200);
    }
    for (const char* path : {"/v3/completions", "/v3/chat/completions"}) {
        CHECK(status(path, R"("diversity_penalty": 1.0)") == 200); // its documented default
        CHECK(status(path, R"("best_of": 3, "length_penalty": 0.5, "diversity_penalty": 0.5)") == 200);
        // OVMS documents these without requiring beam search: they are reported as without effect.
        CHECK(ignored_fields(post_with(path, R"("diversity_penalty": 0.5)")) == "diversity_penalty");
        CHECK(ignored_fields(post_with(
                  path, R"("length_penalty": 0.7, "early_stopping": true, "num_beam_groups": 2)")) ==
              "num_beam_groups, length_penalty, early_stopping");
        CHECK(ignored_fields(post_with(path, R"("length_penalty": 1, "early_stopping": false)")).empty());
        CHECK(ignored_fields(post_with(path, R"("best_of": 3, "length_penalty": 0.7)")).empty());
    }
    for (const char* path : {"/v1/completions", "/v3/chat/completions"}) {
        CHECK(contains(post_with(path, R"("length_penalty": "x")"), "`length_penalty` must be a number"));
        CHECK(contains(post_with(path, R"("early_stopping": "no")"),
                       "`early_stopping` must be true, false or"));
        CHECK(
            contains(post_with(path, R"("diversity_penalty": [1])"), "`diversity_penalty` must be a number"));
        CHECK(
            contains(post_with(path, R"("num_beam_groups": true)"), "`num_beam_groups` must be an integer"));
        CHECK(status(path, R"("best_of": 4, "use_beam_search": true, "early_stopping": "never")") == 200);
        CHECK(status(path, R"("best_of": 4, "use_beam_search": true, "early_stopping": "soon")") == 400);
        const FakeAnswer uneven =
            post_with(path, R"("best_of": 4, "use_beam_search": true, "num_beam_groups": 3)");
        CHECK(contains(uneven, R"("param":"num_beam_groups")"));
        const FakeAnswer few = post_with(path, R"("n": 3, "best_of": 2)");
        CHECK(contains(few, R"("param":"best_of")"));
        const FakeAnswer all = post_with(path, R"("n": 2, "num_beams": 4, "num_beam_groups": 2)");
        REQUIRE(all.status == 200);
        CHECK(etna::parse_json(all.body)["choices"].size() == 2);
    }
}

TEST_CASE("the operator's length limits apply to their paths") {
    server::ServiceOptions options;
    options.limits.max_tokens_limit = 5;
    options.limits.ignore_eos_max_tokens = 7;
    FakeService service({.service = options});
    const auto tokens = [&](const std::string& path, const std::string& more) {
        const Json answer =
            etna::parse_json(service.post(path, R"({"prompt": "Once", "temperature": 0)" + more + "}").body);
        return answer.contains("usage") ? answer["usage"]["completion_tokens"].get<int>() : -1;
    };
    CHECK(tokens("/v3/completions", R"(, "ignore_eos": true)") == 5); // the default, and the ceiling
    CHECK(tokens("/v3/completions", R"(, "max_tokens": 3, "ignore_eos": true)") == 3);
    CHECK(tokens("/v3/completions", R"(, "max_tokens": 6)") == -1);
    CHECK(tokens("/v1/completions", R"(, "max_tokens": 6, "ignore_eos": true)") == 6); // only on OVMS paths
    CHECK(tokens("/v1/completions", R"(, "max_tokens": 8, "ignore_eos": true)") == -1);
    CHECK(tokens("/v1/completions", R"(, "max_tokens": 9, "min_tokens": 9)") == 9);
}

TEST_CASE("cached prompts are shared only within an API key") {
    server::ServiceOptions options;
    options.access.api_keys = {"one", "two"};
    FakeService service(
        {.service = options, .prepare = [](test::FakeOptions& fake, int) { fake.limits.page_tokens = 4; }});
    const auto cached = [&](const char* key) {
        server::HttpRequest request = post_request(
            completions_path, R"({"prompt": "Once upon a time there was a dog and a cat", "max_tokens": 1})");
        request.headers["authorization"] = std::string("Bearer ") + key;
        const FakeAnswer answer = service.ask(request);
        REQUIRE(answer.status == 200);
        return etna::parse_json(answer.body)["usage"]["prompt_tokens_details"]["cached_tokens"].get<int>();
    };
    CHECK(cached("one") == 0);
    CHECK(cached("one") > 0);
    CHECK(cached("two") == 0);
    CHECK(cached("two") > 0);
}

TEST_CASE("tokenizing stops when the client disconnects or the server shuts down") {
    FakeService service({.chat_template = plain_template});
    REQUIRE(service.post(completions_path, one_prompt("")).status == 200); // the model is loaded
    const std::string words(1'000'000, 'a');
    const std::string text = R"({"content": ")" + words + "\"}";
    const std::string message = R"({"messages": [{"role": "user", "content": ")" + words + "\"}]}";
    const std::string prompt = R"({"truncate_prompt_tokens": 5, "prompt": ")" + words + "\"}";
    for (const auto& [path, body] : {std::pair<std::string, std::string>("/tokenize", text),
                                     {"/tokenize", message},
                                     {completions_path, prompt}}) {
        int polls = 0;
        server::HttpRequest request = post_request(path, body);
        request.is_client_gone = [&] { return ++polls >= 10; };
        CHECK(service.ask(request).status == 499);
        CHECK(polls <= 20); // rarely polled
    }
    service.service().is_aborting = true;
    for (const char* path : {"/tokenize", completions_path}) {
        const FakeAnswer ended = service.post(path, path == completions_path ? prompt : text);
        CHECK(ended.status == 503);
        CHECK(contains(ended, "shutting down"));
    }
}

TEST_CASE("a request without any served model gets 404") {
    FakeService service({.names = {}, .folder = "/nonexistent"});
    const FakeAnswer answer = service.post(completions_path, one_prompt(""));
    CHECK(answer.status == 404);
    CHECK(contains(answer, "no model is served"));
    CHECK(contains(answer, "model_not_found"));
}

TEST_CASE("templating time is proportional to the number of messages") {
    FakeService service({.chat_template = plain_template});
    REQUIRE(service.post(completions_path, one_prompt("")).status == 200); // the model is loaded
    std::string messages;
    for (int i = 0; i < 200'000; ++i)
        messages += R"({"role": "user", "content": "a"}, )";
    const auto begin = std::clock(); // CPU time of this process; quadratic time would be minutes
    const FakeAnswer answer = service.post("/apply-template", R"({"messages": [)" + messages +
                                                                  R"({"role": "user", "content": "b"}]})");
    CHECK(answer.status == 200);
    CHECK(contains(answer, R"(ab"})"));
    CHECK(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC < 60);
}
