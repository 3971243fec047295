// Genuine templates against what jinja2 renders, where the reference data is at hand (ETNA_REFERENCE_DATA).

#include "core/chat/chat_template.hpp"
#include "tests/support/catch.hpp"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <vector>

#include <nlohmann/json.hpp>

using namespace etna;
using namespace etna::chat;

namespace {

std::string content_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<Message> messages_of(const nlohmann::json& scenario) {
    std::vector<Message> messages;
    for (const auto& message : scenario["inputs"]["messages"]) {
        const std::string role = message["role"];
        messages.push_back({role == "system" ? Role::system : (role == "user" ? Role::user : Role::assistant),
                            message["content"].get<std::string>()});
    }
    return messages;
}

struct Case {
    const char* file;
    const char* family;
    std::vector<std::string> scenarios;
};

// Templates without a default system message of their own, and scenarios of plain messages.
const std::vector<std::string> every = {"chat3", "chat3_system", "unicode", "whitespace"};
const std::vector<std::string> given_system = {"chat3_system", "unicode"};
const std::vector<Case> cases = {
    {"mistralrs--chatml", "ChatML", every},
    {"Bielik-11B-v3.0-Instruct", "ChatML", {"chat3", "chat3_system", "unicode"}},
    {"LFM2.5-Instruct", "ChatML", {"chat3", "chat3_system", "unicode"}},
    {"Qwen3-Coder", "ChatML", {"chat3", "chat3_system"}},
    {"ovms-test--chat_template_qwen3", "ChatML", {"chat3", "chat3_system", "unicode"}},
    {"MiMo-VL", "ChatML", given_system},
    {"hfcfg--llama3", "Llama 3", every},
    {"mistralrs--llama3", "Llama 3", every},
    {"google-gemma-2-2b-it", "Gemma 2", every},
    {"mistralrs--llama2", "Llama 2", every},
    {"mistralrs--default", "Llama 2", given_system},
    {"mistralrs--mistral", "Mistral V1", every},
    {"ovms-test--chat_template_mistral7b_v03", "Mistral V3", every},
    {"hfcfg--mistral_nemo", "Mistral Tekken", every},
    {"mistralai-Mistral-Nemo-Instruct-2407", "Mistral Tekken", every},
    {"Mistral-Small-3.2-24B-Instruct-2506", "Mistral V7", given_system},
};

} // namespace

TEST_CASE("genuine templates render as the reference does") {
    const char* data = std::getenv("ETNA_REFERENCE_DATA");
    if (data == nullptr) {
        std::cout << "not run: " << cases.size() << " chat templates (ETNA_REFERENCE_DATA is not set)\n";
        return;
    }
    const std::string root = data;
    const auto scenarios = nlohmann::json::parse(content_of(root + "/templates-expected/_scenarios.json"));
    for (const Case& each : cases) {
        const auto chat = ChatTemplate::create(content_of(root + "/templates/" + each.file + ".jinja"));
        CAPTURE(each.file);
        REQUIRE(chat.has_value());
        CHECK(chat->family() == each.family);
        const auto expected =
            nlohmann::json::parse(content_of(root + "/templates-expected/" + each.file + ".json"));
        std::size_t compared = 0;
        for (const auto& scenario : scenarios) {
            if (std::count(each.scenarios.begin(), each.scenarios.end(),
                           scenario["name"].get<std::string>()) == 0)
                continue;
            for (const auto& wanted : expected["cases"]) {
                if (wanted["scenario"] != scenario["name"])
                    continue;
                const auto prompt = chat->render(messages_of(scenario), {"<s>", "</s>"});
                CAPTURE(scenario["name"].get<std::string>());
                ++compared;
                if (wanted.contains("output") && wanted["output"].is_string()) {
                    REQUIRE(prompt.has_value());
                    CHECK(prompt.value() == wanted["output"].get<std::string>());
                } else {
                    CHECK(!prompt.has_value());
                }
            }
        }
        CHECK(compared == each.scenarios.size());
    }
}
