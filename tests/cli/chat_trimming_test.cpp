// Conversations longer than the context.

#include "cli/chat/history_trimming.hpp"
#include "core/base/json.hpp"
#include "tests/cli/chat.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

using namespace etna;
using namespace etna::test;

namespace {

using Messages = std::vector<chat::Message>;

/// Turns of very different lengths: a user's message and an answer each, the last without one.
Messages conversation_of(std::size_t turns, bool has_system) {
    Messages messages;
    if (has_system)
        messages.push_back({.role = chat::Role::system, .content = "stay"});
    for (std::size_t i = 0; i < turns; ++i) {
        messages.push_back({.role = chat::Role::user, .content = "q" + std::string(i * 7 % 40, 'x')});
        if (i + 1 < turns)
            messages.push_back({.role = chat::Role::assistant, .content = std::string(i * 11 % 60, 'y')});
    }
    return messages;
}

generate::Request request_with(Messages messages) {
    generate::Request request;
    request.prompt = chat::Conversation{.messages = std::move(messages)};
    return request;
}

/// Reference: drops one turn at a time.
std::size_t dropped_one_by_one(const generate::Model& model, Messages messages, uint32_t reserve) {
    const std::size_t head = messages.front().role == chat::Role::system ? 1 : 0;
    std::size_t dropped = 0;
    while (messages.size() > head + 1) {
        if (*count_prompt_tokens(model, request_with(messages)) + reserve <= model.context_tokens())
            break;
        const auto begin = messages.begin() + static_cast<std::ptrdiff_t>(head);
        messages.erase(begin, begin + 2);
        dropped += 2;
    }
    return dropped;
}

std::string saved_turns(std::size_t turns) {
    auto messages = nlohmann::json::array();
    for (std::size_t i = 0; i < turns; ++i) {
        messages.push_back({{"role", "user"}, {"content", "question " + std::to_string(i)}});
        messages.push_back({{"role", "assistant"}, {"content", "answer"}});
    }
    return nlohmann::json({{"messages", messages}}).dump();
}

} // namespace

TEST_CASE("only as many turns are dropped as needed") {
    Chat etna;
    etna.context_tokens = 400;
    const generate::Model model = etna.load("chatty");
    for (const std::size_t turns : {1, 2, 3, 5, 9, 20, 33, 60}) {
        for (const uint32_t reserve : {0U, 40U, 100U, 300U, 399U}) {
            for (const bool has_system : {false, true}) {
                CAPTURE(turns, reserve, has_system);
                const Messages messages = conversation_of(turns, has_system);
                const std::size_t expected = dropped_one_by_one(model, messages, reserve);
                generate::Request request = request_with(messages);
                const auto dropped = cli::trim_history(model, request, reserve);
                REQUIRE(dropped.has_value());
                CHECK(*dropped == expected);
                const Messages& left = std::get<chat::Conversation>(request.prompt).messages;
                REQUIRE(left.size() == messages.size() - expected);
                CHECK(left.back().content == messages.back().content);
                CHECK(left.front().content == messages[has_system ? 0 : expected].content);
            }
        }
    }
}

TEST_CASE("a conversation of 20,000 turns can be continued") {
    Chat etna;
    const auto file = etna.write("long.json", saved_turns(20000)).string();
    const Outcome outcome = etna.chat("/load " + file + "\nhi\n/show\n", {"--system", "stay"});
    CHECK(outcome.code == 0);
    CHECK(outcome.output == "there was a dog.\n");
    CHECK(contains(outcome.error, ": 20000 user messages"));
    CHECK(contains(outcome.error, "the oldest turns are dropped"));
    CHECK(contains(etna.prompt, "user: question 19999</s>"));
    CHECK(!contains(etna.prompt, "user: question 1</s>"));
}

TEST_CASE("tool output also makes the oldest turns drop") {
    Chat etna;
    nlohmann::json tools = nlohmann::json::parse(dice);
    tools[0]["command"] = "seq 1 40";
    etna.answers = {"one", "two", "three", calls_roll, "done"};
    const auto file = etna.write("tools.json", etna::dump_json(tools)).string();
    const auto chat_in = [&](std::size_t context_tokens, const std::string& command) {
        return etna.chat("first\nsecond\nthird\nroll\n" + command,
                         {"--yes", "-c", std::to_string(context_tokens), "-n", "80", "--tools", file});
    };
    // Tokens of the last generation, with room for its answer.
    const std::string roomy = chat_in(2000, "/stats\n").error;
    const std::string label = "prompt      ";
    const std::size_t needed = std::stoul(roomy.substr(roomy.find(label) + label.size())) + 80;
    CHECK(!contains(chat_in(needed, "").error, "are dropped"));
    const Outcome outcome = chat_in(needed - 1, "/show messages\n");
    CAPTURE(outcome.error);
    CHECK(outcome.code == 0);
    CHECK(outcome.output == "one\ntwo\nthree\none\n"); // a new prompt restarts the script
    CHECK(count(outcome.error, "the oldest turns are dropped") == 1);
    CHECK(!contains(outcome.error, "user      first\n"));
    CHECK(contains(outcome.error, "user      roll\n"));
    CHECK(contains(outcome.error, "tool      40\n"));
}

TEST_CASE("a turn that does not fit alone is removed, and the chat continues") {
    Chat etna;
    etna.answers = {"one", "never"};
    const Outcome outcome =
        etna.chat("first\nroll " + std::string(2000, 'x') + "\n/show messages\n", {"-c", "700", "-n", "80"});
    CHECK(outcome.code == 1);
    CHECK(outcome.output == "one\n");
    CHECK(contains(outcome.error, "error: this turn alone has "));
    CHECK(
        contains(outcome.error, "with its answer it must fit in the context of 700: it is removed\nhint: "));
    CHECK(contains(outcome.error, "user      first\nassistant one\n"));
    CHECK(!contains(outcome.error, "user      roll"));
}

TEST_CASE("an attached file that does not fit is refused or dropped, and the chat continues") {
    Chat etna;
    const auto huge = etna.write("huge.txt", std::string(5000, 'x')).string();
    const Outcome refused = etna.chat("/file " + huge + "\nhi\n", {"-c", "300"});
    CHECK(refused.code == 1);
    CHECK(refused.output == "there was a dog.\n");
    CHECK(contains(refused.error, "attaching huge.txt: the message would have "));
    CHECK(contains(etna.prompt, "user: hi</s>"));

    const auto large = etna.write("large.txt", std::string(230, 'x')).string();
    const Outcome dropped =
        etna.chat("/file " + large + "\n" + std::string(150, 'y') + "\nhi\n", {"-c", "300"});
    CHECK(dropped.code == 1);
    CHECK(dropped.output == "there was a dog.\n");
    CHECK(contains(dropped.error, "large.txt (230 bytes) is attached to your next message"));
    CHECK(contains(dropped.error, "note: the attached file is dropped"));
    CHECK(contains(etna.prompt, "user: hi</s>"));
}
