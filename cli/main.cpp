#include "cli/environment.hpp"
#include "cli/process_environment.hpp"

#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

int main(int argument_count, char** arguments) {
    try {
        const std::vector<std::string> given(arguments + (argument_count > 0 ? 1 : 0),
                                             arguments + argument_count);
        return static_cast<int>(etna::cli::run(given, etna::cli::process_environment()));
    } catch (const std::bad_alloc&) { // formatting a message might need memory again
        std::fputs(
            "error: there is not enough memory\nhint: free some, or give a shorter prompt or a smaller "
            "model\n",
            stderr);
        return static_cast<int>(etna::cli::ExitCode::failed);
    } catch (const std::exception& error) { // thrown by a library: etna's own errors are values
        std::fprintf(stderr,
                     "error: unexpected failure: %s\nhint: this is a mistake in etna; please report it\n",
                     error.what());
        return static_cast<int>(etna::cli::ExitCode::failed);
    }
}
