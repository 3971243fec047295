// Cached grammars and their matchers, with and without reasoning.

#include "core/grammar/arena.hpp"
#include "core/grammar/grammar_cache.hpp"
#include "core/grammar/vocabulary.hpp"
#include "tests/support/catch.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

using namespace etna;
using namespace etna::grammar;

namespace {

constexpr TokenId think = 256;
constexpr TokenId end_think = 257;
constexpr TokenId end_of_turn = 258;
constexpr TokenId true_token = 259; ///< `true`

/// All bytes, and some control tokens.
Vocabulary vocabulary() {
    std::vector<std::string> bytes;
    for (int byte = 0; byte < 256; ++byte)
        bytes.emplace_back(1, static_cast<char>(byte));
    bytes.push_back(control_text(think));
    bytes.push_back(control_text(end_think));
    bytes.emplace_back();
    bytes.emplace_back("true");
    return Vocabulary(std::move(bytes), {{"<think>", think}, {"</think>", end_think}});
}

/// Accepts the text byte by byte. Returns false at a byte that is not allowed.
bool accept_all(GrammarMatcher& matcher, std::string_view text) {
    for (const char c : text) {
        const auto token = static_cast<TokenId>(static_cast<unsigned char>(c));
        if (!matcher.mask().value()->allows(token))
            return false;
        matcher.accept(token);
    }
    return true;
}

/// `count` optional items, then `b`: any of them may come next.
std::string optional_a(int count) {
    std::string text;
    for (int i = 0; i < count; ++i)
        text += " \"a\"?";
    return text + " \"b\"";
}

bool matches(GrammarCache& grammars, const Description& description, std::string_view text) {
    GrammarMatcher matcher(grammars.make(description).value());
    return accept_all(matcher, text) && matcher.may_end();
}

} // namespace

TEST_CASE("every notation compiles") {
    GrammarCache grammars(vocabulary());
    const Description schema = {.notation = Notation::json_schema, .text = R"({"type": "boolean"})"};
    CHECK(matches(grammars, schema, "true"));
    CHECK_FALSE(matches(grammars, schema, "null"));
    CHECK(matches(grammars, {.notation = Notation::gbnf, .text = "root ::= \"a\" root | \"b\""}, "aab"));
    const Description regex = {.notation = Notation::regex, .text = "[0-9]{3}"};
    CHECK(matches(grammars, regex, "123"));
    CHECK_FALSE(matches(grammars, regex, "1234"));
    const Description choices = {.notation = Notation::choices, .choices = {"yes", "yesterday", "n\u00f6"}};
    CHECK(matches(grammars, choices, "yes"));
    CHECK(matches(grammars, choices, "n\u00f6"));
    CHECK_FALSE(matches(grammars, choices, "yest"));
    CHECK(grammars.make({.notation = Notation::regex, .text = "("}).error().kind ==
          ErrorKind::invalid_argument);
    CHECK(grammars.make({.notation = Notation::choices}).error().kind == ErrorKind::invalid_argument);
}

