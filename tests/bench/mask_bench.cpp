// How long a token mask takes:
//
//     mask_bench VOCABULARY.gguf GRAMMAR.gbnf TEXT...
//     mask_bench VOCABULARY.gguf --schemas CASES.jsonl       what tests/bench/mask_cases.py writes
//
// Cuts each text into the model's tokens, follows them through the grammar, and computes the mask before
// each, as decoding does. Prints percentiles in microseconds of processor time, of the first text's masks and
// of all; the first masks are the slowest, because nothing is cached yet. A token that the grammar refuses
// is named. Schemas are compiled sequentially into one language, as a server does; schemas that cannot
// be enforced and texts that do not fit are counted.

#include "core/grammar/gbnf.hpp"
#include "core/grammar/masks.hpp"
#include "core/grammar/schema/json_schema.hpp"
#include "core/text/tokenizer.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace etna;

namespace {

/// A language with more in it makes room for a new one, as in grammars.cpp.
constexpr std::size_t language_bytes_kept = std::size_t{64} << 20;

std::string content_of(const char* path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

grammar::Vocabulary vocabulary_of(const text::Tokenizer& tokenizer) {
    std::vector<std::string> bytes;
    for (TokenId token = 0; token < tokenizer.size(); ++token) {
        const bool is_text = tokenizer.type(token) != text::TokenType::control;
        bytes.emplace_back(is_text ? tokenizer.bytes(token) : std::string_view());
    }
    return grammar::Vocabulary(std::move(bytes));
}

/// Of this thread's processor time: a busy machine adds little.
double now_us() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) * 1e-3;
}

void print(std::string_view what, std::vector<double> times) {
    if (times.empty())
        return;
    std::sort(times.begin(), times.end());
    const auto at = [&](double share) {
        return times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1))];
    };
    fmt::print("{} {}: median {:.1f} us, 90 % {:.1f}, 95 % {:.1f}, 99 % {:.1f}, most {:.1f}\n", times.size(),
               what, at(0.5), at(0.9), at(0.95), at(0.99), times.back());
}

Result<std::vector<double>> measure(const text::Tokenizer& tokenizer, grammar::Language& language,
                                    grammar::Masks& masks, grammar::Expression state, std::string_view text) {
    ETNA_TRY(const auto tokens, tokenizer.encode(text, {.bos = text::AddBos::never}));
    std::vector<double> times;
    for (const TokenId token : tokens) {
        const double begin_us = now_us();
        const grammar::TokenMask mask = masks.mask(state);
        times.push_back(now_us() - begin_us);
        if (!mask.allows(token)) {
            return Error{ErrorKind::invalid_argument,
                         fmt::format("refused: token {} `{}` in {}", token, tokenizer.bytes(token), text)};
        }
        state = language.next(state, tokenizer.bytes(token));
    }
    return times;
}

Status run_grammar(const text::Tokenizer& tokenizer, const grammar::Vocabulary& vocabulary, int count,
                   char** arguments) {
    grammar::Language language;
    grammar::Masks masks(language, vocabulary);
    const double begin_us = now_us();
    ETNA_TRY(const grammar::Expression root, grammar::gbnf(language, content_of(arguments[2])));
    fmt::print("{} tokens; the grammar took {:.0f} us\n", vocabulary.size(), now_us() - begin_us);
    std::vector<double> all;
    for (int i = 3; i < count; ++i) {
        ETNA_TRY(const auto times, measure(tokenizer, language, masks, root, arguments[i]));
        if (i == 3)
            print("masks", times);
        all.insert(all.end(), times.begin(), times.end());
    }
    print("masks", all);
    fmt::print("{} expressions\n", language.size());
    return {};
}

Status run_schemas(const text::Tokenizer& tokenizer, const grammar::Vocabulary& vocabulary,
                   const char* path) {
    auto language = std::make_unique<grammar::Language>();
    auto masks = std::make_unique<grammar::Masks>(*language, vocabulary);
    std::vector<double> compile_times;
    std::vector<double> mask_times;
    int refused_schemas = 0;
    int refused_texts = 0;
    int languages = 1;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        const auto one = nlohmann::json::parse(line);
        if (language->bytes() > language_bytes_kept) {
            masks.reset();
            language = std::make_unique<grammar::Language>();
            masks = std::make_unique<grammar::Masks>(*language, vocabulary);
            ++languages;
        }
        const double begin_us = now_us();
        const auto root = grammar::json_schema(*language, one["schema"].get<std::string>(), {});
        compile_times.push_back(now_us() - begin_us);
        if (!root) {
            ++refused_schemas;
            continue;
        }
        const auto times = measure(tokenizer, *language, *masks, *root, one["text"].get<std::string>());
        if (!times) {
            ++refused_texts;
            fmt::print("{}\n", times.error().message);
            continue;
        }
        mask_times.insert(mask_times.end(), times->begin(), times->end());
    }
    print("schemas", compile_times);
    print("masks", mask_times);
    fmt::print("{} schemas and {} texts refused; {} languages\n", refused_schemas, refused_texts, languages);
    return {};
}

Status run(int count, char** arguments) {
    ETNA_TRY(const auto file, gguf::File::open(arguments[1]));
    ETNA_TRY(const auto tokenizer, text::Tokenizer::create(file));
    const grammar::Vocabulary vocabulary = vocabulary_of(tokenizer);
    if (std::string_view(arguments[2]) == "--schemas")
        return run_schemas(tokenizer, vocabulary, arguments[3]);
    return run_grammar(tokenizer, vocabulary, count, arguments);
}

} // namespace

int main(int count, char** arguments) {
    if (count < 4) {
        fmt::print(stderr,
                   "usage: mask_bench VOCABULARY.gguf (GRAMMAR.gbnf TEXT... | --schemas CASES.jsonl)\n");
        return 2;
    }
    if (const Status status = run(count, arguments); !status) {
        fmt::print(stderr, "error: {}\n", status.error().message);
        return 1;
    }
}
