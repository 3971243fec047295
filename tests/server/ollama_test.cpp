// Ollama's /api/chat and /api/generate: bodies, lines, thinking, tools, times and errors.
#include "core/base/json.hpp"
#include "server/faces/ollama/prompt_template.hpp"
#include "tests/server/ollama_client.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/eventually.hpp"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

using namespace etna;
using namespace etna::test;
using namespace std::chrono_literals;

namespace {

constexpr const char* ollama_look_tool =
    R"(, "tools": [{"type": "function", "function": {"name": "look", "description": "Looks.",
        "parameters": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}}}])";

constexpr const char* thought_and_call = "<think>Hm, well.</think>I look.\n<tool_call>\n{\"name\": \"look\", "
                                         "\"arguments\": {\"x\": 5}}\n</tool_call>";

/// Posts a request that is not streamed.
Json whole_of(FakeService& service, const std::string& path, const std::string& body) {
    return post_json(service, path, body.substr(0, body.size() - 1) + whole_answer + "}");
}

/// Checks that an answer has all times and counts, and that no phase takes longer than the total.
void check_times(const Json& last) {
    CAPTURE(etna::dump_json(last));
    for (const char* name : {"total_duration", "load_duration", "prompt_eval_count", "prompt_eval_duration",
                             "eval_count", "eval_duration"}) {
        CAPTURE(name);
        REQUIRE(last.value(name, Json()).is_number_integer());
        CHECK(last[name].get<int64_t>() >= 0);
    }
    const auto time = [&](const char* name) { return last[name].get<int64_t>(); };
    CHECK(time("total_duration") > 0);
    CHECK(time("load_duration") > 0);
    CHECK(time("load_duration") + time("prompt_eval_duration") + time("eval_duration") <=
          time("total_duration"));
    CHECK(last["prompt_eval_count"].get<int>() > 0);
    CHECK(last["eval_count"].get<int>() > 0);
}

/// Whether a text is a time such as 2026-11-27T02:15:00.123456Z.
bool is_timestamp(const std::string& text) {
    const std::string form = "dddd-dd-ddTdd:dd:dd.ddddddZ";
    if (text.size() != form.size())
        return false;
    for (std::size_t i = 0; i < form.size(); ++i) {
        const bool is_digit = text[i] >= '0' && text[i] <= '9';
        if (form[i] == 'd' ? !is_digit : text[i] != form[i])
            return false;
    }
    return true;
}

bool is_in_memory(FakeService& service) {
    return service.service().models.find("stories")->is_loaded;
}

/// The number of the prompt's tokens in OpenAI's API.
Json prompt_tokens(FakeService& service, const std::string& messages, const std::string& more = "") {
    return post_json(service, chats_path,
                     R"({"max_tokens": 1, "messages": [)" + messages + "]" + more +
                         "}")["usage"]["prompt_tokens"];
}

} // namespace

TEST_CASE("a chat of Ollama's API is answered with its message, times and counts") {
    FakeService service({.chat_template = marked_template, .says = "Hello there."});
    const Json answer =
        whole_of(service, ollama_chat_path,
                 R"({"model": "stories:latest", "messages": [{"role": "user", "content": "Hi"}]})");
    CHECK(answer["model"] == "stories:latest");
    CHECK(is_timestamp(answer["created_at"]));
    CHECK(answer["message"] == etna::parse_json(R"({"role": "assistant", "content": "Hello there."})"));
    CHECK((answer["done"] == true && answer["done_reason"] == "stop"));
    check_times(answer);
}

TEST_CASE("Ollama's chats and prompts are streamed as lines by default with the same answer") {
    FakeService service({.chat_template = marked_template, .says = "One two three four."});
    for (const bool is_chat : {true, false}) {
        const char* const path = is_chat ? ollama_chat_path : ollama_generate_path;
        const std::string body = is_chat ? ollama_chat("Go") : ollama_prompt("Go");
        const auto text_of = [&](const Json& line) -> std::string {
            return is_chat ? line["message"]["content"] : line["response"];
        };
        const FakeAnswer stream = service.post(path, body);
        CHECK(stream.status == 200);
        const std::vector<Json> lines = lines_of(stream);
        REQUIRE(lines.size() > 2);
        std::string text;
        for (const Json& line : lines) {
            CHECK((line["model"] == "stories" && is_timestamp(line["created_at"])));
            CHECK(line["done"] == (&line == &lines.back()));
            CHECK(line.contains("done_reason") == (&line == &lines.back()));
            CHECK(line.contains("total_duration") == (&line == &lines.back()));
            text += text_of(line);
        }
        CHECK(text == "One two three four.");
        CHECK(text_of(lines.back()).empty());
        check_times(lines.back());
        CHECK(text_of(whole_of(service, path, body)) == text);
        server::HttpReply reply = service.router().answer(post_request(path, body));
        CHECK(reply.content_type == "application/x-ndjson");
        FakeService::drain(reply);
    }
}

