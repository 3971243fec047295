#!/usr/bin/env python3
"""Writes language.json: the output or error of jinja2, set up as transformers does, for small templates.

    python3 language.py > language.json   (with jinja2 3.1.6)

A template that uses a part of Jinja or Python that etna leaves out gets `refused` instead: the parts that the error of
Template::create may name. If only the rendering can find that part, it gets `fails` with a part of the error's message.
"""

import copy
import json
import re
import sys

import jinja2
import jinja2.ext
from jinja2.sandbox import SandboxedEnvironment

CONTEXT = {
    "i": 7, "n": -3, "f": 2.5, "z": 0, "t": True, "nil": None, "e": "", "s": "Hello World",
    "u": "Größe ΑΣ ﬁ 東京\tx\n", "l": [3, 1, 2], "m": ["b", "A", "c", "B"], "nested": [1, [2, [3, [4]]]],
    "d": {"b": 1, "a": [1, {"x": None}], "k y": "v"}, "html": "<a href='x'>&\"</a>",
    "users": [{"name": "Zed", "age": 30, "tags": ["x"]}, {"name": "amy", "age": 25, "tags": []},
              {"name": "Bob", "age": 30, "tags": ["y", "z"]}],
}  # fmt: skip

EXPRESSIONS = r"""
1 + 2 * 3 | -2 ** 2 | 2 ** 3 ** 2 | 2 ** -1 | 7 // 2 | -7 // 2 | -7 % 3 | 7 % -3 | 7.5 % -2 | 7 / 2 | 6 / 2 | 1e20 | 1e16
1e15 | 1e-5 | 0.0001 | 0.1 + 0.2 | 1_000 | 0x1F | 0b101 | 0o17 | 1.5e3 | -0.0 | 5 // 0.3 | 1 / 0 | 1 // 0 | 1 % 0 | true + true
'a' ~ 1 ~ none ~ 2.0 ~ true | 'a' 'b' "c" | 'a' * 3 | 2 * [1, 2] | [1] + [2] | (1,) + (2, 3) | 'a' + 1 | 1 + 'a' | [1] + 'a'
nil + 1 | {} + {} | 'x' - 1 | 1 < 2 < 3 | 1 < 3 < 2 | 1 == 1.0 | true == 1 | 'a' < 'b' | [1, 2] < [1, 3] | 'a' < 1 | nil == none
1 in [1, 2] | 3 not in [1, 2] | 'ell' in s | 'b' in d | 1 in 'a' | 1 in 5 | not true and false | 1 and 2 or 3 | '' or 'x'
0 and missing.x | missing | missing or 'd' | missing.a | missing['a'] | missing + 1 | missing == missing2 | missing() | nil.a | nil.a.b
d.zz | d.zz.y | d['a'] | d.a[1].x | d.items | d['items'] is defined | d.k | d['k y'] | l[0] | l[-1] | l[9] | l[9].x | l['0'] | s[0]
s[-1] | s[1:4] | s[::-1] | s[::2] | s[-3:] | s[:-3] | l[1:] | l[::-1] | (1, 2, 3)[1:] | range(10)[2:8:2] | u[0:5] | nested[1][1][1]
l[5:1:-2] | l[::0] | s.upper() | s.lower().title() | u.upper() | u.lower() | u.title() | 'ÀÉ ß'.capitalize()
'ΑΣ ΣΑΣ'.lower() | 'ǆ ŉ'.title() | 'aB'.swapcase() | '  x '.strip() | 'xxaxx'.strip('x') | 'abcab'.lstrip('ab') | 'abcab'.rstrip('ab')
' a  b '.split() | 'a,b,,c'.split(',') | 'a,b,c'.split(',', 1) | 'a b c'.rsplit(' ', 1) | ' a b '.split(none, 1) | 'a'.split('')
'a\nb\r\nc\x0bd'.splitlines() | 'a\nb'.splitlines(true) | 'aaa'.replace('a', 'b', 2) | 'ab'.replace('', '-') | s.startswith('He')
s.startswith(('x', 'He')) | s.endswith('d') | s.startswith(1) | s.find('o') | s.rfind('o') | s.find('zz') | s.index('zz')
s.count('l') | ''.count('') | ','.join(['a', 'b']) | ','.join([1]) | '-'.join('abc') | '12'.isdigit() | '²'.isdigit() | '²'.isdecimal()
'½'.isnumeric() | 'é'.isalpha() | ''.isalpha() | 'a1'.isalnum() | ' \t'.isspace() | 'Ab'.istitle() | 'ab'.islower() | 'x'.center(6, '*')
'x'.ljust(3) ~ '|' | 'x'.rjust(3, '.') | '-5'.zfill(5) | 'a-b-c'.partition('-') | 'a-b-c'.rpartition('-') | 'abc'.removeprefix('a')
'{} {1}'.format(1) | '{} {}'.format('a', 2) | '{0}{1}{0}'.format(1, 2) | '{a[x]:>5}|{b!r}'.format(a={'x': 1}, b='q') | '{:05.1f}'.format(2.345)
'{:,}'.format(1234567) | '{:^7}|'.format('ab') | '{:x}'.format(255) | '{{}}'.format() | '%s-%d' % ('a', 3) | '%05.2f|%-5s|%x' % (2.5, 'a', 255)
'%(a)s' % {'a': 1} | '%s' % l | '%d' % 'x' | '%s %s' % 'x' | '%%' % () | '%r' % 'q' | d.keys() | d.values() | d.items() | d.items() | list
d.get('b') | d.get('q') | d.get('q', 5) | dict(a=1, b=2) | dict([(1, 2)]) | dict(d, c=3) | l.index(1) | l.count(3) | l.index(9) | l.append(1)
d.update({}) | l.append | d.pop | s.__class__.x | {'a': 1, 'a': 2} | {1: 2, 1.0: 3, true: 4} | {[]: 1} | ('x') | ('x',) | ()
[1, 'a\'b', "a\"b", 'a\'"', none, 1.0, true] | {'k': 'v\n\t\\é\x00'} | 'a' if false | 'a' if true else 'b' | ('a' if false) is defined
'{:>5}|'.format(t) | '{}'.format(t) | '{:+d}'.format(t) | '{:.1}'.format(t) | '{:_}'.format(l) | '{:+}'.format(d) | '{:,}'.format(missing) | '{}'.format(l)
'{:,}'.format(s) | '{:+}'.format(s) | '{:#}'.format(s) | '{:=8}'.format(s) | '{:>8}'.format(nil) | dict(missing) | dict(l[9], k=1) | dict(k=1)
1 is odd | 2 is even | 9 is divisibleby 3 | 9 is divisibleby(2) | nil is none | s is string | i is number | true is number | true is integer
2.0 is float | d is mapping | l is sequence | s is sequence | d is sequence | i is sequence | s is iterable | i is iterable | range is callable
missing is defined | missing is undefined | 'ab' is lower | 'AB' is upper | 1 is sameas 1.0 | 'x' is in 'xyz' | 1 is in [1] | 'upper' is filter
'even' is test | 1 is eq 1 | 1 is ne 2 | 1 is lt 2 | 1 is not none | 1 is nosuch | l is not string and d is mapping | html is escaped
""".strip().replace("\n", " | ")  # fmt: skip

