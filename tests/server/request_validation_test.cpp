// Regression tests of request validation: seeds, top_k, template variables, content parts, error messages.
#include "core/base/json.hpp"
#include "tests/server/api_client.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <vector>

using namespace etna;
using namespace etna::test;

namespace {

constexpr const char* bos_template =
    "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}{{ colour }}";

std::string random_chat(const std::string& more) {
    return R"({"messages": [{"role": "user", "content": "Once"}], "max_tokens": 8, "temperature": 1.5)" +
           more + "}";
}

} // namespace

TEST_CASE("seeds are signed 64-bit integers on every API, and different seeds differ") {
    FakeService service({.chat_template = bos_template});
    const auto text = [&](const std::string& seed) {
        const FakeAnswer answer = service.post(
            completions_path,
            R"({"prompt": "Once", "max_tokens": 24, "temperature": 1.5, "ignore_eos": true, "seed": )" +
                seed + "}");
        CAPTURE(answer.body);
        REQUIRE(answer.status == 200);
        const Json json = etna::parse_json(answer.body);
        CHECK((seed == "-1" || etna::dump_json(json["seed"]) == seed));
        return json["choices"][0]["text"].get<std::string>();
    };
    const std::vector<std::string> seeds = {
        "5",           "-5",         "4294967301",          "8589934597",
        "-4294967291", "4294967296", "9223372036854775807", "-9223372036854775808"};
    std::vector<std::string> texts;
    for (const std::string& seed : seeds) {
        texts.push_back(text(seed));
        CHECK(text(seed) == texts.back());
    }
    for (std::size_t i = 1; i < texts.size(); ++i) // some share their lower 32 bits
        CHECK(std::count(texts.begin(), texts.end(), texts[i]) == 1);
    CHECK((text("-1") != text("-1") || text("-1") != text("-1")));
    for (const char* wrong :
         {"9223372036854775808", "-9223372036854775809", "9.3e18", "1e300", "0.5", "\"1\""})
        CHECK(error_of(service.post(chats_path,
                                    random_chat(R"(, "seed": )" + std::string(wrong))))["param"] == "seed");
    for (const char* right : {"-1", "-9223372036854775808", "1e18"}) {
        CHECK(service.post(chats_path, random_chat(R"(, "seed": )" + std::string(right))).status == 200);
        CHECK(
            service.post("/v3/chat/completions", random_chat(R"(, "seed": )" + std::string(right))).status ==
            200);
        CHECK(service
                  .post("/v1/responses",
                        R"({"input": "a", "max_output_tokens": 1, "seed": )" + std::string(right) + "}")
                  .status == 200);
    }
}

TEST_CASE("choices of a request have consecutive seeds that wrap around") {
    FakeService service({});
    const auto texts = [&](const std::string& more) {
        const Json json = etna::parse_json(
            service
                .post(completions_path,
                      R"({"prompt": "Once", "max_tokens": 24, "temperature": 1.5, )" + more + "}")
                .body);
        std::vector<std::string> all;
        for (const Json& choice : json["choices"])
            all.push_back(choice["text"]);
        return all;
    };
    for (const auto& [first, second] : {std::pair("7", "8"),
                                        {"4294967295", "4294967296"},
                                        {"-2", "-1"},
                                        {"-3", "-2"},
                                        {"9223372036854775807", "-9223372036854775808"}}) {
        const auto both = texts(R"("n": 2, "seed": )" + std::string(first));
        REQUIRE(both.size() == 2);
        CHECK(both[0] == texts(R"("seed": )" + std::string(first)).front());
        if (std::string_view(second) != "-1") // -1 is random
            CHECK(both[1] == texts(R"("seed": )" + std::string(second)).front());
    }
}

TEST_CASE("top_k above the vocabulary size is unlimited") {
    FakeService service({.chat_template = bos_template});
    const auto text = [&](const std::string& top_k) {
        return etna::parse_json(
            service
                .post(completions_path, R"({"prompt": "Once", "max_tokens": 24, "temperature": 1.5, "seed": 3,
                                                  "top_k": )" +
                                            top_k + "}")
                .body)["choices"][0]["text"];
    };
    for (const char* all : {"-1", "512", "513", "2049", "128000", "2147483647"})
        CHECK(text(all) == text("0"));
    CHECK(text("1") != text("0"));
}

