"""The include directions between rooms: the diagram of CONTRIBUTING.md as a table, checked."""

import re

from tree import Finding, includes_of

# The floors of server/ that each speak one API.
FACES = tuple(f"server/faces/{api}" for api in ("anthropic", "llamacpp", "ollama", "openai", "rerank", "responses"))

# A room may include itself, core/base, core/gguf, the rooms named here, and what those may include in turn.
ALLOWED = {
    "cli": {"server/app", "core/generate"},
    "server/app": {"server/batch", "server/page", *FACES},
    "server/page": {"server/api"},
    "server/batch": {"server/api"},
    **{face: {"server/api"} for face in FACES},  # no face includes another
    "server/api": {"server/observe", "server/storage"},
    "server/observe": {"server/http", "server/models", "server/kv_events"},
    "server/models": {"server/base", "core/generate"},
    "server/kv_events": {"core/engine"},
    "server/storage": set(),
    "server/http": {"server/base"},
    "server/base": set(),
    "core/generate": {
        "core/engine", "core/chat", "core/output", "core/text", "core/grammar", "core/runtime", "core/sampling", "core/store",
    },
    "core/runtime": {"core/engine", "core/store"},
    "core/engine": {"core/model", "core/sampling"},  # a row carries its sampling parameters
    "core/model": {"core/kernels"},
    "core/kernels": {"core/vk"},
    "core/vk": set(),
    "core/text": set(),
    "core/chat": {"core/jinja"},
    "core/jinja": set(),
    "core/output": {"core/jinja"},  # a request's tools are values
    "core/grammar": set(),
    "core/sampling": set(),
    "core/store": {"core/sampling"},  # a Modelfile names sampling parameters
    "core/gguf": set(),
    "core/base": set(),
}
EVERYWHERE = {"core/base", "core/gguf"}

# The typed manifest of shader variants is for the rooms that record dispatches, and not inherited.
SHADERS = {"core/kernels"}

# External headers -> files that may include them, as a pattern over paths. tests/ROOM follows ROOM.
EXTERNAL = {
    r"CLI/.*|CLI11\.hpp": r"(tests/)?cli/.*",
    r"toml\+\+/.*": r"cli/.*",
    r"pcre2\.h": r"core/text/.*",
    r"utf8proc\.h": r"core/(jinja|text)/.*",
    r"httplib\.h": r"tests/server/independent_client_test\.cpp",
    r"openssl/.*": r"(core/store/sha256|server/(base/seal|http/tls))\.cpp|tests/server/.*",
    r"curl/.*": r"core/store/http_client\.cpp",
    r"sqlite3\.h": r"server/storage/.*|tests/storage/.*",
    r"zmq\.h": r"server/kv_events/socket\.cpp|tests/kv_events/.*",
    r"(vulkan|vk_video)/.*|volk\.h": r"(tests/)?core/vk/.*|tests/vk/.*",
    r"nlohmann/.*|core/base/json\.hpp": r"tests/.*|server/.*|cli/.*|core/(grammar|jinja|output|store)/([^/]+/)*([^/]+\.cpp|[^/]+_private\.hpp)"
    r"|core/base/json\.[ch]pp|core/jinja/json_value\.hpp",
}


def reachable(room, allowed=None):
    """Every room that `room` may include."""
    allowed = ALLOWED if allowed is None else allowed
    seen, waiting = {room} | EVERYWHERE, [room]
    if room == "core/base":
        return {"core/base"}
    while waiting:
        for below in allowed[waiting.pop()] - seen:
            seen.add(below)
            waiting.append(below)
    return seen


def room_of(path):
    """'core/vk' for core/vk/device.cpp, 'cli' for cli/main.cpp, 'server/faces/openai' for a file below that folder, None
    for tests and files outside any room."""
    folders = path.split("/")[:-1]
    if folders[:1] == ["core"]:
        return "/".join(folders[:2]) if len(folders) > 1 else None
    if folders[:1] == ["server"]:
        return "/".join(folders[: 3 if folders[1:2] == ["faces"] else 2])
    return folders[0] if folders and folders[0] in ("cli", "shaders") else None


def check_directions(tree):
    for path, text in tree.matching(r"(core|cli|server)/.*\.(cpp|hpp)"):
        room = room_of(path)
        if room not in ALLOWED:
            yield Finding(path, 1, f"'{room}' is not a room in the table of tests/style/rooms.py")
            continue
        below = reachable(room)
        for line, name in includes_of(text):
            target = room_of(name)
            if name.startswith("tests/"):
                yield Finding(path, line, f"{room} includes the tests' {name}")
            elif target == "shaders":
                if room not in SHADERS:
                    yield Finding(path, line, f"{room} must not include shaders ({name})")
            elif target is not None and target not in below:
                yield Finding(path, line, f"{room} must not include {target} ({name})")


def check_cycles(_tree, allowed=None):
    """The table itself: every target is in it, and there are no cycles."""
    allowed = ALLOWED if allowed is None else allowed
    for room, targets in allowed.items():
        for target in targets:
            if target not in allowed:
                yield Finding("tests/style/rooms.py", 1, f"{room} may include '{target}', which is not a room")
            elif room in reachable(target, allowed):
                yield Finding("tests/style/rooms.py", 1, f"{room} and {target} may include each other")


def check_external_headers(tree):
    for path, text in tree.matching(r"(core|cli|server|tests)/.*\.(cpp|hpp)"):
        for line, name in includes_of(text):
            for header, allowed in EXTERNAL.items():
                if re.fullmatch(header, name) and not re.fullmatch(allowed, path):
                    yield Finding(path, line, f"<{name}> must not be included here (allowed: {allowed})")
