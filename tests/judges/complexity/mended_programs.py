# ruff: noqa: E501 -- programs are kept as they are
"""Hand-written programs about sharing, bounds and names: rules that were once read wrongly."""

from __future__ import annotations

from tests.judges.complexity.static_programs import Case

MENDED = [
    Case("interval dp memo dict py, python", "python", "n^3",
         """n = int(input())
a = list(map(int, input().split()))
memo = {}
def f(i, j):
    if i == j:
        return 0
    if (i, j) in memo:
        return memo[i, j]
    best = 10**9
    for k in range(i, j):
        best = min(best, f(i, k) + f(k + 1, j) + a[i] * a[k] * a[j])
    memo[i, j] = best
    return best
print(f(0, n - 1))
"""),
    Case("interval dp table updated inside, python", "python", "n^3",
         """n = int(input())
a = list(map(int, input().split()))
dp = [[-1] * n for _ in range(n)]
def f(i, j):
    if i >= j:
        return 0
    if dp[i][j] != -1:
        return dp[i][j]
    dp[i][j] = 10**9
    for k in range(i, j):
        dp[i][j] = min(dp[i][j], f(i, k) + f(k + 1, j) + a[i] * a[k] * a[j])
    return dp[i][j]
print(f(0, n - 1))
"""),
    Case("interval dp cache, python", "python", "n^3",
         """from functools import lru_cache
n = int(input())
a = list(map(int, input().split()))
@lru_cache(None)
def f(i, j):
    if i >= j:
        return 0
    return min(f(i, k) + f(k + 1, j) + a[i] * a[k] * a[j] for k in range(i, j))
print(f(0, n - 1))
"""),
    Case("interval dp cpp, cpp", "cpp", "n^3",
         """#include <bits/stdc++.h>
using namespace std;
int n, a[505], dp[505][505];
int f(int l, int r) {
    if (l >= r) return 0;
    if (dp[l][r] != -1) return dp[l][r];
    int best = 1e9;
    for (int k = l; k < r; k++) best = min(best, f(l, k) + f(k + 1, r) + a[l] * a[k] * a[r]);
    return dp[l][r] = best;
}
int main() {
    cin >> n;
    for (int i = 0; i < n; i++) cin >> a[i];
    memset(dp, -1, sizeof dp);
    cout << f(0, n - 1);
}
"""),
    Case("interval dp cpp seen, cpp", "cpp", "n^3",
         """#include <bits/stdc++.h>
using namespace std;
int n, a[505], dp[505][505];
bool seen[505][505];
int f(int l, int r) {
    if (l >= r) return 0;
    int &best = dp[l][r];
    if (seen[l][r]) return best;
    seen[l][r] = true;
    best = 1e9;
    for (int k = l; k < r; k++) best = min(best, f(l, k) + f(k + 1, r) + a[l] * a[k] * a[r]);
    return best;
}
int main() {
    cin >> n;
    for (int i = 0; i < n; i++) cin >> a[i];
    cout << f(0, n - 1);
}
"""),
    Case("interval dp java, java", "java", "n^3",
         """import java.util.*;
class Main {
    static int[] a; static int[][] dp; static boolean[][] seen;
    static int f(int l, int r) {
        if (l >= r) return 0;
        if (seen[l][r]) return dp[l][r];
        seen[l][r] = true;
        int best = 1000000000;
        for (int k = l; k < r; k++) best = Math.min(best, f(l, k) + f(k + 1, r) + a[l] * a[k] * a[r]);
        dp[l][r] = best;
        return best;
    }
    public static void main(String[] args) {
        Scanner s = new Scanner(System.in);
        int n = s.nextInt();
        a = new int[n]; dp = new int[n][n]; seen = new boolean[n][n];
        for (int i = 0; i < n; i++) a[i] = s.nextInt();
        System.out.println(f(0, n - 1));
    }
}
"""),
    Case("search over a matrix, python", "python", "n^2",
         """n = int(input())
g = [list(map(int, input().split())) for _ in range(n)]
seen = [False] * n
def dfs(u):
    seen[u] = True
    for v in range(n):
        if g[u][v] and not seen[v]:
            dfs(v)
for i in range(n):
    if not seen[i]:
        dfs(i)
"""),
    Case("alias read, python", "python", "n",
         """z = input
n = int(z())
a = list(map(int, z().split()))
for x in a:
    print(x)
"""),
    Case("an alias reads the cases, python", "python", "n",
         """I = input
for _ in range(int(I())):
    n = int(I())
    a = [*map(int, I().split())]
    print(sum(a))
"""),
    Case("alias readline, python", "python", "n^2",
         """import sys
rd = sys.stdin.readline
n = int(rd())
for i in range(n):
    for j in range(n):
        print(i)
"""),
    Case("alias pair, python", "python", "n",
         """I, P = input, print
n = int(I())
for i in range(n):
    P(i)
"""),
    Case("alias js, javascript", "javascript", "n",
         """const rl = readline;
const n = parseInt(rl());
for (let i = 0; i < n; i++) { print(i); }
"""),
    Case("euclid swap, python", "python", "log n + log m",
         """def g(a, b):
    if a < b:
        return g(b, a)
    if b == 0:
        return a
    return g(b, a % b)
a, b = map(int, input().split())
print(g(a, b))
"""),
    Case("euclid swap2, python", "python", "log n",
         """def g(a, b):
    if a < b:
        a, b = b, a
    if b == 0:
        return a
    return g(a % b, b)
a, b = map(int, input().split())
print(g(a, b))
"""),
    Case("euclid swap c, c", "c", "log n + log m",
         """#include <stdio.h>
int g(int a, int b) {
 if (a < b) return g(b, a);
 if (b == 0) return a;
 return g(b, a % b);
}
int main() { int a, b; scanf("%d %d", &a, &b); printf("%d", g(a, b)); }
"""),
    Case("euclid minus quotient, python", "python", "log n",
         """a, b = map(int, input().split())
while a and b:
    if a > b:
        a -= b * (a // b)
    else:
        b -= a * (b // a)
print(a + b)
"""),
    Case("euclid minus quotient2, python", "python", "log n",
         """a, b = map(int, input().split())
while b:
    a, b = b, a - a // b * b
print(a)
"""),
    Case("ext euclid, python", "python", "log n",
         """a, b = map(int, input().split())
x, y = 1, 0
while b:
    q = a // b
    a, b = b, a - q * b
    x, y = y, x - q * y
print(a)
"""),
    Case("ext euclid java, java", "java", "log n",
         """import java.util.*;
class M { public static void main(String[] z) { Scanner s = new Scanner(System.in); long a = s.nextLong(), b = s.nextLong();
 while (b != 0) { long q = a / b; long t = a - q * b; a = b; b = t; }
 System.out.println(a); } }
"""),
    Case("euclid go, go", "go", "log n",
         """package main
import "fmt"
func main() {
 var a, b int
 fmt.Scan(&a, &b)
 for b > 0 {
  a, b = b, a-a/b*b
 }
 fmt.Println(a)
}
"""),
    Case("subtractive, python", "python", "n",
         """a, b = map(int, input().split())
while a != b:
    if a > b:
        a -= b
    else:
        b -= a
print(a)
"""),
    Case("runs i=j, python", "python", "n",
         """n = int(input())
a = list(map(int, input().split()))
i = 0
while i < n:
    j = i
    while j < n and a[j] == a[i]:
        j += 1
    print(j - i)
    i = j
"""),
    Case("runs i+=a, python", "python", "n",
         """n = int(input())
a = list(map(int, input().split()))
i = 0
while i < n:
    c = 1
    while i + c < n and a[i + c] == a[i]:
        c += 1
    i += c
"""),
    Case("rucksack data, python", "python", "n k + k",
         """import sys
data = list(map(int, sys.stdin.read().split()))
n, k = data[0], data[1]
best = [0] * (k + 1)
for i in range(n):
    w, v = data[2 + 2 * i], data[3 + 2 * i]
    for room in range(k, w - 1, -1):
        best[room] = max(best[room], best[room - w] + v)
print(best[k])
"""),
    Case("bounded heap, python", "python", "n log k",
         """import heapq
n, k = map(int, input().split())
a = list(map(int, input().split()))
h = []
for x in a:
    heapq.heappush(h, x)
    if len(h) > k:
        heapq.heappop(h)
print(h[0])
"""),
    Case("bounded heap java, java", "java", "n log k",
         """import java.util.*;
class M { public static void main(String[] z) { Scanner s = new Scanner(System.in); int n = s.nextInt(), k = s.nextInt();
 PriorityQueue<Integer> q = new PriorityQueue<>();
 for (int i = 0; i < n; i++) { q.add(s.nextInt()); if (q.size() > k) q.poll(); }
 System.out.println(q.peek()); } }
"""),
    Case("bounded cpp, cpp", "cpp", "n log k",
         """#include <bits/stdc++.h>
using namespace std;
int main() { int n, k; cin >> n >> k; priority_queue<int> q;
 for (int i = 0; i < n; i++) { int x; cin >> x; q.push(x); if ((int)q.size() > k) q.pop(); }
 cout << q.top(); }
"""),
    Case("hull not capped, python", "python", "n^2",
         """n = int(input())
p = sorted(map(int, input().split()))
st = []
for x in p:
    while len(st) >= 2 and st[-1] + st[-2] < x:
        st.pop()
    st.append(x)
for x in st:
    for y in st:
        print(x)
"""),
    Case("a branch for small k, python", "python", "n",
         """n, k = map(int, input().split())
a = list(map(int, input().split()))
if k <= 8:
    for i in range(n):
        for j in range(k):
            print(j)
else:
    for x in a:
        print(x)
"""),
    Case("a branch for large k, python", "python", "n k",
         """n, k = map(int, input().split())
if k > 8:
    for i in range(n):
        for j in range(k):
            print(j)
else:
    print(n)
"""),
    Case("filter layers, python", "python", "n^2",
         """n = int(input())
left = list(map(int, input().split()))
while left:
    low = min(left)
    rest = []
    for x in left:
        if x != low:
            rest.append(x)
    left = rest
"""),
    Case("stride, python", "python", "n^(3/2)",
         """import sys
v = list(map(int, sys.stdin.read().split()))
n = len(v)
s = int(n ** 0.5)
for i in range(n):
    for j in range(i, n, s):
        print(v[j])
"""),
    Case("bit length, python", "python", "log n",
         """n = int(input())
step = 1 << n.bit_length()
while step:
    step >>= 1
"""),
    Case("spread of a map in a list, python", "python", "n m",
         """I = lambda: [*map(int, input().split())]
n, m = I()
for i in range(n):
    for j in range(m):
        print(i)
"""),
    Case("numbers of one line by place, python", "python", "n m",
         """a = list(map(int, input().split()))
for i in range(a[0]):
    for j in range(a[1]):
        print(j)
"""),
    Case("edges of a whole input, python", "python", "n m",
         """import sys
data = list(map(int, sys.stdin.read().split()))
n, m = data[0], data[1]
for i in range(n):
    for j in range(m):
        print(data[2 + 2 * j])
"""),
    Case("the first number says how many follow, python", "python", "n",
         """import sys
data = list(map(int, sys.stdin.read().split()))
n = data[0]
for i in range(n):
    print(data[1 + i])
"""),
    Case("a name of its own for range, python", "python", "n^2",
         """R = range
n = int(input())
for i in R(n):
    for j in R(n):
        print(i)
"""),
    Case("runs with a counter that starts again, python", "python", "n^2",
         """n = int(input())
a = list(map(int, input().split()))
i = 0
while i < n:
    j = 0
    while j < n and a[j] <= a[i]:
        j += 1
    i += 1
"""),
    Case("runs, cpp", "cpp", "n",
         """#include <bits/stdc++.h>
using namespace std;
int main() { int n; cin >> n; vector<int> a(n); for (auto &x : a) cin >> x;
 int i = 0, best = 0; while (i < n) { int j = i + 1; while (j < n && a[j] == a[i]) j++;
 best = max(best, j - i); i = j; } cout << best; }
"""),
    Case("runs, java", "java", "n",
         """class M { static int f(int[] a) { int n = a.length, i = 0, b = 0; while (i < n) { int j = i;
 while (j < n && a[j] == a[i]) j++; b = Math.max(b, j - i); i = j; } return b; } }
"""),
    Case("a stack that one test shortens now and then, python", "python", "n^2",
         """n = int(input())
p = list(map(int, input().split()))
st = []
for x in p:
    if len(st) > 1 and st[-1] < x:
        st.pop()
    st.append(x)
for x in st:
    for y in st:
        print(x)
"""),
]  # fmt: skip
