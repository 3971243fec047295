// Parameters as clients send them, in every API: bounds that mean none, unknown hints and tools, flat and
// nested tools, addresses in place of a model's name, doubled slashes.
#include "core/base/json.hpp"
#include "tests/server/api_client.hpp"
#include "tests/server/ollama_client.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <utility>
#include <vector>

using namespace etna;
using namespace etna::test;

namespace {

constexpr const char* answers_path = "/v1/messages";
constexpr const char* tools_shown = "{% for t in tools or [] %}({{ t.function.name }}:{{ "
                                    "(t.function.parameters or {}) | tojson }}){% endfor %}"
                                    "{% for m in messages %}{{ m.content }}{% endfor %}{# <tool_call> #}";

/// A chat with one message; `more` continues the object.
std::string chat_of(const std::string& more) {
    return R"({"messages": [{"role": "user", "content": "Go"}])" + more + "}";
}

std::string message_of(const std::string& more) {
    return R"({"model": "stories", "messages": [{"role": "user", "content": "Go"}])" + more + "}";
}

/// A request of each API that limits its answer by a member.
struct LimitedRequest {
    const char* path;
    std::string before; ///< the body up to the limit's value
    std::string after;
    const char* member; ///< as errors name it
};

const std::vector<LimitedRequest>& limited_requests() {
    static const std::vector<LimitedRequest> all = {
        {chats_path, R"({"messages": [{"role": "user", "content": "Go"}], "max_tokens": )", "}",
         "max_tokens"},
        {chats_path, R"({"messages": [{"role": "user", "content": "Go"}], "max_completion_tokens": )", "}",
         "max_completion_tokens"},
        {completions_path, R"({"prompt": "Go", "max_tokens": )", "}", "max_tokens"},
        {responses_path, R"({"input": "Go", "max_output_tokens": )", "}", "max_output_tokens"},
        {answers_path,
         R"({"model": "stories", "messages": [{"role": "user", "content": "Go"}], "max_tokens": )", "}",
         "max_tokens"},
        {"/completion", R"({"prompt": "Go", "n_predict": )", "}", "n_predict"},
        {ollama_chat_path,
         R"({"model": "stories", "stream": false, "messages": [{"role": "user", "content": "Go"}],
             "options": {"num_predict": )",
         "}}", "options.num_predict"}};
    return all;
}

/// The header of a chat with these tools, and its prompt.
std::pair<std::string, std::string> offered(FakeService& service, const std::string& tools) {
    const std::string body = chat_of(R"(, "max_tokens": 2, "tools": )" + tools);
    const FakeAnswer answer = service.post(chats_path, body);
    CAPTURE(answer.body);
    CHECK(answer.status == 200);
    return {ignored_fields(answer), prompt_of(service, body)};
}

} // namespace

TEST_CASE("a length of -1 or -2 does not bound an answer in any API") {
    const std::string says =
        "One two three four five six seven eight nine ten eleven twelve thirteen fourteen.";
    FakeService service({.chat_template = marked_template, .says = says});
    for (const LimitedRequest& request : limited_requests()) {
        for (const char* const value : {"-1", "-2"}) {
            CAPTURE(request.path, request.member, value);
            const FakeAnswer answer = service.post(request.path, request.before + value + request.after);
            CAPTURE(answer.body);
            CHECK(answer.status == 200);
            CHECK(contains(answer, "fourteen.")); // more than the 16 tokens of completions without a length
            CHECK(ignored_fields(answer).empty());
        }
    }
}

TEST_CASE("other negative lengths are refused by name") {
    FakeService service({.chat_template = marked_template, .says = "Ok."});
    for (const LimitedRequest& request : limited_requests()) {
        for (const char* const value : {"-3", "-2147483649", "-0.5"}) {
            CAPTURE(request.path, request.member, value);
            const FakeAnswer answer = service.post(request.path, request.before + value + request.after);
            CAPTURE(answer.body);
            CHECK(answer.status == 400);
            CHECK(contains(answer, "`" + std::string(request.member) + "`"));
        }
    }
}

