#include "core/chat/template_set.hpp"

namespace etna::chat {
namespace {

constexpr std::string_view default_key = "tokenizer.chat_template";

} // namespace

TemplateSet TemplateSet::read(const gguf::File& file) {
    TemplateSet set;
    set.default_ = file.text(default_key).value_or("");
    const std::string prefix = std::string(default_key) + ".";
    for (const gguf::KeyValue& entry : file.metadata()) {
        const auto text = entry.key.starts_with(prefix) ? file.text(entry.key) : std::nullopt;
        if (text && !text->empty())
            set.variants_.emplace(entry.key.substr(prefix.size()), *text);
    }
    return set;
}

std::string_view TemplateSet::find(std::string_view name) const {
    const auto found = variants_.find(name);
    return found == variants_.end() ? std::string_view() : found->second;
}

std::string_view TemplateSet::choose(const TemplatePurpose& purpose) const {
    if (const std::string_view made = find("tool_use"); purpose.tools && !made.empty())
        return made;
    if (const std::string_view made = find("rag"); purpose.documents && !made.empty())
        return made;
    if (!default_.empty())
        return default_;
    return find("default");
}

} // namespace etna::chat
