#include "core/text/tokenizer.hpp"

#include "core/base/special_matcher.hpp"
#include "core/gguf/cursor.hpp"
#include "core/text/bpe.hpp"
#include "core/text/byte_alphabet.hpp"
#include "core/text/character_bpe.hpp"
#include "core/text/spm.hpp"
#include "core/text/unigram.hpp"
#include "core/text/vocabulary.hpp"
#include "core/text/wordpiece.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <variant>

#include <fmt/format.h>

namespace etna::text {
namespace {

// Offsets into a text are 32 bits wide, also after each space has become three bytes.
constexpr std::size_t longest_text_bytes = std::size_t{1} << 28;

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
    std::string result;
    result.reserve(text.size());
    for (std::size_t position = 0; position < text.size();) {
        const std::size_t found = std::min(text.find(from, position), text.size());
        result += text.substr(position, found - position);
        if (found < text.size())
            result += to;
        position = found + from.size();
    }
    return result;
}

constexpr std::string_view white_space = " \t\n\v\f\r";

// Phi 3's tokenizer.json gives every special token but these the attribute `rstrip`: white space after the
// token belongs to it and is not tokenized. GGUF files do not carry the attribute.
constexpr std::array phi3_keeps_space = std::to_array<std::string_view>({"<unk>", "<s>", "<|endoftext|>"});

enum class Model { bpe, spm, character_bpe, wordpiece, unigram };

Result<Model> read_model(const gguf::File& file) {
    const auto name = file.text("tokenizer.ggml.model");
    if (name == "gpt2")
        return Model::bpe;
    if (name == "llama")
        return Model::spm;
    if (name == "gemma4")
        return Model::character_bpe;
    if (name == "bert")
        return Model::wordpiece;
    if (name == "t5")
        return Model::unigram;
    if (!name) {
        return Error{ErrorKind::corrupt, fmt::format("{}: tokenizer.ggml.model is missing", file.name()),
                     "the file holds no tokenizer; fetch or convert the model again"};
    }
    return unsupported(fmt::format("{}: unknown tokenizer {}", file.name(), gguf::backquoted(*name)),
                       "known ones are gpt2 (byte-level BPE), llama (SentencePiece), t5 (its unigram model), "
                       "bert (WordPiece) "
                       "and gemma4 (BPE of characters)");
}

std::string bytes_of(Model model, std::string_view name, TokenType type) {
    const auto byte = byte_of_name(name);
    if (type == TokenType::byte && byte)
        return std::string(1, static_cast<char>(*byte));
    if (type == TokenType::control || type == TokenType::unknown)
        return std::string(name);
    if (model != Model::bpe)
        return replace_all(name, space_mark, " ");
    if (type == TokenType::user_defined)
        return std::string(name);
    return read_spelling(name).value_or(std::string(name));
}

} // namespace

struct Tokenizer::Impl {
    Model model = Model::bpe;
    Vocabulary vocabulary;
    StringTable bytes;
    std::variant<std::monostate, Bpe, Spm, CharacterBpe, WordPiece, Unigram> algorithm;
    SpecialMatcher specials;     ///< control, unknown and user-defined tokens
    SpecialMatcher user_defined; ///< only those
    bool adds_bos = false;
    bool adds_eos = false;
    bool adds_space_prefix = false; ///< SentencePiece: before the text and after each special token
    std::optional<TokenId> first;   ///< with adds_bos
    std::optional<TokenId> last;    ///< with adds_eos
    bool has_phi3_specials = false;

    [[nodiscard]] bool strips_space_after(TokenId token) const {
        return has_phi3_specials && std::find(phi3_keeps_space.begin(), phi3_keeps_space.end(),
                                              vocabulary.names[token]) == phi3_keeps_space.end();
    }
    Status read(const gguf::File& file);
    Status read_additions(const gguf::File& file);
    void find_ends_of_texts();
    void index_tokens();
    [[nodiscard]] Result<std::optional<SpecialMatcher::Match>> find_special(const EncodeOptions& options,
                                                                            std::string_view text,
                                                                            std::size_t from,
                                                                            TokenizeBudget& budget) const;
    Status encode_stretch(std::string_view text, TokenizeBudget& budget, std::vector<TokenId>& tokens) const;
};

