// Stored chats: retrieved, listed, changed, deleted.
#include "tests/server/api_client.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <thread>
#include <vector>

using namespace etna;
using namespace etna::test;

namespace {

const std::string stored_chats_path = "/v1/chat/completions";
constexpr const char* stored_template =
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}</end>{% endfor %}<assistant>";

std::string stored_body(const std::string& text, const std::string& more) {
    return R"({"messages": [{"role": "user", "content": ")" + text +
           R"("}], "max_tokens": 20, "temperature": 0)" + more + "}";
}

/// The id of a chat that is stored.
std::string store_chat(FakeService& service, const std::string& text, const std::string& more = "") {
    return json_of(service.post(stored_chats_path, stored_body(text, R"(, "store": true)" + more)))["id"];
}

std::vector<std::string> listed_ids(FakeService& service, const std::string& query) {
    std::vector<std::string> ids;
    const Json list = json_of(service.get(stored_chats_path + query));
    for (const Json& chat : list["data"])
        ids.push_back(chat["id"]);
    if (!ids.empty()) {
        CHECK(list["first_id"] == ids.front());
        CHECK(list["last_id"] == ids.back());
    }
    return ids;
}

bool has_more_chats(FakeService& service, const std::string& query) {
    return json_of(service.get(stored_chats_path + query))["has_more"];
}

} // namespace

TEST_CASE("a stored chat is the returned object with fields of the request") {
    FakeService service({.chat_template = stored_template, .says = "a dog"});
    const Json created = json_of(service.post(
        stored_chats_path,
        stored_body("Hello", R"(, "store": true, "metadata": {"a": "b"}, "top_p": 0.5, "user": "me")")));
    const Json found = json_of(service.get(stored_chats_path + "/" + created["id"].get<std::string>()));
    for (const auto& [name, value] : created.items())
        CHECK(found[name] == value);
    CHECK(found["object"] == "chat.completion");
    CHECK(found["metadata"]["a"] == "b");
    CHECK(found["top_p"] == 0.5);
    CHECK(found["input_user"] == "me");
    CHECK((found.contains("tools") && found["tools"].is_null()));
}

TEST_CASE("a streamed chat is stored like a complete one") {
    FakeService service({.chat_template = stored_template, .says = "a dog"});
    const std::string complete = store_chat(service, "Hello");
    const FakeAnswer stream =
        service.post(stored_chats_path, stored_body("Hello", R"(, "store": true, "stream": true)"));
    CHECK(stream.body.ends_with("data: [DONE]\n\n"));
    const auto ids = listed_ids(service, "");
    REQUIRE(ids.size() == 2);
    const Json first = json_of(service.get(stored_chats_path + "/" + complete));
    const Json second = json_of(service.get(stored_chats_path + "/" + ids[1]));
    CHECK(second["choices"] == first["choices"]);
    CHECK(second["object"] == "chat.completion");
    CHECK(second["usage"]["completion_tokens"] == first["usage"]["completion_tokens"]);
    CHECK(stream.body.find(ids[1]) != std::string::npos);
}

TEST_CASE("a chat is stored only with `store`, on a server with a store") {
    FakeService service({.chat_template = stored_template, .says = "a dog"});
    json_of(service.post(stored_chats_path, stored_body("Hello", "")));
    json_of(service.post(stored_chats_path, stored_body("Hello", R"(, "store": false)")));
    CHECK(listed_ids(service, "").empty());
    FakeService storeless({.chat_template = stored_template, .says = "a dog", .store = std::nullopt});
    const FakeAnswer answer = storeless.post(stored_chats_path, stored_body("Hello", R"(, "store": true)"));
    CHECK(answer.status == 200);
    CHECK(answer.headers.at("etna-ignored") == "store");
    CHECK(storeless.get(stored_chats_path).status == 400);
    CHECK(storeless.get(stored_chats_path + "/chatcmpl-1").status == 400);
}

