#include "cli/options/grammar_check.hpp"

#include "core/grammar/grammar_cache.hpp"
#include "core/grammar/grammar_matcher.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace etna::cli {
namespace {

/// A vocabulary with one token for each byte.
grammar::Vocabulary all_bytes() {
    constexpr int byte_count = 256;
    std::vector<std::string> bytes;
    for (int byte = 0; byte < byte_count; ++byte)
        bytes.emplace_back(1, static_cast<char>(byte));
    return grammar::Vocabulary(std::move(bytes));
}

} // namespace

Status check_grammar(const grammar::Description& description) {
    const auto made = grammar::GrammarCache(all_bytes()).make(description);
    return made ? Status() : made.error();
}

bool is_complete_text(grammar::Description description, std::string_view text) {
    description.may_begin_with_blank = true; // tokenizers that add a leading space
    grammar::GrammarCache grammars(all_bytes());
    auto made = grammars.make(description);
    if (!made)
        return false;
    grammar::GrammarMatcher matcher(std::move(*made));
    for (const char byte : text)
        matcher.accept(static_cast<unsigned char>(byte));
    return matcher.may_end();
}

} // namespace etna::cli
