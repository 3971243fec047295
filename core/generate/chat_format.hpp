#pragma once

#include "core/base/result.hpp"
#include "core/base/token.hpp"
#include "core/chat/chat_template.hpp"
#include "core/chat/template_set.hpp"
#include "core/gguf/file.hpp"
#include "core/output/syntax.hpp"
#include "core/text/tokenizer.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace etna::generate {

/// Returns the names of the tokens that are text in SpecialTokens::literal alone.
std::vector<std::string> control_names(const text::Tokenizer& tokenizer);

/// The syntax and marker tokens for parsing a model's output.
struct OutputFormat {
    output::Syntax syntax;
    /// Control tokens that the parser must see as text, ascending: if tools are offered, and if none are.
    std::vector<TokenId> markers;
    std::vector<TokenId> markers_without_calls;
};

/// The chat template of a model and the format of its output.
struct ChatFormat {
    chat::ChatTemplate chat_template;
    OutputFormat output;
    OutputFormat output_for_tools_in_text; ///< if tools were described in the prompt text, see
                                           ///< AdaptedPrompt::tools_in_text
};

/// The user's replacement for the model's own template; both empty: no replacement.
struct ChatTemplateChoice {
    std::string name; ///< a variant in the model's file, or one of chat::builtin_templates()
    std::string text; ///< template source
};

/// Source of the template in use.
enum class TemplateOrigin : uint8_t {
    model,   ///< the model's file; a variant for the purpose, if it has one
    variant, ///< a variant of the model's file, chosen by name
    text,    ///< ChatTemplateChoice::text
    builtin, ///< one of chat::builtin_templates(), chosen by name
    guess,   ///< a built-in template, because the model has none
};

/// The chat formats of a model's file, or of the user's choice. Immutable; thread-safe.
class ChatFormats {
public:
    ChatFormats() = default;

    /// Parses all templates; an invalid one is reported by find(). Errors: not_found (neither the file nor
    /// etna has the chosen name; the hint lists the names).
    static Result<ChatFormats> read(const gguf::File& file, const text::Tokenizer& tokenizer,
                                    const ChatTemplateChoice& choice);

    /// Whether the file or the user provides a template. If not, a built-in one is used.
    [[nodiscard]] bool has_own() const { return has_own_; }
    [[nodiscard]] TemplateOrigin origin() const { return origin_; }
    /// Name of the built-in template used because the model has none; empty otherwise.
    [[nodiscard]] const std::string& guessed() const { return guessed_; }

    /// Returns the format for a conversation. Errors: invalid_argument (the file has only variants, and none
    /// for this purpose), and those of the template.
    [[nodiscard]] Result<const ChatFormat*> find(const chat::TemplatePurpose& purpose) const;

private:
    chat::TemplateSet templates_;
    std::string chosen_; ///< source of the chosen or guessed template; empty: see templates_
    std::string guessed_;
    TemplateOrigin origin_ = TemplateOrigin::model;
    bool has_own_ = false;
    std::map<std::string, Result<ChatFormat>, std::less<>> formats_; ///< by template source
};

} // namespace etna::generate