TEST_CASE("stored chats are paginated, and filtered by model and metadata") {
    FakeService service({.names = {"one", "two"}, .chat_template = stored_template, .says = "a dog"});
    const std::string first = store_chat(service, "A", R"(, "metadata": {"kind": "x", "by": "me"})");
    const std::string second = store_chat(service, "B", R"(, "metadata": {"kind": "y"}, "model": "two")");
    const std::string third = store_chat(service, "C", R"(, "metadata": {"kind": "x"})");
    using Ids = std::vector<std::string>;
    CHECK(listed_ids(service, "") == Ids{first, second, third});
    CHECK(listed_ids(service, "?order=desc") == Ids{third, second, first});
    CHECK(listed_ids(service, "?limit=2") == Ids{first, second});
    CHECK(has_more_chats(service, "?limit=2"));
    CHECK(listed_ids(service, "?limit=2&after=" + second) == Ids{third});
    CHECK_FALSE(has_more_chats(service, "?limit=2&after=" + second));
    CHECK(listed_ids(service, "?order=desc&after=" + second) == Ids{first});
    CHECK(listed_ids(service, "?model=two") == Ids{second});
    CHECK(listed_ids(service, "?metadata[kind]=x") == Ids{first, third});
    CHECK(listed_ids(service, "?metadata[kind]=x&metadata[by]=me") == Ids{first});
    CHECK(listed_ids(service, "?metadata[kind]=z").empty());
    CHECK(json_of(service.get(stored_chats_path + "?after=none"), 400)["error"]["param"] == "after");
    CHECK(json_of(service.get(stored_chats_path + "?limit=0"), 400)["error"]["param"] == "limit");
    CHECK(json_of(service.get(stored_chats_path + "?order=up"), 400)["error"]["param"] == "order");
}

TEST_CASE("metadata of a stored chat can be changed, and the chat deleted") {
    FakeService service({.chat_template = stored_template, .says = "a dog"});
    const std::string id = store_chat(service, "A", R"(, "metadata": {"kind": "x"})");
    const std::string path = stored_chats_path + "/" + id;
    const Json changed = json_of(service.post(path, R"({"metadata": {"kind": "y"}})"));
    CHECK(changed["metadata"]["kind"] == "y");
    CHECK(json_of(service.get(path)) == changed);
    CHECK(listed_ids(service, "?metadata[kind]=x").empty());
    CHECK(listed_ids(service, "?metadata[kind]=y").size() == 1);
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
    FakeService service({.chat_template = stored_template, .says = "a dog"});
    const std::string id =
        json_of(service.post(stored_chats_path, R"({"store": true, "max_tokens": 20, "messages": [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": [{"type": "text", "text": "One "}, {"type": "text", "text": "two"}]}]})"))
            ["id"];
    const Json list = json_of(service.get(stored_chats_path + "/" + id + "/messages"));
    REQUIRE(list["data"].size() == 2);
    CHECK(list["data"][0]["id"] == id + "-0");
    CHECK(list["data"][0]["role"] == "system");
    CHECK(list["data"][0]["content"] == "Be kind.");
    CHECK(list["data"][0]["content_parts"].is_null());
    CHECK(list["data"][1]["content"] == "One two");
    CHECK(list["data"][1]["content_parts"].size() == 2);
    const Json rest = json_of(service.get(stored_chats_path + "/" + id + "/messages?after=" + id + "-0"));
    CHECK(rest["data"].size() == 1);
    CHECK(rest["has_more"] == false);
}

TEST_CASE("a stored chat is visible only to its API key") {
    FakeService::Options options = {.chat_template = stored_template, .says = "a dog"};
    options.service.access.api_keys = {"ann", "bob"};
    FakeService service(options);
    const auto ask = [&](const std::string& key, const std::string& method, const std::string& path,
                         const std::string& body = "") { return send_as(service, key, method, path, body); };
    const std::string id =
        json_of(ask("ann", "POST", stored_chats_path, stored_body("A", R"(, "store": true)")))["id"];
    CHECK(ask("ann", "GET", stored_chats_path + "/" + id).status == 200);
    CHECK(ask("bob", "GET", stored_chats_path + "/" + id).status == 404);
    CHECK(ask("bob", "DELETE", stored_chats_path + "/" + id).status == 404);
    CHECK(ask("bob", "POST", stored_chats_path + "/" + id, R"({"metadata": {}})").status == 404);
    CHECK(json_of(ask("bob", "GET", stored_chats_path))["data"].empty());
    CHECK(json_of(ask("ann", "GET", stored_chats_path))["data"].size() == 1);
}
