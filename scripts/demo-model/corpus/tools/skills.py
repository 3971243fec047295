"""Conversations with tools: calls, several calls, no call, results, and all of them in a row."""

from corpus.source import Exchange, assistant, user
from corpus.tools import small_talk
from corpus.tools.definition import clash, offer
from corpus.tools.offers import UNSEEN, definitions, how_many_more, more_tools, purpose_of
from corpus.tools.requests import Request, fill, may_list, on_our_side, request_for
from corpus.tools.results import result as result_of


def calls_message(calls):
    return {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": call} for call in calls]}


def called(source, request, tools):
    return Exchange([user(request.text), calls_message(request.calls)], {"calls": request.calls}, tools=definitions(source, tools))


def new_request(source, composed_share=0.5):
    """A request for some tool, on our side of the split."""
    while True:
        request = request_for(source, offer(source, purpose_of(source, composed_share)), 2)
        if request:
            return request


def call(source, composed_share=0.5):
    request = new_request(source, composed_share)
    return called(source, request, more_tools(source, request.tools, how_many_more(source)))


def call_seen(source):
    """A tool of the catalogue, beside others that may be new."""
    return call(source, composed_share=0)


def call_unseen(source):
    """Tools that no training conversation has: composed ones, which are new each time, and a catalogue that is for evaluation only and
    needs no split."""
    if source.chance(0.5):
        return call(source, composed_share=1)
    purpose = source.pick(UNSEEN)
    tool = offer(source, purpose, disguise=0)
    request = fill(source, tool, source.pick(tool.purpose.phrasings))
    tools = [tool]
    if source.chance(0.5):
        other = source.pick(UNSEEN)
        if not clash(other, purpose):
            tools.append(offer(source, other, disguise=0))
    return called(source, request, more_tools(source, tools, source.number(0, 2), nearby=0))


def listed_request(source, tool):
    """A request for 2 or 3 calls of `tool`, or None."""
    phrasings = [phrasing for phrasing in tool.purpose.phrasings if may_list(tool, phrasing)]
    for _ in range(3 if phrasings else 0):
        request = fill(source, tool, source.pick(phrasings), source.pick((2, 2, 2, 3)))
        if on_our_side(source, request):
            return request
    return None


def whole(request):
    """An order as a sentence; others are sentences already."""
    if not request.phrasing.order:
        return request.bare
    return request.bare[0].upper() + request.bare[1:] + ("" if request.open_end else ".")


def join(source, one, other):
    """The requests of both in one. `one` must not end with unquoted text."""
    if one.phrasing.order and other.phrasing.order and source.chance(0.8):
        text = source.pick(("", "", "please ")) + one.bare + source.pick((" and ", " and ", ", then ", " and also ")) + other.bare
        text = text[0].upper() + text[1:] + ("" if other.open_end else ".")
    elif one.bare.endswith("?") and other.bare.endswith("?") and isinstance(other.phrasing.parts[0], str) and source.chance(0.8):
        text = f"{one.bare[:-1]} and {other.bare[0].lower()}{other.bare[1:]}"
    else:
        text = f"{whole(one)} {whole(other)}"
    return Request(text, one.calls + other.calls, one.tools + other.tools, one.values + other.values, text, one.phrasing,
                   other.open_end)


def mixed_request(source, tools):
    """A request for two of `tools` at once, or None."""
    requests = [request_for(source, tool, 3) for tool in source.some(tools, 2)]
    if None in requests or requests[0].open_end:
        return None
    return join(source, *requests)


def several_calls(source):
    while True:
        tool = offer(source, purpose_of(source))
        if source.chance(0.55):
            request = listed_request(source, tool)
            tools = [tool]
        else:
            tools = more_tools(source, [tool], 1)
            request = mixed_request(source, tools)
        if request:
            return called(source, request, more_tools(source, tools, source.pick((0, 0, 1, 1, 2))))


def refusal(source):
    return source.pick(small_talk.REFUSALS)


def unserved(source, purposes=()):
    """Something that none of the offered `purposes` serves: the text of the request, and its purpose where it has one."""
    while True:
        if source.chance(0.4):
            text = small_talk.deed_sentence(source)
            if source.ours("deed", text):
                return text, None
            continue
        request = new_request(source, 0.35)
        purpose = request.tools[0].purpose
        if not purpose.general and not any(clash(purpose, other) for other in purposes):
            return request.text, purpose


def talk(source):
    """The text, the answer, what is checked. All of it is learned: there is too little of it to hold out."""
    return source.pick(small_talk.TALK)


def no_tool(source, other=None):
    """`other` makes an exchange of another skill, without tools."""
    count = source.pick((1, 1, 2, 2, 3, 4))
    if other is not None and source.chance(0.5):
        exchange = other(source)
        exchange.tools = definitions(source, more_tools(source, [], count, special=True))
        exchange.check = {**exchange.check, "calls": []}
        return exchange
    if source.chance(0.25):
        text, answer, needed = talk(source)
        tools = more_tools(source, [], count, special=True)
    else:
        text, purpose = unserved(source)
        answer, needed = refusal(source), small_talk.REFUSED
        avoid = [purpose] if purpose else []
        tools = more_tools(source, [], count, special=True, nearby=0.25 if purpose else 0, avoid=avoid)
    return Exchange([user(text), assistant(answer)], {"contains": [needed], "calls": []}, tools=definitions(source, tools))


def with_results(source, request):
    """The request, its calls, their results and the answer as messages; what must be in the answer."""
    prefixed = len(request.calls) > 1 and request.tools[0] is request.tools[1]
    given = [result_of(source, request, index, prefixed) for index in range(len(request.calls))]
    messages = [user(request.text), calls_message(request.calls)]
    messages += [{"role": "tool", "content": content} for content, _, _ in given]
    messages.append(assistant(" ".join(sentence for _, sentence, _ in given)))
    return messages, [needed for _, _, all_needed in given for needed in all_needed]


def result(source):
    if source.chance(0.15):
        tools, request = None, None
        while request is None:
            tool = offer(source, purpose_of(source))
            tools = [tool] if source.chance(0.6) else more_tools(source, [tool], 1)
            request = listed_request(source, tool) if len(tools) == 1 else mixed_request(source, tools)
    else:
        request = new_request(source)
        tools = request.tools
    messages, needed = with_results(source, request)
    tools = more_tools(source, tools, source.pick((0, 0, 1, 1, 2)))
    return Exchange(messages, {"contains": needed, "calls": []}, tools=definitions(source, tools))


def step(source, tools):
    """One turn of a conversation with `tools`: its messages and the check of its last. None where none was found."""
    shape = source.random.random()
    if shape < 0.14:
        text, _ = unserved(source, [tool.purpose for tool in tools])
        return [user(text), assistant(refusal(source))], {"contains": [small_talk.REFUSED], "calls": []}
    if shape < 0.22:
        text, answer, needed = talk(source)
        return [user(text), assistant(answer)], {"contains": [needed], "calls": []}
    if shape < 0.3:
        request = mixed_request(source, tools) if source.chance(0.5) else listed_request(source, source.pick(tools))
    else:
        request = request_for(source, source.pick(tools), 4)
    if request is None:
        return None
    messages, needed = with_results(source, request)
    return messages, {"contains": needed, "calls": []}


def turn_without_result(source, tools, other):
    """A request and the calls, or an answer where nothing fits. None where none was found."""
    shape = source.random.random()
    if shape < 0.3:
        text, _ = unserved(source, [tool.purpose for tool in tools])
        return [user(text), assistant(refusal(source))], {"contains": [small_talk.REFUSED], "calls": []}
    if shape < 0.36:
        exchange = other(source)
        return exchange.messages, {**exchange.check, "calls": []}
    if shape < 0.48 and len(tools) > 1:
        request = mixed_request(source, tools)
    elif shape < 0.56:
        request = listed_request(source, source.pick(tools))
    else:
        request = request_for(source, source.pick(tools), 4)
    return request and ([user(request.text), calls_message(request.calls)], {"calls": request.calls})


def in_a_row(source, other):
    """Many requests to the same tools, without results: most decisions for the text that is read."""
    tools = more_tools(source, [], source.pick((1, 2, 2, 3, 3, 4)), special=True)
    taken = [turn_without_result(source, tools, other) for _ in range(source.number(3, 6))]
    taken = [turn for turn in taken if turn]
    if not taken:
        return in_a_row(source, other)
    return Exchange([message for messages, _ in taken for message in messages], taken[-1][1], tools=definitions(source, tools))


def turns(messages):
    return sum(message["role"] == "user" for message in messages)


def conversation(source):
    while True:
        tools = more_tools(source, [], source.pick((2, 2, 3)), special=True, nearby=0.4)
        wanted = source.pick((2, 2, 3, 3, 4))
        messages, check = [], {}
        for _ in range(2 * wanted):
            taken = step(source, tools)
            if taken:
                messages += taken[0]
                check = taken[1]
            if turns(messages) == wanted or len(messages) >= 8:
                break
        if turns(messages) < 2:
            continue
        if messages[-2]["role"] == "tool" and source.chance(0.3):
            while messages[-1].get("tool_calls") is None:
                messages.pop()
            check = {"calls": [call["function"] for call in messages[-1]["tool_calls"]]}
        return Exchange(messages, check, tools=definitions(source, tools))