LATER_EXPRESSIONS = r"""
2 ** 62 | -9223372036854775808 | 9223372036854775808 | 123456789012345678901234567890 | -18446744073709551616 | 0xffffffffffffffffffff
1_000_000_000_000_000_000_000 | 18446744073709551615 == 18446744073709551616.0 | 9007199254740993 > 9007199254740992.0
[1e19, 18446744073709551615, 2]|sort | {18446744073709551615: 'a'} | '%d' % 18446744073709551615 | '{:,}'.format(18446744073709551615)
'18446744073709551615'|int | 1e20|int | l[18446744073709551615] | s[:18446744073709551615] | l.pop() | l.clear() | l.extend([1]) | l.insert(0, 1)
l.remove(1) | l.sort() | l.reverse() | d.pop('b') | d.popitem() | d.clear() | d.setdefault('b') | l['append'] is defined | l.add
dict.fromkeys(['a', 'b']) | dict.fromkeys('ab', 0) | d.fromkeys([1]) | dict.fromkeys([[]])
i.conjugate() | i.bit_count() | {'__type__': 1}.__type__
'abc'.translate({97: 'x', 98: none})
'abc'.translate('abc'.maketrans('ab', 'xy', 'c')) | 'abc'.maketrans({'a': 'b', 98: none}) | 'a'.maketrans('a') | 'a'.translate(5)
'a'.maketrans('ab', 'c') | 'abc'.translate({97: 98}) | 'abc'.translate({97: 'é'}) | 'abc'.translate({97: 1.5}) | '%a' % 'é😀' | '{!a}'.format('é')
'%#g' % 1 | '%#.0f' % 1 | '{:#x}'.format(255) | '{:c}'.format(65) | 'a\N{DIGIT ONE' | '\u00e9\x41\101' | 'a\é' | '%s' % 1e400 | '%d' % 1e400
'%d' % 1e20
'{:012,}'.format(1234567) | '{:#012x}'.format(255) | '{:_x}'.format(65535) | '{:,x}'.format(1) | '{:,n}'.format(1.5) | '{:=+012.2f}'.format(0)
'{:^010.1f}'.format(2.5) | '{:*=+9,}'.format(-1234) | '%#.2x' % 255 | '%#.3o' % -8 | '% 012.7d' % 5 | '%+.3d' % 5 | '%-#8x|' % 255
'{:.0}'.format(1.5) | '{:.3}'.format(123.0) | '{:.3}'.format(12.0) | '{:#.2g}'.format(25.3) | '{:#.0e}'.format(1.0) | '{:#}'.format(1e22)
'%#.1G' % 0 | 123456789012345678|round(-3) | -25|round(-1) | 35|round(-1) | 123456789012345678905|round(-1) | 95|round(-2) | 4|round(-1)
9007199254740993|round(1, 'floor') | -0.3|round(0, 'ceil') | (-2) // (-1e20) | -1e20|filesizeformat | 1e-400 | 18446744073709551615|float
('<a>'|safe).replace('<', '[') | ('<'|safe).center(5, '<') | ('<'|safe).replace('<', '>') | ('<a>'|safe).strip('<') | l[1:18446744073709551615]
""".strip().replace("\n", " | ")  # fmt: skip

