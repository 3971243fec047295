#include "core/grammar/schema/tagged.hpp"

#include "core/grammar/regex.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace etna::grammar {
namespace {

Result<Automaton> matching(Language& language, std::string_view pattern) {
    const Alphabet alphabet = [&](const CodePoints& set) { return utf8(language, set); };
    ETNA_TRY(const Expression texts, regex(language, pattern, alphabet, MatchMode::full));
    return language.automaton(texts);
}

/// Texts that are neither JSON nor a Python literal, with any surrounding white space.
Result<Automaton> no_other_value(Language& language) {
    ETNA_TRY(const Automaton begun, matching(language, R"(([^\s0-9+\-.\[({"'][\s\S]*)?)"));
    ETNA_TRY(const Automaton words, matching(language, R"((True|true|False|false|None|null)\s*)"));
    ETNA_TRY(const Automaton others, complement(words));
    return intersection(begun, others);
}

StringForm raw(const Writing& writing, std::optional<Automaton> among) {
    return {
        .escapes = StringForm::Escapes::none, .without = writing.not_in_strings, .among = std::move(among)};
}

} // namespace

Result<Automaton> plain_names(Language& language) {
    constexpr std::string_view pattern =
        R"re([^\x00-\x20\x7f-\xa0<>"'`=|\[\]{}()\/\\&,:]( ?[^\x00-\x20\x7f-\xa0<>"'`=|\[\]{}()\/\\&,:]){0,50})re";
    return matching(language, pattern);
}

Result<Automaton> python_names(Language& language) {
    return matching(language, "[A-Za-z_][A-Za-z0-9_]{0,63}");
}

Result<TaggedMembers> TaggedMembers::create(Language& language, const SchemaDocument& document,
                                            DroppedKeywords* dropped, const Writing& writing, MarkWriter mark,
                                            Values values) {
    ETNA_TRY(Automaton texts, no_other_value(language));
    return TaggedMembers(language, document, dropped, writing, std::move(mark), std::move(values),
                         std::move(texts));
}

TaggedMembers::TaggedMembers(Language& language, const SchemaDocument& document, DroppedKeywords* dropped,
                             const Writing& writing, MarkWriter mark, Values values, Automaton texts)
    : language_(&language), writing_(&writing), mark_(std::move(mark)), values_(std::move(values)),
      strings_(language, document, dropped, raw(writing, {})),
      texts_(language, document, dropped, raw(writing, std::move(texts))) {}

bool TaggedMembers::has_others() const {
    return std::count_if(writing_->member.begin(), writing_->member.end(),
                         [](const TaggedPart& part) { return part.slot == TaggedSlot::name; }) == 1;
}

JsonKinds TaggedMembers::read_as(const MemberName& name) const {
    const auto known = std::find_if(writing_->read_as.begin(), writing_->read_as.end(), [&](const auto& one) {
        return name.only != nullptr && one.first == *name.only;
    });
    return known == writing_->read_as.end() ? writing_->others_read_as : known->second;
}

Result<Expression> TaggedMembers::member(const MemberName& name, const Claims& claims) {
    const bool has_kind = !writing_->text_kinds.empty();
    const JsonKinds kinds = has_kind ? json_any : read_as(name);
    SchemaStrings& strings = has_kind || kinds == json_string ? strings_ : texts_;
    ETNA_TRY(const Expression texts, values_.strings(claims, strings));
    ETNA_TRY(const Expression others, values_.json(claims, static_cast<JsonKinds>(kinds & ~json_string)));
    if (!has_kind)
        return written(name, {}, language_->either(texts, others));
    return language_->either(written(name, writing_->text_kinds, texts),
                             written(name, writing_->other_kinds, others));
}

Expression TaggedMembers::written(const MemberName& name, const std::vector<std::string>& kinds,
                                  Expression value) {
    std::vector<Expression> all;
    bool is_after_value = false;
    for (const TaggedPart& part : writing_->member) {
        const bool is_before_value = part.slot == TaggedSlot::value;
        const Expression text = mark(part.text, is_after_value, is_before_value);
        const bool may_miss = writing_->close_is_optional && &part == &writing_->member.back();
        all.push_back(may_miss ? language_->either(text, language_->optional(language_->literal("\n")))
                               : text);
        is_after_value = is_before_value;
        if (part.slot == TaggedSlot::name)
            all.push_back(name.text);
        if (part.slot == TaggedSlot::kind)
            all.push_back(any_of(kinds));
        if (part.slot == TaggedSlot::value)
            all.push_back(value);
    }
    return language_->sequence(all);
}

/// White space at its ends is optional, unless it must be distinguished from that of a value.
Expression TaggedMembers::mark(std::string_view text, bool keeps_front, bool keeps_back) {
    constexpr std::string_view blanks = " \t\r\n";
    const std::size_t begin = keeps_front ? 0 : std::min(text.find_first_not_of(blanks), text.size());
    const std::size_t end = keeps_back ? text.size() : std::max(begin, text.find_last_not_of(blanks) + 1);
    return language_->sequence(std::array{language_->optional(language_->literal(text.substr(0, begin))),
                                          mark_(text.substr(begin, end - begin)),
                                          language_->optional(language_->literal(text.substr(end)))});
}

Expression TaggedMembers::any_of(const std::vector<std::string>& words) {
    std::vector<Expression> all;
    for (const std::string& word : words)
        all.push_back(language_->literal(word));
    return language_->either(all);
}

} // namespace etna::grammar
