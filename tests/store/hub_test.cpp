#include "core/store/hub.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <utility>
#include <vector>

using namespace etna;
using store::HubFile;
using store::HubModel;

namespace {

const std::string sum_a(64, 'a');

HubFile gguf_file(const std::string& path, uint64_t bytes = 10) {
    return {path, bytes, sum_a};
}

store::ModelFiles chosen(const std::string& quantisation, const std::vector<HubFile>& files) {
    const auto result = store::choose_files(HubModel{"u", "r", quantisation, ""}, files);
    REQUIRE(result.has_value());
    return *result;
}

Error refused(const std::string& quantisation, const std::vector<HubFile>& files) {
    const auto result = store::choose_files(HubModel{"u", "r", quantisation, ""}, files);
    REQUIRE(!result.has_value());
    return result.error();
}

} // namespace

TEST_CASE("a listing gives the files with their sizes and sums, without folders") {
    const auto files = store::parse_listing(
        R"([{"type": "directory", "oid": "1", "size": 0, "path": "sub"},
            {"type": "file", "oid": "2", "size": 7, "path": "README.md"},
            {"type": "file", "oid": "3", "size": 12, "path": "sub/m-Q8_0.gguf",
             "lfs": {"oid": ")" +
        sum_a + R"(", "size": 12, "pointerSize": 134}, "xetHash": "x"}])");
    REQUIRE(files.has_value());
    CHECK(*files == std::vector<HubFile>{{"README.md", 7, ""}, {"sub/m-Q8_0.gguf", 12, sum_a}});
    CHECK(store::parse_listing("[]")->empty());
}

TEST_CASE("files that end in .GGUF are models, whole and split") {
    CHECK(chosen("Q8_0", {gguf_file("m-Q8_0.GGUF")}).parts == std::vector{gguf_file("m-Q8_0.GGUF")});
    const std::vector parts = {gguf_file("m-Q8_0-00001-of-00002.GGUF"),
                               gguf_file("m-Q8_0-00002-of-00002.GGUF")};
    CHECK(chosen("Q8_0", parts).parts == parts);
}

TEST_CASE("an invalid listing is an error that names the problem") {
    const std::string file = R"("type": "file", "size": 5, "path": )";
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"", "not a JSON array"},
        {"<!doctype html><html>", "a web page"},
        {"{}", "not a JSON array"},
        {"[1]", "not an object"},
        {"[{}]", "no type or no path"},
        {"[{\"type\": 1, \"path\": 2}]", "no type or no path"},
        {"[{" + file + "\"../x\"}]", "leaves its folder"},
        {"[{" + file + "\"/etc/passwd\"}]", "leaves its folder"},
        {"[{" + file + "\"a\\u0000b\"}]", "control character"},
        {"[{" + file + "\"C:\\\\x\"}]", "backslash"},
        {"[{" + file + "\"aux.gguf\"}]", "device on Windows"},
        {R"([{"type": "file", "path": "a"}])", "no valid size"},
        {R"([{"type": "file", "path": "a", "size": -1}])", "no valid size"},
        {R"([{"type": "file", "path": "a", "size": 1.5}])", "no valid size"},
        {R"([{"type": "file", "path": "a", "size": 99999999999999999}])", "no valid size"},
        {R"([{"type": "file", "path": "a", "size": 5, "lfs": {"oid": "x", "size": 5}}])", "no valid sha256"},
        {R"([{"type": "file", "path": "a", "size": 5, "lfs": {"oid": ")" + sum_a + R"(", "size": 6}}])",
         "two different sizes"},
        {std::string(100, '['), "not a JSON array"},
    };
    for (const auto& [text, message] : cases) {
        CAPTURE(text);
        const auto files = store::parse_listing(text);
        REQUIRE(!files.has_value());
        CHECK(files.error().kind == ErrorKind::corrupt);
        CHECK_THAT(files.error().message, Catch::Matchers::ContainsSubstring(message));
    }
}

TEST_CASE("the quantisation is the longest known one in the file's name") {
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"Qwen3-0.6B-Q8_0.gguf", "Q8_0"},
        {"qwen2.5-0.5b-instruct-q4_k_m.gguf", "Q4_K_M"},
        {"m.Q4_K.gguf", "Q4_K"},
        {"Phi-3-mini-4k-instruct-q4.gguf", "Q4"},
        {"gpt-oss-20b-mxfp4-00001-of-00003.gguf", "MXFP4"},
        {"m-BF16.gguf", "BF16"},
        {"m-bf16/m-F16.gguf", "F16"},
        {"m-UD-Q4_K_XL.gguf", "UD-Q4_K_XL"},
        {"model.gguf", ""},
        {"mq8_0x.gguf", ""},
    };
    for (const auto& [path, quantisation] : cases) {
        CAPTURE(path);
        CHECK(store::quantisation_of(path) == quantisation);
    }
}

