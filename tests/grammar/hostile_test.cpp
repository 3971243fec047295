// Grammars that are written to delay other requests.

#include "core/grammar/grammar_cache.hpp"
#include "tests/grammar/cost.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

using namespace etna;
using namespace etna::grammar;

namespace {

/// A grammar that is expensive to compile or to match.
struct Hostile {
    std::string_view name;
    Description description;
};

std::vector<Hostile> hostile_grammars() {
    std::string chain = "root ::= r0\n";
    std::string long_chain = "root ::= r0\n";
    for (int i = 0; i < 30'000; ++i) {
        chain += fmt::format("r{} ::= r{}\n", i, i + 1);
        long_chain += fmt::format("r{} ::= r{} \"a\"\n", i, i + 1);
    }
    std::string optional_items;
    std::string optional_lark = "start:";
    std::string optional_gbnf = "root ::=";
    std::string alternatives = "root ::= \"x\"";
    std::string nested = "root ::= r0\n";
    for (int i = 0; i < 5000; ++i)
        optional_items += fmt::format("(x{})?", i);
    for (int i = 0; i < 6000; ++i) {
        optional_lark += fmt::format(" \"x{}\"?", i);
        optional_gbnf += fmt::format(" (\"x{}\" | \"\")", i);
        nested += fmt::format("r{} ::= \"a\"? r{} | \"b\"\n", i, i + 1);
    }
    for (int i = 0; i < 12'000; ++i)
        alternatives += fmt::format(" | \"x{}\"", i);
    return {
        {"a chain of 30,000 rules", {.notation = Notation::gbnf, .text = chain + "r30000 ::= \"b\""}},
        {"a chain of rules with ends", {.notation = Notation::gbnf, .text = long_chain + "r30000 ::= \"b\""}},
        {"a pattern of 5,000 optional items", {.notation = Notation::regex, .text = optional_items}},
        {"a schema's pattern of 5,000 optional items",
         {.text = R"({"type": "string", "pattern": "^)" + optional_items + "$\"}"}},
        {"Lark of 6,000 optional strings", {.notation = Notation::gbnf, .text = optional_lark}},
        {"GBNF of 6,000 strings that may be empty", {.notation = Notation::gbnf, .text = optional_gbnf}},
        {"GBNF of 12,000 alternatives", {.notation = Notation::gbnf, .text = alternatives}},
        {"6,000 rules that may begin in each other",
         {.notation = Notation::gbnf, .text = nested + "r6000 ::= \"c\""}}};
}

} // namespace

TEST_CASE("hostile grammars are matched or refused within a second, in short time slices", "[cost]") {
    for (const Hostile& hostile : hostile_grammars()) {
        const Cost cost = cost_of([&] {
            GrammarCache grammars(some_words());
            const auto made = grammars.make(hostile.description);
            if (!made)
                return made.error().kind == ErrorKind::unsupported ? 3 : 4;
            GrammarMatcher matcher(*made);
            std::mt19937 random(5);
            double longest_ms = 0;
            int count = 0;
            for (bool is_over = false; count < 30 && !is_over; ++count) {
                for (std::chrono::milliseconds max(1);; max *= 2) {
                    const auto begin = processor_time();
                    const Language::Stop stop = [&] { return processor_time() - begin >= max; };
                    const bool is_known = matcher.prepare(
                        {.mask = true}, {.stop = &stop, .may_wait = false, .may_move = false});
                    const std::chrono::duration<double, std::milli> over = processor_time() - begin - max;
                    longest_ms = std::max(longest_ms, over.count());
                    if (is_known || max > std::chrono::seconds(1))
                        break;
                }
                const auto mask = matcher.mask();
                is_over = !mask || (*mask)->is_empty();
                for (TokenId token = 0; !is_over; token = static_cast<TokenId>(random() % 5000)) {
                    if (!(*mask)->allows(token))
                        continue;
                    matcher.accept(token);
                    break;
                }
            }
            fmt::print(stderr, "    {} tokens matched, at most {:.1f} ms beyond the end of a time slice\n",
                       count, longest_ms);
            return is_measured && longest_ms > 9 ? took_too_long : 2;
        });
        INFO(hostile.name);
        fmt::print(stderr, "{}: {}, {:.2f} s, {} KiB\n", hostile.name,
                   cost.exit_status == 2 ? "matched" : "refused", cost.seconds, cost.kib);
        CHECK((cost.exit_status == 2 || cost.exit_status == 3));
        if (is_measured)
            CHECK(cost.seconds < seconds_max);
    }
}
