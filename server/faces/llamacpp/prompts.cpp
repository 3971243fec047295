#include "server/faces/llamacpp/prompts.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace etna::server::llamacpp {
namespace {

using generate::PromptPart;
using Parts = std::vector<PromptPart>;

bool is_token(const Json& json, uint32_t vocabulary) {
    return json.is_number_unsigned() && json.get<uint64_t>() < vocabulary;
}

/// Reads a list of tokens and texts; empty for any other value.
std::optional<Parts> parts_of(const Json& list, uint32_t vocabulary) {
    if (!list.is_array() || list.empty())
        return std::nullopt;
    Parts parts;
    for (const Json& item : list) {
        if (item.is_string()) {
            parts.push_back({.content = item.get<std::string>()});
            continue;
        }
        if (!is_token(item, vocabulary))
            return std::nullopt;
        if (parts.empty() || std::holds_alternative<std::string>(parts.back().content))
            parts.push_back({.content = std::vector<TokenId>()});
        std::get<std::vector<TokenId>>(parts.back().content).push_back(item.get<TokenId>());
    }
    if (list.front().is_string())
        parts.front().bos = text::AddBos::as_model_says;
    return parts;
}

/// Reads {"prompt_string", "multimodal_data"}, the latter empty.
std::optional<Prompt> prompt_of_object(Fields& fields, const Json& json) {
    Fields object(json, "prompt");
    object.require("prompt_string");
    auto text = object.text("prompt_string");
    const Json* const data = object.list("multimodal_data");
    if (data != nullptr && !data->empty())
        object.refuse("multimodal_data", "is not supported: the models take text only",
                      "unsupported_parameter");
    fields.adopt(object);
    return text ? std::optional<Prompt>(std::move(*text)) : std::nullopt;
}

/// Reads a single prompt; empty for any other value. A list of texts is a single prompt only if nested in a
/// list.
std::optional<Prompt> prompt_of(Fields& fields, const Json& json, uint32_t vocabulary) {
    if (json.is_string())
        return json.get<std::string>();
    if (json.is_object())
        return prompt_of_object(fields, json);
    auto parts = parts_of(json, vocabulary);
    if (!parts)
        return std::nullopt;
    if (parts->size() == 1 && std::holds_alternative<std::vector<TokenId>>(parts->front().content))
        return std::get<std::vector<TokenId>>(std::move(parts->front().content));
    return std::move(*parts);
}

/// Whether the value is a list of prompts, rather than a list of tokens or of tokens and texts.
bool is_list_of_prompts(const Json& json) {
    return json.is_array() &&
           std::none_of(json.begin(), json.end(), [](const Json& item) { return item.is_number(); });
}

std::string shapes(uint32_t vocabulary) {
    return fmt::format("must be a string, a non-empty list of token ids below {} and strings, or a non-empty "
                       "list of these",
                       vocabulary);
}

} // namespace

Prompts read_prompts(Fields& fields, const api::RequestContext& context) {
    fields.require("prompt");
    const Json* const given = fields.any("prompt");
    if (given == nullptr)
        return {};
    const uint32_t vocabulary = context.tokenizer->size();
    Prompts all;
    all.is_list = is_list_of_prompts(*given);
    if (all.is_list && given->size() > context.limits.answers_max) {
        fields.refuse("prompt", fmt::format("has {} prompts; at most {} are accepted per request",
                                            given->size(), context.limits.answers_max));
        return {};
    }
    const auto add = [&](const Json& json) {
        if (auto prompt = prompt_of(fields, json, vocabulary)) {
            all.prompts.push_back(std::move(*prompt));
        } else {
            fields.refuse("prompt", shapes(vocabulary), "invalid_type");
        }
    };
    if (all.is_list) {
        std::for_each(given->begin(), given->end(), add);
    } else {
        add(*given);
    }
    if (all.prompts.empty())
        fields.refuse("prompt", shapes(vocabulary), "invalid_type");
    return all;
}

namespace {

/// Builds a prompt of literal texts and infill tokens.
class InfillPrompt {
public:
    explicit InfillPrompt(const text::InfillTokens& tokens) : tokens_(tokens) {
        parts_.push_back({.content = std::string(), .bos = text::AddBos::as_model_says});
    }

