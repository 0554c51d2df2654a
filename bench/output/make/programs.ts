import { random } from './random.ts';
import { type Recipe, ROOT } from './recipe.ts';

const times = <T>(count: number, make: (n: number) => T): T[] =>
  Array.from({ length: count }, (_, n) => make(n));

/** Returns a C program of many files. One file calls a function that no file defines. */
function cFiles(files: number, broken: Readonly<Record<string, string>> = {}): Record<string, string> {
  const parts = times(files, (n) => [
    `part${n}.c`,
    `#include "parts.h"\nint part_${n}(int x) {\n  int unused_${n} = x;\n  return x * ${n + 3};\n}\n`,
  ]);
  return {
    'parts.h': `${times(files, (n) => `int part_${n}(int x);`).join('\n')}\n`,
    ...Object.fromEntries(parts),
    'main.c': `#include "parts.h"\nint weigh_pallet(int kilos);\nint main(void) {\n  return ${times(files, (n) => `part_${n}(${n})`).join(' + ')} + weigh_pallet(7);\n}\n`,
    Makefile: `OBJECTS = main.o ${times(files, (n) => `part${n}.o`).join(' ')}\nshop: $(OBJECTS)\n\tgcc -o shop $(OBJECTS)\n%.o: %.c parts.h\n\tgcc -Wall -Wextra -O1 -c -o $@ $<\n`,
    ...broken,
  };
}

const C_ERRORS = `#include "parts.h"
struct shelf { int id; long free; };
int reserve(struct shelf *s, int count) {
  if (count > s->available) return -1;
  s->free -= cuont;
  char *label = s->id;
  return label;
}
`;

const CPP_TEMPLATE = `template <class T> struct Price { T cents; Price operator+(const Price& o) const { return {cents + o.cents}; } };
struct Label { const char* text; };
template <class T> T sum(const T* rows, int n) { T all = rows[0]; for (int i = 1; i < n; i++) all = all + rows[i]; return all; }
${times(60, (n) => `int bin_${n}(int unused_arg_${n}) { unsigned a = ${n}; int b = -1; return a < b ? ${n} : 0; }`).join('\n')}
int main() {
  Price<int> a[2] = {{1}, {2}};
  Label l[2] = {{"chair"}, {"lamp"}};
  sum(a, 2);
  sum(l, 2);
  return a[0];
}
`;

const RUST = (count: number) => `use std::collections::HashMap;

struct Depot { name: String, shelves: HashMap<u32, Vec<String>> }

${times(count, (n) => `fn slot_${n}(input: u32) -> u32 {\n    let forgotten_${n} = input + ${n};\n    let mut counter_${n} = ${n};\n    input * 2\n}\n`).join('\n')}
fn take(depot: Depot) -> usize { depot.shelves.len() }

fn restock(depot: &Depot, shelf: u32) {
    depot.shelves.insert(shelf, vec!["chair".to_string()]);
}

fn main() {
    let depot = Depot { name: "Lund".to_string(), shelves: HashMap::new() };
    let free = take(depot);
    println!("{} has {}", depot.name, free);
    let grams: u32 = "12.5 kg";
    restock(&depot, grams);
    unload(3);
}
`;

const GO_BROKEN = {
  'go.mod': 'module example.test/shop\n\ngo 1.21\n',
  'main.go': `package main

import (
	"fmt"
	"os"

	"example.test/shop/depot"
)

func main() {
	d := depot.Open("Lund")
	var count int = d.Name
	d.Relabel("C14", 3)
	fmt.Println("rows", cuont)
	return 1
}
`,
  ...Object.fromEntries(
    times(30, (n) => [
      `row${n}/row.go`,
      `package row${n}\n\nimport "strconv"\n\nfunc Parse(s string) int {\n\tn := strconv.Atoi(s)\n\tlost := ${n}\n\treturn s + n\n}\n`,
    ]),
  ),
  'depot/depot.go': `package depot

type Depot struct{ Name string }

func Open(name string) *Depot { return &Depot{Name: name} }

func (d *Depot) Relabel(bin string) error { return nil }
`,
};
/** A Go program with printf mistakes in many packages. `go vet` reports one per line. */
const GO_VET = {
  'go.mod': 'module example.test/shop\n\ngo 1.21\n',
  ...Object.fromEntries(
    times(60, (n) => [
      `p${n}/p.go`,
      `package p${n}\n\nimport "fmt"\n\n${times(6, (m) => `func Row${m}(x int) string { return fmt.Sprintf("%s row ${m}", x) }\n`).join('\n')}${n === 23 ? '\nfunc Lost() { for { }; fmt.Println("never reached") }\n' : ''}`,
    ]),
  ),
};

