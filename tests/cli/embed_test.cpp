// `etna embed` from arguments to streams and exit codes.

#include "tests/cli/harness.hpp"
#include "tests/support/catch.hpp"

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

using namespace etna::test;

namespace {

std::vector<nlohmann::json> lines_of(const std::string& text) {
    std::vector<nlohmann::json> lines;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = text.find('\n', begin);
        lines.push_back(nlohmann::json::parse(text.substr(begin, end - begin)));
        begin = end + 1;
    }
    return lines;
}

} // namespace

TEST_CASE("embed prints a JSON object for the text, or for each line of standard input") {
    Harness etna;
    const Outcome one = etna.run({"embed", "stories", "Once upon a time"});
    REQUIRE(one.error.empty());
    REQUIRE(one.code == 0);
    REQUIRE(etna.asked->sequences_max == 64);
    const auto first = lines_of(one.output);
    REQUIRE(first.size() == 1);
    CHECK(first[0].at("index") == 0);
    CHECK(first[0].at("tokens") == etna.prompt_token_count());
    double squares = 0;
    for (const double value : first[0].at("embedding").get<std::vector<double>>())
        squares += value * value;
    CHECK(squares == Approx(1));

    etna.input_kind = InputKind::pipe;
    etna.input = "a dog\nOnce upon a time\n";
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"embed", "stories"}, {"embed", "stories", "-"}}) {
        const auto both = lines_of(etna.run(arguments).output);
        REQUIRE(both.size() == 2);
        CHECK(both[1].at("index") == 1);
        CHECK(both[1].at("embedding") == first[0].at("embedding"));
        CHECK(both[0].at("embedding") != both[1].at("embedding"));
    }
}

TEST_CASE("embed writes a NumPy file") {
    Harness etna;
    etna.input_kind = InputKind::pipe;
    etna.input = "a dog\na cat\na tree\n";
    const auto file = etna.write("vectors.npy", "").string();
    const auto lines = lines_of(etna.run({"embed", "stories", "--no-normalize"}).output);
    const Outcome outcome =
        etna.run({"embed", "stories", "--no-normalize", "--format", "npy", "-o", file, "--dimensions", "2"});
    REQUIRE(outcome.error.empty());
    CHECK(outcome.output.empty());
    std::ifstream stream(file, std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(stream), {}};
    REQUIRE(content.size() == 128 + 3 * 2 * 4);
    CHECK(content.substr(0, 10) == std::string("\x93NUMPY\x01\x00\x76\x00", 10));
    CHECK(contains(content, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }"));
    CHECK(content[127] == '\n');
    for (std::size_t i = 0; i < 6; ++i) {
        float value = 0;
        std::memcpy(&value, content.data() + 128 + 4 * i, sizeof value);
        CHECK(value == Approx(lines[i / 2].at("embedding")[i % 2].get<double>()));
    }
}

TEST_CASE("embed reports usage errors and invalid inputs") {
    Harness etna;
    CHECK(etna.run({"embed"}).code == 2);
    CHECK(contains(etna.run({"embed", "stories"}).error, "no text given"));
    CHECK(etna.run({"embed", "stories", "a", "--pooling", "sum"}).code == 2);
    const Outcome wide = etna.run({"embed", "stories", "a", "--dimensions", "9"});
    CHECK(wide.code == 1);
    CHECK(contains(wide.error, "9 dimensions; the model has 3"));
    etna.input_kind = InputKind::pipe;
    etna.input = "a\n\n" + std::string(9000, 'x');
    const Outcome long_line = etna.run({"embed", "stories"});
    CHECK(long_line.code == 1);
    CHECK(contains(long_line.error, "line 3: the text has"));
    CHECK(contains(etna.run({"embed", "stories", "a", "-o", "/nonexistent/x"}).error, "cannot write"));
    const Outcome full = etna.run({"embed", "stories", "a", "-o", "/dev/full"});
    CHECK(full.code == 1);
    CHECK(full.error == "error: cannot write to /dev/full: No space left on device\n"
                        "hint: free space there, or name a file elsewhere\n");
    etna.output_is_terminal = true;
    CHECK(etna.run({"embed", "stories", "a", "--format", "npy"}).code == 2);
}
