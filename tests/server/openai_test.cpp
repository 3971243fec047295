// What is read of a request of OpenAI's API and its relatives, and what is told of what has no effect.
#include "tests/server/fake_service.hpp"
#include "tests/support/catch.hpp"

#include <ctime>
#include <string>
#include <utility>

using namespace etna;
using server::Json;
using test::FakeAnswer;
using test::FakeService;

namespace {

constexpr const char* completions = "/v1/completions";
constexpr const char* chats = "/v1/chat/completions";
constexpr const char* plain_template = "{% for m in messages %}{{ m.content }}{% endfor %}";

bool has(const FakeAnswer& answer, std::string_view part) {
    return answer.body.find(part) != std::string::npos;
}

std::string ignored(const FakeAnswer& answer) {
    const auto header = answer.headers.find("etna-ignored");
    return header == answer.headers.end() ? "" : header->second;
}

/// A body of chat with one message, and more members.
std::string asked(const std::string& more) {
    return R"({"messages": [{"role": "user", "content": "Once"}], "max_tokens": 2, "temperature": 0)" + more +
           "}";
}

/// A body of completions with one prompt, and more members.
std::string prompted(const std::string& more) {
    return R"({"prompt": "Once", "max_tokens": 2, "temperature": 0)" + more + "}";
}

server::HttpRequest post(const std::string& path, const std::string& body) {
    return {.method = "POST", .path = path, .headers = {{"host", "127.0.0.1"}}, .body = body};
}

/// The members of every event of one name in a stream.
std::vector<Json> events(const FakeAnswer& answer, const std::string& name) {
    std::vector<Json> found;
    const std::string mark = "event: " + name + "\n";
    for (std::size_t at = answer.body.find(mark); at != std::string::npos;
         at = answer.body.find(mark, at + 1)) {
        const std::size_t begin = answer.body.find("data: ", at) + 6;
        found.push_back(etna::parse_json(answer.body.substr(begin, answer.body.find('\n', begin) - begin)));
    }
    return found;
}

} // namespace

TEST_CASE("annotations that nobody knows are told, and refused by who is strict") {
    FakeService service({});
    const std::string body = prompted(R"(, "nvext": {"annotations": ["timing", "weather"]})");
    const FakeAnswer answer = service.post(completions, body);
    CHECK(answer.status == 200);
    CHECK(ignored(answer) == "nvext.annotations.weather");
    server::HttpRequest strict = post(completions, body);
    strict.headers["etna-strict"] = "1";
    const FakeAnswer refused = service.ask(strict);
    CHECK(refused.status == 400);
    CHECK(has(refused, R"("param":"nvext.annotations.weather")"));
    CHECK(has(service.post(completions, prompted(R"(, "nvext": {"annotations": [5]})")),
              R"("param":"nvext.annotations")"));
}