const JAVA_BROKEN = `import java.util.*;
public class Shop {
  ${times(30, (n) => `static List rows${n}() { List l = new ArrayList(); l.add(${n}); return l; }`).join('\n  ')}
  static int total(List<Integer> rows) { int sum = 0; for (int r : rows) sum += r; return sum; }
  public static void main(String[] args) {
    int grams = "12 kg";
    String depot = total(List.of(1, 2));
    Parcel p = new Parcel(7);
    System.out.println(grams + depot.lenght());
  }
}
`;

const MYPY_FILE = (n: number) => `from typing import Optional

class Shelf${n}:
    free: int = 0
    def reserve(self, count: int) -> "Shelf${n}":
        self.free -= count
        return self

def find_${n}(shelves: dict[str, Shelf${n}], key: str) -> Optional[Shelf${n}]:
    return shelves.get(key)

def first_${n}(shelves: dict[str, Shelf${n}]) -> int:
    return find_${n}(shelves, "a").free + len(${n})

def label_${n}(shelf: Shelf${n}) -> str:
    return shelf.free
`;

/** Shell command that removes the types from our sources, because eslint cannot read TypeScript. */
const STRIP = `node -e '
const { stripTypeScriptTypes } = require("node:module"); const fs = require("node:fs"); const path = require("node:path");
for (const file of fs.globSync("src/{text,base,kernel,domain}/**/*.ts", { cwd: process.argv[1] })) {
  if (file.includes(".test.") || file.includes("excerpt")) continue;
  const to = file.replace(/ts$/, "js"); fs.mkdirSync(path.dirname(to), { recursive: true });
  try { fs.writeFileSync(to, stripTypeScriptTypes(fs.readFileSync(path.join(process.argv[1], file), "utf8"))); } catch {}
}' ${ROOT}`;
const ESLINT_CONFIG = `module.exports = [{ files: ['**/*.js'], languageOptions: { ecmaVersion: 2026, sourceType: 'module' },
  rules: { 'no-magic-numbers': 'warn', 'no-undef': 'error', 'max-lines-per-function': ['error', 60], 'no-bitwise': 'error', complexity: ['warn', 8], 'no-undefined': 'warn', 'prefer-named-capture-group': 'warn' } }];`;

const THROW_JS = `
class StockError extends Error { constructor(message, options) { super(message, options); this.name = 'StockError'; this.code = 'E_SHELF_EMPTY'; this.shelf = 'N-22'; } }
function reserve(depth) { if (depth === 0) throw new StockError('shelf N-22 has 0 of 3 chairs', { cause: new RangeError('count 3 is above free 0') }); return reserve(depth - 1); }
async function checkout(order) { await null; return reserve(6); }
const rows = ${1800};
for (let n = 0; n < rows; n++) console.log('order ' + (4000 + n) + ' priced in ' + (n % 7) + ' ms, error budget untouched');
checkout({ id: 5800 });
`;
const REJECTIONS_JS = `
process.on('unhandledRejection', (error) => console.error('unhandled rejection:', error));
async function load(n) { await null; if (n % 97 === 13) return parse(n); console.log('loaded page ' + n + ' without errors'); }
function parse(n) { return JSON.parse('{"page": ' + n + ', "rows": [1, 2,}'); }
async function walk(n) { if (n < 400) { void load(n); setImmediate(() => walk(n + 1)); } else setTimeout(() => { null.total; }, 50); }
walk(0);
`;
const TRACE_PY = `
import sys
def price(row): return row["cents"] * row["count"]
def total(rows): return sum(price(row) for row in rows)
def load(path):
    try:
        return open(path).read()
    except FileNotFoundError as error:
        raise RuntimeError(f"no price list for season {path.split('-')[1]}") from error
for n in range(2900):
    print(f"checked order {7000 + n}: ok, errors=0")
    if n == 1611:
        try:
            total([{"cents": 5, "count": 1}, {"cents": 9}])
        except KeyError:
            import traceback; traceback.print_exc()
sys.stdout.flush()
load("prices-2031-draft.csv")
`;
const RECURSION_PY =
  'def descend(shelf):\n    return descend(shelf + 1)\n\ndef open_depot():\n    return even(0)\n\ndef even(n):\n    return odd(n + 1)\n\ndef odd(n):\n    if n > 900:\n        raise ValueError(f"shelf {n} is below the floor of depot Ystad")\n    return even(n + 1)\n\nopen_depot()\n';