TEST_CASE("descriptions can be nested") {
    GrammarCache grammars(vocabulary());
    const Description tag = {.notation = Notation::literal, .text = "<think>: "};
    const Description number = {.text = R"({"type": "integer"})"};
    const Description list = {
        .notation = Notation::sequence,
        .parts = {tag,
                  number,
                  {.notation = Notation::repeated,
                   .parts = {{.notation = Notation::literal, .text = ";"},
                             {.notation = Notation::either, .parts = {number, {.text = "true"}, tag}}},
                   .min = 1,
                   .max = 2}}};
    CHECK(matches(grammars, list, "<think>: 1;2"));
    CHECK(matches(grammars, list, "<think>: 1;<think>: ;3"));
    CHECK_FALSE(matches(grammars, list, "<think>: 1"));
    CHECK_FALSE(matches(grammars, list, "<think>: 1;2;3;4"));
    GrammarMatcher matcher(grammars.make(list).value());
    CHECK(matcher.mask().value()->allows(think)); // the token of a mark is equivalent to its text
    matcher.accept(think);
    CHECK(accept_all(matcher, ": 1;2"));
    const Description free = {.notation = Notation::free_text, .choices = {"<a>", "bb"}, .not_begun = "\\{"};
    CHECK(matches(grammars, free, "  x{ <a b"));
    CHECK(matches(grammars, free, " "));
    CHECK_FALSE(matches(grammars, free, " {"));
    CHECK_FALSE(matches(grammars, free, "a<a>"));
    CHECK_FALSE(matches(grammars, free, "abb"));
    GrammarMatcher text(grammars.make(free).value());
    CHECK_FALSE(text.mask().value()->allows(think)); // control tokens are not text
    const Description wrong = {.notation = Notation::sequence,
                               .parts = {{.text = R"({"uniqueItems": true})", .place = "tools[0]"}}};
    CHECK(grammars.make(wrong).error().message.find("tools[0]: #/uniqueItems: ") == 0);
}

TEST_CASE("reasoning contains none of the excluded marks") {
    GrammarCache grammars(vocabulary());
    Description description = {.text = R"({"const": 1})"};
    description.reasoning = {.open = "<think>", .close = "</think>", .is_open = true, .without = {"<call>"}};
    CHECK(matches(grammars, description, "so <call</think>1"));
    CHECK_FALSE(matches(grammars, description, "so <call></think>1"));
}

TEST_CASE("a text is over if no token may follow") {
    GrammarCache grammars(vocabulary());
    GrammarMatcher matcher(
        grammars.make({.notation = Notation::json_schema, .text = R"({"const": true})"}).value());
    CHECK_FALSE(matcher.is_over().value());
    CHECK(matcher.mask().value()->allows(true_token));
    CHECK_FALSE(matcher.mask().value()->allows(end_of_turn));
    matcher.accept(true_token);
    CHECK(matcher.is_over().value());
    CHECK(matcher.mask().value()->is_empty());
    GrammarMatcher number(
        grammars.make({.notation = Notation::json_schema, .text = R"({"type": "integer"})"}).value());
    CHECK(accept_all(number, "12"));
    CHECK(number.may_end());
    CHECK_FALSE(number.is_over().value());
}

TEST_CASE("reasoning precedes the text, between marks that are tokens or text") {
    GrammarCache grammars(vocabulary());
    Description description = {.notation = Notation::json_schema,
                               .text = R"({"const": [1]})",
                               .reasoning = Reasoning{.open = "<think>", .close = "</think>"}};
    const auto grammar = grammars.make(description).value();
    CHECK(matches(grammars, description, "[1]"));
    CHECK(matches(grammars, description, "<think>so [2] \xff or < or </thin </think>\n\n[1]") ==
          false); // no UTF-8
    CHECK(matches(grammars, description, "<think>so [2] or < or </thin k></think>\n\n[1]"));
    CHECK_FALSE(matches(grammars, description, "<think>so</think>\n\n[2]"));
    CHECK_FALSE(matches(grammars, description, "<think>so"));
    GrammarMatcher matcher(grammar);
    CHECK(matcher.mask().value()->allows(think));
    CHECK_FALSE(matcher.mask().value()->allows(end_think));
    matcher.accept(think);
    CHECK(accept_all(matcher, "it is \"1\"."));
    CHECK_FALSE(matcher.mask().value()->allows(think));
    CHECK_FALSE(matcher.may_end());
    CHECK(matcher.mask().value()->allows(end_think));
    matcher.accept(end_think);
    CHECK(accept_all(matcher, "\n\n[1]"));
    CHECK(matcher.is_over().value());
    description.reasoning->is_open = true;
    CHECK_FALSE(matches(grammars, description, "[1]"));
    CHECK(matches(grammars, description, "so it is</think>[1]"));
}