FILTERS = r"""
n|abs § s|attr('upper') is defined § l|batch(2)|list § l|batch(2, 0)|list § 'aBC d'|capitalize § 'x'|center(5) § l|count § missing|d('x') § ''|default('x')
''|default('x', true) § nil|default('x') § d|dictsort § {'b': 1, 'A': 2}|dictsort § {'b': 1, 'A': 2}|dictsort(true) § {'b': 2, 'a': 3}|dictsort(by='value', reverse=true)
html|e § html|e|e § html|forceescape § 1500|filesizeformat § 1500|filesizeformat(true) § 1|filesizeformat § l|first § []|first § ''|first|upper § '1.5'|float
'x'|float(2.0) § '%s!'|format('a') § '%(x)s'|format(x=1) § users|groupby('age')|map('first')|list § users|groupby('age')|map(attribute='grouper')|list
'a\nb\n\nc'|indent § 'a\nb\n\nc'|indent(2, true, true) § 'a\nb'|indent('> ') § 'a\n'|indent § '42'|int § '42.9'|int § 'x'|int § 'x'|int(9) § '0x1f'|int(base=16) § ' 7 '|int
d|items|list § missing|items|list § 5|items|list § l|join § l|join(', ') § users|join(',', attribute='name') § l|last § s|last § s|length § 5|length § 'abc'|list § 'ÀB'|lower
users|map(attribute='name')|list § users|map(attribute='q', default='-')|join § m|map('upper')|join § m|map('replace', 'b', 'x')|list § users|map(attribute='tags.0')|list
m|max § m|min § m|max(true) § users|max(attribute='age') § []|max § l|reject('odd')|list § [0, 1, '']|reject|list § users|rejectattr('tags')|map(attribute='name')|list
'aab'|replace('a', 'x', 1) § 5|replace(5, 6) § 'abc'|reverse § l|reverse|list § 2.5|round § 3.5|round § 42.55|round(1) § 42.55|round(1, 'floor') § 42|round(-1) § 2.1|round(0, 'ceil')|int
'<b>'|safe + '<' § '<' + '<b>'|safe § '<b>'|safe ~ '<' § ['<b>'|safe] § [0, 1]|select|list § l|select('gt', 1)|list § l|select('in', [1, 2])|list
users|selectattr('age', 'equalto', 30)|map(attribute='name')|list § users|selectattr('zz', 'defined')|list § l|slice(2)|list § l|slice(2, 'x')|list § m|sort § m|sort(true) § m|sort(case_sensitive=true)
users|sort(attribute='age,name')|map(attribute='name')|list § [1, 'a']|sort § 5|string + '1' § ' <b>x</b>  y '|striptags § l|sum § users|sum(attribute='age') § l|sum(start=10) § [[1], [2]]|sum(start=[])
'hello wORLD-x (y'|title § d|tojson § u|tojson § u|tojson(ensure_ascii=true) § d|tojson(indent=2) § d|tojson(separators=(',', ':')) § d|tojson(sort_keys=true) § [1.0, 1e20, none, true, 'a/b"']|tojson
{1: 2, none: 3, true: 4}|tojson § missing|tojson § [missing]|tojson § []|tojson(indent=4) § {'a': [], 'b': {}}|tojson(indent=4) § '  x '|trim § 'xax'|trim('x') § 'foo bar baz qux'|truncate(9)
'foo bar baz qux'|truncate(9, true) § 'foo bar baz qux'|truncate(11) § 'foo bar baz qux'|truncate(11, false, '!', 0) § ['a', 'A', 'b']|unique|list § ['a', 'A']|unique(true)|list
'ß'|upper § 'a b/ü'|urlencode § {'a b': '1/2'}|urlencode § 'a b-c d'|wordcount § {'a': 1, 'b': none, 'c': '<'}|xmlattr § '{"a": [1, 2.5, null]}'|from_json § 1|nosuch § d|from_json § 'a'|join(1) § l|indent
d|pprint § users|pprint § (users * 3)|pprint § u|pprint § nested|pprint § missing|pprint § {'b': 1, 'a': 2, none: 3, 4: 5}|pprint § range(50)|list|pprint § ('word ' * 30)|pprint § [{'x': 'y z' * 40}]|pprint
{'a': ('word ' * 30, 'line\n' * 30)}|pprint § (1,)|pprint § {'k' * 60: [s * 3, {'x': 'y' * 90}]}|pprint § ('é' * 100)|pprint § ['a\'b"c' * 20]|pprint
('foo bar baz qux ' * 10)|wordwrap § ('foo bar ' * 9)|wordwrap(20) § 'averyverylongword indeed'|wordwrap(10) § 'averyverylongword indeed'|wordwrap(10, false) § 'a-b-c well-known e-mail x--y -- z'|wordwrap(4)
'well-known self-made'|wordwrap(7, break_on_hyphens=false) § 'well-known self-made'|wordwrap(7) § 'a b\nc d e\n\nf'|wordwrap(3) § 'a b c d'|wordwrap(3, wrapstring='<br>') § '  a   b   c'|wordwrap(4) § u|wordwrap(5) § ''|wordwrap
5|wordwrap § 'a'|wordwrap(0) § 'one--two three---four.--five'|wordwrap(5) § 'long-hyphenated-word'|wordwrap(6) § '東京 大阪-京都 奈良'|wordwrap(3) § 'x-1 2-y ab-cd'|wordwrap(3)
'http://a.com x https://b.org/p?q=1&r=2#f'|urlize § 'see www.example.org, (http://a.b/c_(d)) <http://x.yz>.'|urlize § 'mailto:x@y.zz foo@bar.com @a@b.c a@b'|urlize § 'http://example.com/very/long'|urlize(10)
'http://a.com'|urlize(nofollow=true, target='_blank', rel='x a') § 'a.com b.org c.net d.info e.de http://x http://1.2.3.4:80/ http://[::1]/'|urlize § '<b> & http://a.com.'|urlize § html|urlize § 5|urlize
'ftp://a.b ftp:'|urlize(extra_schemes=['ftp:']) § 'a'|urlize(extra_schemes=['f']) § 'HTTP://A.COM Http://xn--a1.de http://a.b.c http://a..b.com'|urlize § 'http://a.com\n\thttp://b.com'|urlize
""".strip().replace("\n", " § ")  # fmt: skip

