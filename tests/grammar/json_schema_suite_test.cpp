// The JSON-Schema-Test-Suite (ETNA_REFERENCE_DATA): each schema's texts against what the suite says of its
// instances. As the language has one way to write a value, an instance is tried
//
// - with its members in every order (up to orders_max of them): a valid one has to be accepted in one of
// them,
//   an invalid one in none;
// - with its numbers as plain digits, such as 1 for 1.0 and 1e0.
//
// Schemas of the draft-07 part say that they are. Left out are format.json, which says that `format` is not
// to be looked at (optional/format judges it), and host names with a label that encodes another script: the
// language never writes them (formats.hpp), and optional/content.json, as what it asks for says nothing since
// draft 2019-09.

#include "core/grammar/decimal.hpp"
#include "core/grammar/schema/json_schema.hpp"
#include "core/grammar/schema/json_value.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace etna;
using namespace etna::grammar;
using Json = nlohmann::json;

namespace {

constexpr std::size_t orders_max = 5040;

using Texts = std::vector<std::string>;

std::string digits_of(const std::string& number) {
    const Decimal value = decimal(number).value();
    return fmt::format("{}{}{}{}", value.is_negative ? "-" : "", value.integer, value.is_integer() ? "" : ".",
                       value.fraction);
}

/// All of `heads`, each with all of `tails` behind it.
Texts joined(const Texts& heads, const std::string& between, const Texts& tails) {
    Texts all;
    for (const std::string& head : heads) {
        for (const std::string& tail : tails) {
            if (all.size() < orders_max)
                all.push_back(head + between + tail);
        }
    }
    return all;
}

Texts writings(const JsonValue& value);

Texts writings_of_object(const JsonValue& object) {
    std::vector<std::size_t> order(object.members.size());
    std::iota(order.begin(), order.end(), 0);
    Texts all;
    do {
        Texts some = {"{"};
        for (std::size_t i = 0; i < order.size(); ++i) {
            const JsonMember& member = object.members[order[i]];
            some = joined(some, (i == 0 ? "" : ",") + Json(member.name).dump() + ":", writings(member.value));
        }
        for (const std::string& text : some)
            all.push_back(text + "}");
    } while (all.size() < orders_max && std::next_permutation(order.begin(), order.end()));
    return all;
}

Texts writings(const JsonValue& value) {
    switch (value.kind) {
    case JsonValue::Kind::null:
        return {"null"};
    case JsonValue::Kind::boolean:
        return {value.truth ? "true" : "false"};
    case JsonValue::Kind::number:
        return {digits_of(value.text)};
    case JsonValue::Kind::string:
        return {Json(value.text).dump()};
    case JsonValue::Kind::object:
        return writings_of_object(value);
    case JsonValue::Kind::array:
        break;
    }
    Texts all = {"["};
    for (std::size_t i = 0; i < value.items.size(); ++i)
        all = joined(all, i == 0 ? "" : ",", writings(value.items[i]));
    for (std::string& text : all)
        text += "]";
    return all;
}

struct Tally {
    int passed = 0;
    int refused = 0;
    int wrong = 0;
    int left_out = 0;
    std::map<std::string, int> reasons = {}; ///< of refusals
};

bool is_encoded_host(const Json& schema, const Json& instance) {
    return schema.is_object() && schema.value("format", "") == "hostname" && instance.is_string() &&
           instance.get<std::string>().find("xn--") != std::string::npos;
}

/// What llguidance makes of a test, or nothing.
std::string yardstick_of(const Json& yardstick, const std::string& file, const Json& group,
                         const Json& test) {
    const auto in_file = yardstick.find(file);
    if (in_file == yardstick.end())
        return "";
    const auto in_group = in_file->find(group["description"].get<std::string>());
    if (in_group == in_file->end())
        return "";
    return in_group->value(test["description"].get<std::string>(), "");
}

class Suite {
public:
    /// `dialect` is the `$schema` of schemas that have none.
    explicit Suite(std::string dialect) : dialect_(std::move(dialect)) {}

    void judge_file(const std::filesystem::path& path, const std::string& name, const Json& yardsticks) {
        std::ifstream file(path);
        for (const Json& group : Json::parse(file))
            judge_group(group, name, yardsticks);
    }

