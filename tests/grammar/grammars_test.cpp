// Grammars that are made once and walked by many texts, with reasoning in front.

#include "core/grammar/grammars.hpp"
#include "core/grammar/shelf.hpp"
#include "core/grammar/until.hpp"
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
constexpr TokenId word = 259; ///< `true`

/// All bytes, and some tokens that are no text.
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

/// Goes on byte by byte; false where one may not come.
bool goes_on(GrammarMatcher& walk, std::string_view text) {
    for (const char c : text) {
        const auto token = static_cast<TokenId>(static_cast<unsigned char>(c));
        if (!walk.mask().value()->allows(token))
            return false;
        walk.accept(token);
    }
    return true;
}

/// So many that may come, and `b`: any of them may be the next.
std::string optional_a(int count) {
    std::string text;
    for (int i = 0; i < count; ++i)
        text += " \"a\"?";
    return text + " \"b\"";
}

bool fits(GrammarCache& grammars, const Description& description, std::string_view text) {
    GrammarMatcher walk(grammars.make(description).value());
    return goes_on(walk, text) && walk.may_end();
}

} // namespace

TEST_CASE("every notation describes texts") {
    GrammarCache grammars(vocabulary());
    const Description schema = {.notation = Notation::json_schema, .text = R"({"type": "boolean"})"};
    CHECK(fits(grammars, schema, "true"));
    CHECK_FALSE(fits(grammars, schema, "null"));
    CHECK(fits(grammars, {.notation = Notation::gbnf, .text = "root ::= \"a\" root | \"b\""}, "aab"));
    const Description regex = {.notation = Notation::regex, .text = "[0-9]{3}"};
    CHECK(fits(grammars, regex, "123"));
    CHECK_FALSE(fits(grammars, regex, "1234"));
    const Description choices = {.notation = Notation::choices, .choices = {"yes", "yesterday", "n\u00f6"}};
    CHECK(fits(grammars, choices, "yes"));
    CHECK(fits(grammars, choices, "n\u00f6"));
    CHECK_FALSE(fits(grammars, choices, "yest"));
    CHECK(grammars.make({.notation = Notation::regex, .text = "("}).error().kind ==
          ErrorKind::invalid_argument);
    CHECK(grammars.make({.notation = Notation::choices}).error().kind == ErrorKind::invalid_argument);
}

TEST_CASE("descriptions of parts make up larger ones") {
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
                   .least = 1,
                   .most = 2}}};
    CHECK(fits(grammars, list, "<think>: 1;2"));
    CHECK(fits(grammars, list, "<think>: 1;<think>: ;3"));
    CHECK_FALSE(fits(grammars, list, "<think>: 1"));
    CHECK_FALSE(fits(grammars, list, "<think>: 1;2;3;4"));
    GrammarMatcher walk(grammars.make(list).value());
    CHECK(walk.mask().value()->allows(think)); // a mark's token may stand for it
    walk.accept(think);
    CHECK(goes_on(walk, ": 1;2"));
    const Description free = {.notation = Notation::free_text, .choices = {"<a>", "bb"}, .not_begun = "\\{"};
    CHECK(fits(grammars, free, "  x{ <a b"));
    CHECK(fits(grammars, free, " "));
    CHECK_FALSE(fits(grammars, free, " {"));
    CHECK_FALSE(fits(grammars, free, "a<a>"));
    CHECK_FALSE(fits(grammars, free, "abb"));
    GrammarMatcher text(grammars.make(free).value());
    CHECK_FALSE(text.mask().value()->allows(think)); // control tokens are no text
    const Description wrong = {.notation = Notation::sequence,
                               .parts = {{.text = R"({"uniqueItems": true})", .place = "tools[0]"}}};
    CHECK(grammars.make(wrong).error().message.find("tools[0]: #/uniqueItems: ") == 0);
}

TEST_CASE("reasoning holds none of the marks that would end it") {
    GrammarCache grammars(vocabulary());
    Description description = {.text = R"({"const": 1})"};
    description.reasoning = {.open = "<think>", .close = "</think>", .is_open = true, .without = {"<call>"}};
    CHECK(fits(grammars, description, "so <call</think>1"));
    CHECK_FALSE(fits(grammars, description, "so <call></think>1"));
}

