// Completion of a partial line of the chat.

#include "cli/chat/commands.hpp"
#include "tests/cli/harness.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <vector>

using namespace etna::cli;
using namespace etna::test;

namespace {

using Words = std::vector<std::string>;

struct Completing : Harness {
    Completing() {
        write("my file.txt", "");
        write("my folder/inner.txt", "");
        write("other", "");
        write(".hidden", "");
        write("mean\x1b[2J", "");
        write("half\xff", "");
    }

    /// The completed lines of a partial one.
    Words lines(const std::string& line) {
        const LineCompletion completion = complete_chat_line(line, variables);
        Words whole;
        for (const std::string& word : completion.words)
            whole.push_back(line.substr(0, completion.begin) + word);
        return whole;
    }
};

} // namespace

TEST_CASE("the first word completes to a command") {
    Completing etna;
    CHECK(etna.lines("/und") == Words{"/undo"});
    CHECK(etna.lines("/s") == Words{"/set", "/show", "/system", "/save", "/stats"});
    CHECK(etna.lines("/nothing").empty());
    CHECK(etna.lines("word").empty());
}

TEST_CASE("a command's path argument is one word, spaces included") {
    Completing etna;
    CHECK(etna.lines("/file ~/my") == Words{"/file ~/my file.txt", "/file ~/my folder/"});
    CHECK(etna.lines("/file ~/my f") == Words{"/file ~/my file.txt", "/file ~/my folder/"});
    CHECK(etna.lines("/load  ~/my folder/i") == Words{"/load  ~/my folder/inner.txt"});
    CHECK(etna.lines("/file ~/none/").empty());
}

TEST_CASE("outside commands, the last word of the line completes to a file") {
    Completing etna;
    CHECK(etna.lines("look at ~/ot") == Words{"look at ~/other"});
    CHECK(etna.lines("/system read ~/ot") == Words{"/system read ~/other"});
    CHECK(etna.lines("one\ntwo ~/ot") == Words{"one\ntwo ~/other"});
}

TEST_CASE("hidden files need a leading dot, and names that cannot be typed are skipped") {
    Completing etna;
    CHECK(etna.lines("/file ~/.h") == Words{"/file ~/.hidden"});
    for (const char* partial : {"/file ~/", "/file ~/me", "/file ~/ha"}) {
        for (const std::string& line : etna.lines(partial)) {
            CAPTURE(partial, line);
            CHECK(line.find("hidden") == std::string::npos);
            CHECK(line.find("mean") == std::string::npos);
            CHECK(line.find("half") == std::string::npos);
        }
    }
    CHECK(etna.lines("/file ~/").size() == 3);
}
