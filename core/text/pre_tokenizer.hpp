#pragma once

#include "core/base/result.hpp"
#include "core/text/regex.hpp"
#include "core/text/tokenize_budget.hpp"

#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace etna::text {

enum class IgnoreMerges {
    no,
    yes, ///< a word in the vocabulary becomes that token, regardless of the merges
};
enum class AddsBos { no, yes };

/// A rule set for splitting text into words before byte-pair merging: a row of the table in
/// pre_tokenizer_rows.cpp.
struct PreTokenizerRow {
    std::span<const std::string_view> names; ///< values of `tokenizer.ggml.pre`
    /// Applied in order, each to the pieces that the previous one produced: every match and every stretch
    /// between matches becomes a separate word.
    std::span<const std::string_view> expressions;
    IgnoreMerges ignore_merges = IgnoreMerges::no;
    AddsBos adds_bos = AddsBos::no; ///< default if the file has no `add_bos_token`
};

/// A compiled row. Immutable; thread-safe.
class PreTokenizer {
public:
    /// Errors: unsupported (no such name; the hint lists the known ones).
    static Result<PreTokenizer> create(std::string_view name);

    [[nodiscard]] const PreTokenizerRow& row() const { return *row_; }

    using TakeWord = std::function<Status(std::string_view word)>;

    /// Passes the words of `text` to `take` in order; concatenated they equal `text`. Words are views into
    /// `text`. Bytes that are not UTF-8 form separate words. Words are not buffered, because the text may be
    /// long. Errors: invalid_argument (see Regex::Search), cancelled (`budget` is over), those of `take`.
    [[nodiscard]] Status split(std::string_view text, TokenizeBudget& budget, const TakeWord& take) const;

private:
    PreTokenizer(const PreTokenizerRow& row, std::vector<Regex> expressions)
        : row_(&row), expressions_(std::move(expressions)) {}

    const PreTokenizerRow* row_;
    std::vector<Regex> expressions_;
};

/// All rows, for messages and tests.
std::span<const PreTokenizerRow> pre_tokenizer_rows();

} // namespace etna::text