TEST_CASE("a text is over where nothing may follow") {
    GrammarCache grammars(vocabulary());
    GrammarMatcher walk(
        grammars.make({.notation = Notation::json_schema, .text = R"({"const": true})"}).value());
    CHECK_FALSE(walk.is_over().value());
    CHECK(walk.mask().value()->allows(word));
    CHECK_FALSE(walk.mask().value()->allows(end_of_turn));
    walk.accept(word);
    CHECK(walk.is_over().value());
    CHECK(walk.mask().value()->is_empty());
    GrammarMatcher number(
        grammars.make({.notation = Notation::json_schema, .text = R"({"type": "integer"})"}).value());
    CHECK(goes_on(number, "12"));
    CHECK(number.may_end());
    CHECK_FALSE(number.is_over().value());
}

TEST_CASE("reasoning comes before the text, by marks that are tokens or spelled out") {
    GrammarCache grammars(vocabulary());
    Description description = {.notation = Notation::json_schema,
                               .text = R"({"const": [1]})",
                               .reasoning = Reasoning{.open = "<think>", .close = "</think>"}};
    const auto grammar = grammars.make(description).value();
    CHECK(fits(grammars, description, "[1]"));
    CHECK(fits(grammars, description, "<think>so [2] \xff or < or </thin </think>\n\n[1]") ==
          false); // no UTF-8
    CHECK(fits(grammars, description, "<think>so [2] or < or </thin k></think>\n\n[1]"));
    CHECK_FALSE(fits(grammars, description, "<think>so</think>\n\n[2]"));
    CHECK_FALSE(fits(grammars, description, "<think>so"));
    GrammarMatcher walk(grammar);
    CHECK(walk.mask().value()->allows(think));
    CHECK_FALSE(walk.mask().value()->allows(end_think));
    walk.accept(think);
    CHECK(goes_on(walk, "it is \"1\"."));
    CHECK_FALSE(walk.mask().value()->allows(think));
    CHECK_FALSE(walk.may_end());
    CHECK(walk.mask().value()->allows(end_think));
    walk.accept(end_think);
    CHECK(goes_on(walk, "\n\n[1]"));
    CHECK(walk.is_over().value());
    description.reasoning->is_open = true;
    CHECK_FALSE(fits(grammars, description, "[1]"));
    CHECK(fits(grammars, description, "so it is</think>[1]"));
}

TEST_CASE("a text up to a mark ends with its first appearance") {
    for (const std::string mark : {"</think>", "aab", "aaa", "abab", "x"}) {
        Language language;
        const Expression up_to = until(language, mark);
        const Expression none = language.accepted(without(std::array{mark}).value());
        uint32_t state = 12345;
        for (int round = 0; round < 3000; ++round) {
            std::string text;
            for (int i = 0; i < 12; ++i) {
                state = state * 1664525 + 1013904223;
                text += mark[(state >> 16) % mark.size()];
            }
            CAPTURE(mark, text);
            const std::size_t place = text.find(mark);
            const bool ends_there = place != std::string::npos && place + mark.size() == text.size();
            REQUIRE(language.is_nullable(language.next(up_to, text)) == ends_there);
            REQUIRE(language.is_nullable(language.next(none, text)) == (place == std::string::npos));
        }
    }
}

