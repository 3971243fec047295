// Conversations that become one sealed item, and items that are named by their ids.
#include "tests/server/fake_service.hpp"
#include "tests/support/catch.hpp"

#include <string>

using namespace etna;
using server::Json;
using test::FakeAnswer;
using test::FakeService;

namespace {

const std::string responses = "/v1/responses";
const std::string compact = "/v1/responses/compact";
constexpr const char* turns = "{% for m in messages %}<{{ m.role }}>{{ m.content }}"
                              "{% for c in m.tool_calls or [] %}[{{ c.function.name }}]{% endfor %}"
                              "</end>{% endfor %}<assistant>";

Json json_of(const FakeAnswer& answer, int status = 200) {
    CAPTURE(answer.body);
    REQUIRE(answer.status == status);
    return etna::parse_json(answer.body);
}

std::string with_input(const Json& input, const std::string& more = "") {
    return R"({"model": "stories", "max_output_tokens": 60, "temperature": 0, "input": )" +
           etna::dump_json(input) + more + "}";
}

/// What the model would be given shows in its length.
std::size_t input_tokens(FakeService& service, const Json& input, const std::string& more = "") {
    return json_of(service.post(responses + "/input_tokens", with_input(input, more)))["input_tokens"];
}

Json user(const std::string& text) {
    return {{"role", "user"}, {"content", text}};
}

Json list(std::initializer_list<Json> items) {
    Json all = Json::array();
    for (const Json& item : items)
        all.push_back(item);
    return all;
}

const Json long_talk = list({user("My name is Ada, and I have told you very much about my cats and dogs."),
                             {{"role", "assistant"}, {"content", "Yes, you have told me about all of them."}},
                             user("What now?")});

const std::string summary = "This is a summary of our conversation so far:\n\n";

} // namespace

