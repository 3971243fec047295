// Fuzzes the readers of regular expressions (anchored or not), GBNF and Lark grammars, selected by the first
// byte: any text becomes a language that can be walked, or an error, within its bounds.
#include "core/grammar/gbnf.hpp"
#include "core/grammar/lark.hpp"
#include "core/grammar/regex.hpp"
#include "core/grammar/schema/json_text.hpp"
#include "tests/fuzz/grammar_walk.hpp"

using namespace etna;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
    if (size == 0)
        return 0;
    const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
    grammar::Language language(std::size_t{32} << 20);
    const int notation = data[0] % 4;
    if (notation == 0 || notation == 3) {
        grammar::looks_like_lark(text); // accepts any text, too
        const auto root = notation == 0 ? grammar::lark(language, text) : grammar::gbnf(language, text);
        if (root)
            test::walk(language, *root, text);
        return 0;
    }
    const auto place = notation == 1 ? grammar::MatchMode::full : grammar::MatchMode::search;
    const grammar::Alphabet alphabet = [&](const grammar::CodePoints& set) {
        return grammar::json_character(language, set);
    };
    const auto found = grammar::regex(language, text, alphabet, place);
    if (found && *found != grammar::nothing)
        test::walk(language, *found, text);
    return 0;
}
