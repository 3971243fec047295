// The JSON-Schema-Test-Suite (ETNA_REFERENCE_DATA): each schema's texts against the suite's verdict on its
// instances. A valid one has to be accepted in one order of its members, an invalid one in none; see
// fitting_text().
//
// Schemas of the draft-07 part say that they are. Left out are format.json, which says that `format` is not
// to be looked at (optional/format judges it), host names with a label that encodes another script, which the
// language never writes (formats.hpp), instances that fit because nothing beside a `$ref` counts in draft-07,
// and optional/content.json, as what it asks for says nothing since draft 2019-09.

#include "core/grammar/schema/json_schema.hpp"
#include "core/grammar/schema/json_value.hpp"
#include "tests/grammar/fitting_text.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace etna;
using namespace etna::grammar;
using SuiteJson = nlohmann::json;

namespace {

struct Tally {
    int passed = 0;
    int refused = 0;
    int wrong = 0;
    int left_out = 0;
    std::map<std::string, int> reasons = {}; ///< of refusals
};

bool is_encoded_host(const SuiteJson& schema, const SuiteJson& instance) {
    return schema.is_object() && schema.value("format", "") == "hostname" && instance.is_string() &&
           instance.get<std::string>().find("xn--") != std::string::npos;
}

/// Siblings of a reference have no meaning up to draft-07, and do later: they are enforced in both.
bool is_of_old_drafts_alone(const SuiteJson& group) {
    return group["description"] == "ref overrides any sibling keywords";
}

/// The result of llguidance for a test; empty if unknown.
std::string yardstick_of(const SuiteJson& yardstick, const std::string& file, const SuiteJson& group,
                         const SuiteJson& test) {
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

    void judge_file(const std::filesystem::path& path, const std::string& name, const SuiteJson& yardsticks) {
        std::ifstream file(path);
        for (const SuiteJson& group : SuiteJson::parse(file))
            judge_group(group, name, yardsticks);
    }

    Tally tally;
    int yardstick = 0; ///< tests of the suite that llguidance passes

private:
    void judge_group(const SuiteJson& group, const std::string& file, const SuiteJson& yardsticks) {
        Language language;
        const auto schema = json_schema(language, dated(group["schema"]).dump(), {});
        const bool is_unsupported = !schema && schema.error().kind == ErrorKind::unsupported;
        const bool is_empty = !schema && schema.error().message == "no text fits the grammar";
        const std::string name = fmt::format("{}: {}", file, group["description"].get<std::string>());
        if (!schema && !is_unsupported && !is_empty)
            std::cout << "wrong: " << name << ": " << schema.error().message << '\n';
        for (const SuiteJson& test : group["tests"]) {
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
            if (is_valid && is_of_old_drafts_alone(group)) {
                ++tally.left_out;
                continue;
            }
            const bool is_accepted = schema && accepts(language, *schema, test["data"].dump());
            const bool is_right = (schema || is_empty) && is_accepted == is_valid;
            ++(is_right ? tally.passed : tally.wrong);
            if (!is_right)
                std::cout << "wrong: " << name << ": " << test["description"].get<std::string>() << '\n';
        }
    }

    [[nodiscard]] SuiteJson dated(SuiteJson schema) const {
        if (schema.is_object() && !dialect_.empty() && !schema.contains("$schema"))
            schema["$schema"] = dialect_;
        return schema;
    }

    static bool accepts(Language& language, Expression schema, const std::string& instance) {
        const FittingText found = fitting_text(language, schema, parse_json(instance).value());
        CHECK(found.is_exhaustive);
        return found.text.has_value();
    }

    std::string dialect_;
};

Suite judge(const std::filesystem::path& folder, const SuiteJson& yardstick, const std::string& dialect) {
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

TEST_CASE("accepted texts agree with the JSON-Schema-Test-Suite") {
    const char* const data = std::getenv("ETNA_REFERENCE_DATA");
    if (data == nullptr) {
        std::cout << "not run: the JSON-Schema-Test-Suite (ETNA_REFERENCE_DATA is not set)\n";
        return;
    }
    const auto folder = std::filesystem::path(data) / "json-schema";
    std::ifstream expected(folder / "llguidance-expected-test-suite.json");
    const SuiteJson yardstick = SuiteJson::parse(expected);
    const std::map<std::string, std::string> dialects = {
        {"draft2020-12", ""}, {"draft7", "http://json-schema.org/draft-07/schema#"}};
    for (const auto& [draft, dialect] : dialects) {
        const Suite suite = judge(folder / "test-suite" / "tests" / draft,
                                  yardstick.value(draft, SuiteJson::object()), dialect);
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
