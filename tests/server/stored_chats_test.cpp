// Chats that are stored: found again, listed, changed, forgotten.
#include "tests/server/fake_service.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <thread>
#include <vector>

using namespace etna;
using server::Json;
using test::FakeAnswer;
using test::FakeService;

namespace {

const std::string chats = "/v1/chat/completions";
constexpr const char* turns =
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}</end>{% endfor %}<assistant>";

std::string asked(const std::string& text, const std::string& more) {
    return R"({"messages": [{"role": "user", "content": ")" + text +
           R"("}], "max_tokens": 20, "temperature": 0)" + more + "}";
}

Json json_of(const FakeAnswer& answer, int status = 200) {
    CAPTURE(answer.body);
    REQUIRE(answer.status == status);
    return etna::parse_json(answer.body);
}

/// The id of a chat that is stored.
std::string stored(FakeService& service, const std::string& text, const std::string& more = "") {
    return json_of(service.post(chats, asked(text, R"(, "store": true)" + more)))["id"];
}

std::vector<std::string> listed(FakeService& service, const std::string& query) {
    std::vector<std::string> ids;
    const Json list = json_of(service.get(chats + query));
    for (const Json& chat : list["data"])
        ids.push_back(chat["id"]);
    if (!ids.empty()) {
        CHECK(list["first_id"] == ids.front());
        CHECK(list["last_id"] == ids.back());
    }
    return ids;
}

bool has_more(FakeService& service, const std::string& query) {
    return json_of(service.get(chats + query))["has_more"];
}

} // namespace

TEST_CASE("a stored chat is what its client got, with what was asked") {
    FakeService service({.chat_template = turns, .says = "a dog"});
    const Json told = json_of(service.post(
        chats, asked("Hello", R"(, "store": true, "metadata": {"a": "b"}, "top_p": 0.5, "user": "me")")));
    const Json found = json_of(service.get(chats + "/" + told["id"].get<std::string>()));
    for (const auto& [name, value] : told.items())
        CHECK(found[name] == value);
    CHECK(found["object"] == "chat.completion");
    CHECK(found["metadata"]["a"] == "b");
    CHECK(found["top_p"] == 0.5);
    CHECK(found["input_user"] == "me");
    CHECK((found.contains("tools") && found["tools"].is_null()));
}

TEST_CASE("a streamed chat is stored as one that is whole") {
    FakeService service({.chat_template = turns, .says = "a dog"});
    const std::string whole = stored(service, "Hello");
    const FakeAnswer stream = service.post(chats, asked("Hello", R"(, "store": true, "stream": true)"));
    CHECK(stream.body.ends_with("data: [DONE]\n\n"));
    const auto ids = listed(service, "");
    REQUIRE(ids.size() == 2);
    const Json first = json_of(service.get(chats + "/" + whole));
    const Json second = json_of(service.get(chats + "/" + ids[1]));
    CHECK(second["choices"] == first["choices"]);
    CHECK(second["object"] == "chat.completion");
    CHECK(second["usage"]["completion_tokens"] == first["usage"]["completion_tokens"]);
    CHECK(stream.body.find(ids[1]) != std::string::npos);
}

TEST_CASE("only what asks for it is stored, and only where the server keeps anything") {
    FakeService service({.chat_template = turns, .says = "a dog"});
    json_of(service.post(chats, asked("Hello", "")));
    json_of(service.post(chats, asked("Hello", R"(, "store": false)")));
    CHECK(listed(service, "").empty());
    FakeService forgetful({.chat_template = turns, .says = "a dog", .store = std::nullopt});
    const FakeAnswer answer = forgetful.post(chats, asked("Hello", R"(, "store": true)"));
    CHECK(answer.status == 200);
    CHECK(answer.headers.at("etna-ignored") == "store");
    CHECK(forgetful.get(chats).status == 400);
    CHECK(forgetful.get(chats + "/chatcmpl-1").status == 400);
}

