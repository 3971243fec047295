#include "core/generate/inspect.hpp"

#include "core/model/model.hpp"
#include "core/text/tokenizer.hpp"

#include <fmt/format.h>

namespace etna::generate {

Result<gguf::File> open_file(const store::ModelSource& source) {
    if (source.path.empty())
        return gguf::File::parse(source.bytes, source.name);
    return gguf::File::open(source.path);
}

uint64_t trained_context(const gguf::File& file) {
    const auto architecture = file.text("general.architecture");
    if (!architecture)
        return 0;
    return file.unsigned_integer(fmt::format("{}.context_length", *architecture)).value_or(0);
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
                        .stand_in_template = formats.guessed()};
}

} // namespace etna::generate
