"""What library functions and methods cost, as data: name to cost and result.

Costs: `1` constant; `n` length of the receiver (of a function's first argument); `nl` that times
its logarithm; `l` its logarithm; `seq` the length for a list, text or tuple, the logarithm for a
tree or heap, else constant; `key` the logarithm for a tree or heap, else constant; `num` the
logarithm of a number; `arg` the length of the first argument.
Results: `same` receiver or first argument; `item` an element; `num` a number no larger than the
receiver's length; `const` a small number; `text` a text as long as the receiver; `list`, `set`,
`map`, `tree`, `heap`, `deque` a collection as long, with the same elements; `none`; `digits` a
text as long as a number has digits; `root` its square root; `value` the number in a text.
"""

from __future__ import annotations


def _table(text: str) -> dict[str, tuple[str, str]]:
    table: dict[str, tuple[str, str]] = {}
    for line in text.strip().splitlines():
        cost, result, *names = line.split()
        table.update(dict.fromkeys(names, (cost, result)))
    return table


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Methods of every language; the kind of the receiver decides where languages differ.
METHODS = _table("""
1 none append push push_back emplace_back addLast add_last appendleft addFirst push_front pushleft
1 none print println printf flush close write write_all writeln format newLine setLength next_token
seq bool remove contains includes erase discard removeFirstOccurrence
seq num index indexOf lastIndexOf find rfind rindex search index_of count find_first_of
n bool has_duplicates
key bool add offer insert put emplace set containsKey has contains_key count_ computeIfAbsent
key item get getOrDefault floor ceiling higher lower floorKey ceilingKey higherKey lowerKey at
key item first last firstKey lastKey pollFirst pollLast peek top front back firstEntry lastEntry
key item poll popitem removeFirst removeLast pop_front pop_back popleft element floorEntry
key item pop_first pop_last ceilingEntry higherEntry lowerEntry getFirst getLast peekFirst peekLast
key item setdefault getValue getKey merge
n none sort_ clear_ fill
nl none sort sort_by sort_unstable sort_by_key sort_unstable_by sort_unstable_by_key
nl list sorted
n none reverse extend addAll update push_str retain truncate_ resize assign
n text replace translate toLowerCase toUpperCase lower upper strip_ substring substr slice_
n text replaceAll replaceFirst concat join rjust ljust zfill repeat center title capitalize swapcase
n text toString_ decode encode trim_end_matches to_string to_owned_ to_uppercase to_lowercase
1 same strip trim rstrip lstrip trim_end trim_start trimEnd chomp as_str as_bytes as_ref unwrap
1 same expect clone_ iter into_iter iter_mut chars_ bytes_ keys items values keySet entrySet
1 same stream parallelStream boxed cloned copied rev peekable as_slice as_mut borrow borrow_mut
1 same reversed_ entries iterator listIterator begin end rbegin cbegin cend rend
1 same descendingMap to_vec_
1 same descendingSet descendingKeySet mapToObj asLongStream flat elements tolist_ ok by_ref
1 same unwrap_or
1 same unwrap_or_default unwrap_or_else skip take enumerate zip step_by chain limit distinct_
n list split toCharArray splitlines copy clone collect toArray toList flatMap chars bytes
n list slice to_vec
n list split_whitespace splitn lines char_indices subList copyOf copyOfRange concat tolist getBytes
n list split_ascii_whitespace to_owned drain split_off flatten windows chunks
n set union intersection difference distinct symmetric_difference unique
n item sum min max minimum maximum mean prod any all average fold reduce_ count_ones_
n const startswith endswith startsWith endsWith isalpha isdigit isupper islower isalnum isnumeric
1 const charAt codePointAt charCodeAt codeUnitAt ord isEmpty is_empty empty compareTo_ hasNext
1 num size length len capacity
num digits toString_num
num log bit_length
n bool equals compareTo equalsIgnoreCase compare
n text reverse_text reversed insert_text
l num binarySearch bisect binary_search partition_point lower_bound upper_bound equal_range
seq item shift pop_first_
""")

#: Functions of every language, by their last name.
FUNCTIONS = _table("""
nl list sorted
nl none sort stable_sort sort_heap partial_sort parallelSort Slice SliceStable Ints Strings Sort
n list list tuple array asarray copyOf copyOfRange copy deepcopy clone asList from_ arraycopy
n set set frozenset HashSet LinkedHashSet Set
n map dict Counter OrderedDict defaultdict
n item sum min_of max_of fsum any all min_element max_element accumulate_ minmax_element nth_element
n none reverse fill shuffle swap_ unique rotate iota memset fill_n memcpy copy_n swapRows
n none heapify make_heap
l item heappop heappush heappushpop heapreplace push_heap pop_heap Push Pop
l num bisect bisect_left bisect_right insort_ binary_search lower_bound upper_bound binarySearch
l num Search SearchInts searchsorted
nl list nlargest nsmallest argsort
num const gcd __gcd lcm modpow inv
1 root sqrt isqrt cbrt sqrtl sqrtf Sqrt
1 log log log2 log10 log1p
1 same abs round floor ceil fabs int float double long Number Math trunc iter next_ ll llabs id Abs
1 const ord chr bool isinstance type hash callable getattr toupper tolower isdigit isalpha bitCount
1 const isDigit isLetter isUpperCase isLowerCase getNumericValue isLetterOrDigit toChars charCount
1 none exit quit print_ println flush assert setrecursionlimit seed
1 same reversed enumerate zip iter map_ filter_ islice cycle
n none strcpy strcat strcmp strncmp
n num strlen
""")

