import { type Recipe, ROOT } from './recipe.ts';

const RANDOM_JS = `
let state = SEED;
const next = () => { state = (state + 0x6d2b79f5) >>> 0; let t = state; t = Math.imul(t ^ (t >>> 15), t | 1); t ^= t + Math.imul(t ^ (t >>> 7), t | 61); return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32; };
const int = (a, b) => a + Math.floor(next() * (b - a + 1));
const pick = (list) => list[int(0, list.length - 1)];
const hex = (n) => Array.from({ length: n }, () => int(0, 15).toString(16)).join('');
const names = ['Ada Holm', 'Bo Lind', 'Chiara Neri', 'Dov Katz', 'Elif Kaya', 'Farid Aziz', 'Grete Moe', 'Hugo Paz'];
const goods = ['chair', 'lamp', 'table', 'sofa', 'shelf', 'rug', 'clock', 'mirror'];
const cities = ['Lund', 'Ystad', 'Kiel', 'Gent', 'Porto', 'Turku', 'Brno', 'Cork'];
`;
const program = (seed: number, body: string) => ({
  'api.js': RANDOM_JS.replace('SEED', String(seed)) + body,
});

const ORDER = `const order = (n) => ({ id: 50000 + n, number: 'SO-' + (2026 * 10000 + n), status: n === 811 ? 'on_hold' : pick(['paid', 'sent', 'open']), customer: { id: int(100, 999), name: pick(names), city: pick(cities) }, rows: Array.from({ length: int(1, 3) }, () => ({ sku: pick(goods).toUpperCase() + '-' + int(1, 40), count: int(1, 5), cents: int(500, 90000) })), note: n === 811 ? 'hold: customs asks for form CN-23/B' : null, created_at: '2026-05-' + String(1 + n % 28).padStart(2, '0') + 'T08:00:00Z' });`;
const ORDERS = program(
  21,
  `${ORDER}
console.log(JSON.stringify({ data: Array.from({ length: 1500 }, (_, n) => order(n)), page: { size: 1500, total: 48213, next_cursor: 'eyJwIjoyfQ-73af' } }, null, 2));`,
);
const ORDERS_MINIFIED = program(
  22,
  `${ORDER}
console.log(JSON.stringify({ meta: { request_id: 'req_5c2e91b7', region: 'eu-north-7', took_ms: 418 }, data: Array.from({ length: 2600 }, (_, n) => order(n)), page: { total: 51907, next_cursor: 'c-88fe01' } }));`,
);
const PODS = program(
  23,
  `
const pod = (n) => ({ metadata: { name: 'shop-' + pick(['web', 'jobs', 'mail']) + '-' + hex(5), namespace: 'shop', labels: { app: 'shop', tier: pick(['front', 'back']) }, uid: hex(8) + '-' + hex(4) }, spec: { nodeName: 'node-' + int(1, 9), containers: [{ name: 'main', image: 'registry.example/shop:3.9.' + int(0, 2), resources: { limits: { memory: pick(['256Mi', '512Mi']) } } }] }, status: n === 97 ? { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: ephemeral-storage. Threshold 1717986918, available 904112Ki.' } : { phase: 'Running', podIP: '10.8.' + int(0, 9) + '.' + int(1, 250), restartCount: n === 140 ? 318 : int(0, 3) } });
console.log(JSON.stringify({ apiVersion: 'v1', kind: 'List', items: Array.from({ length: 190 }, (_, n) => pod(n)) }, null, 4));`,
);
const PROBLEM = program(
  24,
  `
console.log(JSON.stringify({ type: 'https://shop.example/problems/validation', title: 'Validation failed', status: 422, instance: '/api/import/91', errors: Array.from({ length: 60 }, (_, n) => ({ row: n * 7 + 3, field: pick(['price', 'sku', 'weight', 'city']), value: n === 38 ? '1,2e9' : hex(4), message: n === 38 ? 'price must be below 1000000' : pick(['must not be empty', 'is not known', 'is too long']) })), trace_id: '4bf92f35-77b3' }, null, 2));`,
);
const EVENTS = program(
  25,
  `
for (let n = 0; n < 12000; n++) {
  const event = { seq: 700000 + n, type: pick(['cart.add', 'cart.remove', 'page.view', 'search']), user: 'u_' + int(10000, 69999), item: pick(goods) + '-' + int(1, 99), ms: int(1, 400) };
  if (n === 8123) Object.assign(event, { type: 'refund.rejected', user: 'u_90210', cents: 418000, reason: 'older than 365 days' });
  console.log(JSON.stringify(event));
}
console.log(JSON.stringify({ seq: 712000, type: 'stream.end', checkpoint: 'chk-0051d7', lag_ms: 27 }));`,
);