    Tally tally;
    int yardstick = 0; ///< tests of the suite that llguidance passes

private:
    void judge_group(const Json& group, const std::string& file, const Json& yardsticks) {
        Language language;
        const auto schema = json_schema(language, dated(group["schema"]).dump(), {});
        const bool is_unsupported = !schema && schema.error().kind == ErrorKind::unsupported;
        const bool is_empty = !schema && schema.error().message == "no text fits the grammar";
        const std::string name = fmt::format("{}: {}", file, group["description"].get<std::string>());
        if (!schema && !is_unsupported && !is_empty)
            std::cout << "wrong: " << name << ": " << schema.error().message << '\n';
        for (const Json& test : group["tests"]) {
            const std::string theirs = yardstick_of(yardsticks, file, group, test);
            const bool is_theirs = theirs == "pass" || theirs == "compile_error_all_invalid";
            yardstick += is_theirs ? 1 : 0;
            if (is_unsupported) {
                ++tally.refused;
                ++tally.reasons[schema.error().message];
                continue;
            }
            const bool is_valid = test["valid"].get<bool>();
            if (is_valid && is_encoded_host(group["schema"], test["data"])) {
                ++tally.left_out;
                continue;
            }
            const bool is_accepted = schema && accepts_any(language, *schema, test["data"].dump());
            const bool is_right = (schema || is_empty) && is_accepted == is_valid;
            ++(is_right ? tally.passed : tally.wrong);
            if (!is_right)
                std::cout << "wrong: " << name << ": " << test["description"].get<std::string>() << '\n';
        }
    }

    [[nodiscard]] Json dated(Json schema) const {
        if (schema.is_object() && !dialect_.empty() && !schema.contains("$schema"))
            schema["$schema"] = dialect_;
        return schema;
    }

    static bool accepts_any(Language& language, Expression schema, const std::string& instance) {
        const Texts all = writings(parse_json(instance).value());
        return std::any_of(all.begin(), all.end(), [&](const std::string& text) {
            return language.is_nullable(language.next(schema, text));
        });
    }

    std::string dialect_;
};

Suite judge(const std::filesystem::path& folder, const Json& yardstick, const std::string& dialect) {
    Suite suite(dialect);
    for (const char* const part : {"", "optional", "optional/format"}) {
        std::vector<std::filesystem::path> files;
        for (const auto& entry : std::filesystem::directory_iterator(folder / part)) {
            if (entry.path().extension() == ".json")
                files.push_back(entry.path());
        }
        std::sort(files.begin(), files.end());
        for (const auto& file : files) {
            const std::string stem = file.stem().string();
            const std::string name = *part == '\0' ? stem : fmt::format("{}/{}", part, stem);
            if (name != "format" && name != "optional/content")
                suite.judge_file(file, name, yardstick);
        }
    }
    return suite;
}

} // namespace

TEST_CASE("the JSON-Schema-Test-Suite agrees with what is accepted") {
    const char* const data = std::getenv("ETNA_REFERENCE_DATA");
    if (data == nullptr) {
        std::cout << "not run: the JSON-Schema-Test-Suite (ETNA_REFERENCE_DATA is not set)\n";
        return;
    }
    const auto folder = std::filesystem::path(data) / "json-schema";
    std::ifstream expected(folder / "llguidance-expected-test-suite.json");
    const Json yardstick = Json::parse(expected);
    const std::map<std::string, std::string> dialects = {
        {"draft2020-12", ""}, {"draft7", "http://json-schema.org/draft-07/schema#"}};
    for (const auto& [draft, dialect] : dialects) {
        const Suite suite =
            judge(folder / "test-suite" / "tests" / draft, yardstick.value(draft, Json::object()), dialect);
        std::cout << fmt::format("{}: {} passed, {} refused as unsupported, {} wrong, {} left out\n", draft,
                                 suite.tally.passed, suite.tally.refused, suite.tally.wrong,
                                 suite.tally.left_out);
        if (suite.yardstick > 0) {
            std::cout << fmt::format("{}: the yardstick passes {} of the same tests\n", draft,
                                     suite.yardstick);
            CHECK(suite.tally.passed >= suite.yardstick);
        }
        if (std::getenv("ETNA_VERBOSE") != nullptr) {
            for (const auto& [reason, count] : suite.tally.reasons)
                std::cout << fmt::format("  {:3} {}\n", count, reason);
        }
        CHECK(suite.tally.wrong == 0);
    }
}
