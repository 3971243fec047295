// Calls as real templates write them into a conversation, read back (ETNA_REFERENCE_DATA).

#include "core/output/choose.hpp"
#include "core/output/parser.hpp"
#include "tests/output/feeding.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

using namespace etna;
using namespace etna::output;
using nlohmann::json;

namespace {

std::string content_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

// What these write is no call that their models would write.
const std::set<std::string> not_a_call = {
    "ovms-extras--chat_template_phi4_mini", // leaves the mark out
    "ovms-extras--chat_template_gpt_oss",   // arguments in Python's notation, where the model writes JSON
    "MiniMax-M3", // objects as nested elements, see its family: nested arguments only
};

struct Written {
    std::string text; ///< from the last user's message on
    json calls;       ///< of the assistant's turn
};

/// Nothing: the template refuses the conversation, or writes no calls.
std::optional<Written> written(const json& reference, const json& scenario) {
    const std::string name = scenario["name"];
    const auto& cases = reference["cases"];
    const auto one = std::find_if(cases.begin(), cases.end(),
                                  [&](const json& other) { return other["scenario"] == name; });
    if (one == cases.end() || !one->contains("output") || !(*one)["output"].is_string())
        return std::nullopt;
    Written result{.text = (*one)["output"], .calls = {}};
    std::string question;
    for (const auto& message : scenario["inputs"]["messages"]) {
        if (message["role"] == "user")
            question = message["content"];
        if (message.contains("tool_calls"))
            result.calls = message["tool_calls"];
    }
    result.text.erase(0, result.text.rfind(question) + question.size());
    const auto* const proof = name == "toolcall_parallel" ? "celsius" : "max_age";
    if (result.text.find(proof) == std::string::npos)
        return std::nullopt;
    return result;
}

/// Where the assistant's turn begins: behind the word that names it.
std::string turn_of(std::string text) {
    const std::array<std::string_view, 4> heads = {"<|end_header_id|>\n\n", "<|im_start|>assistant\n",
                                                   "[/INST]", "<|assistant|>"};
    for (const auto head : heads) {
        if (const auto at = text.find(head); at != std::string::npos)
            return text.substr(at + head.size());
    }
    return text;
}

} // namespace

TEST_CASE("calls as templates write them are read back", "[output]") {
    const char* folder = std::getenv("ETNA_REFERENCE_DATA");
    if (folder == nullptr) {
        std::cout << "not run: calls of the reference templates, ETNA_REFERENCE_DATA is not set\n";
        return;
    }
    const auto data = std::filesystem::path(folder);
    const json scenarios = json::parse(content_of(data / "templates-expected" / "_scenarios.json"));
    std::size_t read = 0;
    std::size_t left_out = 0;
    for (const auto& scenario : scenarios) {
        if (scenario["name"] != "toolcall_parallel" && scenario["name"] != "toolcall_nested_args")
            continue;
        const std::string tools = scenario["inputs"]["tools"].dump();
        for (const auto& entry : std::filesystem::directory_iterator(data / "templates")) {
            const std::string stem = entry.path().stem().string();
            if (entry.path().extension() != ".jinja")
                continue;
            const json reference = json::parse(content_of(data / "templates-expected" / (stem + ".json")));
            const auto text = written(reference, scenario);
            const bool nested = scenario["name"] == "toolcall_nested_args";
            if (!text || (not_a_call.contains(stem) && (nested || stem != "MiniMax-M3"))) {
                ++left_out;
                continue;
            }
            const Syntax syntax = choose_syntax(content_of(entry.path()), HasToken());
            const auto fed = test::feed(syntax, {.tools = tools}, turn_of(text->text), {});
            INFO(stem << " " << syntax.name << "\n" << text->text << "\n" << test::to_string(fed.events));
            // one function at a time is all that some templates write
            const bool only_first =
                fed.output.calls.size() == 1 && text->text.find("Oslo\"") == std::string::npos;
            CHECK((fed.output.calls.size() == text->calls.size() || only_first));
            for (std::size_t i = 0; i < std::min(fed.output.calls.size(), text->calls.size()); ++i) {
                const json& function = text->calls[i]["function"];
                CHECK(fed.output.calls[i].name == function["name"].get<std::string>());
                CHECK(json::parse(fed.output.calls[i].arguments) == function["arguments"]);
            }
            ++read;
        }
    }
    std::cout << "calls read back: " << read << " conversations, " << left_out << " without calls\n";
    CHECK(read > 90);
}
