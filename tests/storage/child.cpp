#include "tests/storage/child.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <stdexcept>

#include <sys/wait.h>
#include <unistd.h>

namespace etna::test {

std::string in_child(const std::function<std::string()>& work) {
    Child child([&](int descriptor) { write_all(descriptor, work()); });
    const std::string output = child.output();
    return child.status() == 0 ? output : output + " (ended with " + std::to_string(child.status()) + ")";
}

Child::Child(const std::function<void(int)>& work) {
    std::array<int, 2> ends = {};
    if (::pipe(ends.data()) != 0)
        throw std::runtime_error("no pipe");
    process_ = ::fork();
    if (process_ == 0) {
        ::close(ends[0]);
        work(ends[1]);
        ::_exit(0); // without running destructors of the parent
    }
    ::close(ends[1]);
    descriptor_ = ends[0];
}

Child::~Child() {
    if (status_ < 0) {
        kill();
        output();
    }
}

void Child::kill() {
    ::kill(process_, SIGKILL);
}

bool Child::read_some() {
    std::array<char, 4096> part = {};
    ssize_t count = 0;
    do {
        count = ::read(descriptor_, part.data(), part.size());
    } while (count < 0 && errno == EINTR);
    if (count > 0)
        output_.append(part.data(), static_cast<std::size_t>(count));
    return count > 0;
}

void Child::wait_for_output(const std::string& text) {
    while (output_.find(text) == std::string::npos && read_some()) {
    }
}

std::string Child::output() {
    while (read_some()) {
    }
    ::close(descriptor_);
    ::waitpid(process_, &status_, 0);
    return output_;
}

void write_all(int descriptor, const std::string& text) {
    for (std::size_t done = 0; done < text.size();) {
        const ssize_t count = ::write(descriptor, text.data() + done, text.size() - done);
        if (count < 0)
            return;
        done += static_cast<std::size_t>(count);
    }
}

} // namespace etna::test
