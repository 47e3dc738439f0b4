"""Stripping, renaming and hashing programs in seven languages."""

from __future__ import annotations

import random
import re

import pytest

from assay.errors import ConfigError
from assay.judges.complexity.normal_form import normalise, strip, structure_hash
from assay.syntax import GRAMMARS, tree_of

#: (language, program, the same with other comments, strings, names and white space)
TWINS = {
    "python": (
        '''
import numpy as np
from heapq import heappush as hp
input = sys.stdin.readline
class Queue:
    """O(1) per operation, promise."""
    def __init__(self, size, step=2):
        self.size = size
        self.items = []
    def push(self, value):
        hp(self.items, value)  # constant time!
def solve(n, m=3, *rest, **more):
    global total
    total = 0
    for i, _ in enumerate(range(n)):
        with open(f"in{i}.txt") as handle:
            total += sum(int(x) for x in handle)
    match rest:
        case [first, *_]:
            total += first
    return sorted(more, key=lambda t: -t, reverse=True)
Queue(size=3, step=4).push(value=np.max([1, 2]))
print("answer", solve(n=int(input()), m=2), 'done')
''',
        '''
import numpy as numbers
from heapq import heappush
read = sys.stdin.readline
class Box:
    def __init__(me, room, stride=2):
        # exponential
        me.room = room
        me.things = []

    def put(me, thing):
        heappush(me.things, thing)
def answer(k, j=3, *others, **rest):
    "another docstring"
    global acc
    acc = 0
    for a, b in enumerate(range(k)):
        with open(f"{a}") as h: acc += sum(int(y) for y in h)
    match others:
        case [one, *_]:
            acc += one
    return sorted( rest, key = lambda u: -u, reverse = True )
Box(room=3, stride=4).put(thing=numbers.max([1, 2]))
print("", answer(k=int(read()), j=2), """done
""")
''',
    ),
    "cpp": (
        """
#include <vector>
#include "mine.h"
#define rep(i, n) for (int i = 0; i < (n); i++) // loop
#define MAXN 100 /* small */
using namespace std;
typedef long long ll;
struct Node { int key; Node* next; Node(int k) : key(k) {} void grow(int by) { key += by; } };
void Node::shrink(int by) { key -= by; }
template <class T> T twice(T x, const char* why = "why") { return x + x; }
int main() {
    int n; cin >> n;
    vector<ll> values(MAXN);
    rep(i, n) rep(j, n) { values[i] += j; }
    for (auto& [a, b] : pairs) { a += 'x'; }
    auto less = [&](int l, int r) { return l < r; };
    sort(values.begin(), values.end(), less);
    Node node(3); node.grow(2); cout << node.key << "\\n";
    goto done;
done: return 0;
}
""",
        """
#include <vector>
#include "mine.h"
#define loop(p, q) for (int p = 0; p < (q); p++)
#define LIMIT 100
using namespace std;
typedef long long big;
struct Item { int id; Item* link; Item(int z) : id(z) {} void up(int d) { id += d; } };
void Item::shrink(int d) { id -= d; }
template <class U> U dbl(U v, const char* s = "") { return v + v; }
int main()
{
    int count; cin >> count; /* O(1) */
    vector<big> cells(LIMIT);
    loop(s, count) loop(t, count) { cells[s] += t; }
    for (auto& [u, w] : pairs) { u += '\\n'; }
    auto cmp = [&](int x, int y) { return x < y; };
    sort(cells.begin(), cells.end(), cmp);
    Item it(3); it.up(2); cout << it.id << "text";
    goto end_;
end_: return 0;
}
""",
    ),
    "c": (
        "int f(int n, int *xs) { /* c */ int s = 0; for (int i = 0; i < n; ++i) s += xs[i];"
        ' printf("%d\\n", s); return s; }',
        "int g(int k, int *v) {\n int t = 0;\n for (int j = 0; j < k; ++j)\n t += v[j];\n"
        ' printf("", t); // done\n return t; }',
    ),
    "java": (
        """
import java.util.*;
class Solver<T> implements Comparable<Solver<T>> {
    static int limit = 1; enum Kind { RED, GREEN }
    int size;
    Solver(int size) { this.size = size; }
    @Override public int compareTo(Solver<T> other) { return size - other.size; }
    int run2(int n, int... more) {
        outer: for (int i = 0; i < n; i++) { for (int x : more) { if (x == i) break outer; } }
        Comparator<Integer> c = (p, q) -> p - q;
        try (Scanner in = new Scanner(System.in)) { limit += in.nextInt(); } catch (Exception e) {}
        System.out.println("result: " + n + 'c');
        return Kind.RED.ordinal() + helper(n);
    }
    static int helper(int k) { return k <= 1 ? 1 : helper(k - 1); }
    public static void main(String[] args) { new Solver<Integer>(3).run2(4); }
}
""",
        """
import java.util.*;
/** Linear. */
class Thing<S> implements Comparable<Thing<S>> {
    static int top = 1; enum Hue { A, B }
    int len;
    Thing(int width) { this.len = width; }
    @Override public int compareTo(Thing<S> o) { return len - o.len; }
    int go(int k, int... others) {
        loop: for (int a = 0; a < k; a++) { for (int b : others) { if (b == a) break loop; } }
        Comparator<Integer> by = (l, r) -> l - r;
        try (Scanner s = new Scanner(System.in)) { top += s.nextInt(); } catch (Exception x) {}
        System.out.println("" + k + 'z'); // prints
        return Hue.A.ordinal() + aid(k);
    }
    static int aid(int j) { return j <= 1 ? 1 : aid(j - 1); }
    public static void main(String[] argv) { new Thing<Integer>(3).go(4); }
}
""",
    ),
    "javascript": (
        """
const fs = require('fs');
import path, {join as glue} from "path";
class Heap { size = 0; #items = []; push(x) { this.#items.push(x); this.size += 1; } }
const {a, b: c, ...rest} = load(); let [p, q = 1] = rest; var f = (x, {y}) => x + y;
const row = {a, total: 1};
for (const v of [p, q]) { console.log(`v is ${v}`, row.total, glue("x")) }
try { f(1, {y: 2}) } catch (err) { throw err }
outer: for (;;) { break outer; }
run({input: path.sep})
""",
        """
const io = require('fs');
import way, {join as stick} from "path";
class Pile { count = 0; #cells = []; push(z) { this.#cells.push(z); this.count += 1; } } // O(1)
const {a: d, b: e, ...others} = load(); let [s, t = 1] = others; var g = (u, {y: w}) => u + w;
const line = {a: d, sum: 1}
for (const k of [s, t]) { console.log(`${k}`, line.sum, stick('')); }
try { g(1, {y: 2}) } catch (oops) { throw oops }
loop: for (;;) { break loop; }
run({input: way.sep})
""",
    ),
    "go": (
        """
package main
import ( f "fmt"; "sort" )
type Point struct { x, y int `json:"a"` }
type byX []Point
func (p byX) Len() int { return len(p) }
func (p *Point) grow(d int) { p.x += d }
func main() {
	a, b := 1, 'c'; var n int
	f.Scan(&n)
	for i, v := range make([]int, n) { f.Println(i, v, "text") }
	q := Point{x: 1, y: a}; q.grow(int(b))
	g := func(u int) int { return u }
outer:
	for { g(n); break outer }
	sort.Sort(byX{q})
}
""",
        """
package main
import ( "fmt"; "sort" )
// Dot is fast.
type Dot struct { h, v int `json:"b"` }
type dots []Dot
func (d dots) Len() int { return len(d) }
func (d *Dot) up(k int) { d.h += k }
func main() {
	s, t := 1, 'z'
	var k int
	fmt.Scan(&k)
	for j, w := range make([]int, k) { fmt.Println(j, w, ``) }
	r := Dot{h: 1, v: s}
	r.up(int(t))
	h := func(z int) int { return z }
again:
	for { h(k); break again }
	sort.Sort(dots{r})
}
""",
    ),
    "rust": (
        """
use std::io::{self, Read as R};
/// A point.
struct Point { x: i32, y: i32 }
enum Shape { Dot(i32), Line }
impl Ord for Point { fn cmp(&self, other: &Self) -> Ordering { self.x.cmp(&other.x) } }
impl Point { fn new(x: i32) -> Self { Point { x, y: 2 } } fn far(&self) -> i32 { self.x } }
fn main() {
    let (a, mut b) = (1, 'c'); println!("{} {}", a, b.len());
    let Point { x, y: z } = Point::new(3);
    if let Some(q) = parse(z) { b = q; }
    match shape { Shape::Dot(k) => k, Shape::Line => x, _ => 4 };
    let f = |u: i32| u + 1;
    'outer: loop { f(a); break 'outer; }
}
""",
        """
use std::io::{self, Read as R};
struct Place { h: i32, v: i32 }
enum Form { Spot(i32), Rule } // shapes
impl Ord for Place { fn cmp(&self, rhs: &Self) -> Ordering { self.h.cmp(&rhs.h) } }
impl Place { fn new(w: i32) -> Self { Place { h: w, v: 2 } } fn away(&self) -> i32 { self.h } }
fn main() {
    let (s, mut t) = (1, 'd'); println!("", s, t.len());
    let Place { h: e, v: g } = Place::new(3);
    if let Some(i) = parse(g) { t = i; }
    match shape { Form::Spot(j) => j, Form::Rule => e, _ => 4 };
    let l = |m: i32| m + 1;
    'again: loop { l(s); break 'again; }
}
""",
    ),
}
KEPT = {
    "python": ["numpy", "heappush", "sys", "readline", "enumerate", "range", "sorted", "__init__"],
    "cpp": ["vector", "std", "cin", "sort", "begin", "main", "mine.h"],
    "java": ["compareTo", "Comparator", "Scanner", "nextInt", "println", "main"],
    "javascript": ["require", "'fs'", "console", "log", "input", "join"],
    "go": ["fmt", "Println", "Len", "Scan", "sort", "make", "range"],
    "rust": ["println", "cmp", "Some", "Ordering", "io"],
}