TEST_CASE("chat_template_kwargs cannot replace the template's own variables") {
    FakeService service({.chat_template = bos_template});
    for (const char* name :
         {"messages", "tools", "add_generation_prompt", "continue_final_message", "bos_token", "eos_token"}) {
        const std::string kwargs = R"(, "chat_template_kwargs": {")" + std::string(name) + R"(": []})";
        for (const char* path :
             {chats_path, "/apply-template", "/tokenize", "/v1/chat/completions/input_tokens"}) {
            CAPTURE(path, name);
            CHECK(error_of(service.post(path, random_chat(kwargs)))["param"] ==
                  "chat_template_kwargs." + std::string(name));
        }
        CHECK(service.post("/v1/responses", R"({"input": "a")" + kwargs + "}").status == 400);
    }
    CHECK(service.post("/apply-template", random_chat(R"(, "chat_template_kwargs": {"colour": "red"})"))
              .body.find("<assistant>red") != std::string::npos);
}

TEST_CASE("the tokens of a chat are counted") {
    FakeService service({.chat_template = bos_template});
    const Json chat = etna::parse_json(service.post(chats_path, random_chat("")).body);
    for (const char* path : {"/v1/chat/completions/input_tokens", "/chat/completions/input_tokens",
                             "/v3/chat/completions/input_tokens"}) {
        const FakeAnswer counted = service.post(path, random_chat(R"(, "odd": 1)"));
        CHECK(counted.status == 200);
        CHECK(etna::parse_json(counted.body) ==
              Json({{"object", "response.input_tokens"}, {"input_tokens", chat["usage"]["prompt_tokens"]}}));
        CHECK(counted.headers.at("etna-ignored") == "odd");
    }
    CHECK(error_of(service.post("/v1/chat/completions/input_tokens", "{}"))["param"] == "messages");
}

TEST_CASE("content parts require a type, and parameters must be an object") {
    FakeService service({.chat_template = bos_template});
    const Json part = error_of(service.post(
        chats_path, R"({"messages": [{"role": "user", "content": [{"text": "a"}]}], "max_tokens": 1})"));
    CHECK(part["param"] == "messages[0].content[0].type");
    CHECK(
        service
            .post(chats_path, R"({"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]}],
                               "max_tokens": 1})")
            .status == 200);
    const auto with = [&](const std::string& parameters) {
        return service.post(chats_path,
                            random_chat(R"(, "tools": [{"type": "function", "function": {"name": "f",
                                             "parameters": )" +
                                        parameters + "}}]"));
    };
    for (const char* wrong : {R"("{\"type\": \"object\"}")", "5", "[]", "true"})
        CHECK(error_of(with(wrong))["param"] == "tools[0].function.parameters");
    for (const char* right : {"null", "{}", R"({"type": "object", "properties": {}})"})
        CHECK(with(right).status == 200);
    const Json input = error_of(
        service.post("/v1/responses",
                     R"({"input": [{"role": "user", "content": [{"text": "a"}]}], "max_output_tokens": 1})"));
    CHECK(input["param"] == "input[0].content[0].type");
    CHECK(error_of(service.post("/v1/responses", R"({"input": "a", "tools": [{"type": "function", "name": "f",
                                                     "parameters": "{}"}]})"))["param"] ==
          "tools[0].parameters");
}

TEST_CASE("error messages name the problem") {
    FakeService service({.chat_template = bos_template});
    CHECK(error_of(service.post(chats_path, "{bad"))["message"] == "request body is not valid JSON (byte 2)");
    CHECK(error_of(service.post(chats_path, ""))["message"] == "request body is not valid JSON (byte 1)");
    CHECK(error_of(service.post(chats_path, "[]"))["message"] == "request body must be a JSON object");
    for (const char* type : {"image_url", "input_image"}) {
        const std::string part = std::string(R"([{"role": "user", "content": [{"type": ")") + type + "\"}]}]";
        for (const auto& [path, body] : {std::pair(chats_path, R"({"messages": )" + part + "}"),
                                         std::pair("/v1/responses", R"({"input": )" + part + "}")}) {
            const Json error = error_of(service.post(path, body));
            CAPTURE(path, type);
            CHECK(error["message"] == "image input is not supported by this model");
            CHECK(error["code"] == "invalid_value");
            CHECK(error["param"].get<std::string>().ends_with("[0].content[0]"));
        }
    }
    CHECK(error_of(service.post(
              chats_path,
              R"({"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]})"))["message"] ==
          "audio input is not supported by this model");
    const Json type = error_of(service.post(
        chats_path,
        random_chat(R"(, "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema":
                        {"type": "strng"}}})")));
    CHECK(
        type["message"].get<std::string>().find(
            "unknown type \"strng\"; the types are null, boolean, integer, number, string, array, object") !=
        std::string::npos);
    FakeService calling({.chat_template = std::string(bos_template) + "{# <tool_call> #}"});
    const Json name = error_of(calling.post(
        chats_path, random_chat(R"(, "tools": [{"type": "function", "function": {"name": "a b"}}])")));
    CHECK(name["message"] == "invalid function name `a b`; use letters, digits, - and _");
}