const TRACE_JAVA = `import java.util.*;
public class Main {
  static class DepotException extends RuntimeException { DepotException(String m, Throwable c) { super(m, c); } }
  static void connect(int port) { throw new IllegalStateException("port " + port + " answered HTTP/0.9"); }
  static void open(String depot) { try { connect(5499); } catch (IllegalStateException e) { throw new DepotException("depot " + depot + " is closed", e); } }
  static int walk(int n) { if (n == 0) open("Trelleborg"); return walk(n - 1) + 1; }
  public static void main(String[] a) throws Exception {
    for (int n = 0; n < 1900; n++) {
      System.out.println("INFO  shop.Main - order " + (300 + n) + " sent, last error: none");
      if (n % 150 == 149) try { Integer.parseInt("12,5" + n); } catch (NumberFormatException e) { e.printStackTrace(System.out); }
    }
    Thread worker = new Thread(() -> walk(40), "picker-3"); worker.start(); worker.join();
    List<String> rows = List.of("chair"); System.out.println(rows.get(4));
  }
}
`;
const PANIC_GO = {
  'go.mod': 'module example.test/shop\n\ngo 1.21\n',
  'main.go': `package main

import (
	"fmt"
	"time"
)

type Shelf struct{ Free []int }

func (s *Shelf) Take(i int) int { return s.Free[i] }

func wait(n int) { time.Sleep(time.Hour) }

func main() {
	for n := 0; n < 900; n++ {
		fmt.Println("picked order", 9000+n, "errors 0")
	}
	for n := 0; n < 120; n++ {
		go wait(n)
	}
	time.Sleep(50 * time.Millisecond)
	s := &Shelf{Free: []int{4, 8}}
	fmt.Println(s.Take(11))
}
`,
};
const PANIC_RUST = {
  'Cargo.toml': '[package]\nname = "picker"\nversion = "1.3.0"\nedition = "2021"\n',
  'src/main.rs': `mod shelf { pub fn take(free: &[u32], at: usize) -> u32 { let row: Result<u32, String> = free.get(at).copied().ok_or(format!("no slot {} on shelf K-9", at)); row.expect("slot must exist") } }
fn walk(depth: u32) -> u32 { if depth == 0 { shelf::take(&[1, 2, 3], 64) } else { walk(depth - 1) + 1 } }
fn main() {
    for n in 0..700 { println!("picked row {} from shelf K-{} (0 errors)", n, n % 9); }
    println!("{}", walk(25));
}
`,
};

const rng = random(41);
/** A task runner that prints progress with carriage returns, as bundlers and package managers do. */
const BUNDLE_JS = `
const modules = ${JSON.stringify(times(420, (n) => `src/${rng.pick(['cart', 'depot', 'admin', 'label', 'search'])}/${rng.pick(['view', 'model', 'route', 'style', 'worker'])}-${n}.ts`))};
process.stdout.write('\\x1b[36mshop-bundler 4.2.0\\x1b[0m building for production...\\n');
modules.forEach((file, n) => { process.stdout.write('\\r\\x1b[Ktransforming (' + (n + 1) + ') ' + file); });
process.stdout.write('\\r\\x1b[K\\x1b[32m✓\\x1b[0m 420 modules transformed.\\n');
modules.forEach((file, n) => {
  if (n % 60 === 31) console.log('\\x1b[33mwarning\\x1b[0m ' + file + ': "Errors" is imported but never used');
  if (n === 287) console.log('\\x1b[33mwarning\\x1b[0m circular import: src/depot/model-287.ts -> src/cart/route-91.ts -> src/depot/model-287.ts');
  console.log('dist/assets/' + file.split('/').pop().replace('.ts', '') + '-' + (n * 7919 % 65536).toString(16).padStart(4, '0') + '.js  ' + (3 + n * 37 % 190) + '.' + (n % 100) + ' kB │ gzip: ' + (1 + n * 11 % 60) + '.' + (n % 10) + ' kB');
});
console.log('\\n\\x1b[33m(!) Some chunks are larger than 180 kB after minification: admin-shell (412.7 kB)\\x1b[0m');
console.log('\\x1b[32m✓ built in 7.41s\\x1b[0m');
`;