TEST_CASE("a raw prompt hides no mistakes, and what speaks to a template is told to have no effect") {
    FakeService service({});
    const std::string raw = R"(, "nvext": {"use_raw_prompt": true})";
    for (const char* wrong :
         {R"("tools": 5)", R"("tools": [5])", R"("tool_choice": "perhaps")", R"("tool_choice": "required")",
          R"("response_format": {"type": "xml"})", R"("response_format": 5)", R"("documents": 5)",
          R"("chat_template_kwargs": 5)", R"("reasoning_effort": "some")"})
        CHECK(service.post(chats, asked(raw + ", " + wrong)).status == 400);
    const FakeAnswer answer =
        service.post(chats, asked(raw + R"(, "tools": [{"type": "function", "function": {"name": "f"}}],
                            "tool_choice": "auto", "response_format": {"type": "text"})"));
    CHECK(answer.status == 200);
    CHECK(ignored(answer) == "tools, tool_choice, response_format");
    CHECK(ignored(service.post(chats, asked(raw))).empty());
}

TEST_CASE("annotations tell every prompt, with its place where there are several") {
    FakeService service({});
    const std::string notes =
        R"(, "ignore_eos": true, "nvext": {"annotations": ["token_ids", "formatted_prompt"]})";
    const std::string two = R"({"prompt": ["Once", "One day"], "max_tokens": 2)" + notes;
    const Json whole = etna::parse_json(service.post(completions, two + "}").body)["nvext"];
    REQUIRE(whole["formatted_prompt"].size() == 2);
    CHECK(whole["formatted_prompt"][1] == Json({{"index", 1}, {"formatted_prompt", "One day"}}));
    REQUIRE(whole["token_ids"].size() == 2);
    CHECK(whole["token_ids"][1]["index"] == 1);
    CHECK(whole["token_ids"][0]["token_ids"] != whole["token_ids"][1]["token_ids"]);

    const FakeAnswer stream = service.post(completions, two + R"(, "stream": true})");
    for (const char* name : {"token_ids", "formatted_prompt"}) {
        const std::vector<Json> told = events(stream, name);
        REQUIRE(told.size() == 2);
        CHECK(Json(told) == whole[name]);
    }
    const Json one = etna::parse_json(service.post(completions, prompted(notes)).body)["nvext"];
    CHECK(one["formatted_prompt"] == "Once");
    CHECK(one["token_ids"] == whole["token_ids"][0]["token_ids"]);
}

TEST_CASE("biases that ban every token are refused before a stream begins") {
    FakeService service({});
    Json bias = Json::object();
    for (int token = 0; token < 512; ++token)
        bias[std::to_string(token)] = -100;
    for (const char* stream : {"true", "false"}) {
        const FakeAnswer refused = service.post(
            completions, prompted(", \"logit_bias\": " + etna::dump_json(bias) + ", \"stream\": " + stream));
        CHECK(refused.status == 400);
        CHECK(has(refused, "logit_bias bans every token"));
    }
    bias.erase("300");
    CHECK(service.post(completions, prompted(", \"logit_bias\": " + etna::dump_json(bias))).status == 200);
}

TEST_CASE("a prompt may be shortened to what the model holds, and no further") {
    FakeService service({});
    std::string prompt;
    for (int i = 0; i < 2000; ++i)
        prompt += "dog ";
    const auto shortened = [&](const std::string& tokens) {
        return service.post(completions, R"({"max_tokens": 1, "truncate_prompt_tokens": )" + tokens +
                                             R"(, "prompt": ")" + prompt + "\"}");
    };
    const FakeAnswer answer = shortened("-1");
    REQUIRE(answer.status == 200);
    CHECK(etna::parse_json(answer.body)["usage"]["prompt_tokens"] == 511); // the context has 512
    for (const char* wrong : {"0", "-2"})
        CHECK(has(shortened(wrong), R"("param":"truncate_prompt_tokens")"));
    const FakeAnswer refused = shortened("null");
    CHECK(has(refused, R"("param":"prompt","code":"context_length_exceeded")"));
}

TEST_CASE("best_of and beams mean what each dialect says") {
    FakeService service({.chat_template = plain_template});
    const auto post = [&](const std::string& path, const std::string& more) {
        const bool is_chat = path.find("chat") != std::string::npos;
        return service.post(path, (is_chat ? asked(", " + more) : prompted(", " + more)));
    };
    const auto status = [&](const std::string& path, const std::string& more) {
        return post(path, more).status;
    };
    for (const char* path : {"/v1/completions", "/v1/chat/completions"}) {
        CHECK(status(path, R"("diversity_penalty": 0)") == 200);
        CHECK(status(path, R"("diversity_penalty": 1.0)") == 400);
        CHECK(has(post(path, R"("length_penalty": 0.7)"), "is for beam search"));
        CHECK(has(post(path, R"("early_stopping": "never")"), "is for beam search"));
        CHECK(status(path, R"("best_of": 2)") == 200);
        CHECK(status(path, R"("best_of": 21)") == 400);
        // Samples know no such thing; at temperature 0 it is a search.
        CHECK(status(path, R"("temperature": 1, "best_of": 2, "length_penalty": 0.5)") == 400);
        CHECK(status(path, R"("temperature": 0, "best_of": 2, "length_penalty": 0.5)") == 200);
        CHECK(status(path, R"("length_penalty": 1.0, "num_beams": 1)") == 200);
    }
    for (const char* path : {"/v3/completions", "/v3/chat/completions"}) {
        CHECK(status(path, R"("diversity_penalty": 1.0)") == 200); // its documented default
        CHECK(status(path, R"("best_of": 3, "length_penalty": 0.5, "diversity_penalty": 0.5)") == 200);
        // OVMS has these rows without a word that they need a search: they have no effect, and are told.
        CHECK(ignored(post(path, R"("diversity_penalty": 0.5)")) == "diversity_penalty");
        CHECK(ignored(post(path, R"("length_penalty": 0.7, "early_stopping": true, "num_beam_groups": 2)")) ==
              "num_beam_groups, length_penalty, early_stopping");
        CHECK(ignored(post(path, R"("length_penalty": 1, "early_stopping": false)")).empty());
        CHECK(ignored(post(path, R"("best_of": 3, "length_penalty": 0.7)")).empty());
    }
    for (const char* path : {"/v1/completions", "/v3/chat/completions"}) {
        CHECK(has(post(path, R"("length_penalty": "x")"), "`length_penalty` must be a number"));
        CHECK(has(post(path, R"("early_stopping": "no")"), "`early_stopping` must be true, false or"));
        CHECK(has(post(path, R"("diversity_penalty": [1])"), "`diversity_penalty` must be a number"));
        CHECK(has(post(path, R"("num_beam_groups": true)"), "`num_beam_groups` must be an integer"));
        CHECK(status(path, R"("best_of": 4, "use_beam_search": true, "early_stopping": "never")") == 200);
        CHECK(status(path, R"("best_of": 4, "use_beam_search": true, "early_stopping": "soon")") == 400);
        const FakeAnswer uneven =
            post(path, R"("best_of": 4, "use_beam_search": true, "num_beam_groups": 3)");
        CHECK(has(uneven, R"("param":"num_beam_groups")"));
        const FakeAnswer few = post(path, R"("n": 3, "best_of": 2)");
        CHECK(has(few, R"("param":"best_of")"));
        const FakeAnswer all = post(path, R"("n": 2, "num_beams": 4, "num_beam_groups": 2)");
        REQUIRE(all.status == 200);
        CHECK(etna::parse_json(all.body)["choices"].size() == 2);
    }
}

