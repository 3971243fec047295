#include "core/generate/call_grammar.hpp"

#include "core/generate/call_pieces.hpp"
#include "core/generate/pieces.hpp"
#include "core/output/marks.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::generate {
namespace {

using namespace pieces;
using namespace output;

void add_mark(std::vector<std::string>& marks, std::string_view mark) {
    if (!trim(mark).empty())
        marks.emplace_back(trim(mark));
}

/// Markers of calls and of the protocol, which cannot occur in the content of a model without message
/// headers.
std::vector<std::string> protocol_marks(const Syntax& syntax, const CallWriter& calls) {
    std::vector<std::string> marks = calls.openings();
    for (const std::string_view mark : syntax.hidden)
        add_mark(marks, mark);
    return marks;
}

/// As protocol_marks(), with the markers of reasoning.
std::vector<std::string> content_marks(const Syntax& syntax, const CallWriter& calls) {
    std::vector<std::string> marks = protocol_marks(syntax, calls);
    for (const ReasoningMarks& one : syntax.reasoning) {
        add_mark(marks, one.open);
        if (one.expected)
            add_mark(marks, one.close);
    }
    return marks;
}

/// Returns the section whose calls begin without an opening marker; null if there is none.
const Section* bare_section(const Syntax& syntax) {
    const auto found = std::find_if(syntax.sections.begin(), syntax.sections.end(),
                                    [](const Section& one) { return one.open.empty(); });
    return found == syntax.sections.end() ? nullptr : &*found;
}

/// `text` with hidden protocol markers around it.
Description with_hidden(const Syntax& syntax, Description text) {
    constexpr uint32_t hidden_max = 3;
    std::vector<Description> hidden;
    hidden.reserve(syntax.hidden.size());
    for (const std::string_view mark : syntax.hidden)
        hidden.push_back(literal(trim(mark)));
    if (hidden.empty())
        return text;
    const Description some = repeated(sequence({either(std::move(hidden)), blanks()}), 0, hidden_max);
    return sequence({some, std::move(text), blanks(), some});
}

/// Returns a regular expression for the starts of content that could be mistaken for a bare call. With strict
/// arguments, that is any JSON object, or list if calls may come in one. Otherwise JSON is allowed as content
/// if its first member does not belong to a call, because the parser treats it as content too.
std::string beginning_of_bare_calls(const Syntax& syntax, const Section& bare, const CallWriter& calls) {
    const bool has_brackets = bare.brackets != Brackets::none;
    if (calls.has_strict())
        return has_brackets ? R"([\{\[])" : R"(\{)";
    std::vector<std::string_view> members = syntax.members.name;
    members.insert(members.end(), syntax.members.arguments.begin(), syntax.members.arguments.end());
    constexpr std::string_view white_space_text = R"([ \n\r\t]*)";
    return fmt::format(R"~({}\{{{}"({})")~",
                       has_brackets ? fmt::format(R"~((\[{})?)~", white_space_text) : "", white_space_text,
                       fmt::join(members, "|"));
}

/// Reasoning at the start of an answer of a model that is not known to reason; the parser recognizes it
/// anyway. Closed by its end marker, or open at the end of the answer.
struct Thoughts {
    Description closed;
    Description open;
};

std::optional<Thoughts> unexpected_thoughts(const Syntax& syntax, const CallWriter& writer,
                                            const Description& calls) {
    std::vector<Description> closed;
    std::vector<Description> open;
    for (const ReasoningMarks& marks : syntax.reasoning) {
        if (marks.expected || trim(marks.open).empty() || trim(marks.close).empty())
            continue;
        std::vector<std::string> without = {std::string(trim(marks.close))};
        if (syntax.call_ends_reasoning) {
            const std::vector<std::string> openings = writer.openings();
            without.insert(without.end(), openings.begin(), openings.end());
        }
        open.push_back(sequence({literal(trim(marks.open)), free_text(std::move(without))}));
        closed.push_back(sequence({open.back(), literal(trim(marks.close))}));
    }
    if (open.empty())
        return std::nullopt;
    const Description cut = syntax.call_ends_reasoning ? optional(calls) : literal("");
    return Thoughts{.closed = sequence({blanks(), either(std::move(closed)), blanks()}),
                    .open = sequence({blanks(), either(std::move(open)), cut})};
}

/// Content that is not a call, followed by calls.
Description content_and_calls(const Syntax& syntax, const CallWriter& writer) {
    Description text = free_text(protocol_marks(syntax, writer));
    const Section* const bare = bare_section(syntax);
    if (bare != nullptr) // calls without an opening marker begin where content can
        text.not_begun = beginning_of_bare_calls(syntax, *bare, writer);
    std::vector<Description> hidden;
    hidden.reserve(syntax.hidden.size());
    for (const std::string_view mark : syntax.hidden)
        hidden.push_back(literal(trim(mark)));
    const Description content =
        hidden.empty() ? text : sequence({text, repeated(sequence({either(std::move(hidden)), text}))});
    const Description calls = with_hidden(syntax, writer.sections());
    Description answer = sequence({content, optional(calls)});
    if (bare != nullptr)
        answer = either({sequence({blanks(), calls}), answer});
    const auto thoughts = unexpected_thoughts(syntax, writer, calls);
    if (!thoughts)
        return answer;
    return either({sequence({optional(thoughts->closed), std::move(answer)}), thoughts->open});
}

/// While the parser looks for calls, strings must not contain protocol markers, including those that end
/// calls. JSON can escape these characters.
Description kept_content(const AnswerForm& form, const CallWriter& calls) {
    Description content = *form.content;
    std::vector<std::string> marks = content_marks(form.syntax, calls);
    const auto add = [&](std::string_view close) {
        if (is_tag(close))
            marks.emplace_back(trim(close));
    };
    for (const Section& section : form.syntax.sections) {
        add(section.close);
        for (const auto& call : section.calls)
            add(call.back().text);
    }
    content.writing.not_in_strings = std::move(marks);
    return content;
}

/// Describes answers of models that write messages with headers: reasoning messages, then one to the user or
/// to a function.
class MessageWriter {
public:
    MessageWriter(const AnswerForm& form, const CallWriter& calls)
        : form_(&form), messages_(&form.syntax.messages), calls_(&calls) {}

