#include "core/generate/call_grammar.hpp"

#include "core/chat/output/marks.hpp"
#include "core/generate/call_pieces.hpp"
#include "core/generate/pieces.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace etna::generate {
namespace {

using namespace pieces;
using namespace chat::output;

/// Texts that are marks where a model without messages writes content.
std::vector<std::string> content_marks(const Syntax& syntax, const CallWriter& calls) {
    std::vector<std::string> marks = calls.openings();
    const auto add = [&](std::string_view mark) {
        if (!trim(mark).empty())
            marks.emplace_back(trim(mark));
    };
    for (const ReasoningMarks& one : syntax.reasoning) {
        add(one.open);
        if (one.expected)
            add(one.close);
    }
    std::for_each(syntax.hidden.begin(), syntax.hidden.end(), add);
    return marks;
}

/// Calls that begin with nothing in front of them.
const Section* bare_section(const Syntax& syntax) {
    const auto found = std::find_if(syntax.sections.begin(), syntax.sections.end(),
                                    [](const Section& one) { return one.open.empty(); });
    return found == syntax.sections.end() ? nullptr : &*found;
}

/// With protocol around it that has no meaning here.
Description with_hidden(const Syntax& syntax, Description text) {
    constexpr uint32_t hidden_max = 3;
    std::vector<Description> hidden;
    for (const std::string_view mark : syntax.hidden)
        hidden.push_back(literal(trim(mark)));
    if (hidden.empty())
        return text;
    const Description some = repeated(sequence({either(std::move(hidden)), blanks()}), 0, hidden_max);
    return sequence({some, std::move(text), blanks(), some});
}

/// Content that is no call, and calls behind it.
Description content_and_calls(const Syntax& syntax, const CallWriter& calls) {
    const std::vector<std::string> marks = content_marks(syntax, calls);
    Description text = free_text(marks);
    const Section* const bare = bare_section(syntax);
    if (bare != nullptr) { // calls without a mark begin where content could
        text.not_first = bare->brackets == Brackets::none ? "{" : "{[";
        return either({sequence({blanks(), calls.sections()}), sequence({text, optional(calls.sections())})});
    }
    std::vector<Description> hidden;
    for (const std::string_view mark : syntax.hidden)
        hidden.push_back(literal(trim(mark)));
    Description content = text;
    if (!hidden.empty())
        content = sequence({text, repeated(sequence({either(std::move(hidden)), text}))});
    return sequence({std::move(content), optional(with_hidden(syntax, calls.sections()))});
}

/// Where calls are looked for, strings must not hold what would be taken for protocol, an end of calls among
/// it. JSON has other ways to write these characters.
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

/// Answers of models that write messages with headers: to themselves, then to the user or to a function.
class MessageWriter {
public:
    MessageWriter(const AnswerForm& form, const CallWriter& calls)
        : form_(&form), messages_(&form.syntax.messages), calls_(&calls) {}

    [[nodiscard]] Description answer() const {
        const Description last = last_message();
        const bool has_thoughts = !messages_->model_header.empty();
        const Description thoughts = sequence({literal(messages_->model_header), body_and_next()});
        const Description all = has_thoughts ? sequence({repeated(thoughts), last}) : last;
        if (form_->start == Start::reasoning)
            return sequence({text(), next(), all});
        if (form_->start == Start::header)
            return all;
        if (form_->has_body)
            return form_->content && !form_->demanded ? user_text() : sequence({next(), all});
        return sequence({opening(), all});
    }

private:
    /// What the user reads, or what a function gets; with something to read before that where it is free.
    [[nodiscard]] Description last_message() const {
        const bool may_call = !form_->tools.empty();
        if (form_->demanded)
            return functions();
        const Description user =
            sequence({literal(messages_->user_header), form_->content ? json_body(*messages_) : literal(""),
                      literal(messages_->body), user_text(), end()});
        if (!may_call)
            return user;
        if (form_->content)
            return either({user, functions()});
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

    /// Text without the marks of messages.
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

    /// The end of a message, and the beginning of another one: nothing, if all ends end the answer.
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
    const bool is_kept = form.content || form.demanded || calls.has_strict();
    if (!is_kept)
        return std::optional<Description>();
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
