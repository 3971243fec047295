#include "core/gguf/split.hpp"
#include "tests/gguf/examples.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/tensor_content.hpp"

#include <filesystem>

using namespace etna;
using namespace etna::test;
using namespace etna::gguf_test;

namespace {

/// Seven tensors of different sizes, and a key.
GgufWriter seven_tensors(GgufWriterOptions options = {}) {
    GgufWriter writer(std::move(options));
    writer.add("general.name", "seven");
    for (uint64_t i = 1; i <= 7; ++i)
        writer.add_tensor(row("tensor." + std::to_string(i), i * 3));
    return writer;
}

void check_refused(const std::filesystem::path& path, ErrorKind kind, const std::string& fragment) {
    const auto file = gguf::File::open(path);
    REQUIRE_FALSE(file.has_value());
    CAPTURE(file.error().message);
    REQUIRE(file.error().kind == kind);
    REQUIRE(file.error().message.find(fragment) != std::string::npos);
    REQUIRE_FALSE(file.error().hint.empty());
}

} // namespace

TEST_CASE("all parts of a split model are read, whichever part is opened") {
    const TemporaryFolder folder;
    for (const uint32_t parts : {2U, 3U, 7U, 9U}) { // nine parts: some hold no tensor
        const auto paths = write_split(folder.path(), "model", seven_tensors().split(parts));
        for (const auto& path : {paths.front(), paths[1], paths.back()}) {
            CAPTURE(parts, path.string());
            const auto file = gguf::File::open(path);
            REQUIRE(file.has_value());
            REQUIRE(file->name() == paths.front().string());
            REQUIRE(file->text("general.name") == "seven");
            REQUIRE(file->tensors().size() == 7);
            REQUIRE(file->tensor_bytes() == uint64_t{1 + 2 + 3 + 4 + 5 + 6 + 7} * 3 * 4);
            for (uint64_t i = 1; i <= 7; ++i) {
                const gguf::Tensor* tensor = file->find_tensor("tensor." + std::to_string(i));
                REQUIRE(tensor != nullptr);
                REQUIRE(tensor->part < parts);
                REQUIRE(tensor_content(*file, *tensor) == counting_bytes(i * 3 * 4));
            }
            REQUIRE(file->tensors().back().part == parts - 1);
        }
    }
}

TEST_CASE("a symbolic link to a part leads to the parts beside its target") {
    const TemporaryFolder folder;
    const TemporaryFolder links;
    const auto paths = write_split(folder.path(), "model", seven_tensors().split(3));
    const auto opens = [](const std::filesystem::path& path) {
        const auto file = gguf::File::open(path);
        return file && file->tensors().size() == 7;
    };
    const auto link = [&](const std::string& name, const std::filesystem::path& target) {
        std::filesystem::create_symlink(target, links.path() / name);
        return links.path() / name;
    };
    CHECK(opens(link("nice.gguf", paths[0])));
    CHECK(opens(link("second", paths[1])));                       // any part, and any name
    CHECK(opens(link("model-00001-of-00003.gguf", paths[0])));    // a part's name without its siblings
    CHECK(opens(link("other-00001-of-00009.gguf", paths[0])));    // the name of another part
    CHECK(opens(link("chain.gguf", links.path() / "nice.gguf"))); // links to links
    CHECK(opens(link("relative.gguf", std::filesystem::relative(paths[0], links.path()))));
    const auto gone = gguf::File::open(link("gone.gguf", folder.path() / "gone-00001-of-00003.gguf"));
    REQUIRE_FALSE(gone.has_value());
    CHECK(gone.error().kind == ErrorKind::not_found);
    const auto loop = link("loop-00001-of-00002.gguf", links.path() / "loop-00001-of-00002.gguf");
    CHECK_FALSE(gguf::File::open(loop).has_value());
}

TEST_CASE("parts whose names end in .GGUF are read") {
    const TemporaryFolder folder;
    const auto paths = write_split(folder.path(), "model", seven_tensors().split(3));
    for (const auto& path : paths)
        std::filesystem::rename(path, std::filesystem::path(path).replace_extension(".GGUF"));
    const auto first = std::filesystem::path(paths[0]).replace_extension(".GGUF");
    REQUIRE(gguf::File::open(first).value().tensors().size() == 7);
    CHECK(gguf::has_gguf_extension("a.gGuF"));
    CHECK_FALSE(gguf::has_gguf_extension("gguf"));
    CHECK_FALSE(gguf::has_gguf_extension("a.gguf.part"));
}

TEST_CASE("one part of one is an ordinary file, with or without split keys") {
    const TemporaryFolder folder;
    const auto paths = write_split(folder.path(), "with", seven_tensors().split(1));
    REQUIRE(gguf::File::open(paths[0]).value().tensors().size() == 7);
    const auto plain = write_split(folder.path(), "without", {seven_tensors().bytes()});
    REQUIRE(gguf::File::open(plain[0]).value().tensors().size() == 7);
}

