# ruff: noqa: E501 -- programs are kept as they are
"""Hand-written programs with their complexity and why; the estimator must read every one right."""

from __future__ import annotations

from typing import NamedTuple


class Case(NamedTuple):
    name: str
    language: str
    expected: str
    code: str


def py(name: str, expected: str, code: str) -> Case:
    return Case(name, "python", expected, code)


READ = "n = int(input())\na = list(map(int, input().split()))\n"

PYTHON = [
    py("arithmetic only", "1", "n = int(input())\nprint(n * (n + 1) // 2)"),
    py("26 letters are constant", "1", "n = int(input())\nfor c in range(26):\n    print(c + n)"),
    py("one pass", "n", READ + "s = 0\nfor x in a:\n    s += x\nprint(s)"),
    py("two passes in a row", "n", READ + "print(sum(a))\nprint(max(a))"),
    py("nested", "n^2", READ + "for i in range(n):\n    for j in range(i):\n        print(a[j])"),
    py("three deep", "n^3",
       READ + "for i in range(n):\n  for j in range(i):\n    for k in range(j):\n      print(k)"),
    py("two variables", "n m",
       "n, m = map(int, input().split())\nfor i in range(n):\n    for j in range(m):\n        print(i)"),
    py("window of three", "n",
       READ + "for i in range(n):\n    for j in range(i - 1, i + 2):\n        print(j)"),
    py("halving", "log n", "n = int(input())\nc = 0\nwhile n:\n    n //= 2\n    c += 1\nprint(c)"),
    py("doubling", "log n", "n = int(input())\ni = 1\nwhile i < n:\n    i *= 2\nprint(i)"),
    py("halving inside a pass", "n log n",
       "n = int(input())\nfor i in range(n):\n    j = n\n    while j > 0:\n        j //= 2"),
    py("trial division", "sqrt(n)",
       "n = int(input())\ni = 2\nwhile i * i <= n:\n    if n % i == 0:\n        print(i)\n    i += 1"),
    py("range to a root", "sqrt(n)",
       "n = int(input())\nfor i in range(1, int(n ** 0.5) + 1):\n    print(i)"),
    py("sieve", "n log n",  # n/2 + n/3 + ...; without primality tests of i: n log n
       "n = int(input())\np = [True] * (n + 1)\nfor i in range(2, n + 1):\n"
       "    for j in range(2 * i, n + 1, i):\n        p[j] = False"),
    py("sort", "n log n", READ + "a.sort()\nprint(a[0])"),
    py("sorted in a loop", "n^2 log n", READ + "for i in range(n):\n    b = sorted(a)\n    print(b[i])"),
    py("binary search", "log n",
       "def f(a, t):\n    lo, hi = 0, len(a) - 1\n    while lo <= hi:\n        mid = (lo + hi) // 2\n"
       "        if a[mid] == t:\n            return mid\n        if a[mid] < t:\n            lo = mid + 1\n"
       "        else:\n            hi = mid - 1\n    return -1"),
    py("a linear scan called binary_search", "n",
       "def binary_search(a, t):\n    # O(log n)\n    for i in range(len(a)):\n"
       "        if a[i] == t:\n            return i\n    return -1"),
    py("bisect in a loop", "n log n",
       "from bisect import bisect_left\n" + READ + "a.sort()\nfor x in a:\n    print(bisect_left(a, x))"),
    py("two pointers", "n",
       "def f(a, t):\n    i, j = 0, len(a) - 1\n    while i < j:\n        if a[i] + a[j] < t:\n"
       "            i += 1\n        else:\n            j -= 1\n    return i"),
    py("sliding window, amortised", "n",
       READ + "j = 0\ns = 0\nfor i in range(n):\n    s += a[i]\n    while s > 10:\n"
       "        s -= a[j]\n        j += 1"),
    py("inner counter reset", "n^2",
       READ + "for i in range(n):\n    j = 0\n    while j < n:\n        j += 1"),
    py("monotonic stack", "n",
       READ + "st = []\nfor i in range(n):\n    while st and a[st[-1]] < a[i]:\n        st.pop()\n"
       "    st.append(i)"),
    py("in on a list", "n^2", READ + "for x in a:\n    if x + 1 in a:\n        print(x)"),
    py("in on a set", "n", READ + "s = set(a)\nfor x in a:\n    if x + 1 in s:\n        print(x)"),
    py("count in a loop", "n^2", READ + "for x in a:\n    print(a.count(x))"),
    py("pop from the front", "n^2", READ + "for i in range(n):\n    a.pop(0)"),
    py("pop from the end", "n", READ + "for i in range(n):\n    a.pop()"),
    py("deque", "n",
       "from collections import deque\n" + READ + "q = deque(a)\nwhile q:\n    q.popleft()"),
    py("heap", "n log n",
       "import heapq\n" + READ + "h = []\nfor x in a:\n    heapq.heappush(h, x)\n"
       "while h:\n    print(heapq.heappop(h))"),
    py("slices in a loop", "n^2", READ + "for i in range(n):\n    print(sum(a[i:]))"),
    py("prefix sums", "n",
       READ + "p = [0] * (n + 1)\nfor i in range(n):\n    p[i + 1] = p[i] + a[i]\nprint(p[n])"),
    py("Counter", "n", "from collections import Counter\n" + READ + "c = Counter(a)\nprint(c[0])"),
    py("permutations", "n! n",
       "from itertools import permutations\n" + READ + "for p in permutations(a):\n    print(sum(p))"),
    py("pairs by itertools", "n^2",
       "from itertools import combinations\n" + READ +
       "for x, y in combinations(a, 2):\n    print(x + y)"),
    py("all subsets by bits", "2^n n",
       READ + "for m in range(1 << n):\n    s = 0\n    for i in range(n):\n"
       "        if m >> i & 1:\n            s += a[i]"),
    py("Fibonacci, branching", "2^n",
       "def f(n):\n    if n < 2:\n        return n\n    return f(n - 1) + f(n - 2)\nprint(f(int(input())))"),
    py("Fibonacci, lru_cache", "n",
       "from functools import lru_cache\n@lru_cache(None)\ndef f(n):\n    if n < 2:\n        return n\n"
       "    return f(n - 1) + f(n - 2)\nprint(f(int(input())))"),
    py("Fibonacci, dict", "n",
       "memo = {}\ndef f(n):\n    if n < 2:\n        return n\n    if n in memo:\n        return memo[n]\n"
       "    memo[n] = f(n - 1) + f(n - 2)\n    return memo[n]\nprint(f(int(input())))"),
    py("factorial, recursive", "n",
       "def f(n):\n    return 1 if n == 0 else n * f(n - 1)\nprint(f(int(input())))"),
    py("fast power", "log n",
       "def p(b, e):\n    if e == 0:\n        return 1\n    h = p(b, e // 2)\n"
       "    return h * h if e % 2 == 0 else h * h * b\nn = int(input())\nprint(p(3, n))"),
    py("merge sort", "n log n",
       "def s(a):\n    if len(a) < 2:\n        return a\n    m = len(a) // 2\n    l, r = s(a[:m]), s(a[m:])\n"
       "    out = []\n    i = j = 0\n    while i < len(l) and j < len(r):\n        if l[i] < r[j]:\n"
       "            out.append(l[i])\n            i += 1\n        else:\n            out.append(r[j])\n"
       "            j += 1\n    return out + l[i:] + r[j:]"),
    py("Euclid", "log n",
       "def g(a, b):\n    while b:\n        a, b = b, a % b\n    return a\n"
       "x, y = map(int, input().split())\nprint(g(x, y))"),
    py("table of n by m", "n m",
       "n, m = map(int, input().split())\nd = [[0] * (m + 1) for _ in range(n + 1)]\n"
       "for i in range(1, n + 1):\n    for j in range(1, m + 1):\n        d[i][j] = d[i-1][j] + d[i][j-1]"),
    py("breadth first", "n + m",
       "from collections import deque\nn, m = map(int, input().split())\ng = [[] for _ in range(n)]\n"
       "for _ in range(m):\n    u, v = map(int, input().split())\n    g[u].append(v)\n    g[v].append(u)\n"
       "seen = [False] * n\nq = deque([0])\nseen[0] = True\nwhile q:\n    u = q.popleft()\n"
       "    for v in g[u]:\n        if not seen[v]:\n            seen[v] = True\n            q.append(v)"),
    py("depth first, recursive", "n + m",
       "n, m = map(int, input().split())\ng = [[] for _ in range(n)]\nfor _ in range(m):\n"
       "    u, v = map(int, input().split())\n    g[u].append(v)\n    g[v].append(u)\nseen = [False] * n\n"
       "def dfs(u):\n    seen[u] = True\n    for v in g[u]:\n        if not seen[v]:\n            dfs(v)\n"
       "for i in range(n):\n    if not seen[i]:\n        dfs(i)"),
    py("test cases are left out", "n",
       "for _ in range(int(input())):\n    n = int(input())\n    a = list(map(int, input().split()))\n"
       "    print(sum(a))"),
    py("dead function", "n",
       "def slow(n):\n    for i in range(n):\n        for j in range(n):\n            print(i)\n"
       "n = int(input())\nfor i in range(n):\n    print(i)"),
    py("a called function counts", "n^2",
       "def row(n):\n    for j in range(n):\n        print(j)\nn = int(input())\nfor i in range(n):\n    row(n)"),
    py("padding loop of a constant", "n",
       READ + "for _ in range(1000):\n    pass\nfor x in a:\n    print(x)"),
    py("comments and strings that claim", "n^2",
       '"""This runs in O(1)."""\n' + READ +
       "for i in range(n):  # O(log n)\n    for j in range(n):\n        print('O(1) constant')"),
    py("leaves at once", "1", "n = int(input())\nfor i in range(n):\n    print(i)\n    break"),
    py("comprehension of comprehensions", "n^2",
       "n = int(input())\nb = [[i * j for j in range(n)] for i in range(n)]\nprint(b[0][0])"),
    py("numbers of a string's digits", "log n",
       "n = int(input())\ns = 0\nfor c in str(n):\n    s += int(c)\nprint(s)"),
    py("union-find", "n log n",
       "n = int(input())\np = list(range(n))\nedges = []\nfor i in range(n):\n"
       "    edges.append((n - i, i))\nedges.sort()\ndef find(x):\n    while p[x] != x:\n"
       "        p[x] = p[p[x]]\n        x = p[x]\n    return x\nfor w, v in edges:\n    p[find(v)] = find(w)"),
]  # fmt: skip

