#include "core/grammar/transitions.hpp"

namespace etna::grammar {

Expression Transitions::find(uint8_t byte) const {
    if (all != nullptr)
        return (*all)[byte];
    for (const auto& [known, target] : few) {
        if (known == byte)
            return target;
    }
    return unknown;
}

std::size_t Transitions::add(uint8_t byte, Expression target) {
    if (all != nullptr) {
        (*all)[byte] = target;
        return 0;
    }
    if (few.size() < few_max) {
        few.emplace_back(byte, target);
        return sizeof(few[0]);
    }
    all = std::make_unique<Table>();
    all->fill(unknown);
    for (const auto& [known, known_target] : few)
        (*all)[known] = known_target;
    few = {};
    return add(byte, target) + sizeof(*all);
}

} // namespace etna::grammar