TEST_CASE("parts without the names of parts are opened in the order that is given") {
    const TemporaryFolder folder;
    auto paths = write_split(folder.path(), "model", seven_tensors().split(3));
    for (std::size_t i = 0; i < paths.size(); ++i) {
        const auto blob = folder.path() / ("sha256-" + std::string(3, static_cast<char>('c' - i)));
        std::filesystem::rename(paths[i], blob);
        paths[i] = blob;
    }
    const auto file = gguf::File::open(paths);
    REQUIRE(file.has_value());
    REQUIRE(file->name() == paths[0].string());
    for (uint64_t i = 1; i <= 7; ++i)
        REQUIRE(tensor_content(*file, *file->find_tensor("tensor." + std::to_string(i))) ==
                counting_bytes(i * 3 * 4));

    std::swap(paths[1], paths[2]);
    REQUIRE(gguf::File::open(paths).error().kind == ErrorKind::corrupt);
    std::swap(paths[1], paths[2]);
    std::filesystem::remove(paths[1]);
    REQUIRE(gguf::File::open(paths).error().message.find("part 2 of 3 is missing") != std::string::npos);
    paths.pop_back();
    paths.pop_back();
    REQUIRE(gguf::File::open(paths).error().message.find("one of 3 parts") != std::string::npos);
    REQUIRE(gguf::File::open(std::span<const std::filesystem::path>()).error().kind ==
            ErrorKind::invalid_argument);
}

TEST_CASE("a missing part is named") {
    const TemporaryFolder folder;
    const auto paths = write_split(folder.path(), "model", seven_tensors().split(3));
    std::filesystem::remove(paths[1]);
    check_refused(paths[0], ErrorKind::not_found, "model-00002-of-00003.gguf: part 2 of 3 is missing");
    std::filesystem::remove(paths[0]);
    check_refused(paths[2], ErrorKind::not_found, "model-00001-of-00003.gguf: part 1 of 3 is missing");
}

TEST_CASE("parts that do not belong together are refused") {
    const TemporaryFolder folder;
    const auto parts = seven_tensors().split(3);
    SECTION("two parts swapped") {
        const auto paths = write_split(folder.path(), "m", {parts[0], parts[2], parts[1]});
        check_refused(paths[0], ErrorKind::corrupt, "m-00002-of-00003.gguf: `split.no` is 2 where 1 is");
    }
    SECTION("a part with another split.count") {
        const auto paths = write_split(folder.path(), "m", {parts[0], seven_tensors().split(2)[1], parts[2]});
        check_refused(paths[0], ErrorKind::corrupt, "m-00002-of-00003.gguf: `split.count` is 2 where 3 is");
    }
    SECTION("a part of a smaller model") {
        GgufWriter smaller;
        smaller.add_tensor(row("x", 3));
        const auto paths = write_split(folder.path(), "m", {parts[0], parts[1], smaller.split(3)[2]});
        check_refused(paths[0], ErrorKind::corrupt,
                      "m-00003-of-00003.gguf: `split.tensors.count` is 1 where 7 is");
    }
    SECTION("a part that lost a tensor") {
        GgufWriter poorer;
        poorer.add("split.no", uint16_t{2});
        poorer.add("split.count", uint16_t{3});
        poorer.add("split.tensors.count", int32_t{7});
        const auto paths = write_split(folder.path(), "m", {parts[0], parts[1], poorer.bytes()});
        check_refused(paths[0], ErrorKind::corrupt,
                      "the 3 parts hold 4 tensors where `split.tensors.count` is 7");
    }
    SECTION("an ordinary file under a part's name") {
        const auto paths = write_split(folder.path(), "m", {parts[0], seven_tensors().bytes(), parts[2]});
        check_refused(paths[0], ErrorKind::corrupt,
                      "m-00002-of-00003.gguf: `split.no` is missing where 1 is");
    }
    SECTION("a truncated part") {
        Bytes cut = parts[2];
        cut.resize(cut.size() - 40);
        const auto paths = write_split(folder.path(), "m", {parts[0], parts[1], cut});
        check_refused(paths[0], ErrorKind::corrupt,
                      "m-00003-of-00003.gguf: the 84 bytes of tensor `tensor.7`");
    }
}

TEST_CASE("the same tensor in two parts is refused") {
    const TemporaryFolder folder;
    GgufWriter writer;
    writer.add_tensor(row("twice", 8));
    writer.add_tensor(row("twice", 8));
    const auto paths = write_split(folder.path(), "m", writer.split(2));
    const auto file = gguf::File::open(paths[0]);
    REQUIRE_FALSE(file.has_value());
    REQUIRE(file.error().message == paths[0].string() + ": tensor `twice` appears twice");
}

TEST_CASE("a part under an ordinary name is refused, with the name that it should have") {
    const TemporaryFolder folder;
    const auto path = folder.path() / "model.gguf";
    write_file(path, seven_tensors().split(3)[0]);
    check_refused(path, ErrorKind::invalid_argument, "model.gguf: is one of 3 parts of a split model");
    REQUIRE(gguf::File::open(path).error().hint.find("NAME-00001-of-00003.gguf") != std::string::npos);
    REQUIRE(parse(seven_tensors().split(3)[0]).error().kind == ErrorKind::invalid_argument);
}

TEST_CASE("names that only resemble a part's are ordinary names") {
    const TemporaryFolder folder;
    for (const char* name :
         {"m-00000-of-00002.gguf", "m-00003-of-00002.gguf", "m-1-of-2.gguf", "-of-00002.gguf",
          "m-0000a-of-00002.gguf", "m-00001-of-00002.bin", "m00001-of-00002.gguf", "00002.gguf"}) {
        CAPTURE(name);
        write_file(folder.path() / name, seven_tensors().bytes());
        REQUIRE(gguf::File::open(folder.path() / name).has_value());
    }
}

TEST_CASE("a name that claims very many parts is refused before any is opened") {
    const auto file = gguf::File::open("/nonexistent/m-00001-of-99999.gguf");
    REQUIRE(file.error().kind == ErrorKind::unsupported);
    REQUIRE(file.error().message.find("99999 parts") != std::string::npos);
}