TEMPLATES = [
    "a\n", "a\n\n", "{% if true %}\nx\n{% endif %}\ny", "  {% if true %}  \n  x{% endif %}", "a  {%- if true -%}  b  {%- endif -%}  c",
    "{%+ if true %} x{% endif %}", "  {%+ if true +%}\n x{% endif %}", "a {# c #}\n b", "a {#- c -#} b", "  {# c #}\nb", "{{ 1 }}\n{{ 2 -}}\n3",
    "a\n  {{- 1 }}", "{% raw %}{{ x }}{% endraw %}", "{% raw -%}  {{ x }}  {%- endraw %}!", "a\r\nb\rc", "{% if i > 5: %}x{% endif %}",
    "{% for x in l %}{{ loop.index }}/{{ loop.length }}{% if not loop.last %}, {% endif %}{% endfor %}",
    "{% for x in [] %}a{% else %}b{% endfor %}", "{% for x in l if x > 1 %}{{ x }}{{ loop.revindex }}{% endfor %}",
    "{% for x in l %}{% if x == 1 %}{% continue %}{% endif %}{{ x }}{% endfor %}", "{% for x in l %}{% if x == 1 %}{% break %}{% endif %}{{ x }}{% endfor %}",
    "{% for x in l %}{% continue %}{% else %}else{% endfor %}", "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}", "{% for a, b in l %}{% endfor %}",
    "{% for x in m %}{{ loop.previtem }}<{{ x }}>{{ loop.nextitem }} {% endfor %}", "{% for x in m %}{{ loop.cycle('o', 'e') }}{% endfor %}",
    "{% for x in [1, 1, 2] %}{{ loop.changed(x) }}{% endfor %}", "{% for x in nested recursive %}{{ loop.depth }}{{ loop(x) if x is not number else x }}{% endfor %}",
    "{% for x in l %}{% for y in m %}{{ loop.index }}{% endfor %}{{ loop.index }}{% endfor %}", "{% for x in nil %}{% endfor %}", "{% for x in missing %}{% else %}e{% endfor %}",
    "{% set x = 1 %}{% for y in l %}{% set x = y %}{% endfor %}{{ x }}", "{% for y in l %}{{ x }}{% set x = y %}{{ x }}{% endfor %}{{ x }}",
    "{% set ns = namespace(x=0) %}{% for y in l %}{% set ns.x = ns.x + y %}{% endfor %}{{ ns.x }}{{ ns }}",
    "{% set ns = namespace(x=0) %}{% for y in l %}{% set ns.x = ns.x + y %}{% endfor %}{{ ns.x }}", "{% set d.x = 1 %}", "{% set a, b = 1, 2 %}{{ a }}{{ b }}",
    "{% set a, (b, c) = 1, (2, 3) %}{{ a }}{{ b }}{{ c }}", "{% set a, b = [1] %}", "{% set x %}a{{ i }}{% endset %}[{{ x }}]", "{% set x | upper | trim %} ab {% endset %}[{{ x }}]",
    "{% if t %}{% set x = 1 %}{% endif %}{{ x }}", "{{ i }}{% set i = 1 %}{{ i }}", "{% macro m() %}{{ i }}{% endmacro %}{{ m() }}{% set i = 1 %}{{ m() }}",
    "{% macro m(a, b=2) %}{{ a }}-{{ b }}{% endmacro %}{{ m(1) }} {{ m(1, 3) }} {{ m(b=1, a=2) }} {{ m() }}", "{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}",
    "{% macro m(a) %}{% endmacro %}{{ m(c=2) }}", "{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, x=3) }}", "{% macro m(a, b=a) %}{{ b }}{% endmacro %}{{ m(4) }}",
    "{% macro m(a) %}{{ a.x }}{% endmacro %}{{ m() }}", "{% macro m(n) %}{{ n }}{% if n > 0 %}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(3) }}",
    "{% macro m() %}[{{ caller() }}]{% endmacro %}{% call m() %}x{% endcall %}", "{% macro m() %}{{ caller(1, b=2) }}{% endmacro %}{% call(a, b) m() %}{{ a }}{{ b }}{% endcall %}",
    "{% macro m() %}{{ caller is defined }}{% endmacro %}{{ m() }}", "{{ m() }}{% macro m() %}x{% endmacro %}", "{% filter upper %}a{{ s }}{% endfilter %}",
    "{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}{{ a }}", "{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.current }}", "{% set j = joiner() %}{{ j() }}a{{ j() }}b",
    "{{ range(3)|list }}{{ range(1, 8, 3)|list }}{{ range(5, 0, -2)|list }}", "{{ range(10**6) }}", "{{ raise_exception('no ' ~ s) }}", "{{ l|map('upper', *[], **{})|list }}",
    "{{ dict(**d)['b'] }}", "{{ '%s%s' | format(*['a', 'b']) }}", "{% if false %}{{ 1|nosuch }}{% endif %}ok", "{{ 1|nosuch if false }}", "{% for x in [] %}{{ 1|nosuch }}{% endfor %}",
    "{% if x %}", "{% endif %}", "{{ 1 +", "{{ (1 }}", "{{ 1 2 }}", "{% nosuch %}", "{% for x %}{% endfor %}", "{{ 'a }}", "{# x", "{% raw %}", "{{ a.1.b }}", "{{ a[1 }}", "{% set 1 = 2 %}",
    "{% set x = 1, 2 %}{{ x }}", "{{ 1, 2 }}", "{{ () }}{{ (1,) }}", "{{ }}", "{{ l.0 }}{{ nested.1.0 }}", "{% print 1, 2 %}", "{% include 'x' %}", "{% block a %}x{% endblock %}",
    "{% set loop = 1 %}{{ loop }}", "{% for loop in l %}{% endfor %}", "{% break %}", "{% macro m(a, a) %}{% endmacro %}", "{% macro m(a=1, b) %}{% endmacro %}", "{{ m(1, a=2, 3) }}",
    "{{ 'a\\tb\\u00e9\\x41\\101\\q' }}", "{{ 'a\\tb\\u00e9\\x41\\U0001f600\\q' }}",
    "{% for x in l %}{{ loop.depth }}{{ loop.depth0 }}{% endfor %}", "{{ range(10)[3] }}{{ range(5)[-1] }}{{ range(5)|last }}{{ range(4, 0, -2)|reverse|list }}{{ range(3)|length }}",
    "{{ d.items()|reverse|list }}{{ d.keys()|last }}{{ d.values()|list }}{{ d.keys()|length }}{{ d.items() is sequence }}{{ range(3) is sequence }}{{ d.keys() is iterable }}",
    "{% set g = l|map('string') %}{{ g|list }}{{ g|list }}", "{{ 'yes' if l|select('gt', 9) }}{{ 'yes' if d.keys() }}{{ 'yes' if {}.keys() }}{{ 'yes' if range(0) }}",
    "{% for x in l|select('odd') %}{{ loop.length }}{{ x }}{{ loop.last }}{% endfor %}", "{% set k = d.keys() %}{{ k|list }}{{ k|list }}{{ 'a' in k }}{{ d.items()[0] }}", "{{ l|map('upper')|length }}",
    "{{ d|items|length }}", "{{ l|unique|last }}", "{{ none|map('upper')|list }}{{ 5|map('upper')|list }}", "{{ d.items()|tojson }}", "{{ namespace({'a': 1}).a }}", "{{ \"a\" 'b' }}", "{{ -1|abs }}", "{{ -i|string + 'x' }}", "{{ not i is odd }}", "{{ 1 is odd is even }}", "{{ i is divisibleby 7 and t }}",
    "{{ s | upper | replace('L', 'l') | length }}", "{{ {'a': 1}.a }}{{ {'items': 1}['items'] }}", "{{ (l|sort)[0] }}{{ l|sort|first }}", "{{ '' if nil is none else 'x' }}",
    "{% set x, = [1] %}{{ x }}", "{% for x, in [[1], [2]] %}{{ x }}{% endfor %}",
    "{% filter length %}abc{% endfilter %}", "{% filter length|string %}abc{% endfilter %}", "{% if false %}{% filter length %}abc{% endfilter %}{% endif %}ok",
    "{% autoescape true %}{{ html }}{{ html|safe }}{{ '<' }}{{ html|e }}<raw>{{ l }}{{ d }}{{ missing }}{{ nil }}{% endautoescape %}{{ html }}",
    "{% autoescape false %}{{ html }}{% endautoescape %}", "{% autoescape t %}{{ html }}{{ '<' ~ html|safe }}{% endautoescape %}", "{% autoescape z %}{{ html }}{% endautoescape %}",
    "{% autoescape true %}{{ [html, '<b>'|safe]|join('<') }}{{ ['<', '>']|join }}{{ '<' ~ html }}{{ s ~ '<' ~ html|safe }}{% endautoescape %}",
    "{% autoescape true %}{% set x %}<b>{{ html }}{% endset %}{{ x }}{{ x is escaped }}{% set y | upper %}<{% endset %}{{ y }}{% endautoescape %}{{ x }}",
    "{% autoescape true %}{% macro m(a) %}<i>{{ a }}</i>{% endmacro %}{{ m('<') }}{{ m('<') is escaped }}{% endautoescape %}",
    "{% macro m(a) %}<i>{{ a }}</i>{% endmacro %}{% autoescape true %}{{ m('<') }}{% endautoescape %}{{ m('<') }}",
    "{% autoescape true %}{% filter upper %}<{{ html }}{% endfilter %}{% endautoescape %}", "{% autoescape true %}{{ html|tojson }}{{ html|upper }}{{ html|trim }}{% endautoescape %}",
    "{% autoescape true %}{% macro m() %}[{{ caller('<') }}]{% endmacro %}{% call(x) m() %}<u>{{ x }}</u>{% endcall %}{% endautoescape %}",
    "{% autoescape true %}{{ html|replace('<', '&') }}{{ '<b>'|safe|replace('<', '[') }}{{ '<'|replace('<', '<b>'|safe) }}{% endautoescape %}",
    "{% autoescape true %}{% for x in [html] %}{{ x }}{% endfor %}{% autoescape false %}{{ html }}{% endautoescape %}{{ html }}{% endautoescape %}",
    "{% autoescape true %}{{ {'a': '<'}|xmlattr }}{{ 'http://a.com?a=1&b=2'|urlize }}{{ '%s' % html }}{{ '%s'|safe % html }}{{ ('{}'|safe).format(html) }}{% endautoescape %}",
    "{% autoescape true %}{% set y = 1 %}{% endautoescape %}{{ y }}", "{% for x in l %}{% autoescape true %}{% if x == 1 %}{% break %}{% endif %}{{ x }}<{% endautoescape %}{% endfor %}",
    "{% autoescape true %}{% for x in ['<', ['>']] recursive %}{{ x if x is string else loop(x) }}{% endfor %}{% endautoescape %}", "{% autoescape %}x{% endautoescape %}", "{% autoescape true %}x",
    "{% block a %}x{{ i }}{% endblock %}{{ self.a() }}{{ self['a']() }}{{ self.a.name }}{{ self.b }}", "{{ self.a() }}{% set q = 5 %}{% block a %}{{ q }}{% endblock %}", "{{ self.nosuch() }}",
    "{% set v = 1 %}{% block a %}{{ v }}{% set v = 2 %}{{ v }}{% endblock %}{{ v }}", "{% for v in l %}{% block a %}[{{ v }}]{% endblock %}{% endfor %}", "{% for v in l %}{% block a scoped %}[{{ v }}]{% endblock %}{% endfor %}",
    "{% block a %}{% block b %}y{{ self.c() }}{% endblock %}{% endblock %}{% block c %}z{% endblock %}{{ self.b() }}", "{% if false %}{% block a %}x{% endblock %}{% endif %}{{ self.a() }}", "{% set self = 1 %}{{ self }}",
    "{% for v in l %}{% block a scoped %}{{ loop.index }}{% endblock %}{% endfor %}", "{% block a %}{% for v in l %}{% block b scoped %}{{ v }}{{ loop.last }}{% endblock %}{% endfor %}{% endblock %}",
    "{% for v in l %}{% block a %}{{ loop }}{% endblock %}{% endfor %}", "{% for v in l %}{% block k scoped %}{{ i }}{% endblock %}{% endfor %}{% set i = 1 %}{{ self.k() }}",
    "{% block a scoped %}{{ v }}{% set v = 2 %}{{ v }}{% endblock %}{% set v = 1 %}{{ self.a() }}",
    "{% block a %}1{% endblock %}{% block a %}2{% endblock %}", "{% block a required %} {# c #} {% endblock %}", "{% block a required %}x{% endblock %}", "{% block a-b %}{% endblock %}", "{% block a %}{{ super() }}{% endblock %}",
    "{% block a %}{{ super }}|{{ self.a.super }}{% endblock a %}", "{% block a %}x{% endblock b %}", "{% macro m(x) %}{% block a %}{{ x }}{% endblock %}{% endmacro %}{{ m(1) }}", "{{ self.a|length }}{% block a %}{% endblock %}",
    "{% generation %}a{% set q = 4 %}{{ q }}{% endgeneration %}{{ q }}", "{% for x in l %}{% generation %}{{ x }}{{ loop.index }}{% endgeneration %}{% endfor %}", "  {% generation %}\n  a\n  {% endgeneration %}\nb",
    "{% generation %}{{ varargs }}{{ kwargs }}{{ caller }}{% endgeneration %}", "{% set ns = namespace(a=1) %}{% generation %}{% set ns.a = 2 %}{% endgeneration %}{{ ns.a }}", "{% for x in l %}{% generation %}{% break %}{% endgeneration %}{% endfor %}",
    "{% macro m(caller) %}{{ caller() }}{% endmacro %}", "{% macro m(caller=none) %}{{ caller() if caller else 'no' }}{% endmacro %}{{ m() }}{% call m() %}x{% endcall %}", "{% macro m(kwargs) %}{{ kwargs }}{% endmacro %}{{ m(1, x=2) }}",
    "{% macro m() %}{{ caller() }}{% endmacro %}{% call(a, b=1) m() %}x{% endcall %}", "{% macro m() %}{{ caller(1) }}{% endmacro %}{% call m() %}x{% endcall %}",
    "{% for ns.x in l %}{% endfor %}", "{% with ns.x = 1 %}{% endwith %}", "{% with a, b = (1, 2), c = 3 %}{{ a }}{{ b }}{{ c }}{% endwith %}", "{{ \"\\ud83d\\ude00\" }}{{ '\\uD83D\\uDE00x' }}",
    "{% set x = {'a': 1} %}{% set _ = x.update({'b': 2}) %}{% set _ = x.update(c=3, a=4) %}{% set _ = x.update([('k', 5), 'vw']) %}{{ x }}{{ x.update({}, a=6) }}{{ x.a }}",
    "{% set x = d.copy() %}{% set _ = x.pop('b') %}{% set _ = x.update(n=1) %}{{ x }}{{ d }}", "{{ d.pop('b') }}{{ d.pop('q', 9) }}{{ d.pop('q', none) }}{{ d }}", "{{ d.pop('q') }}", "{{ d.pop([]) }}",
    "{% set x = {} %}{% for k in range(20) %}{% set _ = x.update({k: k * k}) %}{% endfor %}{% for k in range(0, 20, 3) %}{{ x.pop(k) }} {% endfor %}{{ x }}{{ x.get(3) }}{{ x[4] }}",
    "{% set x = {'a': 1} %}{% set k = x.keys() %}{% set v = x.items() %}{% set _ = x.update(b=2) %}{{ k|list }}{{ v|list }}{{ x.values()|length }}{{ k|length }}",
    "{% for k in d %}{% set _ = d.pop(k) %}{% endfor %}", "{% for k, v in d.items() %}{% set _ = d.update(z=k) %}{% endfor %}", "{% for k in d|list %}{% set _ = d.pop(k) %}{% endfor %}{{ d }}",
    "{% set x = {} %}{{ x.update(5) }}", "{% set x = {} %}{{ x.update(missing) }}", "{% set x = {} %}{{ x.update({}, {}) }}", "{% set x = {} %}{{ x.update([([], 1)]) }}", "{% for k in d %}{% set _ = d.update({k: 0}) %}{% endfor %}{{ d }}",
    "{% set x = [1] %}{% set _ = x.extend([2, 3]) %}{% set _ = x.extend('ab') %}{% set _ = x.extend(x) %}{{ x }}", "{{ l.extend(5) }}", "{{ l.extend(d) }}{{ l }}",
    "{% raw -%} {{ x }} {%- endraw %}|", "{% raw %}\n{{ a }}\n  {% endraw %}\n  b", "a\n  {%- raw %} {% if %} {% endraw -%}  b", "{% raw +%}x{% endraw %}", "{% raw %}{{% endraw %}", "{% raw %}x{% endraw +%}\ny", "{%raw%}{%+endraw%}",
    "{% raw %}x{% endrawx %}{% endraw %}{% rawx %}", "  {% raw %}\n{# {{ ' #}\n{% endraw %}\n{{ 1 }}", "{% raw %}x", "{% endraw %}", "{% raw 1 %}{% endraw %}",
    "{% set a = 1 %}{% with a = 2, b = a %}{{ a }}{{ b }}{% set c = 3 %}{{ c }}{% endwith %}{{ a }}{{ b }}{{ c }}", "{% for x in l %}{% with y = x %}{{ y }}{% if y == 1 %}{% break %}{% endif %}{% endwith %}{% endfor %}", "{% with %}{{ i }}{% set i = 2 %}{{ i }}{% endwith %}{{ i }}",
    "{% with a %}{% endwith %}", "{% with a = 1 %}", "{% with a = 1 b = 2 %}{% endwith %}", "{% with a = b, b = 1 %}{{ a }}{{ b }}{% endwith %}",
    "{% macro m(t, n=1) %}<{{ t }}{{ n }}>{{ caller() }}</{{ t }}>{% endmacro %}{% call m('b', n=2) %}x{{ i }}{% endcall %}{% call m('c') %}{% call m('d') %}y{% endcall %}{% endcall %}",
    "{% macro m(xs) %}{% for x in xs %}{{ caller(x, loop.index) }};{% endfor %}{% endmacro %}{% call(v, n, o='!') m(l) %}{{ n }}={{ v }}{{ o }}{% endcall %}",
    "{% macro m() %}{{ caller is defined }}{{ 'y' if caller else 'n' }}{% endmacro %}{{ m() }}{% call m() %}{% endcall %}", "{% macro m() %}x{% endmacro %}{% call m() %}y{% endcall %}", "{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}",
    "{% call i %}{% endcall %}", "{% call(x m() %}{% endcall %}", "{% macro m() %}{{ caller(b=1) }}{% endmacro %}{% call(a) m() %}{{ a }}{% endcall %}", "{% macro m() %}{{ caller() }}{% endmacro %}{% call(a=i) m() %}{{ a }}{% set a = 2 %}{{ a }}{% endcall %}{{ a }}",
    "{% macro m() %}{% for x in l %}{{ caller() }}{% endfor %}{% endmacro %}{% for x in m_ %}{% endfor %}{% set x = 9 %}{% call m() %}{{ x }}{% endcall %}", "{% call m() %}{% break %}{% endcall %}", "{% call missing() %}{% endcall %}",
    "{{ caller }}|{{ caller() }}", "{{ '1.5'|float }}{{ 2|float }}{{ 'x'|float }}{{ 'x'|float(2) }}{{ none|float }}{{ true|float }}{{ '1e3'|float }}{{ ' 2 '|float }}", "{{ missing|float }}", "{{ 'inf'|float }}{{ [1]|float(default=3) }}",
]  # fmt: skip