TEST_CASE("thinking and tool calls are in separate members in streams too") {
    FakeService service({.chat_template = marked_template, .says = thought_and_call});
    const std::string body = ollama_chat("Go", std::string(ollama_look_tool) + R"(, "think": true)");
    const Json message = whole_of(service, ollama_chat_path, body)["message"];
    CHECK(message["thinking"] == "Hm, well.");
    CHECK(message["content"].get<std::string>().starts_with("I look."));
    REQUIRE(message["tool_calls"].size() == 1);
    const Json& call = message["tool_calls"][0];
    CHECK(call["id"].get<std::string>().starts_with("call_"));
    CHECK(call["function"] == etna::parse_json(R"({"index": 0, "name": "look", "arguments": {"x": 5}})"));

    std::string thinking;
    std::size_t calls = 0;
    const std::vector<Json> lines = lines_of(service.post(ollama_chat_path, body));
    for (const Json& line : lines) {
        thinking += line["message"].value("thinking", "");
        for (const Json& one : line["message"].value("tool_calls", Json::array())) {
            CHECK(one["function"]["arguments"] == Json({{"x", 5}}));
            ++calls;
        }
    }
    CHECK(thinking == "Hm, well.");
    CHECK(calls == 1);
    CHECK(lines.back()["done_reason"] == "stop");
}

TEST_CASE("calls and their results of earlier turns reach the prompt as in OpenAI's API") {
    FakeService service({.chat_template = marked_template, .says = "Ok."});
    const auto counted = [&](const std::string& messages) {
        return whole_of(service, ollama_chat_path, ollama_messages(messages))["prompt_eval_count"];
    };
    const std::string question = R"({"role": "user", "content": "Look!"}, )";
    const std::string openai =
        question + R"({"role": "assistant", "content": "", "tool_calls": [{"id": "call_0",
        "type": "function", "function": {"name": "look", "arguments": "{\"x\": 5}"}}]},
        {"role": "tool", "tool_call_id": "call_0", "name": "look", "content": "a tree"})";
    const std::string call = R"({"role": "assistant", "content": "", "tool_calls": [{"function":
        {"name": "look", "arguments": {"x": 5}}}]}, )";
    const Json expected = prompt_tokens(service, openai);
    CHECK(counted(question + call + R"({"role": "tool", "tool_name": "look", "content": "a tree"})") ==
          expected);
    CHECK(counted(question + call + R"({"role": "TOOL", "content": "a tree"})") == expected);
    const std::string text_call =
        R"({"role": "assistant", "content": "", "tool_calls": [{"id": null, "function":
        {"name": "look", "arguments": "{\"x\": 5}"}}]}, )";
    CHECK(counted(question + text_call + R"({"role": "tool", "tool_name": "look", "content": "a tree"})") ==
          expected);
    const std::string broken_call = R"({"role": "assistant", "content": "", "tool_calls": [{"function":
        {"name": "look", "arguments": "{\"x"}}]}, )";
    CHECK(counted(question + broken_call + R"({"role": "tool", "tool_name": "look", "content": "a tree"})") >
          0);
    CHECK(counted(R"({"role": "user", "content": "Look!"})") ==
          prompt_tokens(service, R"({"role": "user", "content": "Look!"})"));
    // a final assistant message is the start of the answer
    const std::string begun =
        R"({"role": "user", "content": "Go"}, {"role": "assistant", "content": "Well,"})";
    CHECK(counted(begun) == prompt_tokens(service, begun, R"(, "continue_final_message": true)"));
}