const SALES = program(
  31,
  `
console.log('order_id,date,customer,city,sku,count,unit_price,discount,total,comment');
for (let n = 0; n < 15000; n++) {
  const count = int(1, 6), price = int(500, 90000);
  const odd = n === 7421 ? ['"returned, box ""open"" on arrival"'] : n === 11902 ? ['"gift for U. Eriksson, do not ring"'] : [''];
  console.log([100000 + n, '2026-0' + (1 + n % 6) + '-' + String(1 + n % 28).padStart(2, '0'), pick(names), pick(cities), pick(goods) + '-' + int(1, 60), count, price, pick([0, 0, 0, 5, 10]), n === 7421 ? -1 * count * price : count * price, odd].join(','));
}`,
);
const STOCK_TABLE = program(
  32,
  `
const rows = Array.from({ length: 900 }, (_, n) => ({ shelf: pick('ABCDEFGH'.split('')) + '-' + String(n).padStart(3, '0'), sku: pick(goods).toUpperCase() + '-' + int(1, 60), free: n === 512 ? -14 : int(0, 99), reserved: int(0, 9), checked: '2026-04-' + String(1 + n % 28).padStart(2, '0'), by: pick(names) }));
console.table(rows);`,
);
const QUERY = program(
  33,
  `
const { DatabaseSync } = require('node:sqlite');
const db = new DatabaseSync(':memory:');
db.exec('create table parcel (id integer, depot text, kilos real, state text, carrier text)');
const insert = db.prepare('insert into parcel values (?, ?, ?, ?, ?)');
for (let n = 0; n < 1400; n++) insert.run(6000 + n, pick(cities), n === 933 ? 412.75 : int(1, 300) / 10, n === 1177 ? 'lost at sea' : pick(['sent', 'packed', 'delivered']), pick(['NordPost', 'Ekspres', 'BlueVan']));
const rows = db.prepare('select * from parcel').all();
const columns = Object.keys(rows[0]);
const widths = columns.map((c) => Math.max(c.length, ...rows.map((r) => String(r[c]).length)));
const print = (cells) => console.log(' ' + cells.map((cell, i) => String(cell).padEnd(widths[i])).join(' | '));
print(columns); console.log(widths.map((w) => '-'.repeat(w + 2)).join('+'));
for (const row of rows) print(Object.values(row));
console.log('(' + rows.length + ' rows)\\n\\nTime: 38.114 ms');`,
);
const PROCESSES = program(
  34,
  `
console.log('NAME                         READY   STATUS             RESTARTS   AGE     NODE');
for (let n = 0; n < 95; n++) console.log(('shop-' + pick(['web', 'jobs', 'mail', 'search']) + '-' + hex(9) + '-' + hex(4)).padEnd(29) + (n === 61 ? '0/1     ImagePullBackOff   0          ' : '1/1     Running            ' + String(int(0, 2)).padEnd(11)) + (int(1, 40) + 'd').padEnd(8) + 'node-' + (n === 61 ? 6 : int(1, 9)));`,
);

const ERROR_PAGE = program(
  35,
  `
const esc = (s) => s.replaceAll('<', '&lt;');
const vars = Array.from({ length: 260 }, (_, n) => '<tr><td>SHOP_SETTING_' + n + '</td><td class="code"><pre>' + hex(24) + '</pre></td></tr>');
console.log('<!DOCTYPE html>\\n<html lang="en">\\n<head>\\n<meta charset="utf-8">\\n<title>TemplateMissing at /orders/88341/label</title>\\n<style>');
for (let n = 0; n < 120; n++) console.log('  .c' + n + ' { margin: ' + n + 'px; color: #' + hex(6) + '; }');
console.log('</style>\\n</head>\\n<body>\\n<h1>TemplateMissing at /orders/88341/label</h1>\\n<p class="summary">No template <b>labels/customs-cn23.html</b> in 4 folders</p>\\n<table class="meta"><tr><th>Request method</th><td>GET</td></tr>\\n<tr><th>Exception location</th><td>/srv/shop/render.py, line 97, in find_template</td></tr></table>');
console.log('<h2>Traceback</h2>\\n<ul class="traceback">');
for (let n = 0; n < 40; n++) console.log('<li class="frame"><code>/srv/shop/' + pick(['web', 'core', 'render']) + '.py</code>, line ' + int(10, 400) + ', in ' + pick(['handle', 'call', 'render', 'find']) + '_' + n + '<pre>' + esc('if x < ' + n + ': return next(request)') + '</pre></li>');
console.log('</ul>\\n<h2>Settings</h2>\\n<table>\\n' + vars.join('\\n') + '\\n</table>\\n<footer>Shop 3.9.1, debug mode, incident INC-20417</footer>\\n</body>\\n</html>');`,
);

