// Compactions: conversations summarized into one sealed item. References to stored items.
#include "core/base/json.hpp"
#include "tests/server/api_client.hpp"
#include "tests/support/catch.hpp"

#include <string>

using namespace etna;
using namespace etna::test;

namespace {

const std::string compact = "/v1/responses/compact";
constexpr const char* compact_template =
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}"
    "{% for c in m.tool_calls or [] %}[{{ c.function.name }}]{% endfor %}"
    "</end>{% endfor %}<assistant>";

std::string compact_body(const Json& input, const std::string& more = "") {
    return R"({"model": "stories", "max_output_tokens": 60, "temperature": 0, "input": )" +
           etna::dump_json(input) + more + "}";
}

/// The length of the prompt, which differs if its content does.
std::size_t prompt_tokens(FakeService& service, const Json& input, const std::string& more = "") {
    return input_tokens(service, compact_body(input, more));
}

Json user_item(const std::string& text) {
    return {{"role", "user"}, {"content", text}};
}

Json item_list(std::initializer_list<Json> items) {
    Json all = Json::array();
    for (const Json& item : items)
        all.push_back(item);
    return all;
}

const Json long_conversation =
    item_list({user_item("My name is Ada, and I have told you very much about my cats and dogs."),
               {{"role", "assistant"}, {"content", "Yes, you have told me about all of them."}},
               user_item("What now?")});

const std::string summary_prefix = "This is a summary of our conversation so far:\n\n";

} // namespace