TEST_CASE("an out-of-range option of Ollama's API is refused by name") {
    FakeService service({.chat_template = marked_template, .says = "Ok."});
    const auto post = [&](const std::string& options) {
        return service.post(ollama_chat_path, ollama_chat("Go", R"(, "options": )" + options));
    };
    const std::pair<const char*, std::vector<const char*>> refused[] = {
        {"temperature", {"-0.1", "101", "\"hot\""}},
        {"top_k", {"-2", "1.5"}},
        {"top_p", {"-0.1", "1.1"}},
        {"min_p", {"-0.1", "1.1"}},
        {"typical_p", {"-0.1", "1.1"}},
        {"repeat_last_n", {"-2"}},
        {"repeat_penalty", {"0", "101"}},
        {"presence_penalty", {"-101", "101"}},
        {"frequency_penalty", {"-101", "101"}},
        {"num_predict", {"-3", "1.5", "\"all\""}},
        {"seed", {"1.5", "1e30"}},
        {"stop", {"5", "[5]", "[\"\"]"}},
        {"mirostat", {"-1", "3"}},
    };
    for (const auto& [name, values] : refused) {
        for (const char* value : values) {
            CAPTURE(name, value);
            const std::string error = ollama_error(post("{\"" + std::string(name) + "\": " + value + "}"));
            CHECK(error.starts_with("`options." + std::string(name) + "`"));
        }
    }
    CHECK(post(R"({"temperature": 0, "top_k": -1, "top_p": 0, "min_p": 1, "typical_p": 0, "repeat_last_n": -1,
        "repeat_penalty": 100, "presence_penalty": -100, "frequency_penalty": 100, "num_predict": -2, "seed": -1,
        "stop": [], "mirostat": 0})")
              .status == 200);
    CHECK(ollama_error(post("5")).starts_with("`options`"));
}

TEST_CASE("Ollama's options num_predict and stop and seed take effect") {
    FakeService service({.chat_template = marked_template, .says = "One two three four five."});
    const auto answer = [&](const std::string& options) {
        return whole_of(service, ollama_chat_path, ollama_chat("Go", R"(, "options": )" + options));
    };
    const Json limited = answer(R"({"num_predict": 2})");
    CHECK((limited["done_reason"] == "length" && limited["eval_count"] == 2));
    const Json stopped = answer(R"({"stop": [" four"]})");
    CHECK((stopped["done_reason"] == "stop" && stopped["message"]["content"] == "One two three"));
    FakeService random({.chat_template = marked_template});
    const auto sampled = [&](const std::string& seed) {
        return whole_of(random, ollama_chat_path,
                        ollama_chat("Go", R"(, "options": {"num_predict": 8, "seed": )" + seed +
                                              "}"))["message"]["content"];
    };
    CHECK(sampled("7") == sampled("7"));
    CHECK(sampled("7") != sampled("8"));
}

TEST_CASE("members of Ollama's API without effect are reported") {
    FakeService service({.chat_template = marked_template, .says = "Ok."});
    CHECK(ignored_fields(service.post(
              ollama_chat_path,
              ollama_chat("Go",
                          R"(, "options": {"num_ctx": 4096, "mirostat": 2, "odd": 1}, "shift": true)"))) ==
          "options.odd, options.mirostat, options.num_ctx");
    CHECK(
        ignored_fields(service.post(ollama_chat_path, ollama_chat("Go", R"(, "truncate": false)"))).empty());
    FakeService plain({.chat_template = plain_template, .says = "Ok."});
    CHECK(ignored_fields(plain.post(ollama_chat_path, ollama_chat("Go", R"(, "think": true)"))) == "think");
    CHECK(ollama_error(post_strictly(service, ollama_chat_path, ollama_chat("Go", R"(, "odd": 1)"))) ==
          "unknown: odd");
}

TEST_CASE("the format of Ollama's API constrains an answer") {
    FakeService service({.chat_template = plain_template});
    const auto content = [&](const std::string& format) {
        return whole_of(service, ollama_chat_path,
                        ollama_chat("Go", R"(, "options": {"num_predict": 200}, "format": )" +
                                              format))["message"]["content"]
            .get<std::string>();
    };
    CHECK(etna::parse_json(content(R"({"enum": ["red"]})")) == "red");
    CHECK(etna::parse_json(content(R"({"const": {"a": 1}})")) == Json({{"a", 1}}));
    CHECK(content("\"json\"").find('{') != std::string::npos);
    const auto seeded = [&](const std::string& format) {
        return whole_of(service, ollama_chat_path,
                        ollama_chat("Go", R"(, "options": {"num_predict": 50, "seed": 5})" +
                                              format))["message"]["content"];
    };
    CHECK(seeded(R"(, "format": "")") == seeded("")); // not constrained
    const auto post = [&](const std::string& format) {
        return service.post(ollama_chat_path, ollama_chat("Go", R"(, "format": )" + format));
    };
    for (const char* wrong : {"5", "\"xml\"", "[]", R"({"type": "no such type"})"})
        CHECK(ollama_error(post(wrong)).find("format") != std::string::npos);
    CHECK(ignored_fields(post(R"({"type": "array", "items": {"enum": [{}]}, "uniqueItems": true})")) ==
          "format#/uniqueItems");
}