    void add_token(TokenId token, bool may_be_dropped = false) {
        parts_.push_back({.content = std::vector{token}, .may_lose_start = may_be_dropped});
    }

    void add_text(std::string text, bool may_lose_start = false) {
        generate::PromptPart& part = parts_.emplace_back();
        part.content = std::move(text);
        part.special = text::SpecialTokens::literal;
        part.may_lose_start = may_lose_start;
    }

    /// Adds a placeholder for the name of the project, which is unknown.
    void begin_project() {
        if (!tokens_.repository)
            return;
        add_token(*tokens_.repository, true);
        add_text("myproject\n", true);
    }

    /// Adds an extra file, or a snippet of it if the model has no file token.
    void add_file(const std::string& name, std::string text) {
        if (tokens_.file_separator) {
            add_token(*tokens_.file_separator, true);
            add_text(name + "\n", true);
        } else {
            add_text("\n\n--- snippet ---\n\n", true);
        }
        add_text(std::move(text), true);
    }

    /// Adds the file with the gap. `start`: the text at the start of the gap; for the model, it is part of
    /// the prefix.
    void add_gap(std::string prefix, Parts start, std::string suffix, bool has_files) {
        if (tokens_.file_separator && has_files) {
            add_token(*tokens_.file_separator);
            add_text("filename\n");
        }
        add_token(tokens_.prefix);
        add_text(std::move(prefix));
        std::move(start.begin(), start.end(), std::back_inserter(parts_));
        add_token(tokens_.suffix);
        add_text(std::move(suffix));
        add_token(tokens_.middle);
    }

    Parts take() { return std::move(parts_); }

private:
    text::InfillTokens tokens_;
    Parts parts_;
};

struct ExtraFile {
    std::string name;
    std::string text;
};

/// Reads `input_extra`: a list of {"filename", "text"}.
std::vector<ExtraFile> read_extra(Fields& fields) {
    std::vector<ExtraFile> files;
    const Json* const list = fields.list("input_extra");
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
        const std::string path = fmt::format("input_extra[{}]", i);
        if (!(*list)[i].is_object()) {
            fields.refuse(path, "must be an object", "invalid_type");
            return {};
        }
        Fields file((*list)[i], path);
        file.require("text");
        auto text = file.text("text");
        auto name = file.text("filename");
        file.accept({"time"}); // some clients send it
        fields.adopt(file);
        files.push_back({.name = name.value_or("tmp"), .text = text.value_or("")});
    }
    return files;
}

/// Reads `prompt`, the start of the gap: text, token ids or a mix.
Parts read_start(Fields& fields, uint32_t vocabulary) {
    const Json* const given = fields.any("prompt");
    if (given == nullptr || *given == "")
        return {};
    if (given->is_string())
        return {{.content = given->get<std::string>()}};
    auto parts = parts_of(*given, vocabulary);
    if (!parts) {
        fields.refuse("prompt", fmt::format("must be a string or a list of token ids below {} and strings",
                                            vocabulary));
        return {};
    }
    parts->front().bos = text::AddBos::never;
    return std::move(*parts);
}

} // namespace

Prompt read_infill_prompt(Fields& fields, const api::RequestContext& context,
                          const std::optional<text::InfillTokens>& tokens) {
    fields.require("input_prefix");
    fields.require("input_suffix");
    auto prefix = fields.text("input_prefix");
    auto suffix = fields.text("input_suffix");
    std::vector<ExtraFile> files = read_extra(fields);
    Parts start = read_start(fields, context.tokenizer->size());
    if (!tokens || !prefix || !suffix)
        return {};
    InfillPrompt prompt(*tokens);
    if (!files.empty())
        prompt.begin_project();
    for (ExtraFile& file : files)
        prompt.add_file(file.name, std::move(file.text));
    prompt.add_gap(std::move(*prefix), std::move(start), std::move(*suffix), !files.empty());
    return prompt.take();
}

} // namespace etna::server::llamacpp
