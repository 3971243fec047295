#pragma once

#include "core/gguf/file.hpp"

#include <map>
#include <string>
#include <string_view>

namespace etna::chat {

/// What a conversation brings that a variant of a template may be made for.
struct TemplatePurpose {
    bool tools = false;
    bool documents = false;
};

/// The chat templates that a model's file carries: `tokenizer.chat_template`, and named variants as
/// `tokenizer.chat_template.NAME`.
class TemplateSet {
public:
    TemplateSet() = default;
    /// Copies what the file has; empty texts count as none.
    static TemplateSet read(const gguf::File& file);

    /// The text for the purpose: the variant `tool_use` where there are tools, `rag` where there are
    /// documents, else the default one (or the variant `default`); empty where the model has none.
    [[nodiscard]] std::string_view choose(const TemplatePurpose& purpose) const;

    /// The named variant; empty where there is none.
    [[nodiscard]] std::string_view find(std::string_view name) const;

    [[nodiscard]] const std::map<std::string, std::string, std::less<>>& variants() const {
        return variants_;
    }
    [[nodiscard]] bool is_empty() const { return default_.empty() && variants_.empty(); }

private:
    std::string default_;
    std::map<std::string, std::string, std::less<>> variants_;
};

} // namespace etna::chat