TEST_CASE("a length of null is absent, except where one is required") {
    FakeService service({.chat_template = marked_template, .says = "Ok."});
    for (const LimitedRequest& request : limited_requests()) {
        CAPTURE(request.path, request.member);
        const bool is_required = std::string(request.path) == answers_path;
        CHECK(service.post(request.path, request.before + "null" + request.after).status ==
              (is_required ? 400 : 200));
    }
}

TEST_CASE("a response without a bound repeats none") {
    FakeService service({.chat_template = marked_template, .says = "Ok."});
    CHECK(post_json(service, responses_path,
                    R"({"input": "Go", "max_output_tokens": -1})")["max_output_tokens"] == nullptr);
}

TEST_CASE("the operator's limit of ignore_eos applies to requests without a bound") {
    server::ServiceOptions options;
    options.limits.max_tokens_limit = 5;
    options.limits.ignore_eos_max_tokens = 7;
    FakeService service({.service = options});
    const std::string endless = R"({"prompt": "Once", "max_tokens": -1, "ignore_eos": true})";
    CHECK(error_of(service.post(completions_path, endless))["param"] == "max_tokens");
    CHECK(post_json(service, "/v3/completions", endless)["usage"]["completion_tokens"] == 5);
}

TEST_CASE("an unknown display of thinking shows it and is reported") {
    FakeService service({.chat_template = marked_template, .says = "<think>Hm.</think>Yes."});
    for (const char* const display : {"updates", "verbose", ""}) {
        CAPTURE(display);
        const FakeAnswer answer =
            service.post(answers_path, message_of(R"(, "max_tokens": 50, "thinking": {"type": "adaptive", )"
                                                  R"("display": ")" +
                                                  std::string(display) + "\"}"));
        CHECK(ignored_fields(answer) == "thinking.display");
        CHECK(json_of(answer)["content"][0]["thinking"] == "Hm.");
    }
    const FakeAnswer stream = service.post(
        answers_path,
        message_of(
            R"(, "max_tokens": 50, "stream": true, "thinking": {"type": "adaptive", "display": "updates"})"));
    CHECK(ignored_fields(stream) == "thinking.display");
    CHECK(contains(stream, "thinking_delta"));
    CHECK(service
              .post(answers_path,
                    message_of(R"(, "max_tokens": 5, "thinking": {"type": "adaptive", "display": 5})"))
              .status == 400);
    CHECK(service.post(answers_path, message_of(R"(, "max_tokens": 5, "thinking": {"type": "sometimes"})"))
              .status == 400);
}

TEST_CASE("a thinking budget of any size refuses no request") {
    FakeService service({.chat_template = marked_template, .says = "<think>Hm.</think>Yes."});
    for (const char* const budget : {"50", "51", "1024", "32000", "0", "-1"}) {
        CAPTURE(budget);
        const FakeAnswer answer = service.post(
            answers_path,
            message_of(R"(, "max_tokens": 50, "thinking": {"type": "enabled", "budget_tokens": )" +
                       std::string(budget) + "}"));
        CHECK(ignored_fields(answer).empty());
        CHECK(json_of(answer)["content"].back()["type"] == "text");
    }
    CHECK(service
              .post(answers_path,
                    message_of(
                        R"(, "max_tokens": 50, "thinking": {"type": "enabled", "budget_tokens": "much"})"))
              .status == 400);
}

