// The main function of every test executable.
#if ETNA_CATCH_MAJOR == 2
#define CATCH_CONFIG_RUNNER
#endif
#include "tests/support/catch.hpp"

int main(int argument_count, char** arguments) {
    return Catch::Session().run(argument_count, arguments);
}