TEST_CASE("many threads make and walk grammars at a time") {
    GrammarCache grammars(vocabulary());
    std::atomic<int> right = 0;
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread) {
        threads.emplace_back([&grammars, &right, thread] {
            for (int round = 0; round < 40; ++round) {
                const std::string schema = fmt::format(R"({{"const": {}}})", (round + thread) % 7);
                const bool is_right =
                    fits(grammars, {.text = schema}, std::to_string((round + thread) % 7)) &&
                    !fits(grammars, {.text = schema}, std::to_string((round + thread + 1) % 7));
                right += is_right ? 1 : 0;
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    CHECK(right == 160);
}

TEST_CASE("what is found in pieces is what is found at once") {
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
            int looks = 0;
            int most = 1;
            const Language::Stop stop = [&] { return ++looks >= most; };
            const GrammarMatcher::Wanted wanted = {.mask = true, .forced_bytes = 9};
            while (!pieces.prepare(wanted, {.stop = &stop, .may_wait = false, .may_move = false})) {
                ++stopped;
                looks = 0;
                most *= 2;
                REQUIRE(most < 1'000'000);
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

TEST_CASE("who may not wait does not, while others are at work on a grammar") {
    GrammarCache grammars(vocabulary());
    const auto grammar = grammars.make({.notation = Notation::regex, .text = "[0-9]{3}"}).value();
    GrammarMatcher walk(grammar);
    {
        const std::scoped_lock others(grammar->shelf().mutex);
        CHECK_FALSE(walk.prepare({.mask = true}, {.may_wait = false}));
        int looks = 0;
        const Language::Stop stop = [&] { return ++looks > 3; };
        CHECK_FALSE(walk.prepare({.mask = true}, {.stop = &stop}));
        CHECK(looks > 3);
    }
    CHECK(walk.prepare({.mask = true}, {.may_wait = false}));
    CHECK(goes_on(walk, "123"));
}

TEST_CASE("a text that takes long leaves the language that others share") {
    GrammarCache grammars(vocabulary());
    const Description number = {.notation = Notation::regex, .text = "[0-9]{3}"};
    const auto plain = grammars.make(number).value();
    const Description wide = {.notation = Notation::gbnf, .text = "root ::= \"<\"" + optional_a(1200)};
    const auto grammar = grammars.make(wide).value();
    REQUIRE(&grammar->shelf() == &plain->shelf()); // its beginning is short
    GrammarMatcher walk(grammar);
    REQUIRE(goes_on(walk, "<"));
    for (int i = 0; i < 40; ++i) // each leads to all that may be left out
        walk.accept('a');
    CHECK_FALSE(walk.prepare({.mask = true}, {.may_move = false}));
    CHECK(walk.mask().value()->allows('a'));
    CHECK(&walk.grammar()->shelf() != &plain->shelf());
    CHECK(goes_on(walk, "aab"));
    CHECK(fits(grammars, number, "123"));
}

TEST_CASE("what is not wanted any more is not made") {
    std::string rules = "root ::= r0\n";
    for (int i = 0; i < 20'000; ++i)
        rules += fmt::format("r{} ::= \"{}\" r{}\n", i, i, i + 1);
    rules += "r20000 ::= \"b\"";
    const Description large = {.notation = Notation::gbnf, .text = rules};
    GrammarCache grammars(vocabulary());
    int looks = 0;
    const auto stopped = grammars.make(large, [&] { return ++looks > 3; });
    REQUIRE_FALSE(stopped);
    CHECK(stopped.error().kind == ErrorKind::cancelled);
    CHECK(grammars.make(large)); // it was not refused for good
}

TEST_CASE("what took long to be refused is refused at once when it comes again") {
    const Description large = {.notation = Notation::gbnf,
                               .text = "root ::= \"" + std::string(900'000, 'a') + "\""};
    GrammarCache grammars(vocabulary());
    const auto refused = grammars.make(large);
    REQUIRE_FALSE(refused);
    int looks = 0;
    const auto again =
        grammars.make(large, [&] { return ++looks > 0; }); // it would be stopped if it were made
    REQUIRE_FALSE(again);
    CHECK(again.error().message == refused.error().message);
    CHECK(looks == 0);
}

TEST_CASE("a grammar that outgrows its room costs other texts nothing") {
    GrammarCache grammars(vocabulary());
    const auto plain =
        grammars.make({.notation = Notation::gbnf, .text = "root ::= \"(\" root? \")\""}).value();
    GrammarMatcher other(plain);
    REQUIRE(goes_on(other, "((("));
    for (const std::string core : {"(\"a\"{1,900}){1,900}", "((\"a\"{1,900}){1,900}){1,900}",
                                   "(((\"a\"{1,900}){1,900}){1,900}){1,900}"}) {
        for (const std::string end : {"", "\"b\"", "\"c\""}) {
            const Description ambiguous = {.notation = Notation::gbnf, .text = "root ::= " + core + end};
            GrammarMatcher walk(grammars.make(ambiguous).value());
            int length = 0;
            while (length < 2000 && walk.mask()) {
                walk.accept('a');
                ++length;
            }
            CAPTURE(core, end, length);
            CHECK(length > 20); // as far as it goes it is right
            CHECK(length < 2000);
            REQUIRE_FALSE(walk.mask());
            CHECK(walk.mask().error().kind == ErrorKind::unsupported);
            CHECK_FALSE(walk.is_over());
            CHECK(walk.forced(100).empty());
            walk.accept('a');
            CHECK_FALSE(walk.mask()); // it stays so
            CHECK_FALSE(GrammarMatcher(walk).mask());
            GrammarMatcher again(grammars.make(ambiguous).value());
            CHECK(goes_on(again, "aaaaa"));
        }
    }
    CHECK(goes_on(other, "()))"));
    CHECK(other.mask().value()->allows(')'));
    CHECK(goes_on(other, ")"));
    CHECK(other.is_over().value());
}

TEST_CASE("where a text goes on elsewhere belongs to who walks there") {
    const auto its_vocabulary = std::make_shared<const Vocabulary>(vocabulary());
    const auto description = std::make_shared<const Description>(
        Description{.notation = Notation::gbnf, .text = "root ::= \"a\" root | \"b\""});
    const auto shelf = std::make_shared<Shelf>(its_vocabulary);
    uint64_t steps_left = steps_of_making;
    const auto root = shelf->make(*description, steps_left);
    REQUIRE(root);
    const Grammar grammar(shelf, *root, description);
    auto elsewhere = grammar.elsewhere().value();
    CHECK(&elsewhere->shelf() != shelf.get());
    CHECK(grammar.elsewhere().value() == elsewhere); // made once
    GrammarMatcher walk(elsewhere);
    const std::weak_ptr<const Grammar> seen = elsewhere;
    elsewhere.reset();
    CHECK_FALSE(seen.expired());
    CHECK(grammar.elsewhere().value() == seen.lock());
    walk = GrammarMatcher(grammar.elsewhere().value()->elsewhere().value());
    CHECK(seen.expired());
    CHECK(goes_on(walk, "aab"));
    CHECK(walk.is_over().value());
}

TEST_CASE("grammars that cannot be followed any further are not kept") {
    GrammarCache grammars(vocabulary());
    const Description description = {.notation = Notation::regex, .text = "[0-9]{3}"};
    std::weak_ptr<const Grammar> first = grammars.make(description).value();
    CHECK_FALSE(first.expired());
    first.lock()->shelf().is_full = true;
    static_cast<void>(grammars.make({.notation = Notation::regex, .text = "[a-z]"}).value());
    CHECK(first.expired());
    CHECK(fits(grammars, description, "123"));
}

TEST_CASE("copies of a text share what it may take") {
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

TEST_CASE("a text goes on elsewhere when others have filled its language") {
    GrammarCache grammars(vocabulary());
    const Description brackets = {.notation = Notation::gbnf,
                                  .text = "root ::= \"(\" root? \")\" | \"a\"{3}"};
    GrammarMatcher first(grammars.make(brackets).value());
    REQUIRE(goes_on(first, "(("));
    // Texts of about 20 MB each, which none of them is refused for.
    for (int i = 0; i < 12; ++i) {
        const std::string text = fmt::format("root ::= \"{}\" (\"a\"{{1,900}}){{1,900}}", i);
        GrammarMatcher walk(grammars.make({.notation = Notation::gbnf, .text = text}).value());
        REQUIRE(goes_on(walk, std::to_string(i)));
        REQUIRE(goes_on(walk, std::string(100, 'a')));
    }
    GrammarMatcher second = first;
    CHECK(goes_on(first, "()"));
    CHECK(first.forced(10) == "))");
    CHECK(goes_on(second, "aaa"));
    CHECK(second.forced(10) == "))");
    CHECK(fits(grammars, brackets, "(())"));
    CHECK_FALSE(fits(grammars, brackets, "(()"));
}

TEST_CASE("a shared language that is full makes room for another") {
    GrammarCache grammars(vocabulary());
    const auto number = [&](int i) {
        return grammars.make({.text = fmt::format(R"({{"const": {}}})", i)}).value();
    };
    const auto first = number(1);
    Shelf& shelf = first->shelf();
    REQUIRE(&number(2)->shelf() == &shelf);
    shelf.is_full = true;
    const auto third = number(3);
    CHECK(&third->shelf() != &shelf);
    CHECK(&number(4)->shelf() == &third->shelf());
}

TEST_CASE("grammars that took long to be made stand by themselves") {
    GrammarCache grammars(vocabulary());
    const auto shelf_of = [&](int rules) {
        std::string text = "root ::= r0\n";
        for (int i = 0; i < rules; ++i)
            text += fmt::format("r{} ::= \"{}\" r{}\n", i, i, i + 1);
        text += fmt::format("r{} ::= \"end\"", rules);
        return &grammars.make({.notation = Notation::gbnf, .text = text}).value()->shelf();
    };
    const Shelf* const shared = shelf_of(1);
    CHECK(shelf_of(20) == shared);
    CHECK(shelf_of(3000) != shared);
    CHECK(shelf_of(2) == shared);
}

TEST_CASE("what several ask for at a time is made once") {
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

TEST_CASE("grammars that are held leave other clients room") {
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
    std::set<const Shelf*> shelves;
    for (const auto& one : held)
        bytes += shelves.insert(&one->shelf()).second ? one->shelf().bytes.load() : 0;
    CHECK(bytes <
          GrammarCache::client_bytes_max + (std::size_t{256} << 20)); // what was made last may be large
    CHECK(grammars.make(large(2000), {}, 2));
    held.clear();
    CHECK(grammars.make(large(3000), {}, 1));
}