TEST_CASE("unknown values of optional hints are reported and those of demands are refused") {
    FakeService service({.chat_template = marked_template, .says = "Ok."});
    const std::pair<const char*, const char*> hints[] = {
        {R"("service_tier": "turbo")", "service_tier"},
        {R"("text": {"verbosity": "chatty"})", "text.verbosity"},
        {R"("reasoning": {"summary": "long"})", "reasoning.summary"},
        {R"("reasoning": {"effort": "ultra"})", "reasoning.effort"},
        {R"("reasoning": {"effort": ""})", "reasoning.effort"},
        {R"("include": ["everything"])", "include[0]"},
        {R"("reasoning": {"context": "some_turns"})", "reasoning.context"},
        {R"("prompt_cache_retention": "1y")", "prompt_cache_retention"},
        {R"("prompt_cache_options": {"mode": "eager", "ttl": "1y"})",
         "prompt_cache_options.ttl, prompt_cache_options.mode"}};
    for (const auto& [member, path] : hints) {
        CAPTURE(member);
        const FakeAnswer answer =
            service.post(responses_path, response_body("Go", ", " + std::string(member)));
        CHECK(answer.status == 200);
        CHECK(ignored_fields(answer) == path);
    }
    for (const char* const demand : {R"("truncation": "some")", R"("text": {"format": {"type": "xml"}})"})
        CHECK(service.post(responses_path, response_body("Go", ", " + std::string(demand))).status == 400);
    CHECK(ignored_fields(service.post(
              answers_path, message_of(R"(, "max_tokens": 5, "service_tier": "turbo")"))) == "service_tier");
    CHECK(ignored_fields(service.post(
              answers_path, message_of(R"(, "max_tokens": 5, "output_config": {"effort": "ultra"})"))) ==
          "output_config.effort");
    CHECK(
        ignored_fields(service.post(
            chats_path,
            R"({"messages": [{"role": "user", "content": "Go"}], "max_tokens": 5, "reasoning_effort": "ultra"})")) ==
        "reasoning_effort");
}

TEST_CASE("tools of unknown types are left out and reported in chats, responses and messages") {
    FakeService service({.chat_template = tools_shown, .says = "Ok."});
    const std::string known = R"({"type": "function", "name": "look", "parameters": {"type": "object"}})";
    const FakeAnswer response = service.post(
        responses_path,
        response_body("Go", R"(, "tools": [{"type": "retrieval", "odd": {"deep": [1]}}, )" + known + "]"));
    CHECK(response.status == 200);
    CHECK(ignored_fields(response) == "tools.retrieval");
    CHECK(json_of(response)["tools"].size() == 1);
    const std::string chat_tools =
        R"([{"type": "web_search"}, {"type": "function", "function": {"name": "look"}}, {"type": "mcp", "x": 1}])";
    const auto [ignored, prompt] = offered(service, chat_tools);
    CHECK(ignored == "tools.web_search, tools.mcp");
    CHECK(prompt.starts_with("(look:"));
    const FakeAnswer message = service.post(
        answers_path,
        message_of(R"(, "max_tokens": 5, "tools": [{"type": "web_search_20991231", "name": "web_search"},
            {"name": "look", "input_schema": {"type": "object"}}])"));
    CHECK(message.status == 200);
    CHECK(ignored_fields(message) == "tools[0] (web_search_20991231)");
}

TEST_CASE("a choice that requires a tool of an unknown type is refused by name") {
    FakeService service({.chat_template = tools_shown, .says = "Ok."});
    const std::string tools = R"(, "tools": [{"type": "retrieval"}])";
    for (const char* const choice : {R"("required")", R"({"type": "retrieval"})"}) {
        const Json error = error_of(
            service.post(responses_path, response_body("Go", tools + R"(, "tool_choice": )" + choice)));
        CHECK(error["param"] == "tool_choice");
        CHECK(error["message"].get<std::string>().find("retrieval") != std::string::npos);
        CHECK(error_of(service.post(chats_path, chat_of(tools + R"(, "tool_choice": )" + choice)))["param"] ==
              "tool_choice");
    }
    CHECK(error_of(post_strictly(service, chats_path, chat_of(tools)))["param"] == "tools.retrieval");
}

