#pragma once

#include "core/generate/call_grammar.hpp"
#include "core/grammar/grammar_cache.hpp"
#include "tests/output/feeding.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

/// What tests of answers with calls have in common: tools, and random walks through an answer's grammar.
namespace etna::test::calls {

using Json = nlohmann::ordered_json;

extern const std::string_view tools;
const std::map<std::string, Json>& schemas(); ///< of the tools' arguments, by name

/// Whether marks of the protocol are tokens of their own.
enum class Marks { spelled, tokens };

/// Every byte, and the marks of a family if they are tokens.
struct Tokens {
    std::vector<std::string> texts; ///< what the parser sees
    std::vector<std::string> bytes; ///< what the grammar sees
    std::map<std::string, TokenId, std::less<>> control;

    Tokens(const output::Syntax& syntax, Marks marks);
};

struct Walked {
    std::string text;
    bool is_whole = false;
};

/// Allowed tokens at random, often those that end something, until the text may end.
Walked walk(const std::shared_ptr<const grammar::Grammar>& grammar, const Tokens& tokens, uint32_t seed);
output::Start start_of(const output::Syntax& syntax);
/// That of a form that has one.
std::shared_ptr<const grammar::Grammar> grammar_of(const generate::AnswerForm& form,
                                                   grammar::GrammarCache& grammars);
/// They are of the tools, with arguments that fit.
void check_calls(const std::vector<output::Call>& calls);
Fed read(const output::Syntax& syntax, const Walked& walked);
/// Whether the whole text is allowed, byte by byte.
bool fits(const std::shared_ptr<const grammar::Grammar>& grammar, std::string_view text);
std::string replaced(std::string text, std::string_view old, std::string_view by);
/// Without line ends around it.
std::string trimmed(std::string_view mark);
/// By the marks that stand in the text.
std::optional<grammar::Reasoning> reasoning_in(const output::Syntax& syntax, std::string_view text,
                                               bool is_open);

} // namespace etna::test::calls