@pytest.mark.parametrize("language", TWINS)
def test_twins_have_one_hash(language: str) -> None:
    first, second = TWINS[language]
    words = [re.findall(r"\w+", normalise(source, language)) for source in (first, second)]
    assert words[0] == words[1]
    assert structure_hash(first, language) == structure_hash(second, language)


@pytest.mark.parametrize("language", TWINS)
def test_results_parse_and_are_fixed_points(language: str) -> None:
    for source in TWINS[language]:
        assert not tree_of(source, language).root_node.has_error or language == "cpp"
        for change in (strip, normalise):
            changed = change(source, language)
            assert change(changed, language) == changed
            if not tree_of(source, language).root_node.has_error:
                assert not tree_of(changed, language).root_node.has_error
        assert structure_hash(normalise(source, language), language) == structure_hash(
            source, language
        )


@pytest.mark.parametrize("language", KEPT)
def test_names_of_libraries_stay(language: str) -> None:
    text = normalise(TWINS[language][0], language)
    assert [name for name in KEPT[language] if name not in text] == []


@pytest.mark.parametrize("language", TWINS)
def test_nothing_that_is_said_survives(language: str) -> None:
    for source in TWINS[language]:
        stripped = strip(source, language)
        for claim in ["O(1)", "promise", "constant", 'answer"', "result", "text", "docstring"]:
            assert claim not in stripped
        assert all(line.strip() for line in stripped.splitlines())


