"""Random satisfiable JSON Schemas, whose values are mostly short."""

PATTERNS = ["^[a-z]{2,6}$", "^(red|green|blue)$", "[0-9]{3}", "^A.{0,4}$", "^x-", "^[A-F0-9]{4}(-[A-F0-9]{2})?$"]
NAMES = ["name", "id", "size", "kind", "tags", "next", "é", "a b", "\"q\"", "x_1", "value", "unit"]
FORMATS = ["date", "time", "date-time", "duration", "uuid", "ipv4", "ipv6", "json-pointer"]
CONSTANTS = [None, True, False, 0, 7, -3, 2.5, "", "on", "O'Brien \"x\"", "naïve\n", [1, "b"], {"k": [None]}]


def string(random, depth):
    kind = random.randrange(6)
    if kind == 5:
        return {"type": "string", "format": random.choice(FORMATS)}
    if kind == 0:
        return {"type": "string", "pattern": random.choice(PATTERNS), "maxLength": 12}
    if kind == 1:
        least = random.randrange(4)
        return {"type": "string", "minLength": least, "maxLength": least + random.randrange(5)}
    if kind == 2:
        return {"enum": random.sample(["north", "south", "east", "west", "", "né"], random.randrange(1, 5))}
    if kind == 3:
        return {"type": "string", "maxLength": 6, "not": {"pattern": random.choice("aeiou")}}
    return {"const": random.choice(["fixed", "a\tb", "\\"])}


def number(random, depth):
    low = random.randrange(-50, 50)
    kind = random.randrange(6)
    if kind == 5:
        return {"type": random.choice(["integer", "number"]), "format": "int32", "minimum": 2**31 - 100}
    if kind == 0:
        return {"type": "integer", "minimum": low, "maximum": low + random.randrange(1, 1000)}
    if kind == 1:
        return {"type": "integer", "multipleOf": random.choice([2, 5, 7, 25]), "exclusiveMinimum": low, "maximum": low + 500}
    if kind == 2:
        return {"type": "number", "minimum": low + 0.25, "exclusiveMaximum": low + 9.75, "multipleOf": 0.25}
    if kind == 3:
        return {"type": "integer", "minimum": 0, "maximum": 99, "not": {"const": 7}}
    return {"enum": random.sample([1, 2.5, -3, 100, 0], 3)}


def anything(random, depth):
    return {"const": random.choice(CONSTANTS)} if random.randrange(2) else {"type": random.choice(["boolean", "null"])}


def array(random, depth):
    most = random.randrange(1, 4)
    result = {"type": "array", "maxItems": most}
    kind = random.randrange(3)
    if kind == 0:
        result["items"] = schema(random, depth - 1)
    elif kind == 1:
        result["prefixItems"] = [schema(random, depth - 1) for _ in range(most)]
        result["items"] = False
        result["minItems"] = random.randrange(most + 1)
    else:
        result |= {"items": {"enum": [1, 2, "x"]}, "contains": {"const": "x"}, "minItems": 1}
    return result


def object_of(random, depth):
    names = random.sample(NAMES, random.randrange(1, 5))
    result = {"type": "object", "properties": {name: schema(random, depth - 1) for name in names},
              "required": random.sample(names, random.randrange(len(names) + 1))}
    kind = random.randrange(4)
    if kind == 0:
        result["patternProperties"] = {"^p[0-9]$": {"type": "boolean"}}
    if kind <= 2:
        result["additionalProperties"] = False
    else:
        result["maxProperties"] = len(names) + 1
        result["additionalProperties"] = {"type": "null"}
    if kind == 1 and len(names) > 1:
        result["dependentRequired"] = {names[0]: [names[1]]}
    return result


def combined(random, depth):
    kind = random.randrange(5)
    if kind == 0:
        return {"anyOf": [schema(random, depth - 1) for _ in range(random.randrange(1, 4))]}
    if kind == 1:
        shapes = [("circle", "radius"), ("square", "side"), ("line", "length")]
        return {"oneOf": [{"type": "object", "properties": {"kind": {"const": kind}, member: number(random, depth)},
                           "required": ["kind", member], "additionalProperties": False} for kind, member in shapes]}
    if kind == 2:
        return {"allOf": [{"type": "object", "properties": {"a": schema(random, depth - 1)}},
                          {"properties": {"b": schema(random, depth - 1)}, "required": ["b"], "maxProperties": 2}]}
    if kind == 3:
        return {"type": "object", "properties": {"paid": {"type": "boolean"}, "sum": {"type": "integer", "minimum": 1, "maximum": 9}},
                "required": ["paid"], "additionalProperties": False,
                "if": {"properties": {"paid": {"const": True}}}, "then": {"required": ["sum"]}}
    return {"type": ["string", "null", "integer"], "maxLength": 5, "minimum": 10, "maximum": 20}


def schema(random, depth):
    """Nests at most `depth` containers."""
    kinds = [string, number, anything] + ([array, object_of, object_of, combined] if depth > 0 else [])
    return random.choice(kinds)(random, depth)


def recursive(random):
    return {"$ref": "#/$defs/node", "$defs": {"node": {
        "type": "object", "properties": {"value": number(random, 0), "next": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/node"}]}},
        "required": ["value", "next"], "additionalProperties": False}}}


def document(random):
    return recursive(random) if random.randrange(12) == 0 else schema(random, 3)