TEST_CASE("errors of Ollama's API are one string that names the member with a status") {
    FakeService service({.chat_template = marked_template, .says = "Ok."});
    const auto error = [&](const std::string& body, int status = 400) {
        return ollama_error(service.post(ollama_chat_path, body), status);
    };
    const std::string unknown =
        error(R"({"model": "gone", "messages": [{"role": "user", "content": "Hi"}]})", 404);
    CHECK(unknown.starts_with("model 'gone' not found"));
    CHECK(unknown.find("`stories`") != std::string::npos);
    CHECK(error("{}").starts_with("`model`"));
    CHECK(error(R"({"model": ""})").starts_with("`model`"));
    CHECK(error(ollama_chat("Hi", R"(, "stream": 1)")).starts_with("`stream`"));
    CHECK(error(R"({"model": "stories", "messages": 5})").starts_with("`messages`"));
    CHECK(error(ollama_messages("5")).starts_with("`messages[0]`"));
    CHECK(error(ollama_messages(R"({"content": "Hi"})")).starts_with("`messages[0].role`"));
    CHECK(error(ollama_messages(R"({"role": "user", "content": []})")).starts_with("`messages[0].content`"));
    CHECK(error(ollama_messages(R"({"role": "user", "content": "Hi", "images": ["aGk="]})")) ==
          "messages[0].images: image input is not supported by this model");
    CHECK(error(ollama_messages(R"({"role": "assistant", "tool_calls": [{"function": {"arguments": {}}}]})"))
              .starts_with("`messages[0].tool_calls[0].function.name`"));
    CHECK(error(ollama_messages(R"({"role": "user", "tool_calls": [{}]})"))
              .starts_with("`messages[0].tool_calls`"));
    CHECK(
        error(ollama_chat("Hi", R"(, "tools": [{"type": "function"}])")).starts_with("`tools[0].function`"));
    CHECK(error(ollama_chat("Hi", R"(, "tools": [{"type": "retrieval", "function": {"name": "f"}}])"))
              .starts_with("`tools[0].type`"));
    CHECK(error(ollama_chat("Hi", R"(, "think": "deep")")).starts_with("`think`"));
    CHECK(
        error(ollama_chat("Hi", R"(, "logprobs": true, "top_logprobs": 21)")).starts_with("`top_logprobs`"));
    CHECK(error(ollama_chat("Hi", R"(, "keep_alive": "soon")")).starts_with("`keep_alive`"));
    CHECK(error("no JSON").find("JSON") != std::string::npos);
    CHECK(ollama_error(service.get("/api/nothing"), 404).find("/api/nothing") != std::string::npos);
    CHECK(ollama_error(service.get(ollama_chat_path), 405).find("POST") != std::string::npos);
    server::ServiceOptions guarded;
    guarded.access.api_keys = {"secret"};
    FakeService keyed({.service = guarded});
    ollama_error(keyed.post(ollama_chat_path, ollama_chat("Hi")), 401);
}

TEST_CASE("a failed stream of Ollama's API ends with an error line") {
    FakeService service({.prepare = [](FakeOptions& fake, int) { fake.lost_at_step = 9; }});
    const std::vector<Json> lines = lines_of(
        service.post(ollama_generate_path, ollama_prompt("Once", R"(, "options": {"num_predict": 60})")));
    REQUIRE(lines.size() > 1);
    CHECK(lines.back().size() == 1);
    CHECK(lines.back()["error"].is_string());
    CHECK(lines.front()["done"] == false);
}

TEST_CASE("a stream of Ollama's API gets lines without text while its model is loading") {
    server::ServiceOptions options;
    options.keep_alive = 20ms;
    FakeService service({.service = options, .loading_time = 300ms, .says = "Ok."});
    const std::vector<Json> lines = lines_of(service.post(ollama_chat_path, ollama_chat("Hi")));
    REQUIRE(lines.size() > 3);
    CHECK(lines[0]["message"] == etna::parse_json(R"({"role": "assistant", "content": ""})"));
    CHECK(lines[0]["done"] == false);
    CHECK(lines.back()["done"] == true);
    CHECK(lines.back()["load_duration"].get<int64_t>() >= 300'000'000);
}

