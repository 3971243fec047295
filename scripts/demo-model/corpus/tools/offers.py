"""Which tools are offered together."""

from corpus.tools.composed import VERBS, compose
from corpus.tools.composed_values import lookup
from corpus.tools.definition import clash, offer, read_catalogue

KNOWN = read_catalogue("home", "daily", "office", "town", "work")
UNSEEN = read_catalogue("unseen")
SPECIAL = [purpose for purpose in KNOWN if not purpose.general]
COMPOSED_SHARE = 0.5

# Tools of one kind that are easily taken for each other.
CLOSE = [group.split() for group in """weather forecast air time|alarm_set alarm_cancel timer remind|light_on light_off light_colour
|lock unlock blinds|shopping_add shopping_remove order|message email call_person messages_read|contact_add contact_find call_person
|note_add note_find note_delete|todo_add todo_done note_add|file_create file_delete file_rename file_open folder
|flights trains bus car|parking traffic population museum|transfer balance expense price order|ticket_open ticket_close ticket_assign
|server_restart server_status deploy run_tests|log_water log_run steps habit|recipe calories fridge oven|dice coin
|invite score invoice customer|thermostat oven volume channel|robot shape crop image|printer print backup""".replace(
    "\n", "").split("|")]
BY_IDENTITY = {purpose.identity: purpose for purpose in KNOWN}
NEIGHBOURS = {}
for group in CLOSE:
    for identity in group:
        NEIGHBOURS.setdefault(identity, []).extend(BY_IDENTITY[other] for other in group if other != identity)


def purpose_of(source, composed_share=COMPOSED_SHARE):
    return compose(source) if source.chance(composed_share) else source.pick(KNOWN)


def neighbour(source, purpose):
    """Something close to `purpose`: the same object and another verb, another object and the same verb, or of its group."""
    if purpose.verb is not None:
        if source.chance(0.5):
            return compose(source, verb=purpose.verb)
        while True:
            verb = source.pick(VERBS)
            if verb.family != purpose.verb.family:
                return compose(source, verb=verb, noun=purpose.noun)
    if purpose.identity.startswith("lookup_") and source.chance(0.6):
        return lookup(source)
    if purpose.identity in NEIGHBOURS:
        return source.pick(NEIGHBOURS[purpose.identity])
    return source.pick(SPECIAL)


def fits(purpose, others, allow_same_object=False):
    for other in others:
        if allow_same_object and purpose.verb is not None and other.verb is not None:
            if purpose.identity == other.identity or (purpose.noun != other.noun and clash(purpose, other)):
                return False
        elif clash(purpose, other):
            return False
    return True


def more_tools(source, tools, count, composed_share=COMPOSED_SHARE, special=False, nearby=0.3, avoid=()):
    """`count` further tools that serve no request for `tools` nor for the purposes `avoid`, in front of which nothing is
    known of their order. With `special` none that serves nearly any request."""
    tools = list(tools)
    while count:
        purposes = [tool.purpose for tool in tools] + list(avoid)
        near = bool(purposes) and source.chance(nearby)
        purpose = neighbour(source, source.pick(purposes)) if near else purpose_of(source, composed_share)
        if (purpose.general and (special or purposes)) or not fits(purpose, purposes, near):
            continue
        tool = offer(source, purpose)
        if all(tool.name != other.name for other in tools):
            tools.append(tool)
            count -= 1
    return tools


def definitions(source, tools):
    """As offered: in random order."""
    return [tool.definition for tool in source.some(tools, len(tools))]


def how_many_more(source):
    """Besides the one that is asked for."""
    return source.pick((0, 0, 1, 1, 1, 2, 2, 2, 3, 3))


