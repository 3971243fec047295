// A megabyte of any text takes time proportional to its length. The times are printed; the bound is generous,
// for slow machines and sanitizers, and still far below quadratic time (hours).
#include "tests/support/catch.hpp"
#include "tests/text/vocabularies.hpp"

#include <ctime>
#include <iostream>
#include <random>

#include <fmt/format.h>

namespace etna::test {
namespace {

constexpr std::size_t text_bytes = std::size_t{1} << 20;
constexpr double bound_s = 20;

std::string repeated(std::string_view part) {
    std::string text;
    while (text.size() < text_bytes)
        text += part;
    text.resize(text_bytes);
    return text;
}

std::string random_bytes() {
    std::mt19937 random(1);
    std::string text(text_bytes, '\0');
    for (char& byte : text)
        byte = static_cast<char>(random() % 256);
    return text;
}

/// Of this process's processor time: other programs on the machine do not count.
double seconds_since(std::clock_t start) {
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

void measure(const std::string& name) {
    const auto load_start = std::clock();
    const auto folder = reference_folder();
    const auto tokenizer = name.starts_with("vocab-")
                               ? open_vocabulary(*folder / "vocab" / (name + ".gguf.gz"))
                               : bundled_vocabulary(name);
    std::cout << fmt::format("{}: load {:.2f} s;", name, seconds_since(load_start));
    const std::string prose =
        "It was a bright cold day in April, and the clocks were striking 13; caf\u00e9s "
        "weren't open.\n\tif (x == 42) { return \u4f60\u597d; }\n";
    const std::pair<const char*, std::string> texts[] = {
        {"ordinary", repeated(prose)}, {"a", repeated("a")},
        {"A", repeated("A")},          {"spaces", repeated(" ")},
        {"newlines", repeated("\n")},  {"spaces, x", repeated(" ").append("x")},
        {"digits", repeated("1")},     {"!", repeated("!")},
        {"CJK", repeated("\u4f60")},   {"<", repeated("<")},
        {"<|im_", repeated("<|im_")},  {"random", random_bytes()},
        {"invalid", repeated("\xFF")}, {"marks", repeated("\u0301")},
    };
    for (const auto& [what, text] : texts) {
        const auto start = std::clock();
        const auto tokens = tokenizer.encode(text, {});
        const double time_s = seconds_since(start);
        INFO(fmt::format("{}: {} took {} s", name, what, time_s));
        REQUIRE(tokens);
        CHECK(time_s < bound_s);
        std::cout << fmt::format(" {} {:.2f}", what, time_s);
    }
    std::cout << " (s of processor time for 1 MiB)\n";
}

} // namespace

TEST_CASE("a megabyte takes time in proportion to its length") {
    measure(GENERATE("gpt-2", "smollm2", "qwen3", "phi-3"));
}

TEST_CASE("a megabyte takes time in proportion to its length, reference vocabularies") {
    if (!reference_folder()) {
        std::cout << "not run: 3 (vocabularies that ETNA_REFERENCE_DATA would name)\n";
        return;
    }
    measure(GENERATE("vocab-llama3", "vocab-gpt-oss", "vocab-gemma3-spm"));
}

} // namespace etna::test
