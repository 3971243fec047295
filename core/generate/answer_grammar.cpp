#include "core/generate/answer_grammar.hpp"

#include "core/generate/tool_call_grammar.hpp"
#include "core/output/markers.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::generate {
namespace {

using namespace describe;
using namespace output;

void add_marker(std::vector<std::string>& markers, std::string_view marker) {
    if (!trim(marker).empty())
        markers.emplace_back(trim(marker));
}

/// Markers of calls and of the protocol, which cannot occur in the content of a model without message
/// headers.
std::vector<std::string> protocol_markers(const Syntax& syntax, const ToolCallGrammar& calls) {
    std::vector<std::string> markers = calls.opening_markers();
    for (const std::string_view marker : syntax.hidden)
        add_marker(markers, marker);
    return markers;
}

/// As protocol_markers(), with the markers of reasoning.
std::vector<std::string> content_markers(const Syntax& syntax, const ToolCallGrammar& calls) {
    std::vector<std::string> markers = protocol_markers(syntax, calls);
    for (const ReasoningMarkers& pair : syntax.reasoning) {
        add_marker(markers, pair.open);
        if (pair.expected)
            add_marker(markers, pair.close);
    }
    return markers;
}

/// `text` with hidden protocol markers around it.
Description with_hidden(const Syntax& syntax, Description text) {
    constexpr uint32_t hidden_max = 3;
    std::vector<Description> hidden;
    hidden.reserve(syntax.hidden.size());
    for (const std::string_view marker : syntax.hidden)
        hidden.push_back(literal(trim(marker)));
    if (hidden.empty())
        return text;
    const Description some = repeated(sequence({either(std::move(hidden)), blanks()}), 0, hidden_max);
    return sequence({some, std::move(text), blanks(), some});
}

/// Reasoning at the start of an answer of a model that is not known to reason; the parser recognizes it
/// anyway. Closed by its end marker, or open at the end of the answer.
struct LeadingReasoning {
    Description closed;
    Description open;
};

std::optional<LeadingReasoning> leading_reasoning(const Syntax& syntax, const ToolCallGrammar& call_grammar) {
    std::vector<Description> closed;
    std::vector<Description> open;
    for (const ReasoningMarkers& pair : syntax.reasoning) {
        if (pair.expected || trim(pair.open).empty() || trim(pair.close).empty())
            continue;
        std::vector<std::string> without = {std::string(trim(pair.close))};
        if (call_grammar.has_strict()) {
            const std::vector<std::string> openings = call_grammar.opening_markers();
            without.insert(without.end(), openings.begin(), openings.end());
        }
        Description text = free_text(std::move(without));
        text.mentions = call_grammar.mentions(ToolCallGrammar::Place::reasoning);
        open.push_back(sequence({literal(trim(pair.open)), std::move(text)}));
        closed.push_back(sequence({open.back(), literal(trim(pair.close))}));
    }
    if (open.empty())
        return std::nullopt;
    const auto calls = call_grammar.sections_in(ToolCallGrammar::Place::reasoning);
    return LeadingReasoning{
        .closed = sequence({blanks(), either(std::move(closed)), blanks()}),
        .open = sequence({blanks(), either(std::move(open)), calls ? optional(*calls) : literal("")})};
}

/// Content that is not a call, followed by calls.
Description content_and_calls(const Syntax& syntax, const ToolCallGrammar& call_grammar) {
    Description text = free_text(protocol_markers(syntax, call_grammar));
    text.mentions = call_grammar.mentions(ToolCallGrammar::Place::content);
    // Calls without an opening marker start where content can.
    text.not_begun = call_grammar.start_of_unmarked_call();
    std::vector<Description> hidden;
    hidden.reserve(syntax.hidden.size());
    for (const std::string_view marker : syntax.hidden)
        hidden.push_back(literal(trim(marker)));
    const Description content =
        hidden.empty() ? text : sequence({text, repeated(sequence({either(std::move(hidden)), text}))});
    const Description calls = with_hidden(syntax, call_grammar.sections());
    Description answer = sequence({content, optional(calls)});
    if (!text.not_begun.empty())
        answer = either({sequence({blanks(), calls}), answer});
    const auto reasoning = leading_reasoning(syntax, call_grammar);
    if (!reasoning)
        return answer;
    return either({sequence({optional(reasoning->closed), std::move(answer)}), reasoning->open});
}

/// The constrained content, whose strings must not contain protocol markers, including those that end calls,
/// because the parser looks for calls there. JSON can escape these characters.
Description constrained_content(const AnswerForm& form, const ToolCallGrammar& calls) {
    Description content = *form.content;
    std::vector<std::string> markers = content_markers(form.syntax, calls);
    const auto add = [&](std::string_view close) {
        if (is_tag(close))
            markers.emplace_back(trim(close));
    };
    for (const Section& section : form.syntax.sections) {
        if (section.origin == Origin::foreign)
            continue;
        add(section.close);
        for (const auto& call : section.calls)
            add(call.back().text);
    }
    content.writing.not_in_strings = std::move(markers);
    return content;
}

/// Describes answers of models that write messages with headers: reasoning messages, then one to the user or
/// to a function.
class MessageGrammar {
public:
    MessageGrammar(const AnswerForm& form, const ToolCallGrammar& calls)
        : form_(&form), messages_(&form.syntax.messages), calls_(&calls) {}

