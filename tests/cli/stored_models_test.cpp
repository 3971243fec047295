// list, show, cp, create, rm and verify of stored models, and the options that they set.

#include "tests/cli/harness.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/random_model.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <unistd.h>

using namespace etna::cli;
using namespace etna::test;

namespace {

constexpr int usage = static_cast<int>(ExitCode::usage);

/// A harness that requires success.
struct Stored : Harness {
    std::string printed(const std::vector<std::string>& arguments) {
        const Outcome outcome = run(arguments);
        CAPTURE(outcome.error);
        REQUIRE(outcome.code == 0);
        return outcome.output;
    }
    Outcome failed(const std::vector<std::string>& arguments) {
        Outcome outcome = run(arguments);
        CAPTURE(outcome.output);
        REQUIRE(outcome.code != 0);
        return outcome;
    }
};

etna::runtime::DeviceReport a_device(const std::string& name, uint64_t free_bytes) {
    etna::runtime::DeviceReport device;
    device.profile.name = name;
    device.profile.type = etna::vk::DeviceType::discrete;
    device.profile.allocation_bytes_max = uint64_t{4} << 30;
    device.free_bytes = device.total_bytes = free_bytes;
    return device;
}

} // namespace

TEST_CASE("created models are listed, shown, copied and removed") {
    Stored etna;
    etna.printed({"create", "terse", "--from", "stories", "--temp", "0.25", "--system", "Be brief."});
    etna.printed({"cp", "terse", "short:1"});
    const std::string listed = etna.printed({"list"});
    CHECK(contains(listed, "NAME"));
    for (const char* name : {"\nterse ", "\nshort:1 ", "\nstories "})
        CHECK(contains(listed, name));
    const std::string json = etna.printed({"list", "--json"});
    CHECK(contains(json, "\"name\": \"terse\""));
    CHECK(contains(json, "\"context_tokens\": 2048"));
    const std::string shown = etna.printed({"show", "short:1"});
    for (const char* text : {"llama", "--temp '0.25'", "--system 'Be brief.'", "stories.gguf"})
        CHECK(contains(shown, text));
    CHECK(contains(etna.printed({"show", "demo", "--json"}), "\"has_template\": true"));
    CHECK(contains(etna.printed({"show", "demo", "--metadata"}), "general.architecture = "));
    CHECK(contains(etna.printed({"show", "stories", "--tensors"}), "token_embd.weight"));
    CHECK(contains(etna.failed({"show", "stories", "--template"}).error, "has no chat template"));

    CHECK(contains(etna.failed({"rm", "terse"}).error, "there is no terminal to ask at\nhint: add --yes"));
    etna.printed({"rm", "--yes", "terse", "short:1"});
    CHECK(!contains(etna.printed({"list"}), "terse"));
    CHECK(contains(etna.failed({"rm", "--yes", "terse"}).error, "there is no stored model `terse`"));
    CHECK(contains(etna.failed({"rm", "--yes", "stories"}).error, "which etna did not store"));
}

TEST_CASE("a terminal is asked before a model is removed") {
    Stored etna;
    etna.printed({"create", "terse", "--from", "demo"});
    etna.input_is_terminal = true;
    etna.error_is_terminal = true;
    etna.agreements = {"n", "y"};
    const Outcome kept = etna.failed({"rm", "terse"});
    CHECK(contains(kept.error, "`terse` was not removed"));
    etna.printed({"rm", "terse"});
    REQUIRE(etna.questions.size() == 2);
    CHECK(contains(etna.questions[0], "remove terse, "));
}