TEST_CASE("the operator's limits of lengths hold where they are said to") {
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
    CHECK(tokens("/v1/completions", R"(, "max_tokens": 6, "ignore_eos": true)") == 6); // OpenAI's has no such
    CHECK(tokens("/v1/completions", R"(, "max_tokens": 8, "ignore_eos": true)") == -1);
    CHECK(tokens("/v1/completions", R"(, "max_tokens": 9, "min_tokens": 9)") == 9);
}

TEST_CASE("cached prompts are shared by those who have the same key, and by nobody else") {
    server::ServiceOptions options;
    options.access.api_keys = {"one", "two"};
    FakeService service(
        {.service = options, .prepare = [](test::FakeOptions& fake, int) { fake.limits.page_tokens = 4; }});
    const auto cached = [&](const char* key) {
        server::HttpRequest request =
            post(completions, R"({"prompt": "Once upon a time there was a dog and a cat", "max_tokens": 1})");
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

TEST_CASE("work before the engine ends when the client leaves, or the server") {
    FakeService service({.chat_template = plain_template});
    REQUIRE(service.post(completions, prompted("")).status == 200); // the model is loaded
    const std::string words(1'000'000, 'a');
    const std::string text = R"({"content": ")" + words + "\"}";
    const std::string message = R"({"messages": [{"role": "user", "content": ")" + words + "\"}]}";
    const std::string prompt = R"({"truncate_prompt_tokens": 5, "prompt": ")" + words + "\"}";
    for (const auto& [path, body] : {std::pair<std::string, std::string>("/tokenize", text),
                                     {"/tokenize", message},
                                     {completions, prompt}}) {
        int asked_for = 0;
        server::HttpRequest request = post(path, body);
        request.is_client_gone = [&] { return ++asked_for >= 10; };
        CHECK(service.ask(request).status == 499);
        CHECK(asked_for <= 20); // and not a thousand times
    }
    service.service().is_aborting = true;
    for (const char* path : {"/tokenize", completions}) {
        const FakeAnswer ended = service.post(path, path == completions ? prompt : text);
        CHECK(ended.status == 503);
        CHECK(has(ended, "shutting down"));
    }
}

TEST_CASE("where no model is served, that is what is told") {
    FakeService service({.names = {}, .folder = "/nonexistent"});
    const FakeAnswer answer = service.post(completions, prompted(""));
    CHECK(answer.status == 404);
    CHECK(has(answer, "no model is served"));
    CHECK(has(answer, "model_not_found"));
}

TEST_CASE("a conversation of many messages takes time in proportion") {
    FakeService service({.chat_template = plain_template});
    REQUIRE(service.post(completions, prompted("")).status == 200); // the model is loaded
    std::string messages;
    for (int i = 0; i < 200'000; ++i)
        messages += R"({"role": "user", "content": "a"}, )";
    const auto begin =
        std::clock(); // of this process alone; with the square of the count it would be minutes
    const FakeAnswer answer = service.post("/apply-template", R"({"messages": [)" + messages +
                                                                  R"({"role": "user", "content": "b"}]})");
    CHECK(answer.status == 200);
    CHECK(has(answer, R"(ab"})"));
    CHECK(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC < 60);
}
