// Outputs as models write them, with what a client should get (tests/data/outputs/written): complete, and in
// pieces of one byte.

#include "core/base/json.hpp"
#include "core/output/parser.hpp"
#include "tests/output/feeding.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/folders.hpp"
#include "tests/support/values.hpp"

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

using namespace etna;
using namespace etna::output;
using nlohmann::json;

namespace {

json written_cases(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return json::parse(std::string(std::istreambuf_iterator<char>(file), {}));
}

Start start_named(const std::string& name) {
    return name == "header" ? Start::header : name == "reasoning" ? Start::reasoning : Start::content;
}

/// The calls as the file writes them: [name, arguments].
json calls_of(const Output& output) {
    json calls = json::array();
    for (const Call& call : output.calls)
        calls.push_back({call.name, json::parse(call.arguments, nullptr, false)});
    return calls;
}

} // namespace

TEST_CASE("what models write becomes the calls, content and reasoning that a client expects", "[output]") {
    std::size_t cases = 0;
    const auto folder = std::filesystem::path(ETNA_TEST_DATA) / "outputs" / "written";
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const json file = written_cases(entry.path());
        for (const json& one : file["cases"]) {
            const auto name = one["syntax"].get<std::string>();
            const auto text = one["text"].get<std::string>();
            REQUIRE(find_syntax(name) != nullptr);
            Syntax syntax = *find_syntax(name);
            for (auto& pair : syntax.reasoning)
                pair.expected = pair.expected || (one.value("reasons", true) && pair.open == "<think>");
            const auto tools = test::values_of((one.contains("tools") ? one : file)["tools"].dump());
            const ParserOptions options = {.start = start_named(one.value("start", "content")),
                                           .tools = tools};
            for (const auto& cuts : {test::Cuts(), test::every_byte(text)}) {
                const test::Fed fed = test::feed(syntax, options, text, cuts);
                INFO(entry.path().filename().string()
                     << ": " << name << ", " << one["name"] << ", " << cuts.size() + 1 << " pieces\n"
                     << text << "\n"
                     << test::to_string(fed.events));
                CHECK(test::broken_rule(fed.events).empty());
                CHECK(calls_of(fed.output) == one["exp"]["calls"]);
                CHECK(fed.output.content == one["exp"]["content"].get<std::string>());
                CHECK(fed.output.reasoning == one["exp"]["reasoning"].get<std::string>());
            }
            ++cases;
        }
    }
    CHECK(cases > 100);
}