DIFFERENT = {
    "python": [
        "for i in a:\n    f(i)\ng(i)",
        "for i in a:\n    f(i)\n    g(i)",
        "for i in a:\n    f(a)\ng(i)",
        "for i in a:\n    f(i)\nh(i)",
        "for i in a:\n    i(i)\ng(i)",
        "while a:\n    f(i)\ng(i)",
        "for i in a:\n    f(i)\ng(i + 1)",
        "for i in a:\n    f(i)\ng(i + 2)",
        "for i in a:\n    f(i)\ng(f'{i}')",
        "for i in a:\n    f(i)\ng('i')",
    ],
    "javascript": ["for (;a;b) {}", "for (a;;b) {}", "for (a;b;) {}", "x\ny", "x(y)"],
    "c": ["int a(int b) { return b; }", "int a(int b) { return a; }", "int a(int b) { return c; }"],
    "rust": ["fn f() -> i32 { x }", "fn f() -> i32 { x; }"],
}


@pytest.mark.parametrize("language", DIFFERENT)
def test_other_programs_have_other_hashes(language: str) -> None:
    hashes = [structure_hash(source, language) for source in DIFFERENT[language]]
    assert len(set(hashes)) == len(hashes)


def test_scopes_keep_names_apart() -> None:
    one = "def f(i):\n    return i\ndef g(i):\n    return i\n"
    assert normalise(one, "python") == "def v0(v1):\n    return v1\ndef v2(v3):\n    return v3\n"
    assert structure_hash(one.replace("g(i):\n    return i", "g(j):\n    return j"), "python") == (
        structure_hash(one, "python")
    )
    shadow = "x = 1\ndef f():\n    x = 2\n    def g():\n        nonlocal x\n        x = 3\n"
    assert normalise(shadow, "python").split("\n")[3:] == [
        "    def v3():",
        "        nonlocal v2",
        "        v2 = 3",
        "",
    ]
    free = normalise("v0 = v1 + z\nprint(v2)", "python")  # v1, v2 and z come from elsewhere
    assert free == "v0 = v1 + z\nprint(v2)\n"
    assert normalise("a = v0(1)", "python") == "v1 = v0(1)\n"