TEST_CASE("a request of Ollama's API without messages or prompt loads or unloads the model") {
    FakeService service({.chat_template = marked_template, .says = "Ok."});
    const std::string model = R"({"model": "stories")";
    for (const char* const path : {ollama_chat_path, ollama_generate_path}) {
        const int loads = service.loads();
        const Json loaded = post_json(service, path, model + "}");
        CHECK((loaded["done"] == true && loaded["done_reason"] == "load"));
        CHECK(loaded.contains(path == ollama_chat_path ? "message" : "response"));
        CHECK(service.loads() == loads + 1);
        CHECK(is_in_memory(service));
        const Json unloaded = post_json(service, path, model + R"(, "keep_alive": 0})");
        CHECK((unloaded["done"] == true && unloaded["done_reason"] == "unload"));
        CHECK_FALSE(is_in_memory(service));
    }
    CHECK(ollama_error(service.post(ollama_chat_path, model + R"(, "options": {"top_p": 2}})"))
              .starts_with("`options.top_p`"));
    whole_of(service, ollama_chat_path, ollama_chat("Hi"));
    CHECK(is_in_memory(service));
    whole_of(service, ollama_chat_path, ollama_chat("Hi", R"(, "keep_alive": "0s")"));
    CHECK_FALSE(is_in_memory(service));
    service.post(ollama_generate_path, ollama_prompt("Hi", R"(, "keep_alive": 0)"));
    CHECK_FALSE(is_in_memory(service));
    service.post(ollama_generate_path, ollama_prompt("Hi", R"(, "keep_alive": "5m")"));
    CHECK(is_in_memory(service));
}

TEST_CASE("keep_alive sets when an idle model is unloaded and the list of models shows it") {
    FakeService service({.chat_template = marked_template, .says = "Ok."});
    const auto expires_in_s = [&](const std::string& keep_alive) {
        whole_of(service, ollama_chat_path, ollama_chat("Hi", keep_alive));
        const auto left = service.service().models.find("stories")->unloads_in;
        return left ? std::chrono::ceil<std::chrono::seconds>(*left).count() : -1;
    };
    CHECK(expires_in_s("") == -1);
    CHECK(expires_in_s(R"(, "keep_alive": "1h30m")") == 5400);
    const std::string expiry = json_of(service.get("/api/ps"))["models"][0]["expires_at"];
    CHECK(is_timestamp(expiry));
    CHECK(expiry < "2100");
    CHECK(expires_in_s(R"(, "keep_alive": 60)") == 60);
    CHECK(expires_in_s("") == 60); // until another request sets it
    CHECK(expires_in_s(R"(, "keep_alive": 1e300)") > 1'000'000);
    for (const char* const forever : {"-1", "\"-1m\""}) {
        CHECK(expires_in_s(std::string(R"(, "keep_alive": )") + forever) == -1);
        CHECK(json_of(service.get("/api/ps"))["models"][0]["expires_at"].get<std::string>() > "2100");
    }
    whole_of(service, ollama_chat_path, ollama_chat("Hi", R"(, "keep_alive": 0.02)"));
    CHECK(test::eventually([&] { return !is_in_memory(service); }));
}

TEST_CASE("a prompt of Ollama's API becomes a turn of the model's template, unless it is raw") {
    FakeService service({.chat_template = marked_template, .says = "Ok."});
    const auto counted = [&](const std::string& more) {
        return whole_of(service, ollama_generate_path, ollama_prompt("Go on", more))["prompt_eval_count"];
    };
    const std::string turn = R"({"role": "user", "content": "Go on"})";
    CHECK(counted("") == prompt_tokens(service, turn));
    CHECK(counted(R"(, "system": "Be kind.")") ==
          prompt_tokens(service, R"({"role": "system", "content": "Be kind."}, )" + turn));
    CHECK(counted(R"(, "raw": true)") == post_json(service, "/tokenize", R"({"prompt": "Go on"})")["count"]);
    FakeService base({.says = "Ok."}); // without a template, the prompt is continued
    CHECK(whole_of(base, ollama_generate_path, ollama_prompt("Go on"))["prompt_eval_count"] ==
          post_json(base, "/tokenize", R"({"prompt": "Go on"})")["count"]);
    const auto error = [&](const std::string& more) {
        return ollama_error(service.post(ollama_generate_path, ollama_prompt("Go", more)));
    };
    CHECK(error(R"(, "raw": true, "system": "Be kind.")").starts_with("`system`"));
    CHECK(error(R"(, "raw": true, "template": "{{ .Prompt }}")").starts_with("`template`"));
    CHECK(
        error(R"(, "template": "{{ range .Messages }}")").starts_with("`template` `{{ range .Messages }}`"));
    CHECK(counted(R"(, "template": "{{ .Prompt }}{{ .Response }}!")") ==
          post_json(service, "/tokenize", R"({"prompt": "Go on"})")["count"]);
    CHECK(
        counted(
            R"(, "system": "Be kind.", "template": "{{ if .System }}{{ .System }} {{ end }}{{ .Prompt }}")") ==
        post_json(service, "/tokenize", R"({"prompt": "Be kind. Go on"})")["count"]);
    CHECK(error(R"(, "suffix": "end")").starts_with("`suffix`"));
    CHECK(error(R"(, "images": ["aGk="])") == "images: image input is not supported by this model");
}

