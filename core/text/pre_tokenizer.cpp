#include "core/text/pre_tokenizer.hpp"

#include "core/base/utf8.hpp"
#include "core/gguf/cursor.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace etna::text {
namespace {

const PreTokenizerRow* find_row(std::string_view name) {
    for (const PreTokenizerRow& row : pre_tokenizer_rows()) {
        if (std::find(row.names.begin(), row.names.end(), name) != row.names.end())
            return &row;
    }
    return nullptr;
}

std::string known_names() {
    std::string list;
    for (const PreTokenizerRow& row : pre_tokenizer_rows()) {
        for (const std::string_view name : row.names)
            list += fmt::format("{}{}", list.empty() ? "" : ", ", name);
    }
    return list;
}

/// Cuts `text` at both ends of every match; empty pieces are left out.
Status cut(std::string_view text, Regex::Search& search, Patience& patience,
           std::vector<std::string_view>& pieces) {
    const auto add = [&](std::size_t begin, std::size_t end) {
        if (begin < end)
            pieces.push_back(text.substr(begin, end - begin));
    };
    std::size_t done = 0;
    while (done < text.size()) {
        if (patience.is_over())
            return Patience::error();
        ETNA_TRY(const std::optional<RegexMatch> match, search.next(text, done));
        if (!match || match->begin == match->end)
            break; // an expression that matches nothing would not get on
        add(done, match->begin);
        add(match->begin, match->end);
        done = match->end;
    }
    add(done, text.size());
    return {};
}

/// Runs of valid UTF-8, which the expressions are for, and what lies between.
struct Run {
    std::string_view text;
    Utf8Kind kind = Utf8Kind::valid;
};

Run next_run(std::string_view text) {
    if (const std::size_t valid = valid_utf8_prefix(text); valid > 0)
        return {text.substr(0, valid), Utf8Kind::valid};
    return {text.substr(0, next_utf8(text).bytes), Utf8Kind::invalid};
}

} // namespace

Result<PreTokenizer> PreTokenizer::create(std::string_view name) {
    const PreTokenizerRow* row = find_row(name);
    if (row == nullptr) {
        return Error{ErrorKind::unsupported, fmt::format("unknown pre-tokenizer {}", gguf::backquoted(name)),
                     fmt::format("known ones are {}", known_names())};
    }
    std::vector<Regex> expressions;
    for (const std::string_view expression : row->expressions) {
        ETNA_TRY(Regex compiled, Regex::compile(expression));
        expressions.push_back(std::move(compiled));
    }
    return PreTokenizer(*row, std::move(expressions));
}

Result<std::vector<std::string_view>> PreTokenizer::split(std::string_view text, Patience& patience) const {
    std::vector<std::string_view> pieces;
    std::vector<std::string_view> invalid; // in order; they are `pieces` that no expression is applied to
    while (!text.empty()) {
        const Run run = next_run(text);
        pieces.push_back(run.text);
        if (run.kind != Utf8Kind::valid)
            invalid.push_back(run.text);
        text.remove_prefix(run.text.size());
    }
    for (const Regex& expression : expressions_) {
        Regex::Search search(expression);
        std::vector<std::string_view> smaller;
        auto skipped = invalid.begin();
        for (const std::string_view piece : pieces) {
            if (skipped != invalid.end() && skipped->data() == piece.data()) {
                smaller.push_back(piece);
                ++skipped;
                continue;
            }
            ETNA_CHECK(cut(piece, search, patience, smaller));
        }
        pieces = std::move(smaller);
    }
    return pieces;
}

} // namespace etna::text