    [[nodiscard]] Description answer() const {
        const Description last = final_message();
        const bool has_reasoning = form_->may_reason && !messages_->model_header.empty();
        const Description reasoning = sequence({literal(messages_->model_header), body_and_next()});
        const Description open_reasoning =
            sequence({literal(messages_->model_header), literal(messages_->body), open_text()});
        const Description answer = may_end_in_reasoning() ? either({last, open_reasoning}) : last;
        Description all = has_reasoning ? sequence({repeated(reasoning), answer}) : last;
        if (form_->start == Start::reasoning) {
            Description closed = sequence({text(), next(), all});
            return may_end_in_reasoning() ? either({std::move(closed), open_text()}) : closed;
        }
        if (form_->start == Start::header)
            return all;
        if (form_->starts_in_body)
            return form_->content && !form_->required ? user_text() : sequence({next(), all});
        return sequence({opening(), all});
    }

private:
    /// The message to the user or to a function; if content is unconstrained, more messages may come before
    /// it.
    [[nodiscard]] Description final_message() const {
        const bool may_call = calls_->offers_any();
        if (form_->required)
            return functions();
        Description user =
            sequence({literal(messages_->user_header), form_->content ? json_body(*messages_) : literal(""),
                      literal(messages_->body), user_text(), end()});
        if (!may_call)
            return user;
        if (form_->content)
            return either({std::move(user), functions()});
        std::vector<Description> headers = {literal(messages_->user_header)};
        if (!messages_->preamble_header.empty())
            headers.push_back(literal(messages_->preamble_header));
        const Description preamble = sequence({either(std::move(headers)), body_and_next()});
        return sequence({repeated(preamble), either({user, functions()})});
    }

    /// The model may end its turn while it reasons, if nothing else is required of it.
    [[nodiscard]] bool may_end_in_reasoning() const {
        return calls_->offers_any() && !form_->required && !form_->content &&
               !messages_->model_header.empty();
    }

    /// Reasoning that ends with the turn, or in calls.
    [[nodiscard]] Description open_text() const {
        if (form_->syntax.sections.empty())
            return sequence({text(), end()});
        const auto calls = calls_->sections_in(ToolCallGrammar::Place::reasoning);
        return sequence({text(), calls ? optional(sequence({blanks(), *calls})) : literal(""), end()});
    }

