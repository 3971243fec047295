#pragma once

#include "core/base/json.hpp"
#include "core/generate/answer_grammar.hpp"
#include "core/grammar/grammar_cache.hpp"
#include "tests/output/feeding.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Helpers for tests of answers with calls: tools, and random samples of an answer's grammar.
namespace etna::test::calls {

extern const std::string_view tools_json;
extern const std::vector<jinja::Value> tools; ///< of tools_json
std::vector<jinja::Value> lenient_tools();    ///< the same without "strict"
const std::map<std::string, Json>& schemas(); ///< argument schemas by function name

/// Whether protocol markers are single tokens or spelled in bytes.
enum class Markers { spelled, tokens };

/// A vocabulary of every byte, some words, and a family's markers if they are tokens.
struct Tokens {
    std::vector<std::string> texts; ///< input of the parser
    std::vector<std::string> bytes; ///< input of the grammar
    std::map<std::string, TokenId, std::less<>> control;

    Tokens(const output::Syntax& syntax, Markers markers);
};

/// A sampled answer.
struct Sample {
    std::string text;
    bool is_complete = false;
};

/// Samples random allowed tokens, preferring closing ones, until the text may end.
Sample sample_answer(const std::shared_ptr<const grammar::Grammar>& grammar, const Tokens& tokens,
                     uint32_t seed);
output::Start start_of(const output::Syntax& syntax);
/// Returns the grammar of a form. Precondition: the answer is constrained.
std::shared_ptr<const grammar::Grammar> grammar_of(const generate::AnswerForm& form,
                                                   grammar::GrammarCache& grammars);
/// Requires that every call names a tool and has valid arguments.
void check_calls(const std::vector<output::Call>& calls);
Fed read(const output::Syntax& syntax, const Sample& sample);
/// Whether the grammar accepts the text, byte by byte.
bool fits(const std::shared_ptr<const grammar::Grammar>& grammar, std::string_view text);
std::string replaced(std::string text, std::string_view old, std::string_view by);
/// Returns the marker without the line ends around it.
std::string trimmed(std::string_view marker);
/// Returns the reasoning whose opening marker occurs in the text.
std::optional<grammar::Reasoning> reasoning_in(const output::Syntax& syntax, std::string_view text,
                                               bool is_open);

/// Returns the first keyword of the schema that `value` violates; empty if it is valid. Supports only the
/// keywords that these tests use. `root`: the schema that references point into.
std::string violated_keyword(const Json& schema, const Json& value, const Json& root);

} // namespace etna::test::calls