def test_docstrings_go_and_blocks_stay_whole() -> None:
    source = 'def f():\n    "only"\nclass A:\n    "doc"\n    x = 1\n"a"; b = 2; "c"\n'
    assert strip(source, "python") == "def f():\n    pass\nclass A:\n    x = 1\nb = 2;\n"
    assert strip('f"{g()}"', "python") == 'f"{g()}"\n'  # it runs: no docstring
    compile(strip(source, "python"), "x", "exec")


def test_odd_inputs() -> None:
    for language in GRAMMARS:
        for source in ["", "\n\n", "\x00", "}}}", "a" * 1_000, "((((" * 100, "é = 'ü'", "\ud800"]:
            assert isinstance(normalise(source, language), str)
            assert len(structure_hash(source, language)) == 64
    assert structure_hash("x = 1", "python") != structure_hash("x = 1", "javascript")
    with pytest.raises(ConfigError, match="language must be one of"):
        strip("x", "cobol")


def test_rewrites_change_nothing() -> None:
    """Names, comments and strings at random: none may change the hash."""
    rng = random.Random(0)
    source = """
def {solve}({n}, {xs}):
    {best} = {{}}
    for {i} in range({n}):
        {COMMENT}
        {y} = {xs}[{i}]
        if {y} not in {best}:
            {best}[{y}] = {i}
        print({STRING}, {y})
    return max({best}.values(), key=lambda {t}: -{t})
"""
    names = ["solve", "n", "xs", "best", "i", "y", "t"]
    hashes = set()
    for _ in range(300):
        pool = [f"{rng.choice('abcxyz_')}{rng.randrange(10**6)}_" for _ in names]
        filling = dict(zip(names, pool, strict=True)) if len({*pool}) == len(pool) else {}
        filling = filling or {name: name for name in names}
        filling["COMMENT"] = rng.choice(["# O(1)", "# ''' for", "'''doc'''; pass", "", "#"])
        if "pass" in filling["COMMENT"]:
            filling["COMMENT"] = ""
        filling["STRING"] = rng.choice(["'a'", '"#"', "'''x\n y'''", "r'\\d'", "''"])
        hashes.add(structure_hash(source.format(**filling), "python"))
    assert len(hashes) == 1