TEST_CASE("stored chats are listed in parts, by age, model and metadata") {
    FakeService service({.names = {"one", "two"}, .chat_template = turns, .says = "a dog"});
    const std::string first = stored(service, "A", R"(, "metadata": {"kind": "x", "by": "me"})");
    const std::string second = stored(service, "B", R"(, "metadata": {"kind": "y"}, "model": "two")");
    const std::string third = stored(service, "C", R"(, "metadata": {"kind": "x"})");
    using Ids = std::vector<std::string>;
    CHECK(listed(service, "") == Ids{first, second, third});
    CHECK(listed(service, "?order=desc") == Ids{third, second, first});
    CHECK(listed(service, "?limit=2") == Ids{first, second});
    CHECK(has_more(service, "?limit=2"));
    CHECK(listed(service, "?limit=2&after=" + second) == Ids{third});
    CHECK_FALSE(has_more(service, "?limit=2&after=" + second));
    CHECK(listed(service, "?order=desc&after=" + second) == Ids{first});
    CHECK(listed(service, "?model=two") == Ids{second});
    CHECK(listed(service, "?metadata[kind]=x") == Ids{first, third});
    CHECK(listed(service, "?metadata[kind]=x&metadata[by]=me") == Ids{first});
    CHECK(listed(service, "?metadata[kind]=z").empty());
    CHECK(json_of(service.get(chats + "?after=none"), 400)["error"]["param"] == "after");
    CHECK(json_of(service.get(chats + "?limit=0"), 400)["error"]["param"] == "limit");
    CHECK(json_of(service.get(chats + "?order=up"), 400)["error"]["param"] == "order");
}

TEST_CASE("metadata of a stored chat can be changed, and the chat forgotten") {
    FakeService service({.chat_template = turns, .says = "a dog"});
    const std::string id = stored(service, "A", R"(, "metadata": {"kind": "x"})");
    const std::string path = chats + "/" + id;
    const Json changed = json_of(service.post(path, R"({"metadata": {"kind": "y"}})"));
    CHECK(changed["metadata"]["kind"] == "y");
    CHECK(json_of(service.get(path)) == changed);
    CHECK(listed(service, "?metadata[kind]=x").empty());
    CHECK(listed(service, "?metadata[kind]=y").size() == 1);
    CHECK(json_of(service.post(path, "{}"), 400)["error"]["param"] == "metadata");
    CHECK(json_of(service.post(path, R"({"metadata": {"a": 1}})"), 400)["error"]["param"] == "metadata.a");
    CHECK(json_of(service.remove(path)) ==
          Json({{"object", "chat.completion.deleted"}, {"id", id}, {"deleted", true}}));
    CHECK(service.get(path).status == 404);
    CHECK(service.remove(path).status == 404);
    CHECK(service.post(path, R"({"metadata": {}})").status == 404);
    CHECK(service.get(path + "/messages").status == 404);
}

TEST_CASE("the messages of a stored chat are listed with ids") {
    FakeService service({.chat_template = turns, .says = "a dog"});
    const std::string id = json_of(service.post(chats, R"({"store": true, "max_tokens": 20, "messages": [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": [{"type": "text", "text": "One "}, {"type": "text", "text": "two"}]}]})"))
        ["id"];
    const Json list = json_of(service.get(chats + "/" + id + "/messages"));
    REQUIRE(list["data"].size() == 2);
    CHECK(list["data"][0]["id"] == id + "-0");
    CHECK(list["data"][0]["role"] == "system");
    CHECK(list["data"][0]["content"] == "Be kind.");
    CHECK(list["data"][0]["content_parts"].is_null());
    CHECK(list["data"][1]["content"] == "One two");
    CHECK(list["data"][1]["content_parts"].size() == 2);
    const Json rest = json_of(service.get(chats + "/" + id + "/messages?after=" + id + "-0"));
    CHECK(rest["data"].size() == 1);
    CHECK(rest["has_more"] == false);
}

TEST_CASE("one key does not see what another has stored as a chat") {
    FakeService::Options options = {.chat_template = turns, .says = "a dog"};
    options.service.access.api_keys = {"ann", "bob"};
    FakeService service(options);
    const auto ask = [&](const std::string& key, const std::string& method, const std::string& path,
                         const std::string& body = "") {
        return service.ask({.method = method,
                            .path = path,
                            .headers = {{"host", "127.0.0.1"}, {"authorization", "Bearer " + key}},
                            .body = body});
    };
    const std::string id = json_of(ask("ann", "POST", chats, asked("A", R"(, "store": true)")))["id"];
    CHECK(ask("ann", "GET", chats + "/" + id).status == 200);
    CHECK(ask("bob", "GET", chats + "/" + id).status == 404);
    CHECK(ask("bob", "DELETE", chats + "/" + id).status == 404);
    CHECK(ask("bob", "POST", chats + "/" + id, R"({"metadata": {}})").status == 404);
    CHECK(json_of(ask("bob", "GET", chats))["data"].empty());
    CHECK(json_of(ask("ann", "GET", chats))["data"].size() == 1);
}