TEST_CASE("Ollama's prompt templates insert values and select texts and trim white space") {
    const auto rendered = [](std::string_view text, std::string_view system = "S") {
        const auto prompt =
            server::ollama::render_template(text, {.system = system, .prompt = "P", .suffix = "X"});
        return prompt ? *prompt : "error: " + prompt.error().message;
    };
    CHECK(rendered("a {{.System}} {{ .Prompt }} {{ .Suffix }} b") == "a S P X b");
    CHECK(rendered("{{ .Prompt }}<end>{{ .Response }}<end>") == "P<end>");
    CHECK(rendered("{{ if .System }}<s>{{ .System }}{{ else }}none{{ end }}{{ .Prompt }}") == "<s>SP");
    CHECK(rendered("{{ if .System }}<s>{{ .System }}{{ else }}none{{ end }}{{ .Prompt }}", "") == "noneP");
    CHECK(rendered("{{ if .Suffix }}{{ if .System }}1{{ else }}2{{ end }}{{ end }}", "") == "2");
    CHECK(rendered("a \n{{- .Prompt -}}\n b{{ /* not shown */ }}") == "aPb");
    CHECK(rendered("{ {{ .Prompt }} }") == "{ P }");
    for (const std::string_view wrong :
         {"{{ .Prompt", "{{ if .System }}", "{{ end }}", "{{ else }}", "{{ range .Messages }}{{ end }}",
          "{{ }}", "{{ if eq .System 1 }}{{ end }}", "{{ if .System }}{{ else }}{{ else }}{{ end }}"}) {
        CAPTURE(wrong);
        CHECK(rendered(wrong).starts_with("error: "));
    }
    std::string many, deep;
    for (int i = 0; i < 17; ++i) {
        many += "{{ .Prompt }}";
        deep = "{{ if .Prompt }}" + deep + "{{ end }}";
    }
    CHECK(rendered(many) == "error: more than 16 values are inserted");
    CHECK(rendered(deep) == "error: more than 16 `if` are nested");
}

