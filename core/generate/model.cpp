#include "core/generate/model.hpp"

#include "core/grammar/vocabulary.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <string_view>

namespace etna::generate {
namespace {

/// Returns the pooling of embeddings, see LoadOptions::pooling. Otherwise it is the mean with an encoder, and
/// the last token without. Errors: those of read_pooling().
Result<Pooling> pooling_of(const gguf::File& file, std::optional<Pooling> requested, bool is_encoder) {
    ETNA_TRY(const Pooling own, read_pooling(file, is_encoder ? Pooling::mean : Pooling::last));
    const bool has_head = file.find_tensor("cls.output.weight") != nullptr;
    return requested == Pooling::rank && !has_head ? own : requested.value_or(own);
}

/// Maps the tokenizer's tokens to grammar input: text tokens to their bytes, control tokens to
/// grammar::control_text(), end-of-turn tokens to an empty text. Padded to `size`, for models with more rows
/// than tokens.
grammar::Vocabulary grammar_vocabulary(const text::Tokenizer& tokenizer, uint32_t size) {
    std::vector<std::string> bytes;
    std::map<std::string, TokenId, std::less<>> control_tokens;
    for (TokenId token = 0; token < tokenizer.size(); ++token) {
        const text::TokenType type = tokenizer.type(token);
        if (type != text::TokenType::control) {
            const bool is_text = type != text::TokenType::unknown && type != text::TokenType::unused;
            bytes.emplace_back(is_text ? tokenizer.bytes(token) : std::string_view());
            continue;
        }
        bytes.push_back(grammar::control_text(token));
        control_tokens.emplace(tokenizer.bytes(token), token);
    }
    for (const TokenId token : tokenizer.end_tokens())
        bytes[token].clear();
    bytes.resize(std::max<std::size_t>(bytes.size(), size));
    return grammar::Vocabulary(std::move(bytes), std::move(control_tokens));
}

} // namespace

/// Built on first use, because most models never need a grammar.
struct Model::LazyGrammars {
    std::once_flag once;
    std::unique_ptr<grammar::GrammarCache> grammars;
};

Model::Model(ModelFile file, Defaults defaults, Runtime runtime)
    : file_(std::move(file)), defaults_(std::move(defaults)), grammars_(std::make_shared<LazyGrammars>()),
      runtime_(std::move(runtime)) {}

Result<Model> Model::load(const store::ModelSource& source, const LoadOptions& options,
                          const runtime::ExecutorFactory& factory) {
    const auto start = std::chrono::steady_clock::now();
    ETNA_TRY(const gguf::File file, open_file(source));
    ETNA_TRY(ModelFile model_file, ModelFile::read(file, source.name, options.chat_template));
    ETNA_TRY(Runtime runtime,
             Runtime::load(file, model_file.tokenizer, options.draft, options.executor, factory));
    const engine::Limits& limits = runtime.engine->limits();
    Defaults defaults = {.recommended_sampling = options.sampling,
                         .speculation = options.speculation,
                         .system = options.system,
                         .requests = options.requests};
    ETNA_TRY(defaults.pooling, pooling_of(file, options.pooling, limits.is_encoder));
    ETNA_CHECK(model_file.read_heads(file, defaults.pooling, limits.width));
    add_recommendations(defaults, file, source);

    Model model(std::move(model_file), std::move(defaults), std::move(runtime));
    model.load_ms_ =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    return model;
}

grammar::GrammarCache& Model::grammars() const {
    std::call_once(grammars_->once, [this] {
        grammars_->grammars = std::make_unique<grammar::GrammarCache>(
            grammar_vocabulary(file_.tokenizer, engine().limits().vocabulary));
    });
    return *grammars_->grammars;
}

} // namespace etna::generate
