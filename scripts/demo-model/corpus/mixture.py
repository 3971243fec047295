"""Conversations: exchanges of all skills in their shares, joined to turns of one conversation where their contexts allow."""

from . import tools
from .arithmetic import arithmetic, thinking
from .extraction import extraction
from .facts import fact
from .memory import remembering
from .plain import copying, counting
from .source import Exchange
from .stories import story
from .system import following, following_in_a_row, plain
from .talk import talk, unknown

# Exchanges that need no system message, tools or flag, and so may follow one another.
SIMPLE = [(arithmetic, 26), (fact, 20), (copying, 18), (counting, 8), (extraction, 12), (talk, 8), (unknown, 6)]
# Whole conversations: share of conversations in per cent, first, later and last. Sums are learned late, all at once, and from many examples:
# when the rest of the language stands they get more room, and the choice among tools the most.
KINDS = {"simple": 24, "memory": 14, "system": 12, "thinking": 9, "story": 7, "tools": 34}
KINDS_LATER = {"simple": 16, "sums": 12, "memory": 10, "system": 12, "thinking": 10, "story": 4, "tools": 36}
KINDS_LAST = {"simple": 11, "sums": 4, "memory": 6, "system": 12, "thinking": 5, "story": 2, "tools": 60}
TURNS_MAX = 4
SUMS_MAX = 10


def weighted(source, table):
    place = source.random.random() * sum(share for _, share in table)
    for value, share in table:
        place -= share
        if place < 0:
            return value
    return table[-1][0]


def simple(source):
    return weighted(source, SIMPLE)(source)


def several(source):
    exchanges = [simple(source) for _ in range(source.number(1, TURNS_MAX))]
    return Exchange([message for exchange in exchanges for message in exchange.messages], exchanges[-1].check)


def sums(source):
    exchanges = [arithmetic(source) for _ in range(source.number(4, SUMS_MAX))]
    return Exchange([message for exchange in exchanges for message in exchange.messages], exchanges[-1].check)


def no_tool(source):
    return tools.no_tool(source, other=simple)


def in_a_row(source):
    return tools.in_a_row(source, other=simple)


# Nearly as many refusals as calls: with fewer, a model that doubts calls something.
TOOLS = [(tools.call, 24), (tools.several_calls, 20), (no_tool, 30), (tools.result, 8), (tools.conversation, 4), (in_a_row, 14)]


def conversation(source, kinds=KINDS):
    """One conversation to learn from."""
    kind = weighted(source, list(kinds.items()))
    if kind == "simple":
        exchange = several(source)
    elif kind == "sums":
        exchange = sums(source)
    elif kind == "memory":
        exchange = remembering(source, simple)
    elif kind == "system":
        exchange = source.pick([following, following_in_a_row])(source)
    elif kind == "thinking":
        exchange = thinking(source)
    elif kind == "story":
        exchange = story(source)
    else:
        exchange = weighted(source, TOOLS)(source)
    if not exchange.system and source.chance(0.15):
        exchange.system = plain(source)
    return exchange


# The rows of the evaluation: what is measured, and the exchange that is its case.
ROWS = {
    "repeats exactly": copying,
    "counts": counting,
    "adds and subtracts": arithmetic,
    "follows a system message": following,
    "remembers over 2-6 turns": lambda source: remembering(source, simple),
    "facts": fact,
    "makes JSON when asked": extraction,
    "calls the right tool (seen)": tools.call_seen,
    "calls the right tool (unseen)": tools.call_unseen,
    "answers without a tool when none fits": no_tool,
    "answers from a tool's result": tools.result,
    "several calls at once": tools.several_calls,
    "thinks when asked to": thinking,
    "tells a story": story,
}
