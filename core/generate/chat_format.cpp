#include "core/generate/chat_format.hpp"

#include "core/chat/builtin_templates.hpp"
#include "core/output/syntax.hpp"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::generate {
namespace {

std::string bytes_of(const text::Tokenizer& tokenizer, std::optional<TokenId> token) {
    return token ? std::string(tokenizer.bytes(*token)) : std::string();
}

/// Returns whether the vocabulary has a control or user-defined token of this name.
bool has_special(const text::Tokenizer& tokenizer, std::string_view name) {
    const auto token = tokenizer.find(name);
    return token && (tokenizer.type(*token) == text::TokenType::control ||
                     tokenizer.type(*token) == text::TokenType::user_defined);
}

std::vector<TokenId> marker_tokens(const output::Syntax& syntax, output::Calls calls,
                                   const text::Tokenizer& tokenizer) {
    std::vector<TokenId> tokens;
    for (TokenId token = 0; token < tokenizer.size(); ++token) {
        if (tokenizer.type(token) == text::TokenType::control &&
            syntax.is_marker(tokenizer.bytes(token), calls))
            tokens.push_back(token);
    }
    return tokens;
}

OutputFormat output_format(output::Syntax syntax, const text::Tokenizer& tokenizer) {
    auto markers = marker_tokens(syntax, output::Calls::expected, tokenizer);
    auto without_calls = marker_tokens(syntax, output::Calls::none, tokenizer);
    return {std::move(syntax), std::move(markers), std::move(without_calls)};
}

Result<ChatFormat> make_format(std::string_view text, const text::Tokenizer& tokenizer) {
    ETNA_TRY(auto chat_template,
             chat::ChatTemplate::create(text, {.bos = bytes_of(tokenizer, tokenizer.bos()),
                                               .eos = bytes_of(tokenizer, tokenizer.eos()),
                                               .control = control_names(tokenizer)}));
    const auto syntax =
        output::detect_syntax(text, [&](std::string_view name) { return has_special(tokenizer, name); });
    return ChatFormat{std::move(chat_template), output_format(syntax, tokenizer),
                      output_format(output::syntax_for_tools_in_text(syntax), tokenizer)};
}

Error unknown_name(const std::string& name, const chat::TemplateSet& templates) {
    std::vector<std::string_view> names;
    for (const auto& [variant, text] : templates.variants())
        names.emplace_back(variant);
    for (const chat::BuiltinTemplate& builtin : chat::builtin_templates())
        names.push_back(builtin.name);
    return {ErrorKind::not_found, fmt::format("there is no chat template `{}`", name),
            fmt::format("name a file, or one of {}", fmt::join(names, ", "))};
}

} // namespace

std::vector<std::string> control_names(const text::Tokenizer& tokenizer) {
    std::vector<std::string> names;
    for (TokenId token = 0; token < tokenizer.size(); ++token) {
        const text::TokenType type = tokenizer.type(token);
        if (type == text::TokenType::control || type == text::TokenType::unknown)
            names.emplace_back(tokenizer.bytes(token));
    }
    return names;
}

Result<ChatFormats> ChatFormats::read(const gguf::File& file, const text::Tokenizer& tokenizer,
                                      const ChatTemplateChoice& choice) {
    ChatFormats formats;
    formats.templates_ = chat::TemplateSet::read(file);
    formats.has_own_ = !formats.templates_.is_empty() || !choice.name.empty() || !choice.text.empty();
    formats.chosen_ = choice.text;
    if (!choice.text.empty())
        formats.origin_ = TemplateOrigin::text;
    if (!choice.name.empty()) {
        formats.chosen_ = formats.templates_.find(choice.name);
        const chat::BuiltinTemplate* builtin = chat::find_builtin_template(choice.name);
        if (formats.chosen_.empty() && builtin == nullptr)
            return unknown_name(choice.name, formats.templates_);
        formats.origin_ = formats.chosen_.empty() ? TemplateOrigin::builtin : TemplateOrigin::variant;
        if (formats.chosen_.empty())
            formats.chosen_ = builtin->text;
    } else if (!formats.has_own_) {
        const chat::BuiltinTemplate guess =
            chat::guess_builtin_template([&](std::string_view name) { return has_special(tokenizer, name); });
        formats.chosen_ = guess.text;
        formats.guessed_ = guess.name;
        formats.origin_ = TemplateOrigin::guess;
    }
    for (const chat::TemplatePurpose purpose :
         {chat::TemplatePurpose{}, {.tools = true}, {.documents = true}}) {
        const std::string_view text =
            formats.chosen_.empty() ? formats.templates_.choose(purpose) : std::string_view(formats.chosen_);
        if (!text.empty() && !formats.formats_.contains(text))
            formats.formats_.emplace(text, make_format(text, tokenizer));
    }
    return formats;
}

Result<const ChatFormat*> ChatFormats::find(const chat::TemplatePurpose& purpose) const {
    const auto found =
        formats_.find(chosen_.empty() ? templates_.choose(purpose) : std::string_view(chosen_));
    if (found == formats_.end()) {
        return invalid_argument("the model has no chat template",
                                "name one with --chat-template, or use `etna run --raw` for plain text");
    }
    if (!found->second)
        return found->second.error();
    return &found->second.value();
}

} // namespace etna::generate