/** Shell command that unpacks the files of one commit of this repository. */
const CHECKOUT = `git -C ${ROOT} archive 0177b28b | tar x`;

const node = 'node api.js';

export const DATA: readonly Recipe[] = [
  {
    name: 'orders-json',
    kind: 'json',
    displayCommand: 'curl -s https://shop.example/api/orders | jq .',
    command: node,
    files: ORDERS,
  },
  {
    name: 'orders-minified',
    kind: 'json',
    displayCommand: 'curl -s https://shop.example/api/orders',
    command: node,
    files: ORDERS_MINIFIED,
  },
  { name: 'pods-json', kind: 'json', displayCommand: 'kubectl get pods -o json', command: node, files: PODS },
  {
    name: 'problem-json',
    kind: 'json',
    displayCommand: 'curl -s -d @rows.csv https://shop.example/api/import',
    command: node,
    files: PROBLEM,
  },
  {
    name: 'openapi-own',
    kind: 'json',
    displayCommand: 'curl -s http://127.0.0.1:7474/openapi.json | jq .',
    command: `RELAY_HOME=$(mktemp -d) node dist/cli/relay.js up --port 7491 >/dev/null 2>&1 & sleep 6; curl -s http://127.0.0.1:7491/openapi.json | python3 -m json.tool --no-ensure-ascii; kill %1`,
  },
  { name: 'events-jsonl', kind: 'json', displayCommand: 'cat events.jsonl', command: node, files: EVENTS },
  { name: 'sales-csv', kind: 'tables', displayCommand: 'cat sales.csv', command: node, files: SALES },
  { name: 'stock-table', kind: 'tables', displayCommand: 'node stock.js', command: node, files: STOCK_TABLE },
  {
    name: 'query-table',
    kind: 'tables',
    displayCommand: "psql -c 'select * from parcel'",
    command: node,
    files: QUERY,
  },
  {
    name: 'pods-table',
    kind: 'tables',
    displayCommand: 'kubectl get pods -o wide',
    command: node,
    files: PROCESSES,
  },
  {
    name: 'diff-large',
    kind: 'diffs',
    displayCommand: 'git diff v0.1.0',
    command: 'git diff 0177b28b~120 0177b28b~70 -- src ":!*.json"',
  },
  {
    name: 'diff-small',
    kind: 'diffs',
    displayCommand: 'git show',
    command: 'git show --format="commit %h%n%n    %s%n" 7c9da144',
  },
  {
    name: 'diff-medium',
    kind: 'diffs',
    displayCommand: 'git show',
    command: 'git show --format="commit %h%n%n    %s%n" bc303407',
  },
  {
    name: 'diff-stat',
    kind: 'diffs',
    displayCommand: 'git diff --stat v0.1.0',
    command: 'git diff --stat=120 0177b28b~300 0177b28b',
  },
  {
    name: 'git-log-stat',
    kind: 'diffs',
    displayCommand: 'git log --stat',
    command: 'git log --stat=100 --format="commit %h%n%n    %s%n" -n 90 0177b28b',
  },
  { name: 'find-own', kind: 'listings', displayCommand: 'find . -type f', files: {}, before: CHECKOUT },
  {
    name: 'ls-own',
    kind: 'listings',
    displayCommand: 'ls -lR',
    files: {},
    before: CHECKOUT,
    command: "ls -lR --time-style='+%Y-%m-%d %H:%M'",
    replace: [
      [/ root +root /g, ' dev  dev  '],
      [/ 20\d\d-\d\d-\d\d \d\d:\d\d /g, ' 2026-03-14 10:15 '],
    ],
  },
  {
    name: 'du-own',
    kind: 'listings',
    displayCommand: 'du -ab | sort -n',
    files: {},
    before: CHECKOUT,
    command: 'du -ab | sort -n -k1,1 -k2',
  },
  {
    name: 'find-small',
    kind: 'listings',
    displayCommand: 'find docs examples -type f -printf "%s %p\\n"',
    files: {},
    before: CHECKOUT,
  },
  {
    name: 'docs-html',
    kind: 'html',
    displayCommand: 'curl -s https://contextrelay.example/docs/threads.html',
    command: 'cat dist/docs/threads.html',
  },
  {
    name: 'api-html',
    kind: 'html',
    displayCommand: 'curl -s https://contextrelay.example/docs/api.html',
    command: 'cat dist/docs/api.html',
  },
  {
    name: 'error-page',
    kind: 'html',
    displayCommand: 'curl -s https://shop.example/orders/88341/label',
    command: node,
    files: ERROR_PAGE,
  },
];