TEST_CASE("the prompt of Ollama's template counts as memory of its request before it is rendered") {
    FakeService service({.says = "Ok."});
    const std::string text(200'000, 'x');
    std::string repeated;
    for (int i = 0; i < 16; ++i)
        repeated += "{{ .System }}";
    const auto ask = [&](std::size_t budget_bytes) { // an empty prompt: rendered, but not tokenized
        const auto budget = std::make_shared<server::MemoryBudget>(budget_bytes);
        server::HttpRequest request =
            post_request(ollama_generate_path,
                         etna::dump_json({{"model", "stories"}, {"system", text}, {"template", repeated}}));
        request.memory = std::make_shared<server::MemoryReservation>(budget);
        const int status = service.ask(request).status;
        request.memory = nullptr;
        CHECK(budget->held() == 0);
        return status;
    };
    CHECK(ask(16 * text.size() + 4 * text.size()) == 200);
    CHECK(ask(15 * text.size()) == 413);
    std::size_t reserved = 0;
    const auto prompt =
        server::ollama::render_template("a{{ if .System }}{{ .System }}{{ else }}none{{ end }}{{ .Prompt }}",
                                        {.system = "S", .prompt = "P", .suffix = ""}, [&](std::size_t bytes) {
                                            reserved = bytes;
                                            return true;
                                        });
    CHECK(prompt.value() == "aSP");
    CHECK(reserved == 3);
    CHECK(server::ollama::render_template("a", {}, [](std::size_t) { return false; }).error().kind ==
          ErrorKind::out_of_memory);
}

TEST_CASE("log-probabilities of Ollama's API come with the text of their tokens") {
    FakeService service({.chat_template = marked_template, .says = "One two three."});
    const std::string body = ollama_chat("Go", R"(, "logprobs": true, "top_logprobs": 2)");
    const Json whole = whole_of(service, ollama_chat_path, body);
    REQUIRE(whole["logprobs"].size() == whole["eval_count"].get<std::size_t>());
    std::string text;
    for (const Json& token : whole["logprobs"]) {
        CHECK(token["logprob"].get<double>() <= 0);
        CHECK(token["top_logprobs"].size() == 2);
        for (const Json& byte : token["bytes"])
            text += static_cast<char>(byte.get<int>());
    }
    CHECK(text.ends_with("One two three."));
    std::size_t streamed = 0;
    for (const Json& line : lines_of(service.post(ollama_chat_path, body)))
        streamed += line.value("logprobs", Json::array()).size();
    CHECK(streamed == whole["logprobs"].size());
    const Json alone = whole_of(service, ollama_chat_path, ollama_chat("Go", R"(, "logprobs": true)"));
    CHECK_FALSE(alone["logprobs"][0].contains("top_logprobs"));
    CHECK_FALSE(whole_of(service, ollama_chat_path, ollama_chat("Go")).contains("logprobs"));
}

namespace {

/// A message of Ollama's API, in JSON.
std::string message_json(const std::string& role, const std::string& content) {
    return R"({"role": ")" + role + R"(", "content": ")" + content + R"("})";
}

/// A text of about `words` tokens.
std::string words_of(std::size_t words) {
    std::string text;
    for (std::size_t i = 0; i < words; ++i)
        text += " the";
    return text;
}

/// A chat that is longer than the context of 512 tokens: a system message, and exchanges of 100 words each.
std::string long_chat(int exchanges, const std::string& more = "") {
    std::string messages = message_json("system", "Sys.");
    for (int i = 0; i < exchanges; ++i) {
        messages += ", " + message_json("user", "Q" + std::to_string(i) + words_of(50));
        messages += ", " + message_json("assistant", "A" + std::to_string(i) + words_of(50));
    }
    return ollama_messages(messages + ", " + message_json("user", "Last."), more);
}

} // namespace

TEST_CASE("a chat beyond the context loses its oldest messages but neither system nor last message") {
    FakeService service({.chat_template = marked_template, .says = "Ok."});
    const FakeAnswer answer = service.post(ollama_chat_path, long_chat(9, whole_answer));
    const Json json = json_of(answer);
    CHECK(json["message"]["content"] == "Ok.");
    CHECK(json["prompt_eval_count"].get<int>() < 512);
    CHECK(json["prompt_eval_count"].get<int>() > 300); // no more than needed is dropped
    const std::string ignored = ignored_fields(answer);
    CHECK(ignored.starts_with("messages[1-"));
    // The same messages without the dropped ones make the same prompt.
    const std::size_t dropped = std::stoul(ignored.substr(std::string("messages[1-").size()));
    Json kept = etna::parse_json(long_chat(9, whole_answer));
    kept["messages"].erase(kept["messages"].begin() + 1,
                           kept["messages"].begin() + 1 + static_cast<std::ptrdiff_t>(dropped));
    const FakeAnswer shorter = service.post(ollama_chat_path, etna::dump_json(kept));
    CHECK(ignored_fields(shorter).empty());
    CHECK(json_of(shorter)["prompt_eval_count"] == json["prompt_eval_count"]);
    // With one dropped message less, the prompt would not fit.
    Json longer = etna::parse_json(long_chat(9, whole_answer));
    longer["truncate"] = false;
    longer["messages"].erase(longer["messages"].begin() + 1,
                             longer["messages"].begin() + static_cast<std::ptrdiff_t>(dropped));
    CHECK(service.post(ollama_chat_path, etna::dump_json(longer)).status == 400);
}

TEST_CASE("a prompt beyond the context is refused with truncate false") {
    FakeService service({.chat_template = marked_template, .says = "Ok."});
    for (const char* const shift : {"", R"(, "shift": false)", R"(, "shift": true)"}) {
        const std::string more = std::string(R"(, "truncate": false)") + shift;
        CHECK(ollama_error(service.post(ollama_chat_path, long_chat(9, more))).find("context") !=
              std::string::npos);
        CHECK(ollama_error(service.post(ollama_generate_path, ollama_prompt(words_of(900), more)))
                  .find("context") != std::string::npos);
    }
    CHECK(ollama_error(service.post(ollama_chat_path, ollama_chat("Go", R"(, "truncate": 1)")))
              .starts_with("`truncate`"));
    CHECK(ollama_error(service.post(ollama_chat_path, ollama_chat("Go", R"(, "shift": 1)")))
              .starts_with("`shift`"));
}

TEST_CASE("a last message beyond the context is shortened, also with tools and formats") {
    FakeService service({.chat_template = marked_template, .says = "Ok."});
    for (const std::string& more : {std::string(), std::string(R"(, "shift": false)"),
                                    std::string(ollama_look_tool), std::string(R"(, "format": "json")")}) {
        CAPTURE(more);
        const Json chat = json_of(service.post(
            ollama_chat_path,
            ollama_messages(message_json("user", "First.") + ", " + message_json("user", words_of(2000)),
                            more + R"(, "options": {"num_predict": 3})" + whole_answer)));
        CHECK(chat["prompt_eval_count"].get<int>() < 512);
    }
    const Json generated = json_of(service.post(
        ollama_generate_path, ollama_prompt(words_of(2000), R"(, "raw": true)" + std::string(whole_answer))));
    CHECK(generated["prompt_eval_count"].get<int>() < 512);
}

TEST_CASE("num_keep is the number of first tokens that stay in a shortened prompt") {
    FakeService service({.says = "Ok."});
    const auto context = [&](int keep) {
        const std::string more = R"(, "options": {"num_keep": )" + std::to_string(keep) + "}" + whole_answer;
        return json_of(
            service.post(ollama_generate_path, ollama_prompt("One two" + words_of(2000), more)))["context"];
    };
    const Json few = context(1);
    const Json many = context(20);
    CHECK(few[0] == many[0]);
    CHECK(few[1] == many[1]); // the begin token does not count
    CHECK(few[2] != many[2]);
    CHECK(ollama_error(
              service.post(ollama_generate_path, ollama_prompt("Go", R"(, "options": {"num_keep": -2})")))
              .starts_with("`options.num_keep`"));
}

TEST_CASE("results of calls are dropped together with their calls") {
    FakeService service({.chat_template = marked_template, .says = "Ok."});
    std::string messages;
    for (int i = 0; i < 3; ++i) {
        messages += message_json("user", "Q" + words_of(40)) + ", ";
        messages += R"({"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "look",
            "arguments": {"x": 1}}}]}, )";
        messages += message_json("tool", "R" + words_of(150)) + ", ";
    }
    const FakeAnswer answer = service.post(
        ollama_chat_path, ollama_messages(messages + message_json("user", "Last."), whole_answer));
    CHECK(answer.status == 200);
    const std::string ignored = ignored_fields(answer);
    REQUIRE(ignored.starts_with("messages[0-"));
    const int last = std::stoi(ignored.substr(std::string("messages[0-").size()));
    CHECK(last % 3 != 1); // not between a call and its result
}

