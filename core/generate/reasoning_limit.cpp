#include "core/generate/reasoning_limit.hpp"

#include "core/generate/output_processor.hpp"
#include "core/output/markers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace etna::generate {
namespace {

using output::Syntax;
using output::trim;

constexpr uint32_t mask_bits = 32;

/// Errors: those of the tokenizer.
Result<std::vector<TokenId>> encode_close(const text::Tokenizer& tokenizer, const std::string& message,
                                          const std::string& markers) {
    std::vector<TokenId> tokens;
    if (!message.empty()) {
        ETNA_TRY(tokens, tokenizer.encode(
                             message, {.special = text::SpecialTokens::literal, .bos = text::AddBos::never}));
    }
    if (const auto marker = tokenizer.find(markers)) {
        tokens.push_back(*marker);
        return tokens;
    }
    ETNA_TRY(const auto last,
             tokenizer.encode(markers, {.special = text::SpecialTokens::parse, .bos = text::AddBos::never}));
    tokens.insert(tokens.end(), last.begin(), last.end());
    return tokens;
}

/// Returns the text that ends a message and starts the next one, up to its header. Empty: every marker that
/// ends a message ends the answer.
std::string next_message(const text::Tokenizer& tokenizer, const output::Messages& messages) {
    const auto ends = tokenizer.end_tokens();
    const auto close = std::find_if(messages.close.begin(), messages.close.end(), [&](std::string_view one) {
        const auto token = tokenizer.find(one);
        return !token || !std::binary_search(ends.begin(), ends.end(), *token);
    });
    const std::string start = std::string(messages.open.front()) + std::string(messages.role);
    return close == messages.close.end() ? start : std::string(*close) + start;
}

/// Returns the header of the message that must follow if the reasoning is not to start again.
std::string_view answer_header(const output::Messages& messages, bool requires_call) {
    if (requires_call && !messages.function_headers.empty())
        return messages.function_headers.front().front().text;
    return messages.user_header;
}

/// Closes a message with reasoning. Calls may follow it, so that the model chooses the next message if tools
/// are offered, but once.
Result<ReasoningClose> close_message(const text::Tokenizer& tokenizer, const Request& request,
                                     const Prompt& prompt) {
    const output::Messages& messages = prompt.syntax->messages;
    const auto* const conversation = std::get_if<chat::Conversation>(&request.prompt);
    const bool requires_call = conversation != nullptr && conversation->required_tool.has_value();
    const std::string next = next_message(tokenizer, messages);
    const std::string answer = next + std::string(answer_header(messages, requires_call));
    const std::string& message = request.reasoning->message;
    ReasoningClose close;
    ETNA_TRY(close.first, encode_close(tokenizer, message, prompt.tools.empty() ? answer : next));
    ETNA_TRY(close.again, encode_close(tokenizer, {}, answer));
    return close;
}

/// Returns the tokens that close reasoning, by its closing marker.
Result<std::map<std::string_view, ReasoningClose>> closes_of(const text::Tokenizer& tokenizer,
                                                             const Request& request, const Prompt& prompt) {
    const Syntax& syntax = *prompt.syntax;
    std::map<std::string_view, ReasoningClose> closes;
    for (const output::ReasoningMarkers& pair : syntax.reasoning) {
        const std::string_view marker = trim(pair.close);
        if (marker.empty() || closes.contains(marker))
            continue;
        ReasoningClose close;
        ETNA_TRY(close.first, encode_close(tokenizer, request.reasoning->message, std::string(marker)));
        ETNA_TRY(close.again, encode_close(tokenizer, {}, std::string(marker)));
        closes.emplace(marker, std::move(close));
    }
    if (!syntax.messages.model_header.empty() && !syntax.messages.close.empty()) {
        ETNA_TRY(closes[trim(syntax.messages.close.front())], close_message(tokenizer, request, prompt));
    }
    return closes;
}

/// Refuses a ban of a token that closes the reasoning. Errors: invalid_argument.
Status check_bans(const text::Tokenizer& tokenizer, const Request& request,
                  const std::map<std::string_view, ReasoningClose>& closes) {
    const auto is_banned = [&](TokenId token) {
        return std::any_of(request.logit_bias.begin(), request.logit_bias.end(),
                           [&](const auto& one) { return one.token == token && std::isinf(one.bias); });
    };
    for (const auto& [marker, close] : closes) {
        for (const auto* const tokens : {&close.first, &close.again}) {
            const auto banned = std::find_if(tokens->begin(), tokens->end(), is_banned);
            if (banned != tokens->end()) {
                return invalid_argument(
                    fmt::format("logit_bias bans token {} (`{}`), which closes the reasoning", *banned,
                                tokenizer.bytes(*banned)),
                    "leave out the ban, or the limit of the reasoning");
            }
        }
    }
    return {};
}

/// Errors: invalid_argument.
Status check_message(const Syntax& syntax, const std::string& message) {
    if (message.size() > reasoning_message_bytes_max) {
        return invalid_argument(
            fmt::format("the message that ends the reasoning has {} bytes; the maximum is {}", message.size(),
                        reasoning_message_bytes_max));
    }
    for (const std::string_view marker : syntax.markers(output::Calls::expected)) {
        if (message.find(marker) != std::string::npos) {
            return invalid_argument(
                fmt::format("the message that ends the reasoning contains \"{}\"", marker),
                "write it without markers: the reasoning is closed after it");
        }
    }
    return {};
}

} // namespace

