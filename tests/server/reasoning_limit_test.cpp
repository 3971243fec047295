// Limits of the reasoning in every API, and their end on request.
#include "tests/server/ollama_client.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/eventually.hpp"

#include <chrono>
#include <string>

using namespace etna;
using namespace etna::test;

namespace {

constexpr const char* ponderer_says =
    "<think>the dog was big and the cat was small and the sun was up and the day was good and long";

FakeService ponderer(server::api::RequestLimits limits = {}) {
    FakeService::Options options{.chat_template = marked_template, .says = ponderer_says};
    options.service.limits = std::move(limits);
    return FakeService(options);
}

std::string pondering(const std::string& more) {
    return R"({"messages": [{"role": "user", "content": "Go"}], "max_tokens": 100, "temperature": 0)" + more +
           "}";
}

std::string pondering_message(const std::string& thinking) {
    return R"({"model": "stories", "messages": [{"role": "user", "content": "Go"}], "max_tokens": 100,
        "temperature": 0, "thinking": )" +
           thinking + "}";
}

Json pondered(FakeService& service, const std::string& more) {
    return choice_of(service.post(chats_path, pondering(more)))["message"];
}

} // namespace

TEST_CASE("every name of a reasoning budget ends the reasoning, and the answer follows") {
    FakeService service = ponderer();
    const Json whole = pondered(service, "");
    const std::string all = whole["reasoning_content"];
    REQUIRE(whole["content"] == "");
    const Json limited = pondered(service, R"(, "reasoning_budget_tokens": 5)");
    CHECK(all.starts_with(limited["reasoning_content"].get<std::string>()));
    CHECK(limited["reasoning_content"] != all);
    CHECK(limited["content"] != "");
    for (const char* const same : {R"(, "thinking_budget_tokens": 5)", R"(, "thinking_token_budget": 5)",
                                   R"(, "nvext": {"max_thinking_tokens": 5})",
                                   R"(, "reasoning_budget_tokens": 5, "thinking_token_budget": 9)"}) {
        CAPTURE(same);
        CHECK(pondered(service, same) == limited);
    }
    CHECK(pondered(service, R"(, "reasoning_budget_tokens": -1)") == whole);
    const Json none = pondered(service, R"(, "reasoning_budget_tokens": 0)");
    CHECK((none.value("reasoning_content", Json()).is_null() && none["content"] != ""));
    const Json probable =
        choice_of(service.post(chats_path, pondering(R"(, "reasoning_budget_tokens": 5, "logprobs": true,
            "top_logprobs": 2)")));
    for (const Json& token : probable["logprobs"]["content"])
        CHECK_FALSE(token["top_logprobs"].empty());
    CHECK(error_of(service.post(chats_path, pondering(R"(, "reasoning_budget_tokens": "5")")))["param"] ==
          "reasoning_budget_tokens");
    const Json message =
        pondered(service, R"(, "reasoning_budget_tokens": 5, "reasoning_budget_message": " Enough.")");
    CHECK(message["reasoning_content"].get<std::string>().ends_with(" Enough."));
    std::string streamed;
    for (const Json& piece :
         pieces_of(service.post(chats_path, pondering(R"(, "reasoning_budget_tokens": 5, "stream": true)"))))
        streamed += piece["delta"].value("reasoning_content", "");
    CHECK(Json(streamed) == limited["reasoning_content"]);
}

TEST_CASE("a message's budget_tokens end its thinking") {
    FakeService service = ponderer();
    const Json whole = post_json(service, "/v1/messages", pondering_message(R"({"type": "adaptive"})"));
    REQUIRE(whole["content"].size() == 1);
    const Json limited =
        post_json(service, "/v1/messages", pondering_message(R"({"type": "enabled", "budget_tokens": 5})"));
    REQUIRE(limited["content"].size() == 2);
    const std::string all = whole["content"][0]["thinking"];
    CHECK(all.starts_with(limited["content"][0]["thinking"].get<std::string>()));
    CHECK(limited["content"][1]["type"] == "text");
}

TEST_CASE("the operator's budget applies to requests without one, and an effort has its own") {
    server::api::RequestLimits limits;
    limits.reasoning_budget = 8;
    limits.reasoning_budget_message = " Stop.";
    limits.effort_budgets[static_cast<std::size_t>(server::api::ReasoningEffort::low)] = 3;
    limits.effort_budgets[static_cast<std::size_t>(server::api::ReasoningEffort::high)] = 40;
    FakeService service = ponderer(limits);
    const Json own = pondered(service, "");
    CHECK(own["reasoning_content"].get<std::string>().ends_with(" Stop."));
    CHECK(pondered(service, R"(, "reasoning_effort": "high")") == own); // the smaller one
    const Json low = pondered(service, R"(, "reasoning_effort": "low")");
    CHECK(low["reasoning_content"].get<std::string>().size() <
          own["reasoning_content"].get<std::string>().size());
    CHECK(pondered(service, R"(, "reasoning_budget_tokens": -1)")["content"] == "");
    const auto response = [&](const std::string& more) {
        return post_json(service, "/v1/responses",
                         R"({"input": "Go", "max_output_tokens": 100, "temperature": 0)" + more + "}");
    };
    const auto thoughts = [](const Json& one) {
        return one["output"][0]["content"][0]["text"].get<std::string>();
    };
    CHECK(Json(thoughts(response(""))) == own["reasoning_content"]);
    CHECK(Json(thoughts(response(R"(, "reasoning": {"effort": "low"})"))) == low["reasoning_content"]);
    const Json ollama = post_json(
        service, ollama_chat_path,
        ollama_chat("Go", R"(, "think": "low", "options": {"temperature": 0})" + std::string(whole_answer)));
    CHECK(ollama["message"]["thinking"] == low["reasoning_content"]);
    // A beam search has no limit, unless it asks for one.
    CHECK(service.post(chats_path, pondering(R"(, "use_beam_search": true, "best_of": 2)")).status == 200);
    CHECK(service
              .post(chats_path,
                    pondering(R"(, "use_beam_search": true, "best_of": 2, "reasoning_effort": "high")"))
              .status == 200);
    CHECK(service
              .post(chats_path,
                    pondering(R"(, "use_beam_search": true, "best_of": 2, "reasoning_budget_tokens": 5)"))
              .status == 400);
}

TEST_CASE("a control ends the reasoning of the client's own running answers") {
    server::api::ReasoningControls controls;
    generate::ReasoningLimit limit{.is_over = std::make_shared<std::atomic<bool>>(false)};
    controls.add("chatcmpl-1", "me", limit);
    CHECK_FALSE(controls.end("chatcmpl-2", "me"));
    CHECK_FALSE(controls.end("chatcmpl-1", "you"));
    CHECK_FALSE(*limit.is_over);
    CHECK(controls.end("chatcmpl-1", "me"));
    CHECK(*limit.is_over);
    limit.is_over.reset();
    CHECK_FALSE(controls.end("chatcmpl-1", "me"));

    FakeService service = ponderer();
    const std::string path = std::string(chats_path) + "/control";
    const Json ended = post_json(service, path, R"({"id": "chatcmpl-9", "action": "reasoning_end"})");
    CHECK(ended["success"] == false);
    CHECK(error_of(service.post(path, R"({"id": "chatcmpl-9", "action": "dance"})"))["param"] == "action");
    CHECK(error_of(service.post(path, R"({"action": "reasoning_end"})"))["param"] == "id");
    CHECK(post_json(service, "/v1/responses/resp_9/control", R"({"action": "reasoning_end"})")["success"] ==
          false);
    CHECK(pondered(service, R"(, "reasoning_control": true)")["content"] == ""); // without an end
}

TEST_CASE("a running response's reasoning ends at once, and its answer follows") {
    FakeService::Options options{.chat_template = marked_template, .says = ponderer_says};
    options.prepare = [](FakeOptions& fake, int) { fake.step_delay = std::chrono::milliseconds(20); };
    FakeService service(std::move(options));
    const Json begun = post_json(service, "/v1/responses",
                                 R"({"input": "Go", "background": true, "reasoning_control": true,
                                     "max_output_tokens": 100, "temperature": 0})");
    const std::string path = "/v1/responses/" + begun["id"].get<std::string>();
    bool is_ended = false;
    Json response;
    (void)test::eventually([&] { // it is under control once it runs
        is_ended = is_ended ||
                   post_json(service, path + "/control", R"({"action": "reasoning_end"})")["success"] == true;
        response = json_of(service.get(path));
        return response["status"] != "queued" && response["status"] != "in_progress";
    });
    CHECK(is_ended);
    REQUIRE_FALSE(response["output"].empty()); // the model alone ends in its reasoning
    CHECK(response["output"].back()["type"] == "message");
}
