#include "cli/commands/tokenize_command.hpp"

#include "cli/folders.hpp"
#include "cli/options/option_values.hpp"
#include "cli/prompt.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "cli/terminal/log_to_diagnostics.hpp"
#include "cli/terminal/output.hpp"
#include "core/base/json.hpp"
#include "core/base/utf8.hpp"
#include "core/gguf/file.hpp"
#include "core/store/resolve.hpp"
#include "core/text/detokenizer.hpp"
#include "core/text/tokenizer.hpp"

#include <algorithm>
#include <charconv>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::cli {
namespace {

using Ids = std::vector<TokenId>;

Result<text::Tokenizer> open_tokenizer(const std::string& model, const Environment& environment) {
    ETNA_TRY(const auto source, store::resolve(model, models_folder(environment.variables)));
    ETNA_TRY(const gguf::File file, source.path.empty() ? gguf::File::parse(source.bytes, source.name)
                                                        : gguf::File::open(source.path));
    return text::Tokenizer::create(file);
}

/// Parses decimal numbers separated by white space, commas and brackets: this command's output, or bare
/// lists.
Result<Ids> parse_ids(std::string_view text, uint32_t vocabulary_size) {
    constexpr std::string_view separators = " \t\r\n,[]";
    constexpr std::size_t shown_bytes = 20;
    Ids ids;
    for (std::size_t begin = text.find_first_not_of(separators); begin < text.size();) {
        const std::size_t end = std::min(text.find_first_of(separators, begin), text.size());
        const std::string_view word = text.substr(begin, end - begin);
        TokenId id = 0;
        const auto [stop, failure] = std::from_chars(word.data(), word.data() + word.size(), id);
        if (failure != std::errc() || stop != word.data() + word.size() || id >= vocabulary_size) {
            return Error{ErrorKind::invalid_argument,
                         fmt::format("`{}` is not a token of the model", word.substr(0, shown_bytes)),
                         fmt::format("ids are whole numbers from 0 to {}, as `etna tokenize MODEL TEXT` "
                                     "prints them",
                                     vocabulary_size - 1)};
        }
        ids.push_back(id);
        begin = text.find_first_not_of(separators, end);
    }
    return ids;
}

text::EncodeOptions encode_options(const TokenizeOptions& options) {
    if (options.special == SpecialText::is_special)
        return {};
    return {.special = text::SpecialTokens::literal, .bos = text::AddBos::never};
}

/// Returns `ids` without the BOS and EOS tokens that encoding adds.
Result<std::span<const TokenId>> without_additions(const text::Tokenizer& tokenizer,
                                                   std::span<const TokenId> ids) {
    ETNA_TRY(const Ids added, tokenizer.encode("", {}));
    const bool begins = !added.empty() && tokenizer.bos() == added.front();
    const bool ends = added.size() > (begins ? 1U : 0U);
    if (begins && !ids.empty() && ids.front() == added.front())
        ids = ids.subspan(1);
    if (ends && !ids.empty() && ids.back() == added.back())
        ids = ids.first(ids.size() - 1);
    return ids;
}

Result<std::string> text_of(const text::Tokenizer& tokenizer, std::span<const TokenId> ids,
                            const TokenizeOptions& options) {
    ETNA_TRY(const auto spoken, without_additions(tokenizer, ids));
    const bool hides = options.special == SpecialText::is_text;
    return decode(tokenizer, spoken,
                  {.control = hides ? text::ControlTokens::hidden : text::ControlTokens::shown});
}

/// Formats one JSON list on one line. A piece that is not whole UTF-8 gets `bytes` too, because JSON cannot
/// represent it.
std::string pieces_json(const text::Tokenizer& tokenizer, std::span<const TokenId> ids) {
    auto list = Json::array();
    for (const TokenId id : ids) {
        const std::string_view bytes = tokenizer.bytes(id);
        Json entry = {{"id", id}, {"piece", bytes}};
        if (valid_utf8_prefix(bytes) != bytes.size()) {
            for (const char byte : bytes)
                entry["bytes"].push_back(static_cast<uint8_t>(byte));
        }
        list.push_back(std::move(entry));
    }
    return dump_json(list) + "\n";
}

std::string ids_json(const Ids& ids) {
    return dump_json(ids) + "\n";
}

/// Adds a final newline on a terminal; a pipe or a file gets the exact text.
std::string on_screen(std::string text, const Environment& environment) {
    if (environment.output_is_terminal && !text.empty() && !text.ends_with('\n'))
        text += '\n';
    return text;
}

Result<std::string> convert(const text::Tokenizer& tokenizer, const std::string& text,
                            const TokenizeOptions& options, const Environment& environment) {
    const bool decodes = options.direction == Direction::ids_to_text;
    ETNA_TRY(const Ids ids,
             decodes ? parse_ids(text, tokenizer.size()) : tokenizer.encode(text, encode_options(options)));
    if (options.form == TokenForm::pieces)
        return pieces_json(tokenizer, ids);
    if (!decodes)
        return ids_json(ids);
    ETNA_TRY(std::string decoded, text_of(tokenizer, ids, options));
    return on_screen(std::move(decoded), environment);
}

} // namespace

Result<TokenizeOptions> validate_tokenize(const Command& command, const TypedArguments& arguments) {
    if (arguments.positionals.empty() || arguments.positionals[0].empty()) {
        return Error{ErrorKind::invalid_argument, "no model given",
                     "try `etna tokenize demo \"Hello there\"`, or `etna tokenize --help`"};
    }
    TokenizeOptions options;
    options.model = arguments.positionals[0];
    if (arguments.positionals.size() > 1)
        options.text = arguments.positionals[1];
    const OptionValues values(command, arguments);
    ETNA_TRY(const bool no_special, values.flag("no-special"));
    ETNA_TRY(const bool pieces, values.flag("pieces"));
    ETNA_TRY(const bool decodes, values.flag("decode"));
    options.special = no_special ? SpecialText::is_text : SpecialText::is_special;
    options.form = pieces ? TokenForm::pieces : TokenForm::ids;
    options.direction = decodes ? Direction::ids_to_text : Direction::text_to_ids;
    return options;
}

ExitCode tokenize_command(const TokenizeOptions& options, const Environment& environment) {
    Diagnostics diagnostics(environment);
    const LogToDiagnostics log(diagnostics, Verbosity::quiet);
    const auto fail = [&](const Error& error, ExitCode code) { return diagnostics.error(error), code; };

    std::optional<std::string> text = options.text;
    if (!text) {
        auto input = read_input(environment.input, FinalNewline::kept);
        if (!input)
            return fail(input.error(), ExitCode::failed);
        text = std::move(*input);
    }
    if (!text) {
        return fail({ErrorKind::invalid_argument, "there is no text",
                     "give it as an argument, `etna tokenize MODEL \"Once upon a time\"`, or through a pipe"},
                    ExitCode::usage);
    }
    const auto tokenizer = open_tokenizer(options.model, environment);
    if (!tokenizer)
        return fail(tokenizer.error(), ExitCode::failed);
    const auto result = convert(*tokenizer, *text, options, environment);
    if (!result) {
        return fail(result.error(),
                    options.direction == Direction::ids_to_text ? ExitCode::usage : ExitCode::failed);
    }
    Output output(environment.output);
    if (output.write(*result) == OutputState::failed)
        return fail(output.error(), ExitCode::failed);
    return ExitCode::done;
}

} // namespace etna::cli