ReasoningConstraint::ReasoningConstraint(const text::Tokenizer& tokenizer, Options options,
                                         std::shared_ptr<engine::Constraint> inner)
    : shared_(std::make_shared<Shared>(
          Shared{.is_over = std::move(options.is_over),
                 .shown = {options.detokenize.shown.begin(), options.detokenize.shown.end()},
                 .closes = std::move(options.closes)})),
      tokens_max_(options.tokens_max), detokenizer_(tokenizer, {.control = options.detokenize.control,
                                                                .position = options.detokenize.position,
                                                                .shown = shared_->shown}),
      parser_(std::move(options.parser)), mask_((options.vocabulary + mask_bits - 1) / mask_bits),
      inner_(std::move(inner)) {
    close_if_over();
}

ReasoningConstraint::ReasoningConstraint(const ReasoningConstraint& other)
    : Constraint(other), shared_(other.shared_), tokens_max_(other.tokens_max_),
      detokenizer_(other.detokenizer_), parser_(other.parser_), tokens_(other.tokens_), close_(other.close_),
      closed_tokens_(other.closed_tokens_), was_closed_(other.was_closed_), mask_(other.mask_),
      inner_(other.inner_ == nullptr ? nullptr : other.inner_->fork()) {}

bool ReasoningConstraint::prepare(Part part, const TimeSlice& slice) {
    return inner_ == nullptr || inner_->prepare(part, slice);
}

bool ReasoningConstraint::restricts() const {
    return is_closing() || (inner_ != nullptr && inner_->restricts());
}

/// The next token of close_ is forced, except before the first token, and where the request has a bias.
Result<engine::Constraint::Allowed> ReasoningConstraint::allowed() {
    if (!is_closing())
        return inner_ == nullptr ? Result<Allowed>(Allowed{}) : inner_->allowed();
    std::fill(mask_.begin(), mask_.end(), 0);
    const TokenId next = close_[closed_tokens_];
    mask_[next / mask_bits] |= 1U << (next % mask_bits);
    return Allowed{.tokens = mask_};
}

void ReasoningConstraint::accept(TokenId token) {
    const bool was_reasoning = parser_.open_reasoning().has_value();
    (void)parser_.push(detokenizer_.push(token));
    if (inner_ != nullptr)
        inner_->accept(token);
    if (is_closing()) {
        ++closed_tokens_;
        return;
    }
    tokens_ += was_reasoning ? 1 : 0;
    close_if_over();
}

/// Starts to close the reasoning in which the text ends, if it is at the limit. Waits for the rest of a
/// character, and of what may be a marker.
void ReasoningConstraint::close_if_over() {
    const auto reasoning = parser_.open_reasoning();
    const bool is_over = tokens_ >= tokens_max_ || (shared_->is_over != nullptr && *shared_->is_over);
    if (!reasoning || !reasoning->is_decided || !is_over || detokenizer_.waiting_bytes() > 0)
        return;
    const auto close = shared_->closes.find(reasoning->close);
    if (close == shared_->closes.end())
        return;
    close_ = was_closed_ ? close->second.again : close->second.first;
    closed_tokens_ = 0;
    was_closed_ = true;
}

std::vector<TokenId> ReasoningConstraint::forced() {
    if (is_closing())
        return {close_.begin() + static_cast<std::ptrdiff_t>(closed_tokens_), close_.end()};
    return inner_ == nullptr ? std::vector<TokenId>() : inner_->forced();
}

Result<bool> ReasoningConstraint::is_over() {
    return inner_ == nullptr || is_closing() ? Result<bool>(false) : inner_->is_over();
}

std::shared_ptr<engine::Constraint> ReasoningConstraint::fork() const {
    return std::make_shared<ReasoningConstraint>(*this);
}

Result<std::shared_ptr<engine::Constraint>> with_reasoning_limit(const text::Tokenizer& tokenizer,
                                                                 uint32_t vocabulary, const Request& request,
                                                                 const Prompt& prompt,
                                                                 std::shared_ptr<engine::Constraint> inner) {
    ETNA_TRY(auto parser, make_parser(prompt));
    if (!parser)
        return inner;
    const ReasoningLimit& limit = *request.reasoning;
    ETNA_CHECK(check_message(*prompt.syntax, limit.message));
    ETNA_TRY(auto closes, closes_of(tokenizer, request, prompt));
    if (closes.empty())
        return inner;
    ETNA_CHECK(check_bans(tokenizer, request, closes));
    return std::shared_ptr<engine::Constraint>(std::make_shared<ReasoningConstraint>(
        tokenizer,
        ReasoningConstraint::Options{.tokens_max =
                                         limit.tokens_max.value_or(std::numeric_limits<uint32_t>::max()),
                                     .is_over = limit.is_over,
                                     .parser = std::move(*parser),
                                     .detokenize = detokenize_options(prompt, request),
                                     .closes = std::move(closes),
                                     .vocabulary = vocabulary},
        std::move(inner)));
}

} // namespace etna::generate
