#pragma once

#include "core/base/result.hpp"
#include "core/base/token.hpp"
#include "core/chat/chat_template.hpp"
#include "core/chat/output/syntax.hpp"
#include "core/chat/template_set.hpp"
#include "core/gguf/file.hpp"
#include "core/text/tokenizer.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etna::generate {

/// How a model's output is read.
struct OutputFormat {
    chat::output::Syntax syntax;
    /// Ascending: control tokens that the syntax has to see as text where tools are offered, and where none
    /// are.
    std::vector<TokenId> marks;
    std::vector<TokenId> marks_without_calls;
};

/// How one model is talked to: how conversations become prompts, and how its output is read.
struct ChatFormat {
    chat::ChatTemplate chat_template;
    OutputFormat output;
    OutputFormat output_of_told_tools; ///< where tools were told in words, see AdaptedPrompt::tools_in_text
};

/// Which template a user wants instead of the model's own; both empty: none.
struct ChatTemplateChoice {
    std::string name; ///< a variant that the model's file has, or one of chat::builtin_templates()
    std::string text; ///< a template itself
};

/// Where the template in use comes from.
enum class TemplateOrigin : uint8_t {
    model,   ///< the model's file; a variant for the purpose, if it has one
    variant, ///< the variant of the model's file that was chosen by name
    text,    ///< ChatTemplateChoice::text
    builtin, ///< the one of chat::builtin_templates() that was chosen by name
    guess,   ///< a built-in template, because the model has none
};

/// The chat formats that a model's file and the user's choice give. Immutable; thread-safe.
class ChatFormats {
public:
    ChatFormats() = default;

    /// Parses all templates; what is wrong with one is told when it is asked for. Errors: not_found (a chosen
    /// name that neither the file nor etna has; the hint lists them).
    static Result<ChatFormats> read(const gguf::File& file, const text::Tokenizer& tokenizer,
                                    const ChatTemplateChoice& choice);

    /// Whether the file, or the user, brought a template. Without, a built-in one stands in.
    [[nodiscard]] bool has_own() const { return has_own_; }
    [[nodiscard]] TemplateOrigin origin() const { return origin_; }
    /// The name of the built-in template that stands in for one of the model's own; empty where none does.
    [[nodiscard]] const std::string& guessed() const { return guessed_; }

    /// The format for a conversation. Errors: invalid_argument (it has variants alone, and none for this),
    /// and what is wrong with the template.
    [[nodiscard]] Result<const ChatFormat*> find(const chat::TemplatePurpose& purpose) const;

private:
    chat::TemplateSet templates_;
    std::string chosen_; ///< text of the user's choice or the guess; empty: see templates_
    std::string guessed_;
    TemplateOrigin origin_ = TemplateOrigin::model;
    bool has_own_ = false;
    std::map<std::string, Result<ChatFormat>, std::less<>> formats_; ///< by text of the template
};

} // namespace etna::generate
