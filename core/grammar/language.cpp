#include "core/grammar/language.hpp"

namespace etna::grammar {

Language::Language(std::size_t bytes_max)
    : Expressions(bytes_max), derivatives_(*this, counted_, distinct_, within_), counted_(*this),
      distinct_(*this, derivatives_), within_(*this, derivatives_), sealing_(*this, within_) {}

void Language::give_up() {
    mark_full();
    derivatives_.reset_depth();
    set_step_budget(UINT64_MAX);
}

} // namespace etna::grammar