#: Kinds of collection that a constructor makes.
CONSTRUCTORS = {
    name: kind
    for kind, names in {
        "list": "ArrayList LinkedList Vector Stack vector list array Array List Vec valarray",
        "set": "HashSet LinkedHashSet unordered_set Set set frozenset BitSet bitset EnumSet",
        "map": "HashMap LinkedHashMap unordered_map Map Hashtable dict defaultdict Counter "
        "OrderedDict EnumMap ConcurrentHashMap Object",
        "tree": "TreeSet TreeMap multiset multimap BTreeMap BTreeSet SortedList SortedSet "
        "SortedDict SortedMap NavigableMap NavigableSet ConcurrentSkipListSet",
        "heap": "PriorityQueue priority_queue BinaryHeap",
        "deque": "ArrayDeque Deque deque Queue queue stack VecDeque LinkedBlockingDeque",
        "text": "String StringBuilder StringBuffer string stringstream ostringstream",
    }.items()
    for name in names.split()
}

#: Kinds that differ from the above in one language.
KINDS_IN = {"cpp": {"map": "tree", "set": "tree"}, "python": {"Queue": "deque"}}

#: What reads input, and what it gives: a token, a whole line, all the lines, or a number.
READERS = {
    "input": "line",
    "raw_input": "line",
    "readline": "line",
    "readLine": "line",
    "nextLine": "line",
    "ReadString": "line",
    "ReadLine": "line",
    "read_line": "line",
    "getline": "line",
    "gets": "line",
    "Text": "line",
    "readlines": "lines",
    "read": "all",
    "read_to_string": "all",
    "readFileSync": "all",
    "next": "token",
    "nextToken": "token",
    "nextElement": "token",
    "nextInt": "number",
    "nextLong": "number",
    "nextDouble": "number",
    "nextFloat": "number",
    "nextShort": "number",
    "nextByte": "number",
    "nextBigInteger": "number",
    "nextBoolean": "number",
    "getchar": "char",
}

#: Conversions of text to a number.
NUMBERS = _words("""
int float long Long Integer parseInt parseLong parseDouble valueOf Number BigInt parseFloat
atoi atol stoi stol stoll strtol Atoi ParseInt parse BigInteger Double eval Decimal
""")
#: Conversions to text.
TEXTS = _words("""
str String toString to_string bin hex oct repr Itoa FormatInt toBinaryString
""")
#: Iterators over all subsets, orders or tuples.
COMBINATIONS = {
    "permutations": "!",
    "combinations": "^",
    "combinations_with_replacement": "^",
    "product": "*",
    "powerset": "^",
}
#: Decorators that keep results.
CACHES = frozenset(
    {"lru_cache", "cache", "memoize", "memoized", "memo", "cached", "bootstrap_cache"}
)
#: Methods that take something out of a collection.
TAKES = _words("""
pop popleft popFront pop_front pop_back poll remove removeFirst removeLast pollFirst pollLast
shift heappop dequeue pop_first pop_last popitem splice
""")
#: Methods that put something into one.
PUTS = _words("""
append push push_back push_front add offer extend appendleft heappush insert enqueue unshift
addLast addFirst offerFirst offerLast emplace emplace_back put update
""")
#: Functions and methods that read input.
READS = _words("""
input raw_input readline readlines read nextToken nextLine nextInt next nextLong nextDouble
readLine getline scanf getchar fgets gets scan Scan Scanln Scanf Fscan Fscanf Fscanln
ReadString read_line ReadLine Text hasNext readInt
""")
#: Functions to which programs give names of their own, as in `read = input`.
CALLABLE = frozenset(READERS) | READS | NUMBERS | frozenset(FUNCTIONS)
CALLABLE |= _words("range len max min map filter zip enumerate pow")
#: Methods that call a function for each element.
CALLBACKS = _words("""
forEach map filter some every find findIndex reduce flatMap anyMatch allMatch noneMatch
mapToInt mapToLong for_each fold any all position filter_map max_by_key min_by_key removeIf
replaceAll sum takeWhile take_while
""")
