#include "core/grammar/description.hpp"

#include "core/grammar/gbnf.hpp"
#include "core/grammar/lark.hpp"
#include "core/grammar/regex.hpp"
#include "core/grammar/schema/json_text.hpp"
#include "core/grammar/vocabulary.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace etna::grammar {
namespace {

/// Maximum bytes of white space between reasoning and the text after it.
constexpr uint32_t space_after_reasoning_max = 8;
constexpr std::string_view blanks = " \n\r\t";

ByteSet bytes_of(std::string_view text) {
    ByteSet set;
    for (const char byte : text)
        set.add(static_cast<uint8_t>(byte));
    return set;
}

/// Compiles one description. All functions except the first leave rules unsealed.
class Writer {
public:
    Writer(Language& language, const Vocabulary& vocabulary)
        : language_(&language), vocabulary_(&vocabulary) {}

    Result<Expression> write(const Description& description) {
        auto made = text_of(description);
        if (!made && !description.place.empty())
            return made.error().while_doing(description.place);
        ETNA_TRY(Expression text, std::move(made));
        if (description.reasoning) {
            ETNA_TRY(text, after_reasoning(description, text));
        }
        if (description.may_begin_with_blank)
            text = language_->either(text, language_->sequence(language_->literal(" "), text));
        return text;
    }

    [[nodiscard]] const std::vector<DroppedKeyword>& dropped() const { return dropped_; }

private:
    Result<Expression> text_of(const Description& description) {
        switch (description.notation) {
        case Notation::json_schema:
        case Notation::gbnf:
            return once(description);
        case Notation::regex: {
            ETNA_TRY(const Expression texts, expression(description.text));
            return language_->seal(texts);
        }
        case Notation::choices:
            return language_->seal(language_->any_of(description.choices));
        case Notation::literal:
            return marked(description.text);
        case Notation::free_text:
            return free_text(description.choices, description.not_begun, description.mentions);
        case Notation::space:
            return json_space(*language_, description.spacing);
        case Notation::sequence:
        case Notation::either:
        case Notation::repeated:
            return composed(description);
        }
        return Error{ErrorKind::internal, "an unknown notation"};
    }

    /// Caches descriptions that are slow to compile and may be repeated.
    Result<Expression> once(const Description& description) {
        for (const auto& [known, texts] : compiled_) {
            if (*known == description)
                return texts;
        }
        ETNA_TRY(const Expression texts, compiled(description));
        compiled_.emplace_back(&description, texts);
        return texts;
    }

    Result<Expression> compiled(const Description& description) {
        if (description.notation == Notation::gbnf) {
            return looks_like_lark(description.text) ? lark(*language_, description.text)
                                                     : gbnf(*language_, description.text);
        }
        std::vector<std::string> dropped;
        ETNA_TRY(const Expression texts,
                 json_schema(*language_, description.text,
                             {.spacing = description.spacing,
                              .is_lenient = description.is_lenient,
                              .root = description.root,
                              .writing = description.writing,
                              .mark = [this](std::string_view text) { return marked(text); }},
                             &dropped));
        for (std::string& pointer : dropped)
            dropped_.push_back({.place = description.place, .pointer = std::move(pointer)});
        return texts;
    }

    Result<Expression> composed(const Description& description) {
        std::vector<Expression> parts;
        for (const Description& part : description.parts) {
            ETNA_TRY(const Expression one, write(part));
            parts.push_back(one);
        }
        if (description.notation == Notation::either)
            return language_->either(parts);
        const Expression all = language_->sequence(parts);
        return description.notation == Notation::sequence
                   ? all
                   : language_->repeat(all, description.min, description.max);
    }

    /// Text without `marks` whose start after white space does not match `not_begun`, and after it any number
    /// of mentions, each followed by such a text.
    Result<Expression> free_text(const std::vector<std::string>& marks, const std::string& not_begun,
                                 const std::vector<Mention>& mentions) {
        ETNA_TRY(const Expression text, text_without(marks, not_begun));
        std::vector<Expression> all;
        for (const Mention& mention : mentions) {
            const bool is_excluded = std::find(marks.begin(), marks.end(), mention.mark) != marks.end();
            if (!is_excluded && !has_control_token(mention.mark))
                continue; // a part of the text already
            ETNA_TRY(const Expression after, text_without(marks, mention.not_before));
            all.push_back(language_->sequence(std::array{marked(mention.mark), after}));
        }
        if (all.empty())
            return text;
        return language_->sequence(std::array{text, language_->repeat(language_->either(all), 0)});
    }