TOO_LARGE = "OverflowError: templates cannot compute integers of more than 64 bits"
ESCAPE = "unsupported \\ escape in a string"
FAILS = {
    "{{ range(10)[2:8:2] }}": "TypeError: 'range' object is not subscriptable",
    "{{ d.keys() }}": "TypeError: a template cannot print a value of type 'dict_keys'",
    "{{ d.values() }}": "TypeError: a template cannot print a value of type 'dict_values'",
    "{{ d.items() }}": "TypeError: a template cannot print a value of type 'dict_items'",
    "{% set ns = namespace(x=0) %}{% for y in l %}{% set ns.x = ns.x + y %}{% endfor %}{{ ns.x }}{{ ns }}":
        "TypeError: a template cannot print a value of type 'Namespace'",
    r"""{{ "\ud83d\ude00" }}{{ '\uD83D\uDE00x' }}""": ESCAPE,
    "{{ '0x1f'|int(base=16) }}": "int() got an unexpected keyword argument 'base'",
    "{{ namespace({'a': 1}).a }}": "TypeError: namespace() takes only keyword arguments",
    "{{ '18446744073709551615'|int }}": TOO_LARGE, "{{ 1e20|int }}": TOO_LARGE, "{{ '%d' % 1e20 }}": TOO_LARGE,
    r"{{ '\u00e9\x41\101' }}": ESCAPE, r"{{ 'a\é' }}": ESCAPE, r"{{ 'a\tb\u00e9\x41\101\q' }}": ESCAPE,
}  # fmt: skip
SUPPORTED_FILTERS = set("""capitalize count d default dictsort e escape first float format from_json fromjson indent int
items join last length list lower map max min reject rejectattr replace reverse safe select selectattr sort string title tojson
trim unique upper""".split())  # fmt: skip
SUPPORTED_TESTS = set("""!= < <= == > >= boolean callable defined eq equalto even false float ge greaterthan gt in
integer iterable le lessthan lt mapping ne none number odd sameas sequence string true undefined""".split())  # fmt: skip
REFUSED_METHODS = set("""bit_count bit_length casefold center changed clear conjugate count cycle encode expandtabs format_map fromkeys
index insert isalnum isalpha isascii isdecimal isdigit isidentifier islower isnumeric isprintable isspace istitle isupper ljust maketrans
partition popitem remove removeprefix removesuffix reverse rfind rindex rjust rpartition rsplit setdefault sort splitlines swapcase
translate zfill""".split())  # fmt: skip
REFUSED_FUNCTIONS = {"cycler", "dict", "joiner", "lipsum"}
REFUSED_TAGS = {
    "Block": "block", "ScopedEvalContextModifier": "autoescape", "Include": "include", "Import": "import",
    "FromImport": "from", "Extends": "extends",
}  # fmt: skip


