#include "server/openai/piecewise.hpp"

#include "core/base/utf8.hpp"
#include "core/text/detokenizer.hpp"
#include "server/json.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace etna::server::openai {
namespace {

/// Escapes text for a JSON string; invalid UTF-8 becomes U+FFFD.
std::string escaped(std::string_view text) {
    const std::string quoted = text_of(Json(text));
    return quoted.substr(1, quoted.size() - 2);
}

/// {"id", "piece"}: the text, or the bytes if they are not complete UTF-8.
Json piece_json(const text::Tokenizer& tokenizer, TokenId token) {
    const std::string_view bytes = tokenizer.bytes(token);
    if (valid_utf8_prefix(bytes) == bytes.size())
        return {{"id", token}, {"piece", bytes}};
    Json list = Json::array();
    for (const char byte : bytes)
        list.push_back(static_cast<unsigned char>(byte));
    return {{"id", token}, {"piece", std::move(list)}};
}

} // namespace

Pieces told_tokens(const Models::Handle& model, std::vector<TokenId> tokens, bool with_pieces) {
    constexpr std::size_t bytes_of_id = 8;
    constexpr std::size_t bytes_of_piece = 32;
    Pieces pieces = {.write = {},
                     .bytes = tokens.size() * (with_pieces ? bytes_of_piece : bytes_of_id),
                     .held = tokens.capacity() * sizeof(TokenId)};
    const auto shared = std::make_shared<const std::vector<TokenId>>(std::move(tokens));
    pieces.write = [model, shared, with_pieces](const Put& put) {
        std::string_view before = R"({"tokens":[)";
        for (const TokenId token : *shared) {
            const std::string item =
                with_pieces ? text_of(piece_json(model->tokenizer(), token)) : fmt::to_string(token);
            if (!put(before) || !put(item))
                return;
            before = ",";
        }
        put(shared->empty() ? before : "");
        put(fmt::format("],\"count\":{},\"max_model_len\":{}}}\n", shared->size(), model->context_tokens()));
    };
    return pieces;
}

Pieces told_text(const Models::Handle& model, std::vector<TokenId> tokens) {
    Pieces pieces = {.write = {}, .bytes = 0, .held = tokens.capacity() * sizeof(TokenId)};
    for (const TokenId token : tokens)
        pieces.bytes += 2 * model->tokenizer().bytes(token).size();
    const auto shared = std::make_shared<const std::vector<TokenId>>(std::move(tokens));
    pieces.write = [model, shared](const Put& put) {
        for (const std::string_view before : {R"({"content":")", R"(","prompt":")"}) {
            text::Detokenizer detokenizer(model->tokenizer(), {.control = text::ControlTokens::shown});
            bool is_wanted = put(before);
            for (std::size_t i = 0; i < shared->size() && is_wanted; ++i)
                is_wanted = put(escaped(detokenizer.push((*shared)[i])));
            if (!is_wanted || !put(escaped(detokenizer.flush())))
                return;
        }
        put("\"}\n");
    };
    return pieces;
}

/// Writes complete characters at a time.
Pieces told_prompt(std::string text) {
    Pieces pieces = {.write = {}, .bytes = text.size(), .held = text.capacity()};
    const auto shared = std::make_shared<const std::string>(std::move(text));
    pieces.write = [shared](const Put& put) {
        constexpr std::size_t slice_bytes = 64 * 1024;
        constexpr unsigned char kind_of_byte = 0xC0;
        constexpr unsigned char goes_on = 0x80;
        bool is_wanted = put(R"({"prompt":")");
        for (std::string_view rest = *shared; !rest.empty() && is_wanted;) {
            std::size_t end = std::min(rest.size(), slice_bytes);
            while (end < rest.size() && end > 1 &&
                   (static_cast<unsigned char>(rest[end]) & kind_of_byte) == goes_on)
                --end;
            is_wanted = put(escaped(rest.substr(0, end)));
            rest.remove_prefix(end);
        }
        if (is_wanted)
            put("\"}\n");
    };
    return pieces;
}

HttpReply reply_of(Pieces pieces, std::shared_ptr<MemoryReservation> memory) {
    constexpr std::size_t whole_bytes_max = 256 * 1024;
    constexpr std::size_t piece_bytes = 64 * 1024;
    HttpReply reply;
    if (pieces.bytes <= whole_bytes_max) {
        pieces.write([&](std::string_view bytes) { return reply.body += bytes, true; });
        return reply;
    }
    reply.stream = [memory = std::move(memory), pieces = std::move(pieces)](HttpWriter& writer) {
        if (memory != nullptr)
            memory->shrink_to(pieces.held); // the request itself has been freed
        std::string waiting;
        bool is_wanted = true;
        pieces.write([&](std::string_view bytes) {
            waiting += bytes;
            if (waiting.size() < piece_bytes)
                return is_wanted;
            is_wanted = is_wanted && writer.write(waiting);
            waiting.clear();
            return is_wanted;
        });
        if (is_wanted)
            writer.write(waiting);
    };
    return reply;
}

} // namespace etna::server::openai
