#include "core/output/parser.hpp"

#include "core/output/output_machine.hpp"

#include <utility>

namespace etna::output {

Result<Parser> Parser::create(const Syntax& syntax, const ParserOptions& options) {
    ETNA_TRY(auto tools, Tools::create(options.tools));
    return Parser(std::make_unique<OutputMachine>(syntax, std::move(tools), options));
}

Parser::Parser(std::unique_ptr<OutputMachine> machine) : machine_(std::move(machine)) {}
Parser::Parser(const Parser& other) : machine_(other.machine_->copy()) {}
Parser::Parser(Parser&&) noexcept = default;
Parser& Parser::operator=(Parser&&) noexcept = default;
Parser::~Parser() = default;

std::span<const Event> Parser::push(std::string_view text) {
    return machine_->push(text);
}

std::span<const Event> Parser::finish(Ending ending) {
    return machine_->finish(ending);
}

std::string_view Parser::held_space() const {
    return machine_->held_space();
}

std::optional<OpenReasoning> Parser::open_reasoning() const {
    return machine_->open_reasoning();
}

std::size_t Parser::undecided_bytes() const {
    return machine_->undecided_bytes();
}

} // namespace etna::output
