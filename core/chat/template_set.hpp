#pragma once

#include "core/gguf/file.hpp"

#include <map>
#include <string>
#include <string_view>

namespace etna::chat {

/// Features of a conversation that select a template variant.
struct TemplatePurpose {
    bool tools = false;
    bool documents = false;
};

/// The chat templates in a model file: `tokenizer.chat_template`, and named variants in
/// `tokenizer.chat_template.NAME`.
class TemplateSet {
public:
    TemplateSet() = default;
    /// Copies the templates from the file; empty texts count as missing.
    static TemplateSet read(const gguf::File& file);

    /// Returns the template for the purpose: the variant `tool_use` with tools, `rag` with documents, else
    /// the default one (or the variant `default`); empty if the model has none.
    [[nodiscard]] std::string_view choose(const TemplatePurpose& purpose) const;

    /// Returns the named variant; empty if it does not exist.
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