OTHERS = [
    Case("C, pairs", "c", "n^2",
         "#include <stdio.h>\nint a[1000];\nint main(){ int n; scanf(\"%d\",&n);\n"
         "for(int i=0;i<n;i++) scanf(\"%d\",&a[i]); int s=0;\n"
         "for(int i=0;i<n;i++) for(int j=i+1;j<n;j++) if(a[i]>a[j]) s++; printf(\"%d\",s); }"),
    Case("C, Euclid", "c", "log n + log m",
         "int gcd(int a,int b){ return b==0?a:gcd(b,a%b);}\n"
         "int main(){ int a,b; scanf(\"%d %d\",&a,&b); printf(\"%d\",gcd(a,b)); }"),
    Case("C, constant", "c", "1",
         "#define MAX 100\nint main(){ int n; scanf(\"%d\",&n); for(int i=0;i<MAX;i++) n+=i; }"),
    Case("C++, sort", "cpp", "n log n",
         "using namespace std; int main(){ int n; cin>>n; vector<int> v(n);\n"
         "for(auto &x: v) cin>>x; sort(v.begin(), v.end()); cout<<v[0]; }"),
    Case("C++, sort of an array", "cpp", "n log n",
         "int main(){ int n; cin>>n; int a[100005]; for(int i=0;i<n;i++) cin>>a[i]; sort(a,a+n); }"),
    Case("C++, ordered map", "cpp", "n log n",
         "int main(){ int n; cin>>n; map<int,int> c; for(int i=0;i<n;i++){int x; cin>>x; c[x]++;} }"),
    Case("C++, hash map", "cpp", "n",
         "int main(){ int n; cin>>n; unordered_map<int,int> c;\n"
         "for(int i=0;i<n;i++){int x; cin>>x; c[x]++;} }"),
    Case("C++, depth first", "cpp", "n + m",
         "vector<int> g[100005]; bool vis[100005];\n"
         "void dfs(int u){ vis[u]=true; for(int v: g[u]) if(!vis[v]) dfs(v);}\n"
         "int main(){ int n,m; cin>>n>>m; for(int i=0;i<m;i++){int a,b; cin>>a>>b;\n"
         "g[a].push_back(b); g[b].push_back(a);} for(int i=1;i<=n;i++) if(!vis[i]) dfs(i); }"),
    Case("C++, subsets", "cpp", "2^n n",
         "int main(){ int n; cin>>n; for(int m=0;m<(1<<n);m++) for(int i=0;i<n;i++) if(m>>i&1) c+=i; }"),
    Case("C++, lower_bound", "cpp", "n log n",
         "int main(){ int n; cin>>n; vector<int> v(n); for(int i=0;i<n;i++) cin>>v[i];\n"
         "for(int i=0;i<n;i++) cout<<lower_bound(v.begin(), v.end(), i)-v.begin(); }"),
    Case("Java, scan", "java", "n",
         "public class A { public static void main(String[] x){ Scanner s=new Scanner(System.in);\n"
         "int n=s.nextInt(); long t=0; for(int i=0;i<n;i++) t+=s.nextInt(); System.out.println(t);} }"),
    Case("Java, sort", "java", "n log n",
         "class A { static void f(int[] a){ Arrays.sort(a); System.out.println(a[0]); } }"),
    Case("Java, TreeMap", "java", "n log n",
         "class A { static void f(int[] a){ TreeMap<Integer,Integer> t=new TreeMap<>();\n"
         "for(int x: a) t.put(x, 1); } }"),
    Case("Java, HashMap", "java", "n",
         "class A { static void f(int[] a){ HashMap<Integer,Integer> t=new HashMap<>();\n"
         "for(int x: a) t.put(x, 1); } }"),
    Case("Java, list.contains", "java", "n^2",
         "class A { static int f(int[] a){ ArrayList<Integer> l=new ArrayList<>(); int c=0;\n"
         "for(int x: a){ if(l.contains(x)) c++; l.add(x);} return c; } }"),
    Case("Java, own reader", "java", "n",
         "public class A { static BufferedReader br; static StringTokenizer st;\n"
         "static String next() throws Exception { while(st==null||!st.hasMoreTokens())\n"
         "st=new StringTokenizer(br.readLine()); return st.nextToken(); }\n"
         "static int ni() throws Exception { return Integer.parseInt(next()); }\n"
         "public static void main(String[] x) throws Exception { br=new BufferedReader(null);\n"
         "int n=ni(); int s=0; for(int i=0;i<n;i++) s+=ni(); System.out.println(s);} }"),
    Case("Java, binary search", "java", "log n",
         "class A { static int f(int[] a,int t){ int l=0,r=a.length-1; while(l<=r){ int m=l+(r-l)/2;\n"
         "if(a[m]<t) l=m+1; else r=m-1;} return l; } }"),
    Case("Java, queens", "java", "n! n",
         "class A { static boolean[] c=new boolean[99]; static int go(int r,int n){ if(r==n) return 1;\n"
         "int t=0; for(int i=0;i<n;i++){ if(c[i]) continue; c[i]=true; t+=go(r+1,n); c[i]=false; }\n"
         "return t; } public static void main(String[] x){ int n=new Scanner(System.in).nextInt();\n"
         "System.out.println(go(0,n)); } }"),
    Case("JavaScript, pairs", "javascript", "n^2",
         "const n = parseInt(readline()); const a = readline().split(' ').map(Number); let c=0;\n"
         "for(let i=0;i<n;i++){ for(let j=0;j<i;j++){ if(a[i]===a[j]) c++; } } console.log(c);"),
    Case("JavaScript, sort", "javascript", "n log n",
         "function f(arr){ const b=[...arr]; b.sort((x,y)=>x-y); return b[0]; }"),
    Case("JavaScript, Set", "javascript", "n",
         "function f(arr){ const s=new Set(); for(const x of arr){ if(s.has(x)) return true; s.add(x);} }"),
    Case("JavaScript, includes in forEach", "javascript", "n^2",
         "function f(arr){ let r=0; arr.forEach(x=>{ if(arr.includes(x+1)) r++; }); return r; }"),
    Case("Go, sort", "go", "n log n",
         "package main\nfunc main(){ var n int; fmt.Scan(&n); a:=make([]int,n)\n"
         "for i:=0;i<n;i++{ fmt.Scan(&a[i]) }; sort.Ints(a); fmt.Println(a[0]) }"),
    Case("Go, pairs", "go", "n^2",
         "package main\nfunc f(a []int) int { c:=0; for i, x := range a { for j := range a {\n"
         "if i!=j && x==a[j] { c++ } } }; return c }"),
    Case("Go, bisection", "go", "log n",
         "package main\nfunc f(a []int, t int) int { lo, hi := 0, len(a); for lo < hi {\n"
         "mid := (lo+hi)/2; if a[mid] < t { lo = mid+1 } else { hi = mid } }; return lo }"),
    Case("Go, map", "go", "n",
         "package main\nfunc f(a []int) int { m := map[int]int{}; for _, x := range a { m[x]++ }\n"
         "return len(m) }"),
    Case("Rust, pairs", "rust", "n^2",
         "use std::io; fn main(){ let mut s=String::new(); io::stdin().read_line(&mut s).unwrap();\n"
         "let n: usize = s.trim().parse().unwrap(); let mut c=0;\n"
         "for i in 0..n { for j in 0..i { c += i*j; } } println!(\"{}\",c); }"),
    Case("Rust, sort", "rust", "n log n", "fn f(v: &mut Vec<i32>) -> i32 { v.sort(); v[0] }"),
    Case("Rust, halving", "rust", "log n",
         "fn f(mut n: u64) -> u32 { let mut c=0; while n>0 { n/=2; c+=1; } c }"),
    Case("Rust, iterators", "rust", "n",
         "fn f(v: &Vec<i32>) -> i32 { let s: i32 = v.iter().map(|x| x*2).sum(); s }"),
    Case("Rust, table", "rust", "n m",
         "fn f(n: usize, m: usize) -> i32 { let mut d = vec![vec![0; m]; n];\n"
         "for i in 0..n { for j in 0..m { d[i][j] = 1; } } d[0][0] }"),
]  # fmt: skip

CASES = PYTHON + OTHERS
