// Published templates in 25 conversations each, compared with the reference's renderings
// (ETNA_REFERENCE_DATA).

#include "core/jinja/json.hpp"
#include "core/jinja/template.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include <nlohmann/json.hpp>

using namespace etna;
using namespace etna::jinja;

namespace {

constexpr int64_t reference_clock_s = 1768480496; // 2026-01-15 12:34:56 UTC, as in the data's README

std::string content_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

Input input_of(const nlohmann::ordered_json& scenario) {
    Input input = {.variables = {}, .now_unix_s = reference_clock_s};
    for (const auto& [name, value] : scenario["inputs"].items())
        input.variables.emplace_back(name, from_json(value.dump()).value());
    return input;
}

/// Compares with the error that the reference raises; an exception of the template itself has only its
/// message.
bool is_same_error(const Error& error, const std::string& expected) {
    const std::string own = "TemplateError: ";
    if (expected.compare(0, own.size(), own) == 0)
        return error.kind == ErrorKind::invalid_argument && error.message == expected.substr(own.size());
    const bool has_end =
        error.message.size() > expected.size() &&
        error.message.compare(error.message.size() - expected.size(), expected.size(), expected) == 0;
    return error.kind == ErrorKind::unsupported && has_end;
}

struct Tally {
    std::size_t equal = 0;
    std::size_t total = 0;
};

void compare_all(const std::filesystem::path& root, Tally& tally) {
    const auto scenarios =
        nlohmann::ordered_json::parse(content_of(root / "templates-expected/_scenarios.json"));
    for (const auto& entry : std::filesystem::directory_iterator(root / "templates")) {
        if (entry.path().extension() != ".jinja")
            continue;
        const std::string name = entry.path().stem().string();
        CAPTURE(name);
        const auto chat = Template::create(content_of(entry.path()));
        if (!chat)
            FAIL_CHECK(chat.error().message);
        const auto expected =
            nlohmann::json::parse(content_of(root / "templates-expected" / (name + ".json")));
        for (const auto& wanted : expected["cases"]) {
            ++tally.total;
            const auto scenario = std::find_if(scenarios.begin(), scenarios.end(), [&](const auto& each) {
                return each["name"] == wanted["scenario"];
            });
            CAPTURE(wanted["scenario"].get<std::string>());
            REQUIRE(scenario != scenarios.end());
            if (!chat)
                continue;
            const auto text = chat->render(input_of(*scenario));
            bool is_equal = false;
            if (wanted.contains("output")) {
                if (text) {
                    CHECK(text.value() == wanted["output"].get<std::string>());
                } else {
                    FAIL_CHECK(text.error().message);
                }
                is_equal = text && text.value() == wanted["output"].get<std::string>();
            } else if (text) {
                FAIL_CHECK("rendered, but the reference refuses: " + wanted["error"].get<std::string>());
            } else {
                is_equal = is_same_error(text.error(), wanted["error"].get<std::string>());
                if (!is_equal)
                    FAIL_CHECK(text.error().message + "\nexpected: " + wanted["error"].get<std::string>());
            }
            tally.equal += is_equal ? 1 : 0;
        }
    }
}

} // namespace

TEST_CASE("every template of the corpus renders as the reference does") {
    const char* data = std::getenv("ETNA_REFERENCE_DATA");
    if (data == nullptr) {
        std::cout << "not run: 84 chat templates in 25 conversations each (ETNA_REFERENCE_DATA is not set)\n";
        return;
    }
    Tally tally;
    compare_all(data, tally);
    std::cout << "chat templates: " << tally.equal << " of " << tally.total << " renderings equal\n";
    CHECK(tally.total == 2100);
}