TEST_CASE("a compaction stands for the model's summary and the user's last turn") {
    FakeService service({.chat_template = turns, .says = "cats"});
    const Json made = json_of(service.post(
        compact, with_input(long_talk, R"(, "n": 3, "stream": true, "tool_choice": "required", "tools":
            [{"type": "function", "name": "f"}])"))); // of which the API knows none here
    CHECK(made["object"] == "response.compaction");
    CHECK(made["id"].get<std::string>().starts_with("resp_"));
    CHECK(made["created_at"].is_number_integer());
    CHECK(made["usage"]["total_tokens"].get<int>() > 0);
    REQUIRE(made["output"].size() == 1);
    const Json& item = made["output"][0];
    CHECK(item["type"] == "compaction");
    CHECK(item["id"].get<std::string>().starts_with("cmp_"));
    CHECK(item["encrypted_content"].get<std::string>().find("cats") == std::string::npos);
    CHECK(input_tokens(service, list({item, user("Go on.")})) ==
          input_tokens(service, list({user(summary + "cats"), user("What now?"), user("Go on.")})));
}

TEST_CASE("a compaction goes on from a response, and is gone on from in turn") {
    FakeService service({.chat_template = turns, .says = "cats"});
    const std::string first = json_of(service.post(responses, with_input(long_talk)))["id"];
    const Json made =
        json_of(service.post(compact, R"({"model": "stories", "previous_response_id": ")" + first + R"("})"));
    const Json second =
        json_of(service.post(responses, with_input(list({made["output"][0], user("Go on.")}))));
    const std::string previous = R"(, "previous_response_id": ")" + second["id"].get<std::string>() + R"(")";
    CHECK(input_tokens(service, list({user("More.")}), previous) ==
          input_tokens(service, list({user(summary + "cats"),
                                      user("What now?"),
                                      user("Go on."),
                                      {{"role", "assistant"}, {"content", "cats"}},
                                      user("More.")})));
    const Json again = json_of(service.post(compact, with_input(list({made["output"][0], user("Go on.")}))));
    CHECK(input_tokens(service, list({again["output"][0]})) ==
          input_tokens(service, list({user(summary + "cats"), user("Go on.")})));
}

TEST_CASE("a compaction keeps calls that have no result yet") {
    FakeService service({.chat_template = turns, .says = "cats"});
    const auto call = [](const std::string& id) {
        return Json({{"type", "function_call"}, {"call_id", id}, {"name", "look"}, {"arguments", "{}"}});
    };
    const auto output = [](const std::string& id) {
        return Json({{"type", "function_call_output"}, {"call_id", id}, {"output", "seen"}});
    };
    const Json made = json_of(
        service.post(compact, with_input(list({user("Look twice."), call("a"), output("a"), call("b")}))));
    CHECK(input_tokens(service, list({made["output"][0], output("b")})) ==
          input_tokens(service, list({user(summary + "cats"), user("Look twice."), call("b"), output("b")})));
}

TEST_CASE("what is too long for a summary with room loses its oldest items, and says so") {
    FakeService service({.chat_template = turns, .says = "cats"});
    constexpr uint32_t context = 512; // the fake model's
    Json talk = Json::array();
    while (input_tokens(service, talk.empty() ? list({user("A")}) : talk) + 40 < context)
        talk.push_back(user("one two three four five six seven"));
    const Json made = json_of(service.post(compact, with_input(talk)));
    CHECK(made["etna"]["dropped_items"] > 0);
    CHECK(made["usage"]["input_tokens"].get<uint32_t>() <= context - context / 4);
}

TEST_CASE("only this server opens what it has sealed, and only unchanged") {
    FakeService service({.chat_template = turns, .says = "cats"});
    FakeService other({.chat_template = turns, .says = "cats"});
    Json item = json_of(service.post(compact, with_input(long_talk)))["output"][0];
    CHECK(json_of(other.post(responses, with_input(list({item}))), 400)["error"]["param"] == "input[0]");
    std::string sealed = item["encrypted_content"];
    sealed[sealed.size() / 2] = sealed[sealed.size() / 2] == 'A' ? 'B' : 'A';
    item["encrypted_content"] = sealed;
    CHECK(service.post(responses, with_input(list({item}))).status == 400);
}

TEST_CASE("mistakes in compactions are named") {
    FakeService service({.chat_template = turns, .says = "cats"});
    const auto param = [&](const std::string& body) {
        return json_of(service.post(compact, body), 400)["error"]["param"].get<std::string>();
    };
    CHECK(param(R"({"input": "a"})") == "model");
    CHECK(param(R"({"model": "stories"})") == "input");
    CHECK(param(R"({"model": "stories", "input": 3})") == "input");
    CHECK(param(R"({"model": "stories", "input": [{"role": "nobody", "content": "a"}]})") == "input[0].role");
    CHECK(param(R"({"model": "stories", "previous_response_id": "resp_none"})") == "previous_response_id");
}

TEST_CASE("an item that is kept may be named instead of sent") {
    FakeService service({.chat_template = turns, .says = "cats"});
    const Json first = json_of(service.post(responses, with_input(long_talk)));
    const Json inputs =
        json_of(service.get(responses + "/" + first["id"].get<std::string>() + "/input_items"));
    const Json asked = {{"id", inputs["data"].back()["id"]}};
    const Json answered = {{"type", "item_reference"}, {"id", first["output"][0]["id"]}};
    const Json spelled = list({long_talk[0], {{"role", "assistant"}, {"content", "cats"}}, user("More.")});
    CHECK(input_tokens(service, list({asked, answered, user("More.")})) == input_tokens(service, spelled));

    const Json second = json_of(service.post(responses, with_input(list({asked, answered, user("More.")}))));
    service.remove(responses + "/" + first["id"].get<std::string>());
    const std::string previous = R"(, "previous_response_id": ")" + second["id"].get<std::string>() + R"(")";
    Json longer = spelled;
    longer.push_back({{"role", "assistant"}, {"content", "cats"}});
    longer.push_back(user("And?"));
    CHECK(input_tokens(service, list({user("And?")}), previous) == input_tokens(service, longer));
    CHECK(json_of(service.post(responses, with_input(list({{{"id", "msg_none"}}}))), 404)["error"]["param"] ==
          "input");
}

TEST_CASE("an item of a conversation may be named, and nobody else's") {
    FakeService::Options options = {.chat_template = turns, .says = "cats"};
    options.service.access.api_keys = {"ann", "bob"};
    FakeService service(options);
    const auto ask = [&](const std::string& key, const std::string& path, const std::string& body) {
        return service.ask({.method = "POST",
                            .path = path,
                            .headers = {{"host", "127.0.0.1"}, {"authorization", "Bearer " + key}},
                            .body = body});
    };
    const Json made =
        json_of(ask("ann", "/v1/conversations", R"({"items": [{"role": "user", "content": "A"}]})"));
    const std::string path = "/v1/conversations/" + made["id"].get<std::string>() + "/items";
    const Json added = json_of(ask("ann", path, R"({"items": [{"role": "user", "content": "B"}]})"));
    const std::string named =
        with_input(list({{{"type", "item_reference"}, {"id", added["data"][0]["id"]}}}));
    CHECK(json_of(ask("ann", path, R"({"items": [{"id": "msg_none"}]})"), 404)["error"]["param"] == "items");
    const Json sealed = json_of(ask("ann", compact, with_input(long_talk)))["output"][0];
    CHECK(ask("ann", responses, with_input(list({sealed}))).status == 200);
    CHECK(ask("bob", responses, with_input(list({sealed}))).status == 400);
    CHECK(ask("bob", "/v1/conversations", etna::dump_json(Json({{"items", list({sealed})}}))).status == 400);
    CHECK(ask("ann", responses, named).status == 200);
    CHECK(ask("bob", responses, named).status == 404);
}
