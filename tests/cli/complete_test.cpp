// What Tab makes of a half typed line.

#include "cli/chat/complete.hpp"
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

    /// The whole lines that this one may become.
    Words lines(const std::string& line) {
        const LineCompletion completion = complete_chat_line(line, variables);
        Words whole;
        for (const std::string& word : completion.words)
            whole.push_back(line.substr(0, completion.begin) + word);
        return whole;
    }
};

} // namespace

TEST_CASE("the first word is a command") {
    Completing etna;
    CHECK(etna.lines("/und") == Words{"/undo"});
    CHECK(etna.lines("/s") == Words{"/set", "/show", "/system", "/save", "/stats"});
    CHECK(etna.lines("/nothing").empty());
    CHECK(etna.lines("word").empty());
}

TEST_CASE("the path of a command is one word with its spaces, as the command takes it") {
    Completing etna;
    CHECK(etna.lines("/file ~/my") == Words{"/file ~/my file.txt", "/file ~/my folder/"});
    CHECK(etna.lines("/file ~/my f") == Words{"/file ~/my file.txt", "/file ~/my folder/"});
    CHECK(etna.lines("/load  ~/my folder/i") == Words{"/load  ~/my folder/inner.txt"});
    CHECK(etna.lines("/file ~/none/").empty());
}

TEST_CASE("elsewhere a file is the last word of the line") {
    Completing etna;
    CHECK(etna.lines("look at ~/ot") == Words{"look at ~/other"});
    CHECK(etna.lines("/system read ~/ot") == Words{"/system read ~/other"});
    CHECK(etna.lines("one\ntwo ~/ot") == Words{"one\ntwo ~/other"});
}

TEST_CASE("hidden files have to be begun, and names that cannot be typed are left out") {
    Completing etna;
    CHECK(etna.lines("/file ~/.h") == Words{"/file ~/.hidden"});
    for (const char* begun : {"/file ~/", "/file ~/me", "/file ~/ha"}) {
        for (const std::string& line : etna.lines(begun)) {
            CAPTURE(begun, line);
            CHECK(line.find("hidden") == std::string::npos);
            CHECK(line.find("mean") == std::string::npos);
            CHECK(line.find("half") == std::string::npos);
        }
    }
    CHECK(etna.lines("/file ~/").size() == 3);
}
