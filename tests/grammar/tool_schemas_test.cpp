// The tools of BFCL (ETNA_REFERENCE_DATA): every schema can be enforced, except two that no value fits, with
// an `enum` of strings for an integer and for an array. The type names of Python, Java and JavaScript are
// replaced by JSON Schema's.

#include "core/base/json.hpp"
#include "core/grammar/schema/json_schema.hpp"
#include "tests/support/catch.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <string>

using namespace etna;
using namespace etna::grammar;
using OrderedJson = etna::Json;

namespace {

/// JSON Schema's names of types; empty for any type.
const std::map<std::string, std::string> types = {
    {"dict", "object"},
    {"HashMap", "object"},
    {"float", "number"},
    {"double", "number"},
    {"long", "integer"},
    {"String", "string"},
    {"char", "string"},
    {"Boolean", "boolean"},
    {"Array", "array"},
    {"ArrayList", "array"},
    {"tuple", "array"},
    {"any", ""},
    {"", ""},
};

void name_types(OrderedJson& schema) {
    if (schema.is_array()) {
        for (OrderedJson& item : schema)
            name_types(item);
    }
    if (!schema.is_object())
        return;
    const auto type = schema.find("type");
    if (type != schema.end() && type->is_string() && types.contains(type->get<std::string>())) {
        const std::string& named = types.at(type->get<std::string>());
        if (named.empty())
            schema.erase("type");
        else
            schema["type"] = named;
    }
    for (auto& [key, value] : schema.items()) {
        if (key != "enum" && key != "default")
            name_types(value);
    }
}

} // namespace

TEST_CASE("the schemas of all BFCL tools can be enforced") {
    const char* const data = std::getenv("ETNA_REFERENCE_DATA");
    if (data == nullptr) {
        std::cout << "not run: the tools of BFCL (ETNA_REFERENCE_DATA is not set)\n";
        return;
    }
    const std::set<std::string> contradictions = {"extract_parameters_v1", "Events_3_BuyEventTickets"};
    int contradictory = 0;
    int count = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(data) / "tool-calling/bfcl")) {
        if (entry.path().filename().string().rfind("BFCL_", 0) != 0)
            continue;
        std::ifstream file(entry.path());
        for (std::string line; std::getline(file, line);) {
            for (OrderedJson& tool : etna::parse_json(line).value("function", OrderedJson::array())) {
                name_types(tool["parameters"]);
                Language language;
                const auto schema = json_schema(language, etna::dump_json(tool["parameters"]), {});
                CAPTURE(tool["name"], schema ? "" : schema.error().message);
                if (contradictions.contains(tool["name"].get<std::string>()) && !schema) {
                    CHECK(schema.error().message == "no text fits the grammar");
                    ++contradictory;
                    continue;
                }
                CHECK(schema.has_value());
                ++count;
            }
        }
    }
    std::cout << "BFCL: the schemas of " << count << " tools can be enforced\n";
    CHECK(count == 2480);
    CHECK(contradictory == 2);
}
