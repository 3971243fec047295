#include "tests/cli/harness.hpp"
#include "tests/support/catch.hpp"

#include <nlohmann/json.hpp>

using namespace etna;
using test::Harness;
using test::InputKind;
using test::Outcome;

namespace {

constexpr const char* request = R"({"messages": [{"role": "user", "content": "Hi"}]})";
constexpr const char* two_users =
    R"({"messages": [{"role": "user", "content": "Hi"}, {"role": "user", "content": "Ho"}]})";

struct Render : Harness {
    Outcome render(const std::string& json, std::vector<std::string> more) {
        input_kind = InputKind::pipe;
        input = json;
        more.insert(more.begin(), "render");
        return run(more);
    }
};

} // namespace

TEST_CASE("render prints the exact prompt, with a template from a file, by name, or of a model") {
    Render etna;
    const auto file =
        etna.write("chat.jinja", "{{ bos_token }}<{{ messages[0].content }}>{{ eos_token }}").string();
    CHECK(etna.render(request, {"--chat-template", file, "--bos", "B", "--eos", "E"}).output == "B<Hi>E");
    CHECK(etna.render(request, {"--chat-template", file}).output == "<Hi>");
    CHECK(etna.render(request, {"stories", "--chat-template", file}).output == "<s><Hi></s>");
    CHECK(etna.render(request, {"--chat-template", "vicuna"}).output == "USER: Hi\nASSISTANT:");
    etna.install_model("chatty", {{"tokenizer.chat_template", "[{{ messages[0].content }}]"},
                                  {"tokenizer.chat_template.tool_use", "tools"},
                                  {"tokenizer.chat_template.rag", "documents"}});
    CHECK(etna.render(request, {"chatty"}).output == "[Hi]");
    CHECK(etna.render(request, {"chatty", "--chat-template", "rag"}).output == "documents");
    CHECK(etna.render(R"({"messages": [], "tools": [{}]})", {"chatty"}).output == "tools");
    CHECK(etna.render(R"({"messages": [], "documents": [{}]})", {"chatty"}).output == "documents");
}

TEST_CASE("render --json adds the token ids") {
    Render etna;
    const auto of_model = nlohmann::json::parse(
        etna.render(request, {"stories", "--chat-template", "vicuna", "--json"}).output);
    CHECK(of_model["text"] == "USER: Hi\nASSISTANT:");
    REQUIRE(of_model["tokens"].is_array());
    CHECK(of_model["tokens"][0] == 1); // the begin token, which the template leaves to the tokenizer
    const auto started = nlohmann::json::parse(
        etna.render(request, {"stories", "--chat-template", "llama2", "--json"}).output);
    CHECK(started["tokens"][0] == 1);
    CHECK(started["tokens"][1] != 1);
    CHECK(
        nlohmann::json::parse(etna.render(request, {"--chat-template", "vicuna", "--json"}).output)["tokens"]
            .is_null());
}

TEST_CASE("a template's refusal is reported in its words; --adapt changes the request") {
    Render etna;
    const Outcome refused = etna.render(two_users, {"--chat-template", "llama2"});
    CHECK(refused.code == 1);
    CHECK(refused.output.empty());
    CHECK(refused.error.find("error: user and assistant have to take turns\nhint: add --adapt") !=
          std::string::npos);
    const Outcome adapted = etna.render(two_users, {"--chat-template", "llama2", "--bos", "<s>", "--adapt"});
    CHECK(adapted.output == "<s>[INST] Hi\n\nHo [/INST]");
    CHECK(adapted.error.find("note: the chat template requires alternating roles") != std::string::npos);
}

TEST_CASE("render refuses invalid requests and names the missing part") {
    Render etna;
    CHECK(etna.render(request, {}).code == 2);
    CHECK(etna.render("{", {"--chat-template", "vicuna"}).code == 1);
    CHECK(etna.render("", {"--chat-template", "vicuna"}).code == 1);
    const Outcome unknown = etna.render(request, {"--chat-template", "nothing"});
    CHECK(unknown.code == 1);
    CHECK(unknown.error.find("there is no chat template `nothing`") != std::string::npos);
    const auto broken = etna.write("broken.jinja", "line one\n{% if %}").string();
    const Outcome place = etna.render(request, {"--chat-template", broken});
    CHECK(place.code == 1);
    CHECK(place.error.find("line 2, column") != std::string::npos);
    etna.input_kind = InputKind::none;
    CHECK(etna.run({"render", "stories"}).code == 2);
}

TEST_CASE("SOURCE_DATE_EPOCH sets the clock of templates") {
    Render etna;
    etna.variables["SOURCE_DATE_EPOCH"] = "1768480496";
    const auto file = etna.write("clock.jinja", "{{ strftime_now('%Y-%m-%d %H:%M:%S') }}").string();
    CHECK(etna.render(request, {"--chat-template", file}).output == "2026-01-15 12:34:56");
}