TEST_CASE("flat tools in chats are the same as nested ones") {
    FakeService service({.chat_template = tools_shown, .says = "Ok."});
    const std::string schema = R"({"type": "object", "properties": {"x": {"type": "integer"}}})";
    const auto nested = offered(
        service, R"([{"type": "function", "function": {"name": "look", "parameters": )" + schema + "}}]");
    CHECK(offered(service, R"([{"type": "function", "name": "look", "parameters": )" + schema + "}]") ==
          nested);
    CHECK(offered(service, R"([{"name": "look", "parameters": )" + schema + "}]") == nested);
    const std::string custom = R"("format": {"type": "grammar", "syntax": "regex", "definition": "a+"})";
    CHECK(offered(service, R"([{"type": "custom", "name": "patch", )" + custom + "}]") ==
          offered(service, R"([{"type": "custom", "custom": {"name": "patch", "format": {"type": "grammar",
              "grammar": {"syntax": "regex", "definition": "a+"}}}}])"));
    const std::string flat =
        R"(, "tools": [{"type": "function", "name": "look", "parameters": )" + schema + "}]";
    CHECK(service.post(chats_path, chat_of(flat + R"(, "tool_choice": {"type": "function", "name": "look"})"))
              .status == 200);
    CHECK(service
              .post(chats_path, chat_of(flat + R"(, "tool_choice": {"type": "allowed_tools", "mode": "auto",
                  "tools": [{"type": "function", "name": "look"}]})"))
              .status == 200);
    CHECK(error_of(service.post(chats_path, chat_of(R"(, "tools": [{"type": "function", "name": "look",
              "parameters": 5}])")))["param"] == "tools[0].parameters");
    CHECK(error_of(service.post(chats_path, chat_of(R"(, "tools": [{"type": "function", "name": "a"},
              {"type": "function", "name": "a"}])")))["param"] == "tools[1].name");
    CHECK(error_of(service.post(chats_path, chat_of(R"(, "tools": [{"type": "function"}])")))["param"] ==
          "tools[0]");
    CHECK(service.post(ollama_chat_path, ollama_chat("Go", R"(, "stream": false)" + flat)).status == 200);
}

TEST_CASE("nested tools in responses are the same as flat ones") {
    FakeService service({.chat_template = tools_shown, .says = "Ok."});
    const std::string schema = R"({"type": "object", "properties": {"x": {"type": "integer"}}})";
    const auto asked = [&](const std::string& tools) {
        const FakeAnswer answer = service.post(responses_path, response_body("Go", R"(, "tools": )" + tools));
        CHECK(ignored_fields(answer).empty());
        const Json response = json_of(answer);
        return std::pair(response["tools"], response["usage"]["input_tokens"]);
    };
    CHECK(
        asked(
            R"([{"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": )" +
            schema + "}}]") ==
        asked(R"([{"type": "function", "name": "look", "description": "Looks.", "parameters": )" + schema +
              "}]"));
    CHECK(asked(R"([{"type": "custom", "custom": {"name": "patch", "format": {"type": "grammar",
              "grammar": {"syntax": "regex", "definition": "a+"}}}}])") ==
          asked(R"([{"type": "custom", "name": "patch",
              "format": {"type": "grammar", "syntax": "regex", "definition": "a+"}}])"));
    CHECK(error_of(service.post(responses_path, response_body("Go", R"(, "tools": [{"type": "function",
              "function": {"name": "look", "parameters": 5}}])")))["param"] ==
          "tools[0].function.parameters");
}

