#include "core/generate/description.hpp"

#include "core/generate/model_file.hpp"
#include "core/gguf/tensor_type.hpp"
#include "core/model/model.hpp"
#include "core/text/infill.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include <fmt/format.h>

namespace etna::generate {

ModelDescription description_of(const gguf::File& file) {
    ModelDescription description = {.architecture =
                                        std::string(file.text("general.architecture").value_or(""))};
    description.tensor_bytes = file.tensor_bytes();
    std::map<std::string_view, uint64_t> bytes;
    for (const gguf::Tensor& tensor : file.tensors()) {
        uint64_t elements = 1;
        for (const uint64_t length : tensor.shape)
            elements *= length;
        description.parameters += elements;
        bytes[gguf::describe(tensor.type)->name] += tensor.bytes;
    }
    const auto most = std::ranges::max_element(bytes, {}, [](const auto& one) { return one.second; });
    if (most != bytes.end())
        description.format = most->first;
    return description;
}

Result<ModelSummary> inspect(const store::ModelSource& source, const ChatTemplateChoice& choice) {
    ETNA_TRY(const gguf::File file, open_file(source));
    ETNA_CHECK(model::check_model(file));
    ETNA_TRY(const auto tokenizer, text::Tokenizer::create(file));
    ETNA_TRY(const auto formats, ChatFormats::read(file, tokenizer, choice));
    const auto format = formats.find({});
    const bool is_chosen = !choice.name.empty() || !choice.text.empty();
    if (!format && is_chosen)
        return format.error();
    return ModelSummary{.trained_context_tokens = trained_context(file),
                        .can_chat = format.has_value(),
                        .stand_in_template = formats.guessed(),
                        .description = description_of(file),
                        .abilities = abilities_of(file, tokenizer, formats)};
}

bool may_think(const ChatFormat& format) {
    return format.chat_template.capabilities().can_think ||
           std::ranges::any_of(format.output.syntax.reasoning, &output::ReasoningMarkers::expected);
}

ModelAbilities abilities_of(const gguf::File& file, const text::Tokenizer& tokenizer,
                            const ChatFormats& formats) {
    const std::string_view architecture = file.text("general.architecture").value_or("");
    const auto is_encoder = model::is_encoder(file);
    ModelAbilities abilities = {.embeds =
                                    file.find(fmt::format("{}.pooling_type", architecture)) != nullptr ||
                                    (is_encoder && *is_encoder),
                                .infills = text::find_infill_tokens(file, tokenizer).has_value()};
    const auto plain = formats.find({});
    const auto with_tools = formats.find({.tools = true});
    if (formats.has_own() && with_tools)
        abilities.calls_tools = (*with_tools)->chat_template.capabilities().renders_tools;
    if (formats.has_own() && plain)
        abilities.thinks = may_think(**plain);
    return abilities;
}

} // namespace etna::generate
