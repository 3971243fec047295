#include "cli/terminal/progress_bar.hpp"
#include "tests/support/catch.hpp"

using etna::cli::progress_bar;

TEST_CASE("a bar takes what its texts leave, up to 30 columns") {
    CHECK(progress_bar("loading", 0.5, "50 % of 10 MiB, 5 MiB/s", 79) ==
          "loading [###############...............] 50 % of 10 MiB, 5 MiB/s");
    CHECK(progress_bar("embedding", 1, "8 of 8 texts", 39) == "embedding [##############] 8 of 8 texts");
    CHECK(progress_bar("compiling kernels", 0, "0 of 24", 39) == "compiling kernels [...........] 0 of 24");
}

TEST_CASE("a narrow terminal gets no bar, and fewer clauses") {
    const std::string detail = "45 % of 1234 MiB, 345 MiB/s, 1:23 left";
    CHECK(progress_bar("loading", 0.45, detail, 39) == "loading 45 % of 1234 MiB, 345 MiB/s");
    CHECK(progress_bar("loading", 0.45, detail, 30) == "loading 45 % of 1234 MiB");
    CHECK(progress_bar("loading", 0.45, detail, 10) == "loading 45");
    for (uint32_t columns = 1; columns < 120; ++columns)
        CHECK(progress_bar("reading the prompt", 0.3, detail, columns).size() <= columns);
}