    [[nodiscard]] Description answer() const {
        const Description last = last_message();
        const bool has_thoughts = !messages_->model_header.empty();
        const Description thoughts = sequence({literal(messages_->model_header), body_and_next()});
        Description all = has_thoughts ? sequence({repeated(thoughts), last}) : last;
        if (form_->start == Start::reasoning)
            return sequence({text(), next(), all});
        if (form_->start == Start::header)
            return all;
        if (form_->has_body)
            return form_->content && !form_->demanded ? user_text() : sequence({next(), all});
        return sequence({opening(), all});
    }

private:
    /// The message to the user or to a function; if content is unconstrained, more messages may come before
    /// it.
    [[nodiscard]] Description last_message() const {
        const bool may_call = calls_->offers_any();
        if (form_->demanded)
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
        const Description told = sequence({either(std::move(headers)), body_and_next()});
        return sequence({repeated(told), either({user, functions()})});
    }

    [[nodiscard]] Description user_text() const {
        if (!form_->content)
            return text();
        Description content = *form_->content;
        content.writing.not_in_strings = marks();
        return content;
    }

    [[nodiscard]] Description functions() const {
        const Description one = messages_->function_headers.empty()
                                    ? sequence({literal(messages_->user_header), literal(messages_->body),
                                                blanks(), calls_->sections()})
                                    : calls_->messages();
        if (!form_->are_parallel)
            return sequence({one, end()});
        return sequence({one, repeated(sequence({next(), one})), end()});
    }

    [[nodiscard]] std::vector<std::string> marks() const {
        std::vector<std::string> all = calls_->openings();
        for (const auto* const some : {&messages_->open, &messages_->close})
            all.insert(all.end(), some->begin(), some->end());
        return all;
    }

    /// Text without message markers.
    [[nodiscard]] Description text() const { return free_text(marks()); }

    [[nodiscard]] Description body_and_next() const {
        return sequence({literal(messages_->body), text(), next()});
    }

    [[nodiscard]] std::vector<Description> closes() const {
        std::vector<Description> all;
        for (const std::string_view close : messages_->close) {
            if (!form_->is_end || !form_->is_end(close))
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
    const CallWriter* calls_;
};

} // namespace

Result<std::optional<Description>> describe_answer(const AnswerForm& form) {
    const bool has_messages = !form.syntax.messages.open.empty();
    if (form.tools.empty() && !has_messages)
        return form.content;
    ETNA_TRY(const CallWriter calls, CallWriter::create(form));
    if (!calls.offers_any() && (!form.content || !has_messages))
        return form.content;
    if (has_messages)
        return std::optional(MessageWriter(form, calls).answer());
    Description calls_alone = with_hidden(form.syntax, sequence({blanks(), calls.sections()}));
    Description answer = form.demanded ? calls_alone
                         : form.content
                             ? either({with_hidden(form.syntax, kept_content(form, calls)), calls_alone})
                             : content_and_calls(form.syntax, calls);
    if (form.syntax.call_ends_reasoning)
        answer.ends_reasoning.push_back(std::move(calls_alone));
    return std::optional(std::move(answer));
}

} // namespace etna::generate
