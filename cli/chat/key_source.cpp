#include "cli/chat/key_source.hpp"

#include "core/base/utf8.hpp"

#include <array>
#include <cerrno>
#include <csignal>

#include <poll.h>
#include <unistd.h>

namespace etna::cli {
namespace {

constexpr int poll_ms = 100; // a signal delivered to another thread does not interrupt poll()
constexpr std::array watched_signals = {SIGCONT, SIGINT, SIGWINCH};

/// One flag per watched signal, and its event.
std::array<volatile std::sig_atomic_t, watched_signals.size()> noted = {};
constexpr std::array events = {KeySource::Event::resumed, KeySource::Event::interrupted,
                               KeySource::Event::resized};
std::array<struct sigaction, watched_signals.size()> before;

extern "C" void note_signal(int number) {
    for (std::size_t i = 0; i < watched_signals.size(); ++i) {
        if (watched_signals[i] == number)
            noted[i] = 1;
    }
}

} // namespace

KeySource::Watch::Watch() {
    for (auto& flag : noted)
        flag = 0;
    struct sigaction action{};
    action.sa_handler = note_signal;
    for (std::size_t i = 0; i < watched_signals.size(); ++i)
        sigaction(watched_signals[i], &action, &before[i]);
}

KeySource::Watch::~Watch() {
    for (std::size_t i = 0; i < watched_signals.size(); ++i)
        sigaction(watched_signals[i], &before[i], nullptr);
}

/// Returns false at the end of the input or on a read error.
bool KeySource::read_byte() {
    char byte = 0;
    const ssize_t count = ::read(descriptor_, &byte, 1);
    if (count == 1)
        begun_ += byte;
    return count == 1 || (count < 0 && (errno == EINTR || errno == EAGAIN));
}

/// Returns false if there is no complete letter.
bool KeySource::take_letter(wchar_t& letter) {
    while (!begun_.empty()) {
        const Utf8Step step = next_utf8(begun_);
        if (step.kind == Utf8Kind::truncated)
            return false;
        if (step.kind == Utf8Kind::valid)
            letter = static_cast<wchar_t>(code_point_of(begun_, step.bytes));
        begun_.erase(0, step.bytes);
        if (step.kind == Utf8Kind::valid)
            return true;
    }
    return false;
}

KeySource::Event KeySource::next(wchar_t& letter, std::optional<std::chrono::milliseconds> timeout) {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    while (true) {
        if (end_signal_() != 0)
            return Event::end;
        for (std::size_t i = 0; i < noted.size(); ++i) {
            if (noted[i] != 0) {
                noted[i] = 0;
                return events[i];
            }
        }
        if (take_letter(letter))
            return Event::letter;
        pollfd typed{descriptor_, POLLIN, 0};
        if (::poll(&typed, 1, poll_ms) > 0) {
            if (!read_byte())
                return Event::end;
        } else if (timeout && Clock::now() - begin >= *timeout) {
            return Event::silence;
        }
    }
}

} // namespace etna::cli