Status Tokenizer::Impl::read(const gguf::File& file) {
    ETNA_TRY(model, read_model(file));
    ETNA_TRY(vocabulary, Vocabulary::read(file));
    if (model == Model::bpe) {
        ETNA_TRY(Bpe bpe, Bpe::create(file, vocabulary));
        algorithm.emplace<Bpe>(std::move(bpe));
    } else if (model == Model::character_bpe) {
        ETNA_TRY(CharacterBpe bpe, CharacterBpe::create(file, vocabulary));
        algorithm.emplace<CharacterBpe>(std::move(bpe));
    } else if (model == Model::wordpiece) {
        ETNA_TRY(WordPiece pieces, WordPiece::create(file, vocabulary));
        algorithm.emplace<WordPiece>(std::move(pieces));
    } else if (model == Model::unigram) {
        ETNA_TRY(Unigram unigram, Unigram::create(file, vocabulary));
        algorithm.emplace<Unigram>(std::move(unigram));
    } else {
        ETNA_TRY(const Spm spm, Spm::create(file, vocabulary));
        algorithm.emplace<Spm>(spm);
    }
    index_tokens();
    return read_additions(file);
}

Status Tokenizer::Impl::read_additions(const gguf::File& file) {
    const Bpe* bpe = std::get_if<Bpe>(&algorithm);
    const auto says_bos = file.boolean("tokenizer.ggml.add_bos_token");
    const bool default_bos =
        model != Model::unigram && (bpe == nullptr || bpe->pre_tokenizer().row().adds_bos == AddsBos::yes);
    first = vocabulary.special.bos;
    last = vocabulary.special.eos;
    if (model == Model::wordpiece)
        find_ends_of_texts();
    adds_bos = says_bos.value_or(default_bos && first.has_value());
    adds_eos = file.boolean("tokenizer.ggml.add_eos_token")
                   .value_or(model == Model::unigram || (model == Model::wordpiece && last.has_value()));
    adds_space_prefix = (model == Model::spm || model == Model::unigram) &&
                        file.boolean("tokenizer.ggml.add_space_prefix").value_or(true);
    has_phi3_specials = bpe == nullptr && file.text("general.architecture") == "phi3"; // Phi 4's are BPE
    const bool bos_missing = adds_bos && !first;
    if (bos_missing || (adds_eos && !last)) {
        return Error{
            ErrorKind::corrupt,
            fmt::format(
                "{0}: tokenizer.ggml.add_{1}_token is set, but tokenizer.ggml.{1}_token_id is missing",
                file.name(), bos_missing ? "bos" : "eos"),
            "convert the model again"};
    }
    return {};
}

/// BERT's texts begin with [CLS] and end with [SEP], which files may name as such, or by other keys.
void Tokenizer::Impl::find_ends_of_texts() {
    const SpecialIds& special = vocabulary.special;
    const auto one_of = [&](std::initializer_list<std::optional<TokenId>> ids, std::string_view name) {
        const auto* const found =
            std::find_if(ids.begin(), ids.end(), [](const auto& id) { return id.has_value(); });
        return found != ids.end() ? *found : vocabulary.find(name);
    };
    first = one_of({special.cls, special.bos}, "[CLS]");
    last = one_of({special.separator, special.eos}, "[SEP]");
}

void Tokenizer::Impl::index_tokens() {
    for (TokenId token = 0; token < vocabulary.names.size(); ++token) {
        const std::string_view name = vocabulary.names[token];
        const TokenType type = vocabulary.types[token];
        bytes.append(bytes_of(model, name, type));
        if (type == TokenType::control || type == TokenType::unknown)
            specials.add(name, token);
        if (type == TokenType::user_defined) {
            // SentencePiece matches these after spaces have become U+2581, so both spellings are the token.
            for (const std::string_view spelling : {name, bytes[token]}) {
                specials.add(spelling, token, AtBarrier::passes);
                user_defined.add(spelling, token, AtBarrier::passes);
            }
        }
    }
    specials.finish();
    user_defined.finish();
}