TEST_CASE("a stored model's options apply below those of the command line and the environment") {
    Stored etna;
    etna.install_model("talker",
                       {{"tokenizer.chat_template", "{% for m in messages %}[{{ m.role }}:{{ m.content }}]"
                                                    "{% endfor %}"}});
    etna.printed({"create", "mine", "--from", "talker", "--system", "Stored.", "--max-tokens", "2"});
    etna.printed({"run", "mine", "Hi"});
    CHECK(contains(etna.prompt, "[system:Stored.][user:Hi]"));
    etna.printed({"run", "mine", "Hi", "--system", "Typed."});
    CHECK(contains(etna.prompt, "[system:Typed.][user:Hi]"));
    etna.variables["ETNA_SYSTEM"] = "Variable.";
    etna.printed({"run", "mine", "Hi"});
    CHECK(contains(etna.prompt, "[system:Variable.]"));
    etna.variables.erase("ETNA_SYSTEM");
    etna.printed({"run", "mine", "Hi", "--raw"});
    CHECK(!contains(etna.prompt, "Stored."));

    etna.printed({"create", "other", "--from", "mine", "--system", "Second."});
    etna.printed({"run", "other", "Hi"});
    CHECK(contains(etna.prompt, "[system:Second.]"));
    CHECK(contains(etna.printed({"show", "other"}), "--max-tokens '2'"));
}

TEST_CASE("a chat template is stored with the model") {
    Stored etna;
    const auto file = etna.write("t.jinja", "{% for m in messages %}<{{ m.content }}>{% endfor %}");
    etna.printed({"create", "mine", "--from", "stories", "--template", file.string()});
    std::filesystem::remove(file);
    etna.printed({"run", "mine", "Hi"});
    CHECK(contains(etna.prompt, "<Hi>"));
}

TEST_CASE("create refuses unusable names and sources and options") {
    Stored etna;
    CHECK(etna.run({"create", "mine"}).code == usage);
    CHECK(etna.run({"create", "../mine", "--from", "demo"}).code == usage);
    CHECK(contains(etna.failed({"create", "mine", "--from", "nothing"}).error, "no model `nothing`"));
    CHECK(contains(etna.failed({"create", "mine", "--from", "demo", "--temp", "x"}).error, "--temp"));
    CHECK(contains(etna.failed({"create", "mine", "--from", "demo", "--tools", "x"}).error, "--tools"));
    etna.printed({"create", "mine", "--from", "demo"});
    CHECK(contains(etna.failed({"create", "mine", "--from", "demo"}).error,
                   "there is a stored model `mine` already"));
    CHECK(contains(etna.failed({"cp", "nothing", "x"}).error, "there is no stored model `nothing`"));
}

TEST_CASE("settings of the environment do not become part of a created model") {
    Stored etna;
    etna.variables["ETNA_TEMP"] = "0.125";
    etna.printed({"create", "mine", "--from", "demo"});
    CHECK(!contains(etna.printed({"show", "mine"}), "0.125"));
}

TEST_CASE("a Modelfile is read and its unsupported instructions are refused by name") {
    Stored etna;
    const auto create = [&](const std::string& text) {
        const auto file = etna.write("Modelfile", text);
        return etna.run({"create", "mine", "-f", file.string()});
    };
    CHECK(create("# mine\nFROM demo\nSYSTEM \"\"\"Two\nlines.\"\"\"\nPARAMETER temperature 0.5\n"
                 "parameter stop \"a\"\nPARAMETER stop b\nLICENSE x\n")
              .code == 0);
    const std::string shown = etna.printed({"show", "mine", "--json"});
    CHECK(contains(shown, "Two\\nlines."));
    CHECK(contains(shown, "\"0.5\""));
    CHECK(contains(create("FROM demo\nPARAMETER mirostat 1\n").error,
                   "Modelfile:2: etna has no parameter `mirostat`"));
    CHECK(
        contains(create("FROM demo\nTEMPLATE \"\"\"{{ .Prompt }}\"\"\"\n").error, ":2: TEMPLATE is in Go's"));
    CHECK(contains(create("FROM demo\nADAPTER x\n").error, "etna has no instruction `ADAPTER`"));
    CHECK(contains(create("FROM demo\nSYSTEM \"\"\"open\n").error, ":2: three quotes are not closed"));
    CHECK(contains(create("SYSTEM x\n").error, "there is no FROM"));
    CHECK(contains(create("FROM demo\nPARAMETER temperature hot\n").error, "--temp"));
}

