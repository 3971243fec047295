#include "cli/options/structure_options.hpp"

#include "cli/text_file.hpp"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::cli {
namespace {

using grammar::Description;
using grammar::Notation;

constexpr std::size_t file_bytes_max = std::size_t{4} << 20;

/// Returns whether `text` is a schema: a JSON object, whose brace does not start a file name.
bool is_json(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \n\r\t");
    return first != std::string_view::npos && text[first] == '{';
}

/// Returns whether `text` has a GBNF rule, as in llama.cpp's --grammar; file names do not contain "::=".
bool is_grammar(std::string_view text) {
    return text.find("::=") != std::string_view::npos;
}

Description one_of(const std::vector<TypedValue>& texts) {
    Description description = {.notation = Notation::choices};
    for (const TypedValue& text : texts)
        description.choices.push_back(text.text);
    return description;
}

/// Precondition: `given` is not empty.
Result<Description> description_of(std::string_view option, const std::vector<TypedValue>& given) {
    if (option == "choice")
        return one_of(given);
    const std::string& value = given.back().text;
    if (option == "regex")
        return Description{.notation = Notation::regex, .text = value};
    const bool is_schema = option == "json-schema";
    const Notation notation = is_schema ? Notation::json_schema : Notation::gbnf;
    Description description = {.notation = notation, .text = value, .place = fmt::format("--{}", option)};
    if (is_schema ? !is_json(value) : !is_grammar(value)) {
        ETNA_TRY(description.text, read_text_file(value, file_bytes_max));
    }
    return description;
}

} // namespace

Result<std::optional<Description>> read_structure(const OptionValues& values) {
    std::optional<Description> found;
    std::string_view found_by;
    for (const std::string_view option : {"json-schema", "grammar", "regex", "choice"}) {
        const std::vector<TypedValue> given = values.texts(option);
        if (given.empty())
            continue;
        if (found) {
            return Error{ErrorKind::invalid_argument,
                         fmt::format("--{} and --{} both say what the answer shall be", found_by, option),
                         "leave one of them out"};
        }
        ETNA_TRY(found, description_of(option, given));
        found_by = option;
    }
    return found;
}

} // namespace etna::cli
