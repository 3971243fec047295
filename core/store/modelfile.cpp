#include "core/store/modelfile.hpp"

#include "core/gguf/cursor.hpp"
#include "core/sampling/parameter_table.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::store {
namespace {

constexpr std::string_view word_ends = " \t\r";

struct ParameterName {
    std::string_view ollama;
    std::string_view etna;
};

/// The parameters besides those of sampling.
constexpr std::array other_parameters = {
    ParameterName{"seed", "seed"},
    ParameterName{"stop", "stop"},
    ParameterName{"num_ctx", "ctx-size"},
    ParameterName{"num_predict", "max-tokens"},
};

/// Returns all names, those of sampling first.
const std::vector<ParameterName>& parameter_names() {
    static const std::vector<ParameterName> all = [] {
        std::vector<ParameterName> names;
        for (const sampling::Parameter& parameter : sampling::parameter_table()) {
            if (!parameter.modelfile.empty())
                names.push_back({parameter.modelfile, parameter.command_line.name});
        }
        names.insert(names.end(), other_parameters.begin(), other_parameters.end());
        return names;
    }();
    return all;
}

std::string_view trimmed(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(word_ends), text.size()));
    return text.substr(0, text.find_last_not_of(word_ends) + 1);
}

std::string in_capitals(std::string_view text) {
    std::string upper(text);
    for (char& c : upper)
        c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    return upper;
}

/// Whether an action of the template is one of Go's: {{ .Prompt }}, {{ if .System }}, {{- end }}.
bool is_go_template(std::string_view text) {
    constexpr std::array<std::string_view, 7> words = {".", "$", "if ", "else", "end", "range ", "with "};
    for (std::size_t at = text.find("{{"); at != std::string_view::npos; at = text.find("{{", at + 2)) {
        std::string_view action = text.substr(at + 2);
        action.remove_prefix(std::min(action.find_first_not_of("- \t\r\n"), action.size()));
        if (std::ranges::any_of(words, [&](std::string_view word) { return action.starts_with(word); }))
            return true;
    }
    return false;
}

class ModelfileReader {
public:
    ModelfileReader(std::string_view text, std::string_view origin) : rest_(text), origin_(origin) {}

    Result<Modelfile> read();

private:
    [[nodiscard]] Error refused(std::string_view problem, std::string hint) const {
        return invalid_argument(fmt::format("{}:{}: {}", origin_, line_, problem), std::move(hint));
    }
    std::string_view next_line();
    Result<std::string> value_of(std::string_view text);
    Status apply(std::string_view instruction, std::string_view value);
    Status add_parameter(std::string_view text);
    void set(std::string_view name, std::string value);

    std::string_view rest_;
    std::string_view origin_;
    std::size_t line_ = 0;
    Modelfile modelfile_ = {};
};

std::string_view ModelfileReader::next_line() {
    ++line_;
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return line;
}

/// Returns the text of a value: plain, in quotes, or in three quotes over several lines.
Result<std::string> ModelfileReader::value_of(std::string_view text) {
    constexpr std::string_view quotes = "\"\"\"";
    if (!text.starts_with(quotes)) {
        const bool is_quoted = text.size() > 1 && text.front() == '"' && text.back() == '"';
        return std::string(is_quoted ? text.substr(1, text.size() - 2) : text);
    }
    const std::size_t first_line = line_;
    std::string value(text.substr(quotes.size()));
    while (value.find(quotes) == std::string::npos) {
        if (rest_.empty()) {
            line_ = first_line;
            return refused("three quotes are not closed", "close the text with \"\"\"");
        }
        value += "\n";
        value += next_line();
    }
    value.resize(value.find(quotes));
    return value;
}

void ModelfileReader::set(std::string_view name, std::string value) {
    auto found = std::ranges::find(modelfile_.options, name, &PresetOption::name);
    if (found == modelfile_.options.end())
        found = modelfile_.options.insert(found, PresetOption{std::string(name), {}});
    if (name != "stop")
        found->values.clear();
    found->values.push_back(std::move(value));
}

Status ModelfileReader::add_parameter(std::string_view text) {
    const std::size_t end = std::min(text.find_first_of(word_ends), text.size());
    const std::string_view name = text.substr(0, end);
    const auto known = std::ranges::find(parameter_names(), name, &ParameterName::ollama);
    if (known == parameter_names().end()) {
        return refused(fmt::format("etna has no parameter {}", gguf::backquoted(name)),
                       "remove the line; `etna create --help` lists the options");
    }
    ETNA_TRY(std::string value, value_of(trimmed(text.substr(end))));
    if (value.empty())
        return refused(fmt::format("PARAMETER {} has no value", name), "write PARAMETER NAME VALUE");
    set(known->etna, std::move(value));
    return {};
}

Status ModelfileReader::apply(std::string_view instruction, std::string_view value) {
    const std::string name = in_capitals(instruction);
    if (name == "PARAMETER")
        return add_parameter(value);
    ETNA_TRY(std::string text, value_of(value));
    if (name == "FROM") {
        modelfile_.from = std::move(text);
    } else if (name == "SYSTEM") {
        set("system", std::move(text));
    } else if (name == "TEMPLATE") {
        if (is_go_template(text)) {
            return refused("TEMPLATE is in Go's template language, and etna's templates are in Jinja",
                           "remove it: a GGUF file has its own; or write it in Jinja");
        }
        modelfile_.chat_template = std::move(text);
    } else if (name != "LICENSE") {
        return refused(fmt::format("etna has no instruction {}", gguf::backquoted(instruction)),
                       "use FROM, SYSTEM, TEMPLATE, PARAMETER and LICENSE");
    }
    return {};
}

Result<Modelfile> ModelfileReader::read() {
    while (!rest_.empty()) {
        const std::string_view line = trimmed(next_line());
        if (line.empty() || line.front() == '#')
            continue;
        const std::size_t end = std::min(line.find_first_of(word_ends), line.size());
        ETNA_CHECK(apply(line.substr(0, end), trimmed(line.substr(end))));
    }
    if (modelfile_.from.empty())
        return invalid_argument(fmt::format("{}: there is no FROM", origin_), "add the line FROM MODEL");
    return std::move(modelfile_);
}

} // namespace

Result<Modelfile> parse_modelfile(std::string_view text, std::string_view origin) {
    if (text.find('\0') != std::string_view::npos)
        return invalid_argument(fmt::format("{}: a Modelfile is text, and this has a zero byte", origin));
    return ModelfileReader(text, origin).read();
}

std::string_view ollama_parameter(std::string_view option) {
    const auto known = std::ranges::find(parameter_names(), option, &ParameterName::etna);
    return known == parameter_names().end() ? option : known->ollama;
}

} // namespace etna::store