const CARGO_BUILD = {
  'Cargo.toml': `[workspace]\nmembers = [${times(24, (n) => `"crate${n}"`).join(', ')}]\nresolver = "2"\n`,
  ...Object.fromEntries(
    times(24, (n) => [
      [
        `crate${n}/Cargo.toml`,
        `[package]\nname = "crate${n}"\nversion = "0.${n}.1"\nedition = "2021"\n${n > 0 ? `[dependencies]\ncrate${n - 1} = { path = "../crate${n - 1}" }\n` : ''}`,
      ],
      [
        `crate${n}/src/lib.rs`,
        `${times(8, (m) => `pub fn f${m}(x: u32) -> u32 {\n    let idle_${n}_${m} = x;\n    x + ${m}\n}\n`).join('\n')}${n === 19 ? '\npub fn broken() -> u32 {\n    crate18::f0("seven")\n}\n' : ''}`,
      ],
    ]).flat(),
  ),
};

export const PROGRAMS: readonly Recipe[] = [
  {
    name: 'tsc-own-strict',
    kind: 'compilers',
    displayCommand: 'npx tsc -p . --noPropertyAccessFromIndexSignature --exactOptionalPropertyTypes',
    command:
      'tsc -p . --pretty false --noPropertyAccessFromIndexSignature --exactOptionalPropertyTypes | grep -v "^node_modules\\|excerpt"',
  },
  {
    name: 'tsc-pretty',
    kind: 'compilers',
    displayCommand: 'npx tsc --pretty',
    command: 'tsc --pretty --strict --noEmit --target es2022 --types "" *.ts',
    env: { FORCE_COLOR: '1' },
    files: Object.fromEntries(
      times(12, (n) => [
        `shelf${n}.ts`,
        `export interface Shelf${n} { id: string; free: number; bin?: { row: number } }\nexport function label${n}(s: Shelf${n}): string {\n  return s.bin.row + s.free;\n}\nexport const first${n}: Shelf${n} = { id: ${n}, free: 'none' };\n${n === 7 ? "import { depot } from './depot-lund.js';\nexport const kilos: bigint = depot.weight(12.5);\n" : ''}`,
      ]),
    ),
  },
  {
    name: 'mypy-failing',
    kind: 'compilers',
    displayCommand: 'mypy shop',
    command: 'mypy --no-incremental --strict shop',
    files: {
      'shop/__init__.py': '',
      ...Object.fromEntries(
        times(100, (n) => [
          `shop/shelf${n}.py`,
          MYPY_FILE(n) +
            (n === 44
              ? '\nfrom depot_api import Gateway\nclass Fast(Gateway):\n    def send(self, grams: float) -> None: ...\n'
              : ''),
        ]),
      ),
    },
  },
  {
    name: 'gcc-errors',
    kind: 'compilers',
    displayCommand: 'make -k',
    command: 'make -k -j1',
    files: cFiles(220, { 'part130.c': C_ERRORS }),
  },
  {
    name: 'gcc-template',
    kind: 'compilers',
    displayCommand: 'g++ -Wall -Wextra shop.cpp',
    files: { 'shop.cpp': CPP_TEMPLATE },
  },
  {
    name: 'rustc-errors',
    kind: 'compilers',
    displayCommand: 'cargo build',
    files: {
      'Cargo.toml': '[package]\nname = "depot"\nversion = "0.1.0"\nedition = "2021"\n',
      'src/main.rs': RUST(110),
    },
  },
  { name: 'go-build-errors', kind: 'compilers', displayCommand: 'go build ./...', files: GO_BROKEN },
  { name: 'go-vet', kind: 'linters', displayCommand: 'go vet ./...', files: GO_VET },
  {
    name: 'javac-errors',
    kind: 'compilers',
    displayCommand: 'javac -Xlint Shop.java',
    files: { 'Shop.java': JAVA_BROKEN },
  },
  {
    name: 'biome-own',
    kind: 'linters',
    displayCommand: 'npx biome lint src/text src/base src/kernel',
    command:
      'biome lint --colors=off --max-diagnostics=400 --only=complexity --only=style/useNamingConvention --only=style/useBlockStatements --only=style/noNonNullAssertion src/text/parts src/text/preview src/base src/kernel',
  },
  {
    name: 'eslint-own',
    kind: 'linters',
    displayCommand: 'npx eslint .',
    command: 'eslint --no-color .',
    before: STRIP,
    files: {
      'eslint.config.cjs': ESLINT_CONFIG,
      'depot.js': 'export const open = () => retry(bin => bim.open(), 3);\n',
    },
  },
  {
    name: 'ruff-own',
    kind: 'linters',
    displayCommand: 'ruff check --select ALL python',
    command:
      'ruff check --no-cache --isolated --select ANN,D,PLR,S,TRY,EM,PERF --output-format full python/src',
  },
  {
    name: 'ruff-concise',
    kind: 'linters',
    displayCommand: 'ruff check --output-format concise python',
    command: 'ruff check --no-cache --isolated --select ALL --output-format concise python/src',
  },
  {
    name: 'make-link-error',
    kind: 'builds',
    displayCommand: 'make',
    command: 'make -j1',
    files: cFiles(230),
  },
  {
    name: 'cargo-workspace',
    kind: 'builds',
    displayCommand: 'cargo build --offline',
    command: 'cargo build --offline -j1',
    files: CARGO_BUILD,
  },
  {
    name: 'bundler-progress',
    kind: 'builds',
    displayCommand: 'npm run bundle',
    command: 'node bundle.js',
    files: { 'bundle.js': BUNDLE_JS },
  },
  {
    name: 'esbuild-own-analysis',
    kind: 'builds',
    displayCommand: 'npx esbuild ui/main.tsx --bundle --analyze=verbose',
    command:
      'esbuild ui/main.tsx --bundle --outdir=/tmp/shop-analysis --analyze=verbose --color=false --jsx=automatic --jsx-import-source=preact --loader:.svg=text --log-level=info',
  },
  {
    name: 'cmake-verbose',
    kind: 'builds',
    displayCommand: 'cmake -B build && cmake --build build --verbose',
    command: 'cmake -B build -DCMAKE_BUILD_TYPE=Release && cmake --build build --verbose',
    files: {
      ...cFiles(40, { 'main.c': '#include "parts.h"\nint main(void) { return part_3(1); }\n' }),
      'CMakeLists.txt': `cmake_minimum_required(VERSION 3.10)\nproject(shop C)\nadd_compile_options(-Wall -Wextra)\nadd_library(parts STATIC ${times(40, (n) => `part${n}.c`).join(' ')})\nadd_executable(shop main.c)\ntarget_link_libraries(shop parts)\nadd_custom_command(TARGET shop POST_BUILD COMMAND sh -c "echo packed shop-3.9.1.tar in 14 parts")\n`,
    },
  },
  {
    name: 'node-crash',
    kind: 'traces',
    displayCommand: 'node checkout.js',
    command: 'node checkout.js 2>&1 | cat',
    files: { 'checkout.js': THROW_JS },
  },
  {
    name: 'node-rejections',
    kind: 'traces',
    displayCommand: 'node walk.js',
    command: 'node walk.js 2>&1 | cat',
    files: { 'walk.js': REJECTIONS_JS },
  },
  {
    name: 'python-crash',
    kind: 'traces',
    displayCommand: 'python prices.py',
    command: 'python3 prices.py',
    files: { 'prices.py': TRACE_PY },
  },
  {
    name: 'python-deep',
    kind: 'traces',
    displayCommand: 'python depot.py',
    command: 'python3 depot.py',
    files: { 'depot.py': RECURSION_PY },
  },
  {
    name: 'java-crash',
    kind: 'traces',
    displayCommand: 'java Main',
    before: 'javac Main.java',
    command: 'java Main',
    files: { 'Main.java': TRACE_JAVA },
  },
  {
    name: 'go-panic',
    kind: 'traces',
    displayCommand: 'go run .',
    files: PANIC_GO,
    env: { GOTRACEBACK: 'all' },
  },
  {
    name: 'rust-panic',
    kind: 'traces',
    displayCommand: 'RUST_BACKTRACE=1 cargo run',
    command: 'RUST_BACKTRACE=1 cargo run -q',
    before: 'cargo build -q',
    files: PANIC_RUST,
  },
];