TEST_CASE("the server's own address in place of a model's name means the default model") {
    FakeService service({.names = {"stories", "other"}, .chat_template = marked_template, .says = "Ok."});
    const auto model = [&](const std::string& host, const std::string& name) {
        server::HttpRequest request = post_request(chats_path, chat_of(R"(, "model": ")" + name + "\""));
        request.headers["host"] = host;
        const FakeAnswer answer = service.ask(request);
        return answer.status == 200 ? header_of(answer, "etna-model") : std::to_string(answer.status);
    };
    for (const char* const name :
         {"http://127.0.0.1:8080/v1", "http://127.0.0.1:8080", "http://localhost:8080/v1/", "127.0.0.1:8080",
          "HTTP://LOCALHOST:8080/v1/chat/completions", "localhost:8080/v1", "http://[::1]:8080/v1"})
        CHECK(model("127.0.0.1:8080", name) == "stories");
    CHECK(model("localhost", "https://localhost:8443/v1") == "stories"); // a proxy dropped the port
    CHECK(model("localhost:443", "https://localhost/v1") == "stories");
    for (const char* const name : {"http://127.0.0.1:8081/v1", "http://example.org/v1", "http://",
                                   "ftp://127.0.0.1:8080", "https://127.0.0.1", "127.0.0.1"})
        CHECK(model("127.0.0.1:8080", name) == "404");
    server::HttpRequest ollama = post_request(ollama_chat_path, ollama_chat("Go", R"(, "stream": false)"));
    ollama.body.replace(ollama.body.find("stories"), 7, "http://127.0.0.1/api");
    CHECK(service.ask(ollama).status == 200);
}

TEST_CASE("doubled slashes in a path count as one") {
    FakeService service({.chat_template = marked_template, .says = "Ok."});
    for (const char* const path : {"//v1/chat/completions", "/v1//chat/completions", "/v1/chat//completions",
                                   "///v1///chat///completions"})
        CHECK(service.post(path, chat_of("")).status == 200);
    CHECK(service.post("/v1/chat/completions/", chat_of("")).status != 200);
    CHECK(service.get("//v1//models//stories").status == 200);
    CHECK(service.get("//health").status == 200);
    CHECK(service.router().is_health_check({.method = "GET", .path = "//health"}));
    CHECK(service.post("//api//chat", ollama_chat("Go")).status == 200);
    server::ServiceOptions options;
    options.access.api_keys = {"one"};
    FakeService guarded({.service = options});
    CHECK(guarded.get("//v1/models").status == 401);
}

TEST_CASE("vLLM's routes say that the server is ready, its version, its load and its tokenizer") {
    FakeService service({.chat_template = marked_template, .says = "Ok."});
    CHECK(service.get("/ping").status == 200);
    CHECK(service.post("/ping", "").status == 200);
    CHECK(json_of(service.get("/version"))["version"].is_string());
    CHECK(json_of(service.get("/load")) == Json({{"server_load", 0}}));
    const Json info = json_of(service.get("/tokenizer_info"));
    CHECK(info["tokenizer_class"].is_string());
    CHECK((info["bos_token"] == "<s>" && info["eos_token"] == "</s>" && info["bos_token_id"] == 1));
    CHECK(info["chat_template"] == marked_template);
    CHECK((info["model_max_length"] == 512 && info["vocab_size"] == 512 && info["add_bos_token"] == true));
    CHECK(service.get("/tokenizer_info?model=gone").status == 404);
    service.service().state = server::ServiceState::draining;
    CHECK(service.get("/ping").status == 503);
    CHECK(service.post("/ping", "").status == 503);
}

TEST_CASE("the load counts the requests that run") {
    FakeService service({});
    const server::InFlight one(service.service().metrics, {.model = "stories", .endpoint = "completions"});
    CHECK(json_of(service.get("/load"))["server_load"] == 1);
}

TEST_CASE("the list of models has the context by the names that clients read") {
    FakeService service({.reads_facts = true});
    for (const Json& model :
         {json_of(service.get("/v1/models"))["data"][0], json_of(service.get("/v1/models/stories"))}) {
        for (const char* const name : {"context_length", "max_model_len", "max_context_length"})
            CHECK(model[name] == 2048);
    }
}
