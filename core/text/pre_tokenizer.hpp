#pragma once

#include "core/base/result.hpp"
#include "core/text/patience.hpp"
#include "core/text/regex.hpp"

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace etna::text {

enum class IgnoreMerges {
    no,
    yes, ///< a word that is in the vocabulary becomes that token, whatever the merges would make of it
};
enum class AddsBos { no, yes };

/// One way to cut text into words before byte-pair merging: a row of the table in pre_tokenizer_rows.cpp.
struct PreTokenizerRow {
    std::span<const std::string_view> names; ///< values of `tokenizer.ggml.pre`
    /// Applied in order, each to the pieces that the one before left: what matches becomes a word of its own,
    /// and so does what lies between matches.
    std::span<const std::string_view> expressions;
    IgnoreMerges ignore_merges = IgnoreMerges::no;
    AddsBos adds_bos = AddsBos::no; ///< what holds when the file does not say `add_bos_token`
};

/// A compiled row. Immutable; thread-safe.
class PreTokenizer {
public:
    /// Errors: unsupported (no such name; the hint lists the known ones).
    static Result<PreTokenizer> create(std::string_view name);

    [[nodiscard]] const PreTokenizerRow& row() const { return *row_; }

    using TakeWord = std::function<Status(std::string_view word)>;

    /// Gives the words of `text` in order; joined they are `text`. Views into `text`. Bytes that are not
    /// UTF-8 come as words of their own. Nothing is kept of the words: the text may be long. Errors:
    /// invalid_argument (see Regex::Search), cancelled (`patience` is over), those of `take`.
    [[nodiscard]] Status split(std::string_view text, Patience& patience, const TakeWord& take) const;

private:
    PreTokenizer(const PreTokenizerRow& row, std::vector<Regex> expressions)
        : row_(&row), expressions_(std::move(expressions)) {}

    const PreTokenizerRow* row_;
    std::vector<Regex> expressions_;
};

/// All rows, for messages and tests.
std::span<const PreTokenizerRow> pre_tokenizer_rows();

} // namespace etna::text