TEST_CASE("a compaction contains the model's summary and the last user message") {
    FakeService service({.chat_template = compact_template, .says = "cats"});
    const Json created = json_of(
        service.post(compact, compact_body(long_conversation,
                                           R"(, "n": 3, "stream": true, "tool_choice": "required", "tools":
            [{"type": "function", "name": "f"}])"))); // the endpoint has none of these fields
    CHECK(created["object"] == "response.compaction");
    CHECK(created["id"].get<std::string>().starts_with("resp_"));
    CHECK(created["created_at"].is_number_integer());
    CHECK(created["usage"]["total_tokens"].get<int>() > 0);
    REQUIRE(created["output"].size() == 1);
    const Json& item = created["output"][0];
    CHECK(item["type"] == "compaction");
    CHECK(item["id"].get<std::string>().starts_with("cmp_"));
    CHECK(item["encrypted_content"].get<std::string>().find("cats") == std::string::npos);
    CHECK(prompt_tokens(service, item_list({item, user_item("Go on.")})) ==
          prompt_tokens(service, item_list({user_item(summary_prefix + "cats"), user_item("What now?"),
                                            user_item("Go on.")})));
}

TEST_CASE("a compaction continues a response and can be continued") {
    FakeService service({.chat_template = compact_template, .says = "cats"});
    const std::string first = json_of(service.post(responses_path, compact_body(long_conversation)))["id"];
    const Json created =
        json_of(service.post(compact, R"({"model": "stories", "previous_response_id": ")" + first + R"("})"));
    const Json second = json_of(
        service.post(responses_path, compact_body(item_list({created["output"][0], user_item("Go on.")}))));
    const std::string previous = previous_response(second);
    CHECK(prompt_tokens(service, item_list({user_item("More.")}), previous) ==
          prompt_tokens(service, item_list({user_item(summary_prefix + "cats"),
                                            user_item("What now?"),
                                            user_item("Go on."),
                                            {{"role", "assistant"}, {"content", "cats"}},
                                            user_item("More.")})));
    const Json again =
        json_of(service.post(compact, compact_body(item_list({created["output"][0], user_item("Go on.")}))));
    CHECK(prompt_tokens(service, item_list({again["output"][0]})) ==
          prompt_tokens(service, item_list({user_item(summary_prefix + "cats"), user_item("Go on.")})));
}

TEST_CASE("a compaction retains calls without a result") {
    FakeService service({.chat_template = compact_template, .says = "cats"});
    const auto call = [](const std::string& id) {
        return Json({{"type", "function_call"}, {"call_id", id}, {"name", "look"}, {"arguments", "{}"}});
    };
    const auto output = [](const std::string& id) {
        return Json({{"type", "function_call_output"}, {"call_id", id}, {"output", "seen"}});
    };
    const Json created = json_of(service.post(
        compact, compact_body(item_list({user_item("Look twice."), call("a"), output("a"), call("b")}))));
    CHECK(prompt_tokens(service, item_list({created["output"][0], output("b")})) ==
          prompt_tokens(service, item_list({user_item(summary_prefix + "cats"), user_item("Look twice."),
                                            call("b"), output("b")})));
}

TEST_CASE("a conversation too long to summarize loses its oldest items and reports their number") {
    FakeService service({.chat_template = compact_template, .says = "cats"});
    constexpr uint32_t context = 512; // the fake model's
    Json talk = Json::array();
    while (prompt_tokens(service, talk.empty() ? item_list({user_item("A")}) : talk) + 40 < context)
        talk.push_back(user_item("one two three four five six seven"));
    const Json created = json_of(service.post(compact, compact_body(talk)));
    CHECK(created["etna"]["dropped_items"] > 0);
    CHECK(created["usage"]["input_tokens"].get<uint32_t>() <= context - context / 4);
}

TEST_CASE("a sealed item opens only on its server and only unmodified") {
    FakeService service({.chat_template = compact_template, .says = "cats"});
    FakeService other({.chat_template = compact_template, .says = "cats"});
    Json item = json_of(service.post(compact, compact_body(long_conversation)))["output"][0];
    CHECK(json_of(other.post(responses_path, compact_body(item_list({item}))), 400)["error"]["param"] ==
          "input[0]");
    std::string sealed = item["encrypted_content"];
    sealed[sealed.size() / 2] = sealed[sealed.size() / 2] == 'A' ? 'B' : 'A';
    item["encrypted_content"] = sealed;
    CHECK(service.post(responses_path, compact_body(item_list({item}))).status == 400);
}

TEST_CASE("invalid compaction requests name the field") {
    FakeService service({.chat_template = compact_template, .says = "cats"});
    const auto param = [&](const std::string& body) {
        return json_of(service.post(compact, body), 400)["error"]["param"].get<std::string>();
    };
    CHECK(param(R"({"input": "a"})") == "model");
    CHECK(param(R"({"model": "stories"})") == "input");
    CHECK(param(R"({"model": "stories", "input": 3})") == "input");
    CHECK(param(R"({"model": "stories", "input": [{"role": "nobody", "content": "a"}]})") == "input[0].role");
    CHECK(param(R"({"model": "stories", "previous_response_id": "resp_none"})") == "previous_response_id");
}

TEST_CASE("a stored item can be referenced by id") {
    FakeService service({.chat_template = compact_template, .says = "cats"});
    const Json first = json_of(service.post(responses_path, compact_body(long_conversation)));
    const Json inputs = json_of(service.get(response_path(first) + "/input_items"));
    const Json question = {{"id", inputs["data"].back()["id"]}};
    const Json reply = {{"type", "item_reference"}, {"id", first["output"][0]["id"]}};
    const Json explicit_items =
        item_list({long_conversation[0], {{"role", "assistant"}, {"content", "cats"}}, user_item("More.")});
    CHECK(prompt_tokens(service, item_list({question, reply, user_item("More.")})) ==
          prompt_tokens(service, explicit_items));

    const Json second =
        json_of(service.post(responses_path, compact_body(item_list({question, reply, user_item("More.")}))));
    service.remove(response_path(first));
    const std::string previous = previous_response(second);
    Json longer = explicit_items;
    longer.push_back({{"role", "assistant"}, {"content", "cats"}});
    longer.push_back(user_item("And?"));
    CHECK(prompt_tokens(service, item_list({user_item("And?")}), previous) == prompt_tokens(service, longer));
    CHECK(json_of(service.post(responses_path, compact_body(item_list({{{"id", "msg_none"}}}))),
                  404)["error"]["param"] == "input");
}

TEST_CASE("a conversation item can be referenced only with its owner's key") {
    FakeService::Options options = {.chat_template = compact_template, .says = "cats"};
    options.service.access.api_keys = {"ann", "bob"};
    FakeService service(options);
    const auto post_as = [&](const std::string& key, const std::string& path, const std::string& body) {
        return send_as(service, key, "POST", path, body);
    };
    const Json created =
        json_of(post_as("ann", "/v1/conversations", R"({"items": [{"role": "user", "content": "A"}]})"));
    const std::string path = "/v1/conversations/" + created["id"].get<std::string>() + "/items";
    const Json added = json_of(post_as("ann", path, R"({"items": [{"role": "user", "content": "B"}]})"));
    const std::string reference =
        compact_body(item_list({{{"type", "item_reference"}, {"id", added["data"][0]["id"]}}}));
    CHECK(json_of(post_as("ann", path, R"({"items": [{"id": "msg_none"}]})"), 404)["error"]["param"] ==
          "items");
    const Json sealed = json_of(post_as("ann", compact, compact_body(long_conversation)))["output"][0];
    CHECK(post_as("ann", responses_path, compact_body(item_list({sealed}))).status == 200);
    CHECK(post_as("bob", responses_path, compact_body(item_list({sealed}))).status == 400);
    CHECK(
        post_as("bob", "/v1/conversations", etna::dump_json(Json({{"items", item_list({sealed})}}))).status ==
        400);
    CHECK(post_as("ann", responses_path, reference).status == 200);
    CHECK(post_as("bob", responses_path, reference).status == 404);
}
