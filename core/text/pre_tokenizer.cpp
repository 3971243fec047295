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

/// The state of splitting one text by all expressions.
struct Splitting {
    std::vector<Regex::Search> searches; ///< by expression
    TokenizeBudget& budget;
    const PreTokenizer::TakeWord& take;

    /// Splits `piece` at both ends of every match of an expression, and the results by the next one; after
    /// the last expression a piece is a word. Empty pieces are dropped.
    Status cut(std::string_view piece, std::size_t expression);
};

// NOLINTNEXTLINE(misc-no-recursion): as deep as a row has expressions
Status Splitting::cut(std::string_view piece, std::size_t expression) {
    if (piece.empty())
        return {};
    if (expression == searches.size())
        return take(piece);
    std::size_t done = 0;
    while (done < piece.size()) {
        if (budget.is_over())
            return TokenizeBudget::error();
        ETNA_TRY(const std::optional<RegexMatch> match, searches[expression].next(piece, done));
        if (!match || match->begin == match->end)
            break; // an empty match would make no progress
        ETNA_CHECK(cut(piece.substr(done, match->begin - done), expression + 1));
        ETNA_CHECK(cut(piece.substr(match->begin, match->end - match->begin), expression + 1));
        done = match->end;
    }
    return cut(piece.substr(done), expression + 1);
}

/// A run of valid UTF-8, which the expressions apply to, or of other bytes.
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
        return unsupported(fmt::format("unknown pre-tokenizer {}", gguf::backquoted(name)),
                           fmt::format("known ones are {}", known_names()));
    }
    std::vector<Regex> expressions;
    for (const std::string_view expression : row->expressions) {
        ETNA_TRY(Regex compiled, Regex::compile(expression));
        expressions.push_back(std::move(compiled));
    }
    return PreTokenizer(*row, std::move(expressions));
}

Status PreTokenizer::split(std::string_view text, TokenizeBudget& budget, const TakeWord& take) const {
    Splitting splitting = {.searches = {}, .budget = budget, .take = take};
    for (const Regex& expression : expressions_)
        splitting.searches.emplace_back(expression);
    while (!text.empty()) {
        const Run run = next_run(text);
        const std::size_t first = run.kind == Utf8Kind::valid ? 0 : expressions_.size();
        ETNA_CHECK(splitting.cut(run.text, first));
        text.remove_prefix(run.text.size());
    }
    return {};
}

} // namespace etna::text