TEST_CASE("until() ends at the first occurrence of the mark") {
    for (const std::string mark : {"</think>", "aab", "aaa", "abab", "x"}) {
        Language language;
        const Expression up_to = language.accepted(until(mark));
        const Expression none = language.accepted(without(std::array{mark}).value());
        uint32_t state = 12345;
        for (int round = 0; round < 3000; ++round) {
            std::string text;
            for (int i = 0; i < 12; ++i) {
                state = state * 1664525 + 1013904223;
                text += mark[(state >> 16) % mark.size()];
            }
            CAPTURE(mark, text);
            const std::size_t position = text.find(mark);
            const bool ends_there = position != std::string::npos && position + mark.size() == text.size();
            REQUIRE(language.is_nullable(language.next(up_to, text)) == ends_there);
            REQUIRE(language.is_nullable(language.next(none, text)) == (position == std::string::npos));
        }
    }
}

TEST_CASE("many threads compile and match grammars concurrently") {
    GrammarCache grammars(vocabulary());
    std::atomic<int> right = 0;
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread) {
        threads.emplace_back([&grammars, &right, thread] {
            for (int round = 0; round < 40; ++round) {
                const std::string schema = fmt::format(R"({{"const": {}}})", (round + thread) % 7);
                const bool is_right =
                    matches(grammars, {.text = schema}, std::to_string((round + thread) % 7)) &&
                    !matches(grammars, {.text = schema}, std::to_string((round + thread + 1) % 7));
                right += is_right ? 1 : 0;
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    CHECK(right == 160);
}

TEST_CASE("results computed in time slices equal those computed at once") {
    std::string chain = "root ::= \"<\" r0\n";
    for (int i = 0; i < 3000; ++i)
        chain += fmt::format("r{} ::= r{} {}\n", i, i + 1, i % 50 == 0 ? "\"a\"?" : "");
    chain += "r3000 ::= [a-c]{2,9}";
    const Description schema = {
        .text =
            R"({"properties": {"a": {"type": "string", "maxLength": 40}, "b": {"enum": ["<abc", "abd"]}}})"};
    const std::vector<std::pair<Description, std::string>> cases = {
        {{.notation = Notation::gbnf, .text = chain}, "<abcabc"},
        {{.notation = Notation::gbnf, .text = "root ::= \"<\"" + optional_a(400)}, "<aaaaaaaab"},
        {schema, R"({"a": "<abc", "b": "<abc"})"}};
    for (const auto& [description, text] : cases) {
        CAPTURE(text);
        GrammarCache whole_grammars(vocabulary());
        GrammarCache pieces_grammars(vocabulary());
        GrammarMatcher whole(whole_grammars.make(description).value());
        GrammarMatcher pieces(pieces_grammars.make(description).value());
        int stopped = 0;
        for (const char byte : text) {
            int visits = 0;
            int max = 1;
            const Language::Stop stop = [&] { return ++visits >= max; };
            const GrammarMatcher::Request wanted = {.mask = true, .forced_bytes = 9};
            while (!pieces.prepare(wanted, {.stop = &stop, .may_wait = false, .may_move = false})) {
                ++stopped;
                visits = 0;
                max *= 2;
                REQUIRE(max < 1'000'000);
            }
            REQUIRE(*pieces.mask().value() == *whole.mask().value());
            REQUIRE(pieces.may_end() == whole.may_end());
            REQUIRE(pieces.is_over().value() == whole.is_over().value());
            REQUIRE(pieces.forced(9) == whole.forced(9));
            whole.accept(static_cast<TokenId>(static_cast<unsigned char>(byte)));
            pieces.accept(static_cast<TokenId>(static_cast<unsigned char>(byte)));
        }
        CHECK(stopped > (text == cases.back().second ? -1 : 0));
    }
}

TEST_CASE("a matcher that may not wait returns while another thread uses the grammar") {
    GrammarCache grammars(vocabulary());
    const auto grammar = grammars.make({.notation = Notation::regex, .text = "[0-9]{3}"}).value();
    GrammarMatcher matcher(grammar);
    {
        const std::scoped_lock others(grammar->arena().mutex);
        CHECK_FALSE(matcher.prepare({.mask = true}, {.may_wait = false}));
        int visits = 0;
        const Language::Stop stop = [&] { return ++visits > 3; };
        CHECK_FALSE(matcher.prepare({.mask = true}, {.stop = &stop}));
        CHECK(visits > 3);
    }
    CHECK(matcher.prepare({.mask = true}, {.may_wait = false}));
    CHECK(accept_all(matcher, "123"));
}

TEST_CASE("a slow text moves out of the shared arena") {
    GrammarCache grammars(vocabulary());
    const Description number = {.notation = Notation::regex, .text = "[0-9]{3}"};
    const auto plain = grammars.make(number).value();
    const Description wide = {.notation = Notation::gbnf, .text = "root ::= \"<\"" + optional_a(1200)};
    const auto grammar = grammars.make(wide).value();
    REQUIRE(&grammar->arena() == &plain->arena()); // its first mask is cheap
    GrammarMatcher matcher(grammar);
    REQUIRE(accept_all(matcher, "<"));
    for (int i = 0; i < 40; ++i) // each leads to all remaining optional items
        matcher.accept('a');
    CHECK_FALSE(matcher.prepare({.mask = true}, {.may_move = false}));
    CHECK(matcher.mask().value()->allows('a'));
    CHECK(&matcher.grammar()->arena() != &plain->arena());
    CHECK(accept_all(matcher, "aab"));
    CHECK(matches(grammars, number, "123"));
}

TEST_CASE("a cancelled compilation ends") {
    std::string rules = "root ::= r0\n";
    for (int i = 0; i < 20'000; ++i)
        rules += fmt::format("r{} ::= \"{}\" r{}\n", i, i, i + 1);
    rules += "r20000 ::= \"b\"";
    const Description large = {.notation = Notation::gbnf, .text = rules};
    GrammarCache grammars(vocabulary());
    int visits = 0;
    const auto stopped = grammars.make(large, [&] { return ++visits > 3; });
    REQUIRE_FALSE(stopped);
    CHECK(stopped.error().kind == ErrorKind::cancelled);
    CHECK(grammars.make(large)); // it was not refused for good
}

TEST_CASE("a slow refusal is cached") {
    const Description large = {.notation = Notation::gbnf,
                               .text = "root ::= \"" + std::string(900'000, 'a') + "\""};
    GrammarCache grammars(vocabulary());
    const auto refused = grammars.make(large);
    REQUIRE_FALSE(refused);
    int visits = 0;
    const auto again = grammars.make(large, [&] { return ++visits > 0; }); // a compilation would be cancelled
    REQUIRE_FALSE(again);
    CHECK(again.error().message == refused.error().message);
    CHECK(visits == 0);
}

TEST_CASE("a grammar that exceeds its limits does not affect other texts") {
    GrammarCache grammars(vocabulary());
    const auto plain =
        grammars.make({.notation = Notation::gbnf, .text = "root ::= \"(\" root? \")\""}).value();
    GrammarMatcher other(plain);
    REQUIRE(accept_all(other, "((("));
    for (const std::string core : {"(\"a\"{1,900}){1,900}", "((\"a\"{1,900}){1,900}){1,900}",
                                   "(((\"a\"{1,900}){1,900}){1,900}){1,900}"}) {
        for (const std::string end : {"", "\"b\"", "\"c\""}) {
            const Description ambiguous = {.notation = Notation::gbnf, .text = "root ::= " + core + end};
            GrammarMatcher matcher(grammars.make(ambiguous).value());
            int length = 0;
            while (length < 2000 && matcher.mask()) {
                matcher.accept('a');
                ++length;
            }
            CAPTURE(core, end, length);
            CHECK(length > 20); // it is right until then
            CHECK(length < 2000);
            REQUIRE_FALSE(matcher.mask());
            CHECK(matcher.mask().error().kind == ErrorKind::unsupported);
            CHECK_FALSE(matcher.is_over());
            CHECK(matcher.forced(100).empty());
            matcher.accept('a');
            CHECK_FALSE(matcher.mask()); // permanently
            CHECK_FALSE(GrammarMatcher(matcher).mask());
            GrammarMatcher again(grammars.make(ambiguous).value());
            CHECK(accept_all(again, "aaaaa"));
        }
    }
    CHECK(accept_all(other, "()))"));
    CHECK(other.mask().value()->allows(')'));
    CHECK(accept_all(other, ")"));
    CHECK(other.is_over().value());
}

TEST_CASE("a recompiled grammar belongs to the matchers that use it") {
    const auto shared_vocabulary = std::make_shared<const Vocabulary>(vocabulary());
    const auto description = std::make_shared<const Description>(
        Description{.notation = Notation::gbnf, .text = "root ::= \"a\" root | \"b\""});
    const auto arena = std::make_shared<GrammarArena>(shared_vocabulary);
    uint64_t steps_left = steps_of_compilation;
    const auto root = arena->make(*description, steps_left);
    REQUIRE(root);
    const Grammar grammar(arena, *root, description);
    auto isolated = grammar.isolated().value();
    CHECK(&isolated->arena() != arena.get());
    CHECK(grammar.isolated().value() == isolated); // compiled once
    GrammarMatcher matcher(isolated);
    const std::weak_ptr<const Grammar> seen = isolated;
    isolated.reset();
    CHECK_FALSE(seen.expired());
    CHECK(grammar.isolated().value() == seen.lock());
    matcher = GrammarMatcher(grammar.isolated().value()->isolated().value());
    CHECK(seen.expired());
    CHECK(accept_all(matcher, "aab"));
    CHECK(matcher.is_over().value());
}

TEST_CASE("grammars in a full arena are not cached") {
    GrammarCache grammars(vocabulary());
    const Description description = {.notation = Notation::regex, .text = "[0-9]{3}"};
    std::weak_ptr<const Grammar> first = grammars.make(description).value();
    CHECK_FALSE(first.expired());
    first.lock()->arena().is_full = true;
    static_cast<void>(grammars.make({.notation = Notation::regex, .text = "[a-z]"}).value());
    CHECK(first.expired());
    CHECK(matches(grammars, description, "123"));
}

TEST_CASE("copies of a matcher share its budget") {
    GrammarCache grammars(vocabulary());
    const Description ambiguous = {.notation = Notation::gbnf,
                                   .text = "root ::= s\ns ::= c | c s t | c t u\nt ::= c | c t s u | c u\n"
                                           "u ::= c | c u t | c s s\nc ::= [a-c]"};
    GrammarMatcher first(grammars.make(ambiguous).value());
    GrammarMatcher second = first;
    std::string text;
    for (uint32_t i = 0; i < 20'000 && first.mask(); ++i) {
        const char byte = static_cast<char>('a' + i * i % 3);
        first.accept(static_cast<TokenId>(byte));
        text += byte;
    }
    REQUIRE_FALSE(first.mask());
    std::size_t length = 0;
    for (; length < text.size() && second.mask(); ++length)
        second.accept(static_cast<TokenId>('a' + (length * length + 1) % 3));
    CHECK(length < text.size());
}

TEST_CASE("a text moves to another arena when others have filled its own") {
    GrammarCache grammars(vocabulary());
    const Description brackets = {.notation = Notation::gbnf,
                                  .text = "root ::= \"(\" root? \")\" | \"a\"{3}"};
    GrammarMatcher first(grammars.make(brackets).value());
    REQUIRE(accept_all(first, "(("));
    // Texts of about 20 MB each, which is below the limit of a text.
    for (int i = 0; i < 12; ++i) {
        const std::string text = fmt::format("root ::= \"{}\" (\"a\"{{1,900}}){{1,900}}", i);
        GrammarMatcher matcher(grammars.make({.notation = Notation::gbnf, .text = text}).value());
        REQUIRE(accept_all(matcher, std::to_string(i)));
        REQUIRE(accept_all(matcher, std::string(100, 'a')));
    }
    GrammarMatcher second = first;
    CHECK(accept_all(first, "()"));
    CHECK(first.forced(10) == "))");
    CHECK(accept_all(second, "aaa"));
    CHECK(second.forced(10) == "))");
    CHECK(matches(grammars, brackets, "(())"));
    CHECK_FALSE(matches(grammars, brackets, "(()"));
}

TEST_CASE("a full shared arena is replaced") {
    GrammarCache grammars(vocabulary());
    const auto number = [&](int i) {
        return grammars.make({.text = fmt::format(R"({{"const": {}}})", i)}).value();
    };
    const auto first = number(1);
    GrammarArena& arena = first->arena();
    REQUIRE(&number(2)->arena() == &arena);
    arena.is_full = true;
    const auto third = number(3);
    CHECK(&third->arena() != &arena);
    CHECK(&number(4)->arena() == &third->arena());
}

TEST_CASE("grammars that were slow to compile have their own arena") {
    GrammarCache grammars(vocabulary());
    const auto arena_of = [&](int rules) {
        std::string text = "root ::= r0\n";
        for (int i = 0; i < rules; ++i)
            text += fmt::format("r{} ::= \"{}\" r{}\n", i, i, i + 1);
        text += fmt::format("r{} ::= \"end\"", rules);
        return &grammars.make({.notation = Notation::gbnf, .text = text}).value()->arena();
    };
    const GrammarArena* const shared = arena_of(1);
    CHECK(arena_of(20) == shared);
    CHECK(arena_of(3000) != shared);
    CHECK(arena_of(2) == shared);
}

TEST_CASE("concurrent requests for a grammar compile it once") {
    GrammarCache grammars(vocabulary());
    const Description description = {.text = R"({"type": "object", "properties": {"a": {"format": "uri"}}})"};
    std::array<std::shared_ptr<const Grammar>, 8> made;
    std::vector<std::thread> threads;
    for (auto& one : made)
        threads.emplace_back([&grammars, &description, &one] { one = grammars.make(description).value(); });
    for (std::thread& thread : threads)
        thread.join();
    for (const auto& one : made)
        CHECK(one == made[0]);
}

TEST_CASE("grammars in use are bounded per client") {
    GrammarCache grammars(vocabulary());
    const auto large = [](std::size_t number) {
        std::string text = fmt::format("root ::= \"{}\"", number);
        for (int i = 0; i < 40'000; ++i)
            text += fmt::format(" | \"x{}y{}\"", i, number);
        return Description{.notation = Notation::gbnf, .text = std::move(text)};
    };
    std::vector<std::shared_ptr<const Grammar>> held;
    std::optional<Error> refusal;
    while (!refusal && held.size() < 1000) {
        auto made = grammars.make(large(held.size()), {}, 1);
        if (made)
            held.push_back(*made);
        else
            refusal = made.error();
    }
    REQUIRE(refusal);
    CHECK(refusal->kind == ErrorKind::out_of_memory);
    std::size_t bytes = 0;
    std::set<const GrammarArena*> arenas;
    for (const auto& one : held)
        bytes += arenas.insert(&one->arena()).second ? one->arena().bytes.load() : 0;
    CHECK(bytes < GrammarCache::client_bytes_max + (std::size_t{256} << 20)); // the last grammar may be large
    CHECK(grammars.make(large(2000), {}, 2));
    held.clear();
    CHECK(grammars.make(large(3000), {}, 1));
}
