#include "cli/environment.hpp"
#include "cli/process_environment.hpp"

#include <string>
#include <vector>

int main(int argument_count, char** arguments) {
    const std::vector<std::string> given(arguments + (argument_count > 0 ? 1 : 0),
                                         arguments + argument_count);
    return static_cast<int>(etna::cli::run(given, etna::cli::process_environment()));
}