TEST_CASE("Q4_K_M is taken, else the nearest, with a note") {
    const auto usual = chosen("", {gguf_file("m-Q8_0.gguf"), gguf_file("m-Q4_K_M.gguf")});
    CHECK(usual.quantisation == "Q4_K_M");
    CHECK(usual.note.empty());
    const auto nearest =
        chosen("", {gguf_file("m-Q8_0.gguf"), gguf_file("m-Q5_K_M.gguf"), gguf_file("m-Q2_K.gguf")});
    CHECK(nearest.quantisation == "Q5_K_M");
    CHECK_THAT(nearest.note, Catch::Matchers::ContainsSubstring("hf.co/u/r has no Q4_K_M; taking Q5_K_M"));
    CHECK(chosen("", {gguf_file("only.gguf")}).parts == std::vector<HubFile>{gguf_file("only.gguf")});
}

TEST_CASE("a named quantisation or file is taken, or refused with those that exist") {
    const std::vector<HubFile> files = {gguf_file("m-Q8_0.gguf"), gguf_file("m-Q4_K_M.gguf"),
                                        gguf_file("README.md"), gguf_file("other-Q8_0.gguf")};
    CHECK(chosen("q4_k_m", files).parts.front().path == "m-Q4_K_M.gguf");
    CHECK(chosen("other-Q8_0.gguf", files).parts.front().path == "other-Q8_0.gguf");
    CHECK(refused("Q5_0", files).kind == ErrorKind::not_found);
    CHECK_THAT(refused("Q5_0", files).hint, Catch::Matchers::ContainsSubstring("Q4_K_M, Q8_0"));
    CHECK(refused("Q8_0", files).kind == ErrorKind::invalid_argument);
    CHECK_THAT(refused("Q8_0", files).hint,
               Catch::Matchers::ContainsSubstring("m-Q8_0.gguf, other-Q8_0.gguf"));
    CHECK_THAT(refused("", {gguf_file("README.md")}).message,
               Catch::Matchers::ContainsSubstring("no GGUF file"));
}

TEST_CASE("the parts of a split model come together, in order; projectors and drafts are reported") {
    const auto files = chosen("Q8_0", {gguf_file("m-Q8_0-00002-of-00002.gguf", 3),
                                       gguf_file("m-Q8_0-00001-of-00002.gguf", 4),
                                       gguf_file("mmproj-m-Q8_0.gguf"), gguf_file("m-draft-Q8_0.gguf"),
                                       gguf_file("MTP/mtp-m-Q8_0.gguf"), gguf_file("m-DFlash-Q8_0.gguf")});
    REQUIRE(files.parts.size() == 2);
    CHECK(files.parts[0].path == "m-Q8_0-00001-of-00002.gguf");
    CHECK(files.bytes() == 7);
    CHECK(files.projectors == std::vector<std::string>{"mmproj-m-Q8_0.gguf"});
    CHECK(files.drafts ==
          std::vector<std::string>{"m-draft-Q8_0.gguf", "MTP/mtp-m-Q8_0.gguf", "m-DFlash-Q8_0.gguf"});
    CHECK(refused("Q8_0", {gguf_file("m-Q8_0-00002-of-00002.gguf")}).kind == ErrorKind::corrupt);
    CHECK(refused("Q8_0", {gguf_file("m-Q8_0-00000-of-00000.gguf")}).kind == ErrorKind::corrupt);
}

TEST_CASE("redirects stay on http and https, and never go from https to http") {
    CHECK(store::redirect_target("https://a.org/x/y", "/z?q=1").value() == "https://a.org/z?q=1");
    CHECK(store::redirect_target("https://a.org/x/y", "z").value() == "https://a.org/x/z");
    CHECK(store::redirect_target("http://a.org/x", "https://b.org/y").value() == "https://b.org/y");
    for (const char* location : {"", "file:///etc/passwd", "ftp://a.org/x", "http://a.org/x", "https://",
                                 "gopher://a.org", "javascript:alert(1)"}) {
        CAPTURE(location);
        CHECK(store::redirect_target("https://a.org/x", location).error().kind == ErrorKind::unsupported);
    }
}

TEST_CASE("an origin is scheme, host and port") {
    CHECK(store::origin_of("https://Hub.Example:443/a") == "https://hub.example");
    CHECK(store::origin_of("http://localhost:8080/a?b") == "http://localhost:8080");
    CHECK(store::origin_of("https://a.org@b.org/") == "https://b.org");
    CHECK(store::origin_of("file:///a").empty());
    CHECK(store::origin_of("a.org").empty());
    CHECK(store::printable_url("https://a.org/f?Signature=secret") == "https://a.org/f");
}
