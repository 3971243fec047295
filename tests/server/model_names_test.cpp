// Model names in requests, and requests for unknown models.
#include "core/base/json.hpp"
#include "core/store/resolve.hpp"
#include "server/models/model_sources.hpp"
#include "server/models/models.hpp"
#include "tests/server/fake_service.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/folders.hpp"

#include <string>
#include <vector>

using namespace etna;
using server::Json;
using server::Models;
using test::FakeAnswer;
using test::FakeService;

namespace {

FakeAnswer ask_model(FakeService& service, const std::string& model,
                     const std::string& path = "/v1/completions") {
    Json body = {{"model", model}};
    if (path.find("responses") != std::string::npos) {
        body["input"] = "Once";
        body["max_output_tokens"] = 1;
    } else if (path.find("chat") != std::string::npos) {
        body["messages"] = Json::array({{{"role", "user"}, {"content", "Once"}}});
        body["max_tokens"] = 1;
    } else {
        body["prompt"] = "Once";
        body["max_tokens"] = 1;
    }
    return service.post(path, etna::dump_json(body));
}

std::string model_of(const FakeAnswer& answer) {
    return etna::parse_json(answer.body).value("model", "");
}

std::string model_header(const FakeAnswer& answer) {
    const auto found = answer.headers.find("etna-model");
    return found == answer.headers.end() ? "" : found->second;
}

std::string error_message(const FakeAnswer& answer) {
    return etna::parse_json(answer.body)["error"]["message"];
}

constexpr const char* messages_template = "{% for m in messages %}{{ m.content }}{% endfor %}";

} // namespace

TEST_CASE("an unknown model name gets 404 model_not_found even if one model is served") {
    FakeService service({.names = {"Qwen3"}, .chat_template = messages_template});
    for (const char* path : {"/v1/completions", "/v1/chat/completions", "/v1/responses", "/v3/completions",
                             "/v3/chat/completions", "/v1/responses/input_tokens"}) {
        for (const char* model : {"gpt-4o", ""}) {
            const FakeAnswer refused = ask_model(service, model, path);
            CAPTURE(path, model, refused.body);
            CHECK(refused.status == 404);
            const Json error = etna::parse_json(refused.body)["error"];
            CHECK(error["code"] == "model_not_found");
            CHECK(error["type"] == "invalid_request_error");
            CHECK(error["param"] == "model");
            CHECK(error["message"] == std::string("the model `") + model +
                                          "` does not exist; this server has `Qwen3`; start the server with "
                                          "--any-model-name to accept any name");
        }
        CHECK(ask_model(service, "qwen3.gguf", path).status == 200);
    }
    for (const char* path : {"/tokenize", "/detokenize", "/apply-template", "/v1/responses/compact"}) {
        const FakeAnswer refused = service.post(
            path, R"({"model": "gpt-4o", "content": "a", "tokens": [5], "input": "a", "messages": []})");
        CAPTURE(path, refused.body);
        CHECK(refused.status == 404);
    }
    const FakeAnswer shown = service.get("/v1/models/gpt-4o");
    CHECK(shown.status == 404);
    CHECK(error_message(shown) == "the model `gpt-4o` does not exist; this server has `Qwen3`");
    CHECK(service.get("/metrics").body.find("gpt-4o") == std::string::npos);
}

TEST_CASE("a request without a model name is answered by the default model") {
    FakeService service({.names = {"second", "first"}});
    const FakeAnswer answer = service.post("/v1/completions", R"({"prompt": "a", "max_tokens": 1})");
    CHECK(answer.status == 200);
    CHECK(model_of(answer) == "second");
    CHECK(model_header(answer) == "second");
    CHECK(model_header(service.post("/v1/completions",
                                    R"({"prompt": "a", "model": null, "stream": true})")) == "second");
}

TEST_CASE("with --any-model-name the first model answers requests for unknown names, under its own name") {
    server::ServiceOptions options;
    options.accepts_any_model_name = true;
    FakeService service({.service = options, .names = {"Qwen3"}, .chat_template = messages_template});
    for (const char* path : {"/v1/completions", "/v1/chat/completions", "/v1/responses", "/v3/completions"}) {
        for (const char* model : {"gpt-4o", "", "Qwen3"}) {
            const FakeAnswer answer = ask_model(service, model, path);
            CAPTURE(path, model, answer.body);
            CHECK(answer.status == 200);
            CHECK(model_of(answer) == "Qwen3");
            CHECK(model_header(answer) == "Qwen3");
        }
    }
    for (const char* path : {"/tokenize", "/detokenize", "/apply-template", "/v1/responses/input_tokens",
                             "/v1/responses/compact"}) {
        const FakeAnswer answer =
            service.post(path, R"({"model": "gpt-4o", "content": "a", "tokens": [5], "input": "a",
                                   "messages": [{"role": "user", "content": "a"}]})");
        CAPTURE(path, answer.body);
        CHECK(model_header(answer) == "Qwen3");
    }
    CHECK(service.get("/v1/models/gpt-4o").status == 404); // the client asks whether that very model exists
    CHECK(service.get("/metrics").body.find("gpt-4o") == std::string::npos);
    FakeService two({.service = options, .names = {"b", "a"}});
    CHECK(model_of(ask_model(two, "gpt-4o")) == "b");
    CHECK(model_of(ask_model(two, "a")) == "a");
}

