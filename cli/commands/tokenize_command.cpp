#include "cli/commands/commands.hpp"
#include "cli/environment.hpp"
#include "cli/options/command_line.hpp"
#include "cli/options/compat.hpp"
#include "cli/options/hub_options.hpp"
#include "cli/options/option_values.hpp"
#include "cli/pull_model.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "cli/text_io.hpp"
#include "core/base/json.hpp"
#include "core/base/utf8.hpp"
#include "core/gguf/file.hpp"
#include "core/text/detokenizer.hpp"
#include "core/text/tokenizer.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::cli {
namespace {

enum class Direction { text_to_ids, ids_to_text };
enum class SpecialText {
    is_special, ///< "<|im_end|>" is that token, when encoding and when decoding
    is_text,    ///< encoded as plain text; as an id it decodes to nothing
};
enum class TokenForm { ids, pieces };

/// The validated command line of `etna tokenize`.
struct TokenizeOptions {
    std::string model;
    HubOptions hub;
    std::optional<std::string> text; ///< absent: standard input
    Direction direction = Direction::text_to_ids;
    SpecialText special = SpecialText::is_special;
    TokenForm form = TokenForm::ids;
};

constexpr std::array tokenize_positionals = {
    model_positional,
    Positional{.name = "TEXT",
               .description = "the text, or ids with --decode; standard input if absent",
               .presence = Presence::optional},
};

constexpr std::array tokenize_rows = {
    Option{.name = "no-special",
           .description = "add no special tokens and read their names, such as </s>, as text; with --decode, "
                          "they give no text"},
    Option{.name = "pieces",
           .description = "print an object per token: id, text, and bytes if they are not complete UTF-8"},
    Option{.name = "decode", .description = "read ids, as JSON or as bare numbers, and print their text"},
    help_option,
    help_all_option,
};

constexpr auto tokenize_options = in_category(Category::output, tokenize_rows);

constexpr auto tokenize_compat =
    joined(compat_model, std::array{CompatOption{.names = "-p, --prompt", .ours = "TEXT"}});

constexpr std::array tokenize_examples = {
    Example{"etna tokenize demo \"Hello there\"", "the ids as JSON"},
    Example{"etna tokenize demo --pieces < notes.txt", "each token of a file and its text"},
    Example{"etna tokenize demo \"Hello\" | etna tokenize demo --decode", "text to ids and back"},
};

using Ids = std::vector<TokenId>;

Result<text::Tokenizer> open_tokenizer(const TokenizeOptions& options, const Environment& environment,
                                       Diagnostics& diagnostics) {
    ETNA_TRY(const auto source, find_model(options.model, options.hub, environment, diagnostics));
    ETNA_TRY(const gguf::File file, generate::open_file(source));
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
            return invalid_argument(
                fmt::format("`{}` is not a token of the model", word.substr(0, shown_bytes)),
                fmt::format("use whole numbers from 0 to {}, as printed by `etna tokenize MODEL TEXT`",
                            vocabulary_size - 1));
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

/// Formats one JSON list on one line. A piece that is not complete UTF-8 gets `bytes` too, because JSON
/// cannot represent it.
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

/// Errors: invalid_argument.
Result<TokenizeOptions> validate_tokenize(const Command& command, const TypedArguments& arguments) {
    if (arguments.positionals.empty() || arguments.positionals[0].empty()) {
        return invalid_argument("no model given",
                                "try `etna tokenize demo \"Hello there\"`, or `etna tokenize --help`");
    }
    TokenizeOptions options;
    options.model = arguments.positionals[0];
    if (arguments.positionals.size() > 1)
        options.text = arguments.positionals[1];
    const OptionValues values(command, arguments);
    ETNA_TRY(options.hub, read_hub(values));
    ETNA_TRY(const bool no_special, values.flag("no-special"));
    ETNA_TRY(const bool pieces, values.flag("pieces"));
    ETNA_TRY(const bool decodes, values.flag("decode"));
    options.special = no_special ? SpecialText::is_text : SpecialText::is_special;
    options.form = pieces ? TokenForm::pieces : TokenForm::ids;
    options.direction = decodes ? Direction::ids_to_text : Direction::text_to_ids;
    return options;
}

/// Runs `etna tokenize`: converts text to token ids or back, using only the file's metadata. Blocking.
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
        return fail({ErrorKind::invalid_argument, "no text given",
                     "give it as an argument, `etna tokenize MODEL \"Once upon a time\"`, or through a pipe"},
                    ExitCode::usage);
    }
    const auto tokenizer = open_tokenizer(options, environment, diagnostics);
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

} // namespace

Command tokenize_spec() {
    static const std::vector<Option> options = joined({tokenize_options, hub_options()});
    return {.name = "tokenize",
            .summary = "convert text to a model's token ids, or back",
            .description =
                "Prints the token ids of a text as one JSON array, with the begin and end tokens that the "
                "model adds. Standard input is used unchanged, with every newline. Only the metadata of the "
                "model's file is read: no device is needed, and a file with only a vocabulary is enough.\n\n"
                "--decode converts back: the begin and end tokens that the model adds give no text, other "
                "special tokens give their names, and bytes that are not UTF-8 become U+FFFD. Nothing is "
                "added to the text except a newline at its end on a terminal.",
            .positionals = tokenize_positionals,
            .options = options,
            .examples = tokenize_examples,
            .compat = tokenize_compat,
            .run = run_validated<validate_tokenize, tokenize_command>};
}

} // namespace etna::cli