TEST_CASE("verify finds a damaged file") {
    Stored etna;
    const auto file = etna.write("t.jinja", "{{ 1 }}");
    etna.printed({"create", "mine", "--from", "stories", "--template", file.string()});
    CHECK(etna.printed({"verify"}) == "mine: good\n");
    std::filesystem::path blob;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(file.parent_path())) {
        if (entry.path().filename().string().starts_with("sha256-"))
            blob = entry.path();
    }
    std::filesystem::remove(blob);
    etna.write(blob.lexically_relative(file.parent_path()).string(), "{{ 2 }}");
    const Outcome outcome = etna.failed({"verify", "mine"});
    CHECK(outcome.output == "mine: damaged\n");
    CHECK(contains(outcome.error, "its sha256 is"));
}

TEST_CASE("known names are listed with sizes, repositories and the usual size of each family") {
    Stored etna;
    const std::string known = etna.printed({"list", "--known"});
    CHECK(contains(known, "qwen3:0.6b"));
    CHECK(contains(known, "hf.co/Qwen/Qwen3-0.6B-GGUF:Q8_0"));
    CHECK(contains(known, "30.5B, 3.3B active"));
    const auto listed = nlohmann::json::parse(etna.printed({"list", "--known", "--json"}))["known"];
    const auto qwen = std::ranges::find(listed, "qwen3:8b", [](const auto& one) { return one["name"]; });
    REQUIRE(qwen != listed.end());
    CHECK((*qwen)["is_usual"] == true);
    CHECK((*qwen)["download_bytes"] == 5'028'000'000);
    CHECK((*qwen)["parameters"] == 8'191'000'000);
    CHECK((*qwen)["context_tokens"] == 40960);
    CHECK((*qwen)["use"] == "text");
    CHECK(etna.run({"list", "--known", "--all"}).code == usage);
}

TEST_CASE("show prints the memory of a model with several contexts on each usable device") {
    constexpr uint64_t mib = uint64_t{1} << 20;
    Stored etna;
    auto unusable = a_device("Old GPU", 4096 * mib);
    unusable.missing = "Vulkan 1.2";
    etna.devices = etna::runtime::DeviceReports{a_device("Fast GPU", 2048 * mib),
                                                a_device("Small GPU", 70 * mib), unusable};
    etna.devices->front().is_chosen = true; // for plan
    const auto shown = nlohmann::json::parse(etna.printed({"show", "demo", "--json"}));
    CHECK(etna.listed_device.empty());
    CHECK(!shown.contains("memory_error"));
    const auto& memory = shown["memory"];
    REQUIRE(memory.size() == 2); // demo's own context is shorter than 4096 tokens
    for (const auto& one : memory)
        CHECK(one["context_tokens"] == shown["context_tokens"]);
    CHECK(memory[0]["device"] == "Fast GPU");
    CHECK(memory[0]["fits"] == true);
    CHECK(memory[1]["device"] == "Small GPU");
    CHECK(memory[1]["fits"] == false);

    const auto plan = nlohmann::json::parse(etna.printed({"plan", "demo", "--device", "fast", "--json"}));
    CHECK(memory[0]["bytes"] == plan["device_bytes"].get<uint64_t>() + plan["host_bytes"].get<uint64_t>());
    const std::string text = etna.printed({"show", "demo"});
    CHECK(contains(text, " MiB on Fast GPU, fits\n"));
    CHECK(contains(text, " MiB on Small GPU, does not fit: 70.0 MiB free\n"));
    CHECK(!contains(text, "Old GPU"));
    CHECK(!contains(etna.printed({"show", "demo", "--template"}), "Fast GPU"));
}

TEST_CASE("show takes contexts of 4096 and 32768 tokens up to the model's own") {
    Stored etna;
    etna.devices = etna::runtime::DeviceReports{a_device("Fast GPU", uint64_t{1} << 33)};
    const auto contexts = [&](uint32_t own) {
        const auto bytes = random_model({.context = own});
        const auto path =
            etna.write("random.gguf", std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
        const auto shown = nlohmann::json::parse(etna.printed({"show", path.string(), "--json"}));
        CHECK(shown.value("memory_error", "") == "");
        std::vector<uint32_t> tokens;
        for (const auto& one : shown["memory"])
            tokens.push_back(one["context_tokens"]);
        return tokens;
    };
    CHECK(contexts(256) == std::vector<uint32_t>{256});
    CHECK(contexts(4096) == std::vector<uint32_t>{4096});
    CHECK(contexts(8000) == std::vector<uint32_t>{4096, 8000});
    CHECK(contexts(40960) == std::vector<uint32_t>{4096, 32768, 40960});
}

TEST_CASE("show describes a model whose memory is unknown") {
    Stored etna;
    CHECK(contains(etna.printed({"show", "demo"}), "memory        unknown: no device can run models\n"));
    etna.devices = etna::Error{etna::ErrorKind::no_device, "the loader is broken", {}};
    const auto shown = nlohmann::json::parse(etna.printed({"show", "demo", "--json"}));
    CHECK(shown["memory"].empty());
    CHECK(shown["memory_error"] == "the loader is broken");

    etna.devices = etna::runtime::DeviceReports{a_device("Fast GPU", uint64_t{1} << 31)};
    etna.install_model("hollow", {}); // has no tensors
    CHECK(contains(etna.printed({"show", "hollow"}), "memory        unknown: "));
}

TEST_CASE("verify reports unfinished downloads that no process fetches") {
    Stored etna;
    const auto part = etna.write(".local/share/etna/models/blobs/sha256-12.part", std::string(100'000, 'x'));
    etna.write(".local/share/etna/models/blobs/sha256-12.part.ranges", "x\n");
    const Outcome left = etna.run({"verify"});
    CHECK(left.code == 0);
    CHECK(contains(left.error, part.string() + ": an unfinished download takes "));
    CHECK(contains(left.error, "iB; `etna pull` of its model resumes it"));
    CHECK(!contains(left.error, ".ranges: "));
    const int holder = ::open(part.c_str(), O_RDWR | O_CLOEXEC);
    REQUIRE(::flock(holder, LOCK_EX | LOCK_NB) == 0);
    CHECK(!contains(etna.run({"verify"}).error, "unfinished"));
    ::close(holder);
}

TEST_CASE("a typed max-tokens replaces a stored min-tokens") {
    Stored etna;
    etna.printed({"create", "long", "--from", "stories", "--min-tokens", "20"});
    CHECK(etna.run({"run", "long", "Hi", "--max-tokens", "5"}).code == 0);
}

TEST_CASE("offline, run names the file of a remote model and its place") {
    Stored etna;
    const Outcome outcome = etna.failed({"run", "qwen3:0.6b", "hi", "--offline"});
    CHECK(contains(outcome.error, "`qwen3:0.6b` is not stored on this machine, and --offline is set\n"));
    CHECK(contains(outcome.error, "get the .gguf file with Q8_0 in its name from "));
    CHECK(contains(outcome.error, "put it into "));
}

TEST_CASE("the built-in models are listed, marked as such") {
    Stored etna;
    const std::string listed = etna.printed({"list"});
    for (const char* name : {"\ndemo ", "\ndemo-embed "}) {
        const std::size_t begin = listed.find(name);
        REQUIRE(begin != std::string::npos);
        const std::string line = listed.substr(begin + 1, listed.find('\n', begin + 1) - begin - 1);
        CHECK(line.ends_with("  built-in"));
    }
    CHECK(!contains(listed, "demo-draft"));
    CHECK(contains(etna.printed({"list", "--json"}), "\"owner\": \"built-in\""));
}