    Result<Expression> text_without(const std::vector<std::string>& marks, const std::string& not_begun) {
        ETNA_TRY(Automaton texts, without(marks));
        if (!not_begun.empty()) {
            ETNA_TRY(const Expression begun, expression(not_begun));
            const Expression anything =
                language_->repeat(language_->bytes(ByteSet::one(control_byte).complement()), 0);
            const Expression space = language_->repeat(language_->bytes(bytes_of(blanks)), 0);
            ETNA_TRY(const Automaton excluded,
                     language_->automaton(language_->sequence(std::array{space, begun, anything})));
            ETNA_TRY(const Automaton allowed, complement(excluded));
            ETNA_TRY(texts, intersection(texts, allowed));
        }
        return language_->accepted(texts);
    }

    Result<Expression> expression(std::string_view text) {
        const Alphabet alphabet = [&](const CodePoints& set) { return utf8(*language_, set); };
        return regex(*language_, text, alphabet, MatchMode::full);
    }

    [[nodiscard]] bool has_control_token(std::string_view text) const {
        for (std::size_t begin = 0; begin < text.size(); ++begin) {
            for (std::size_t size = 1; size <= text.size() - begin; ++size) {
                if (vocabulary_->control_token(text.substr(begin, size)))
                    return true;
            }
        }
        return false;
    }

    /// A text in which each name of a control token is written as itself or as the token.
    Expression marked(std::string_view text) {
        std::vector<Expression> all;
        while (!text.empty()) {
            std::size_t size = text.size();
            while (size > 1 && !vocabulary_->control_token(text.substr(0, size)))
                --size;
            const auto token = vocabulary_->control_token(text.substr(0, size));
            const Expression as_text = language_->literal(text.substr(0, size));
            all.push_back(token ? language_->either(as_text, language_->literal(control_text(*token)))
                                : as_text);
            text.remove_prefix(size);
        }
        return language_->sequence(all);
    }

    /// The closing mark, as text or as a control token, after anything that does not contain it.
    Result<Expression> reasoning_until(const Reasoning& reasoning) {
        if (!reasoning.mentions.empty()) {
            ETNA_TRY(const Expression open, open_reasoning(reasoning));
            return language_->sequence(std::array{open, marked(reasoning.close)});
        }
        ETNA_TRY(const Automaton thoughts, without(all_marks(reasoning)));
        Automaton closed = until(reasoning.close);
        if (!reasoning.without.empty()) {
            ETNA_TRY(const Automaton others, without(reasoning.without));
            ETNA_TRY(closed, intersection(closed, others));
        }
        const Expression as_text = language_->accepted(closed);
        const auto token = vocabulary_->control_token(reasoning.close);
        if (!token)
            return as_text;
        return language_->either(as_text, language_->sequence(language_->accepted(thoughts),
                                                              language_->literal(control_text(*token))));
    }

    /// Reasoning that is not closed.
    Result<Expression> open_reasoning(const Reasoning& reasoning) {
        return free_text(all_marks(reasoning), {}, reasoning.mentions);
    }

    /// `text`, after reasoning if there is any.
    Result<Expression> after_reasoning(const Description& description, Expression text) {
        const Reasoning& reasoning = *description.reasoning;
        const Expression space =
            language_->repeat(language_->bytes(bytes_of(blanks)), 0, space_after_reasoning_max);
        ETNA_TRY(const Expression closed, reasoning_until(reasoning));
        Expression thoughts = language_->sequence(std::array{closed, space, text});
        for (const Description& end : description.ends_reasoning) {
            ETNA_TRY(const Expression rest, write(end));
            ETNA_TRY(const Expression open, open_reasoning(reasoning));
            thoughts = language_->either(thoughts, language_->sequence(open, rest));
        }
        if (reasoning.is_open)
            return thoughts;
        return language_->either(text,
                                 language_->sequence(std::array{space, marked(reasoning.open), thoughts}));
    }

    static std::vector<std::string> all_marks(const Reasoning& reasoning) {
        std::vector<std::string> marks = reasoning.without;
        marks.push_back(reasoning.close);
        return marks;
    }

    Language* language_;
    const Vocabulary* vocabulary_;
    std::vector<std::pair<const Description*, Expression>> compiled_;
    std::vector<DroppedKeyword> dropped_; ///< of all schemas compiled
};

} // namespace

Result<Expression> texts_of(Language& language, const Description& description,
                            const Vocabulary& vocabulary) {
    uint64_t steps_left = steps_of_compilation;
    return texts_of(language, description, vocabulary, steps_left);
}

Result<Expression> texts_of(Language& language, const Description& description, const Vocabulary& vocabulary,
                            uint64_t& steps_left, const Language::Stop* stop,
                            std::vector<DroppedKeyword>* dropped) {
    language.set_step_budget(steps_left, true, stop);
    Writer writer(language, vocabulary);
    auto all = writer.write(description);
    if (all)
        all = language.seal(*all);
    if (dropped != nullptr)
        *dropped = writer.dropped();
    if (language.is_stopped()) // whatever the result
        all = language.check().error();
    steps_left = language.steps_left();
    language.set_step_budget(UINT64_MAX);
    return all;
}

} // namespace etna::grammar