TEST_CASE("model names are case-insensitive, and .gguf and :latest are ignored") {
    FakeService service({.names = {"Qwen3-0.6B", "stories"}});
    for (const char* model :
         {"Qwen3-0.6B", "qwen3-0.6b", "QWEN3-0.6B.GGUF", "qwen3-0.6b:latest", "Qwen3-0.6B.gguf:latest"}) {
        CAPTURE(model);
        CHECK(model_of(ask_model(service, model)) == "Qwen3-0.6B");
        CHECK(service.get(std::string("/v1/models/") + model).status == 200);
    }
    for (const char* model : {"Qwen3", ":latest", ".gguf", "Qwen3-0.6B:Q4"})
        CHECK(ask_model(service, model).status == 404);
    FakeService two({.names = {"Model", "model.gguf"}}); // exact matches come first
    CHECK(model_of(ask_model(two, "model.gguf")) == "model.gguf");
    CHECK(model_of(ask_model(two, "Model")) == "Model");
}

TEST_CASE("the 404 of an unknown model lists up to eight served names, else the most similar") {
    FakeService several({.names = {"llama-3.2-1b", "llama-3.2-3b", "qwen3-0.6b"}});
    CHECK(error_message(ask_model(several, "lama-3.2-1b"))
              .starts_with("the model `lama-3.2-1b` does not exist; this server has `llama-3.2-1b`, "
                           "`llama-3.2-3b`, `qwen3-0.6b`; start the server with"));
    std::vector<std::string> names = {"llama-3.2-1b"};
    for (const char letter : {'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'})
        names.emplace_back(12, letter);
    FakeService many({.names = names});
    CHECK(
        error_message(ask_model(many, "lama-3.2-1b"))
            .starts_with("the model `lama-3.2-1b` does not exist; this server has `llama-3.2-1b` and others "
                         "(GET /v1/models); start"));
    CHECK(error_message(ask_model(many, "gpt-4o"))
              .find("`aaaaaaaaaaaa`, `bbbbbbbbbbbb`, `cccccccccccc` and others") != std::string::npos);
    const FakeAnswer long_name = ask_model(several, std::string(10'000, 'x'));
    CHECK(long_name.status == 404);
    CHECK(long_name.body.size() < 1000);
}

TEST_CASE("a model with aliases is loaded once") {
    int loads = 0;
    Models models({.named = {{.name = "a",
                              .source = store::resolve(ETNA_TEST_DATA "/models/stories260K.gguf", "").value(),
                              .aliases = {"b", "C"}}},
                   .folder = {}},
                  [&](const store::ModelSource& source, uint64_t) {
                      ++loads;
                      return FakeService::load_plain(source);
                  });
    REQUIRE(models.list().size() == 1);
    CHECK(models.list().front().aliases == std::vector<std::string>{"b", "C"});
    for (const char* name : {"a", "b", "C", "c:latest"}) {
        const auto found = models.find(name);
        REQUIRE(found);
        CHECK(found->name == "a");
        CHECK(models.acquire(found->name).has_value());
    }
    CHECK(!models.find("d"));
    CHECK(loads == 1);
}

TEST_CASE("the list of models has context lengths, and whether each is loaded") {
    FakeService service({.names = {"a", "b"}});
    CHECK(ask_model(service, "a").status == 200);
    for (const char* path : {"/v1/models", "/models", "/v3/models"}) {
        const Json listed = etna::parse_json(service.get(path).body)["data"];
        REQUIRE(listed.size() == 2);
        CHECK(listed[0]["max_model_len"] == 512);
        CHECK(listed[0]["status"]["value"] == "loaded");
        CHECK(listed[1]["status"]["value"] == "unloaded");
    }
    const Json one = etna::parse_json(service.get("/v1/models/a").body);
    CHECK(one["max_model_len"] == 512);
    CHECK(one["status"]["value"] == "loaded");
}