TEST_CASE("an answer continues when the context is full unless shift is false") {
    FakeService service({.says = ""});
    const auto length = [&](const std::string& more) {
        return json_of(service.post(ollama_generate_path,
                                    ollama_prompt("Once", R"(, "options": {"num_predict": 700, "seed": 1})" +
                                                              more + whole_answer)))["eval_count"]
            .get<int>();
    };
    CHECK(length(R"(, "shift": false)") < 512);
    CHECK(length("") >= length(R"(, "shift": false)"));
}

TEST_CASE("a generated answer has the context with which the next request continues") {
    FakeService service({.chat_template = marked_template, .says = "Hello there."});
    const Json first = whole_of(service, ollama_generate_path, ollama_prompt("One two three"));
    REQUIRE(first["context"].is_array());
    CHECK(first["context"].size() ==
          first["prompt_eval_count"].get<std::size_t>() + first["eval_count"].get<std::size_t>());
    const std::string earlier = R"(, "context": )" + etna::dump_json(first["context"]);
    const FakeAnswer next = service.post(ollama_generate_path, ollama_prompt("And?", earlier + whole_answer));
    CHECK(ignored_fields(next).empty());
    const Json second = json_of(next);
    const Json alone = whole_of(service, ollama_generate_path, ollama_prompt("And?"));
    CHECK(second["prompt_eval_count"].get<std::size_t>() ==
          first["context"].size() + alone["prompt_eval_count"].get<std::size_t>() - 1); // one begin token
    for (std::size_t i = 0; i < first["context"].size(); ++i)
        CHECK(second["context"][i] == first["context"][i]);
    const std::vector<Json> lines =
        lines_of(service.post(ollama_generate_path, ollama_prompt("One two three")));
    CHECK(lines.back()["context"] == first["context"]);
    CHECK_FALSE(lines.front().contains("context"));
    CHECK_FALSE(
        whole_of(service, ollama_generate_path, ollama_prompt("Go", R"(, "raw": true)")).contains("context"));
    CHECK_FALSE(whole_of(service, ollama_chat_path, ollama_chat("Go")).contains("context"));
    for (const char* const wrong : {"[512]", "[-1]", "[\"a\"]", "5"}) {
        CHECK(ollama_error(service.post(ollama_generate_path,
                                        ollama_prompt("Go", R"(, "context": )" + std::string(wrong))))
                  .starts_with("`context`"));
    }
}