def refused_formats(pattern, format):
    return [f"format '{part}'" for part in re.findall(pattern, format)]


def refusals(env, template):
    """The parts of a template that etna refuses to load, such as "filter 'pprint'"."""
    nodes = jinja2.nodes
    found = []
    try:
        tree = env.parse(template)
    except jinja2.TemplateSyntaxError:
        return found

    def text(node):
        return node.value if isinstance(node, nodes.Const) and isinstance(node.value, str) else ""

    assigned = {node.name for node in tree.find_all(nodes.Name) if node.ctx != "load"}
    if "{% print" in template:
        found.append("tag 'print'")
    for _, kind, token in env.lex(template):
        is_number = kind in ("integer", "float")
        if is_number and ("_" in token or token[:2].lower() in ("0x", "0o", "0b") or kind == "integer" and int(token) >= 2**63):
            found.append(f"number '{token}'")
    for node in tree.find_all(nodes.Node):
        if type(node).__name__ in REFUSED_TAGS:
            found.append(f"tag '{REFUSED_TAGS[type(node).__name__]}'")
        elif isinstance(node, nodes.For) and node.recursive:
            found.append("loop modifier 'recursive'")
        elif isinstance(node, nodes.Pow):
            found.append("operator '**'")
        elif isinstance(node, nodes.Name) and node.name in ("kwargs", "varargs") and node.ctx == "load":
            if node.name not in assigned:
                found.append(f"variable '{node.name}'")
        elif isinstance(node, nodes.Filter):
            names = [node.name] + ([text(node.args[0])] if node.name == "map" and node.args else [])
            found += [f"filter '{name}'" for name in names if name and name not in SUPPORTED_FILTERS]
        elif isinstance(node, nodes.Test) and node.name not in SUPPORTED_TESTS:
            found.append(f"test '{node.name}'")
        elif isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name) and node.node.name in REFUSED_FUNCTIONS:
            found.append(f"function '{node.node.name}'")
        elif isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr):
            if node.node.attr in REFUSED_METHODS:
                found.append(f"method '{node.node.attr}'")
            elif node.node.attr == "format":
                found += refused_formats(r"\{[^{} ]+[^ ]*", text(node.node.node))
        if getattr(node, "dyn_args", None):
            found.append("argument '*'")
        if getattr(node, "dyn_kwargs", None):
            found.append("argument '**'")
        if isinstance(node, nodes.Mod) or (isinstance(node, nodes.Filter) and node.name == "format"):
            found += refused_formats(r"%[^sd%][^ ]*", text(node.left if isinstance(node, nodes.Mod) else node.node))
    return found