    [[nodiscard]] Description user_text() const {
        if (!form_->content)
            return text();
        Description content = *form_->content;
        content.writing.not_in_strings = markers();
        return content;
    }

    [[nodiscard]] Description functions() const {
        const Description message = messages_->function_headers.empty()
                                        ? sequence({literal(messages_->user_header), literal(messages_->body),
                                                    blanks(), calls_->sections()})
                                        : calls_->messages();
        if (!form_->allows_parallel)
            return sequence({message, end()});
        return sequence({message, repeated(sequence({next(), message})), end()});
    }

    [[nodiscard]] std::vector<std::string> markers() const {
        std::vector<std::string> all = calls_->opening_markers();
        for (const auto* const some : {&messages_->open, &messages_->close})
            all.insert(all.end(), some->begin(), some->end());
        return all;
    }

    /// Text without message markers.
    [[nodiscard]] Description text() const { return free_text(markers()); }

    [[nodiscard]] Description body_and_next() const {
        return sequence({literal(messages_->body), text(), next()});
    }

    [[nodiscard]] std::vector<Description> closes() const {
        std::vector<Description> all;
        for (const std::string_view close : messages_->close) {
            if (!form_->is_end_token || !form_->is_end_token(close))
                all.push_back(literal(close));
        }
        return all;
    }

    [[nodiscard]] Description opening() const {
        return literal(std::string(messages_->open.front()) + std::string(messages_->role));
    }

    /// The end of a message and the start of the next one; no end marker if every end marker ends the answer.
    [[nodiscard]] Description next() const {
        if (messages_->close.empty())
            return opening();
        return sequence({either(closes()), opening()});
    }

    [[nodiscard]] Description end() const {
        const std::vector<Description> all = closes();
        return all.empty() ? literal("") : optional(either(all));
    }

    const AnswerForm* form_;
    const Messages* messages_;
    const ToolCallGrammar* calls_;
};

} // namespace

Result<std::optional<Description>> describe_answer(const AnswerForm& form) {
    const bool has_messages = !form.syntax.messages.open.empty();
    if (form.tools.empty() && !has_messages)
        return form.content;
    ETNA_TRY(const ToolCallGrammar calls, ToolCallGrammar::create(form));
    if (!calls.offers_any() && (!form.content || !has_messages))
        return form.content;
    if (has_messages)
        return std::optional(MessageGrammar(form, calls).answer());
    Description only_calls = with_hidden(form.syntax, sequence({blanks(), calls.sections()}));
    Description answer =
        form.required  ? only_calls
        : form.content ? either({with_hidden(form.syntax, constrained_content(form, calls)), only_calls})
                       : content_and_calls(form.syntax, calls);
    return std::optional(std::move(answer));
}

Status end_open_reasoning(const AnswerForm& form, Description& answer) {
    if (form.tools.empty())
        return {};
    ETNA_TRY(const ToolCallGrammar calls, ToolCallGrammar::create(form));
    if (!calls.offers_any() || !answer.reasoning)
        return {};
    grammar::Reasoning& reasoning = *answer.reasoning;
    const bool may_end = !form.required && !form.content;
    if (may_end && !calls.has_strict()) { // the parser tells a call from a mention
        for (const std::string_view marker : form.syntax.markers(Calls::expected)) {
            if (marker != reasoning.close)
                reasoning.mentions.push_back({.mark = std::string(marker)});
        }
        answer.ends_reasoning.push_back(literal(""));
        return {};
    }
    reasoning.without = calls.opening_markers();
    reasoning.mentions = calls.mentions(ToolCallGrammar::Place::reasoning);
    if (auto sections = calls.sections_in(ToolCallGrammar::Place::reasoning))
        answer.ends_reasoning.push_back(with_hidden(form.syntax, sequence({blanks(), *std::move(sections)})));
    if (may_end)
        answer.ends_reasoning.push_back(literal(""));
    return {};
}

} // namespace etna::generate