/// Finds the next special token from `from` on, in stretches between which the budget is asked. Errors:
/// cancelled.
Result<std::optional<SpecialMatcher::Match>> Tokenizer::Impl::find_special(const EncodeOptions& options,
                                                                           std::string_view text,
                                                                           std::size_t from,
                                                                           TokenizeBudget& budget) const {
    constexpr std::size_t stretch_bytes = 4096;
    const SpecialMatcher& matcher = options.special == SpecialTokens::parse ? specials : user_defined;
    for (std::size_t begin = from; begin < text.size(); begin += stretch_bytes) {
        auto found = matcher.find(text, begin, options.barriers, begin + stretch_bytes);
        if (budget.is_over(found ? found->end - begin : stretch_bytes))
            return TokenizeBudget::error();
        if (found)
            return found;
    }
    return std::optional<SpecialMatcher::Match>();
}

/// Encodes `text`, which holds no special tokens and follows one or starts the input.
Status Tokenizer::Impl::encode_stretch(std::string_view text, TokenizeBudget& budget,
                                       std::vector<TokenId>& tokens) const {
    if (const Bpe* bpe = std::get_if<Bpe>(&algorithm))
        return bpe->encode(text, budget, tokens);
    if (const CharacterBpe* bpe = std::get_if<CharacterBpe>(&algorithm))
        return bpe->encode(text, budget, tokens);
    if (const WordPiece* pieces = std::get_if<WordPiece>(&algorithm))
        return pieces->encode(text, budget, tokens);
    if (const Unigram* unigram = std::get_if<Unigram>(&algorithm))
        return unigram->encode(text, adds_space_prefix, budget, tokens);
    return std::get<Spm>(algorithm).encode(text, adds_space_prefix, budget, tokens);
}

Tokenizer::Tokenizer(std::unique_ptr<const Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Result<Tokenizer> Tokenizer::create(const gguf::File& file) {
    auto impl = std::make_unique<Impl>();
    ETNA_CHECK(impl->read(file));
    return Tokenizer(std::move(impl));
}

Result<std::vector<TokenId>> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
    if (text.size() > longest_text_bytes) {
        return invalid_argument(
            fmt::format("a text of {} bytes is longer than {}", text.size(), longest_text_bytes),
            "split the text");
    }
    const bool may_add = options.bos == AddBos::as_model_says;
    TokenizeBudget budget(options.is_cancelled, options.reserve_memory);
    if (options.reserve_memory != nullptr && *options.reserve_memory &&
        !(*options.reserve_memory)(text.size() * sizeof(TokenId)))
        return TokenizeBudget::no_memory();
    std::vector<TokenId> tokens;
    tokens.reserve(text.size() + 2); // with BOS and EOS; longer results ask the budget
    if (may_add && impl_->adds_bos)
        tokens.push_back(*impl_->first);
    for (std::size_t position = 0; position < text.size();) {
        if (budget.is_over())
            return TokenizeBudget::error();
        ETNA_TRY(const auto special, impl_->find_special(options, text, position, budget));
        const std::size_t end = special ? special->begin : text.size();
        if (end > position)
            ETNA_CHECK(impl_->encode_stretch(text.substr(position, end - position), budget, tokens));
        if (!budget.may_extend(tokens, 2)) // and the EOS
            return TokenizeBudget::no_memory();
        if (special)
            tokens.push_back(special->token);
        position = special ? special->end : text.size();
        if (special && impl_->strips_space_after(special->token))
            position = std::min(text.find_first_not_of(white_space, position), text.size());
    }
    if (may_add && impl_->adds_eos)
        tokens.push_back(*impl_->last);
    tokens.shrink_to_fit();
    return tokens;
}

std::string_view Tokenizer::bytes(TokenId token) const {
    return impl_->bytes[token];
}
TokenType Tokenizer::type(TokenId token) const {
    return impl_->vocabulary.types[token];
}
bool Tokenizer::strips_leading_space() const {
    return impl_->adds_space_prefix || impl_->model == Model::wordpiece;
}
uint32_t Tokenizer::size() const {
    return static_cast<uint32_t>(impl_->bytes.size());
}
std::optional<TokenId> Tokenizer::find(std::string_view name) const {
    return impl_->vocabulary.find(name);
}
std::optional<TokenId> Tokenizer::bos() const {
    return impl_->vocabulary.special.bos;
}
std::optional<TokenId> Tokenizer::eos() const {
    return impl_->vocabulary.special.eos;
}
std::span<const TokenId> Tokenizer::end_tokens() const {
    return impl_->vocabulary.end_tokens;
}

} // namespace etna::text