class Generation(jinja2.ext.Extension):
    """The tag of transformers' AssistantTracker."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("text_of"), [], [], body).set_lineno(line)

    def text_of(self, caller):
        return caller()


def environment():
    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    env = SandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, "jinja2.ext.loopcontrols"])
    env.filters["tojson"] = tojson
    env.filters["from_json"] = json.loads
    env.globals["raise_exception"] = raise_exception
    return env


def main():
    env = environment()
    templates = ["{{ " + text.strip() + " }}" for text in (EXPRESSIONS + " | " + LATER_EXPRESSIONS).split(" | ") + FILTERS.split(" § ")] + TEMPLATES
    lines = []
    for template in templates:
        try:
            output = env.from_string(template).render(**copy.deepcopy(CONTEXT))
            # "\\ud83d\\ude00" in a template is two halves of a character, which cannot be written as they are.
            case = {"template": template, "output": output.encode("utf-16", "surrogatepass").decode("utf-16")}
        except Exception as error:
            case = {"template": template, "error": f"{type(error).__name__}: {error}"}
            if isinstance(error, jinja2.TemplateSyntaxError):
                case["line"] = error.lineno
        if refused := refusals(env, template):
            case = {"template": template, "refused": refused}
        elif template in FAILS:
            case = {"template": template, "fails": FAILS[template]}
        if " at 0x" not in case.get("output", ""):
            lines.append(json.dumps(case, ensure_ascii=False))
    sys.stdout.write('{"context": ' + json.dumps(CONTEXT, ensure_ascii=False) + ',\n"cases": [\n' + ",\n".join(lines) + "\n]}\n")


main()
