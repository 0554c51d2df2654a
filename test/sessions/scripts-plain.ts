// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the shell scripts of a session have variables.
import type { SessionScript } from './script.ts';

/**
 * Half of the recorded sessions. Their author had not read the extractor, and avoided words that announce a decision or
 * a failure. Do not adapt them to the extractor: they measure how it handles sessions that it was not written for.
 */
export const PLAIN_SCRIPTS: readonly SessionScript[] = [
  {
    name: 'invoice-cents',
    client: 'claude',
    files: {
      'billing/__init__.py': '',
      'billing/totals.py':
        'def total(lines):\n    """Sum of quantity times price, as text with two decimals."""\n    amount = sum(float(q) * float(p) for q, p in lines)\n    return \'%.2f\' % amount\n',
      'billing/export.py':
        "import csv\n\nCOLUMNS = ['number', 'date', 'net', 'vat', 'gross']\n\ndef write(rows, out):\n    w = csv.writer(out)\n    w.writerow(COLUMNS)\n    for r in rows:\n        net = float(r['net'])\n        w.writerow([r['number'], r['date'], net, net * 0.19, net * 1.19])\n",
      'tests/test_totals.py':
        "import unittest\nfrom billing.totals import total\n\nclass Totals(unittest.TestCase):\n    def test_half_cents_per_line(self):\n        self.assertEqual(total([('1', '0.125'), ('1', '0.125')]), '0.26')\n\n    def test_credit_note(self):\n        self.assertEqual(total([('1', '-0.125')]), '-0.13')\n",
      'tests/__init__.py': '',
      'pyproject.toml': '[project]\nname = "billing"\nrequires-python = ">=3.9"\n',
    },
    exchanges: [
      {
        prompt:
          'About one invoice in forty is a cent off what accounting has. They round every line and add the rounded lines up, we add first and round at the end. Please do it their way. The API hands amounts over as text and gets text back, that stays.',
        steps: [
          { say: "I'll start with the code that adds the lines.", read: 'billing/totals.py' },
          { run: 'python3 -m unittest tests.test_totals' },
          {
            say: 'Moving round() into the loop is the smallest step.',
            write: 'billing/totals.py',
            text: 'def total(lines):\n    """Sum of the rounded lines, as text with two decimals."""\n    amount = sum(round(float(q) * float(p), 2) for q, p in lines)\n    return \'%.2f\' % amount\n',
          },
          { run: 'python3 -m unittest tests.test_totals' },
          {
            say: "round() picks the even neighbour, so 0.125 turns into 0.12 and both tests are still red. Accounting's tables show 0.13, that is ROUND_HALF_UP in the decimal module.",
            write: 'billing/totals.py',
            text: 'from decimal import Decimal, ROUND_HALF_UP\n\nCENT = Decimal(\'0.01\')\n\n\ndef cents(amount):\n    return amount.quantize(CENT, rounding=ROUND_HALF_UP)\n\n\ndef total(lines):\n    """Sum of the rounded lines, as text with two decimals."""\n    return str(sum((cents(Decimal(q) * Decimal(p)) for q, p in lines), Decimal(\'0.00\')))\n',
          },
          { run: 'python3 -m unittest tests.test_totals' },
        ],
        answer:
          'Lines are rounded half up with decimal and then added. Both tests are green, including the credit note: quantize moves away from zero, so -0.125 becomes -0.13.',
      },
      {
        prompt:
          'Nice. I just heard from Ingrid in accounting: quantities can have up to four decimals (cable by the metre), and for those the line is rounded after multiplying, not the quantity. Can you pin that with a test? Use 2.3456 metres at 1.99.',
        steps: [
          {
            edit: 'tests/test_totals.py',
            old: '    def test_credit_note(self):',
            new: "    def test_metres_are_not_rounded_themselves(self):\n        self.assertEqual(total([('2.3456', '1.99')]), '4.67')\n\n    def test_credit_note(self):",
          },
          { run: 'python3 -m unittest tests.test_totals' },
        ],
        answer: '2.3456 × 1.99 is 4.667744, so 4.67. The test is in and green, 3 tests now.',
      },
      {
        prompt:
          'Next one: billing/export.py. The tax adviser gets this file every quarter and loads it with a macro, so the columns must keep their order and their names. But the numbers in it are floats and look like 22.610000000000003. Two decimals, please, and a comma instead of a point because her Excel is German.',
        steps: [
          { read: 'billing/export.py' },
          {
            say: 'The locale module could do the comma.',
            run: 'python3 -c "import locale; locale.setlocale(locale.LC_NUMERIC, \'de_DE.UTF-8\'); print(locale.str(22.61))"',
          },
          {
            say: 'There is no de_DE locale on this machine, and the container has none either, so a plain replace of the point it is.',
            write: 'billing/money.py',
            text: "def german(amount):\n    return str(amount).replace('.', ',')\n",
          },
        ],
        answer:
          'I put a small german() helper into billing/money.py. Shall I wire it into the export, and should the delimiter of the file become a semicolon?',
      },
      {
        prompt:
          'No new module for one line, put it into export.py and remove money.py again. And yes, semicolon, otherwise the comma splits the cells. By the way VAT is not always 0.19: books are 0.07, the row has it in r["rate"].',
        steps: [
          { run: 'rm billing/money.py' },
          {
            write: 'billing/export.py',
            text: "import csv\nfrom decimal import Decimal\n\nfrom billing.totals import cents\n\nCOLUMNS = ['number', 'date', 'net', 'vat', 'gross']\n\n\ndef german(amount):\n    return str(amount).replace('.', ',')\n\n\ndef write(rows, out):\n    w = csv.writer(out, delimiter=';')\n    w.writerow(COLUMNS)\n    for r in rows:\n        net = cents(Decimal(r['net']))\n        vat = cents(net * Decimal(r['rate']))\n        w.writerow([r['number'], r['date'], german(net), german(vat), german(net + vat)])\n",
          },
          {
            run: "python3 -c \"import sys; from billing.export import write; write([{'number': 7, 'date': '2026-01-02', 'net': '19.00', 'rate': '0.07'}], sys.stdout)\"",
          },
        ],
        answer: 'german() lives in export.py, the delimiter is a semicolon, and VAT is taken from the row.',
      },
      {
        compaction:
          'The user is fixing rounding in a billing package. totals.py now rounds each line half up with decimal. export.py writes German numbers. Tests are green.',
        prompt:
          'Now the API. api.py does not exist yet, I want POST /invoices/total as a plain WSGI function without any framework. It answers 422 when an amount is not a number, and the answer names the line, counted from 1.',
        steps: [
          {
            write: 'billing/api.py',
            text: "import json\n\nfrom billing.totals import total\n\n\ndef app(environ, start_response):\n    size = int(environ.get('CONTENT_LENGTH') or 0)\n    lines = json.loads(environ['wsgi.input'].read(size))\n    try:\n        body, status = {'total': total(lines)}, '200 OK'\n    except ArithmeticError:\n        body, status = {'error': 'not a number'}, '422 Unprocessable Entity'\n    start_response(status, [('Content-Type', 'application/json')])\n    return [json.dumps(body).encode()]\n",
          },
          {
            run: 'python3 -c "import io; from billing.api import app; b=b\'[[\\"1\\",\\"x\\"]]\'; print(app({\'CONTENT_LENGTH\': len(b), \'wsgi.input\': io.BytesIO(b)}, lambda s, h: print(s)))"',
          },
          {
            run: 'python3 -c "import io; from billing.api import app; b=b\'[[\\"1\\",\\"NaN\\"]]\'; print(app({\'CONTENT_LENGTH\': len(b), \'wsgi.input\': io.BytesIO(b)}, lambda s, h: print(s)))"',
          },
        ],
        answer:
          'The 422 is there for x. Two gaps: the answer does not name the line yet, and NaN passes through Decimal and comes back as 200 with the total NaN.',
      },
      {
        prompt:
          'NaN and Infinity have to be 422 as well. Do not touch total() for that, check it in api.py. I have to go, write down where you are.',
        steps: [],
        answer:
          'Where I am: neither NaN nor the line number is done, and api.py has no tests. is_finite() of Decimal is the check I would use, once per line in api.py, which also gives the line number for free. Nothing is committed.',
      },
    ],
    questions: [
      ['Why were invoices a cent off?', 'round every line and add the rounded lines up'],
      ['In which form do amounts arrive from the API?', 'hands amounts over as text'],
      ['Why is round() no good here?', 'even neighbour'],
      [
        'How are cable quantities rounded, with how many decimals?',
        'four decimals',
        'rounded after multiplying',
      ],
      ['What must stay in the file for the tax adviser, and why?', 'macro', 'columns must keep their order'],
      ['Why is the locale module not used for the comma?', 'no de_DE locale'],
      ['Where does the german() helper belong?', 'put it into export.py'],
      ['Where does the VAT rate come from?', 'r["rate"]'],
      ['What does POST /invoices/total answer for NaN right now?', '200 with the total NaN'],
      ['What may not be touched to refuse NaN?', 'Do not touch total()'],
    ],
  },
  {
    name: 'feed-reconnect',
    client: 'codex',
    files: {
      'feed.js':
        'class Feed {\n  constructor(connect) {\n    this.connect = connect;\n    this.seen = [];\n  }\n  async run() {\n    for (;;) {\n      try {\n        const socket = await this.connect();\n        for await (const tick of socket) this.seen.push(tick);\n        return;\n      } catch {\n        // try again at once\n      }\n    }\n  }\n}\nmodule.exports = { Feed };\n',
      'feed.test.js':
        "const test = require('node:test');\nconst assert = require('node:assert');\nconst { Feed } = require('./feed.js');\n\ntest('pauses grow', async () => {\n  const pauses = [];\n  let n = 0;\n  const feed = new Feed(\n    async () => {\n      if (++n < 5) throw new Error('gone');\n      return (async function* () { yield { id: 1 }; })();\n    },\n    { sleep: async (ms) => pauses.push(ms), random: () => 1 },\n  );\n  await feed.run();\n  assert.deepEqual(pauses, [250, 500, 1000, 2000]);\n});\n",
      'package.json': '{ "name": "feed", "scripts": { "test": "node --test feed.test.js" } }\n',
    },
    exchanges: [
      {
        prompt:
          'When the exchange restarts its gateway, all of our 300 clients reconnect in the same second and get banned for ten minutes. Give Feed a growing pause with jitter: start at 250 ms, double it, never above 20 s. Keep CommonJS, the trading desk still runs Node 16.',
        steps: [
          { read: 'feed.js' },
          { run: 'npm test --silent' },
          {
            say: 'timers/promises has a sleep, but the test injects its own, so the constructor takes sleep and random.',
            write: 'feed.js',
            text: 'const wait = (ms) => new Promise((done) => setTimeout(done, ms));\n\nclass Feed {\n  constructor(connect, { sleep = wait, random = Math.random } = {}) {\n    Object.assign(this, { connect, sleep, random, seen: [] });\n  }\n  async run() {\n    for (let pause = 250; ; pause = Math.min(pause * 2, 20000)) {\n      try {\n        const socket = await this.connect();\n        for await (const tick of socket) this.seen.push(tick);\n        return;\n      } catch {\n        await this.sleep(pause * this.random());\n      }\n    }\n  }\n}\nmodule.exports = { Feed };\n',
          },
          { run: 'npm test --silent' },
        ],
        answer:
          'Full jitter: each pause is a random share of 250 ms, 500 ms, … up to 20 s. The test for growing pauses is green.',
      },
      {
        prompt:
          "Full jitter can give 3 ms, and then we're banned anyway. I want at least half of the pause: half fixed, half random.",
        steps: [
          { edit: 'feed.js', old: 'pause * this.random()', new: 'pause / 2 + (pause / 2) * this.random()' },
          { run: 'npm test --silent' },
        ],
        answer:
          'Half of the pause is fixed now. With random() at 1 the test sees the same numbers, so it stays green.',
      },
      {
        prompt:
          'There is another one: after a connection that worked for an hour, the next pause should begin at 250 ms again. Reset it once ten ticks arrived, not on connect, because the gateway accepts and drops us straight away when it is overloaded.',
        steps: [
          {
            say: 'A test first, with eleven ticks and then a broken socket.',
            edit: 'feed.test.js',
            old: "test('pauses grow'",
            new: "test('pauses begin again after ten ticks', async () => {\n  const pauses = [];\n  let n = 0;\n  const feed = new Feed(\n    async () => {\n      n++;\n      if (n < 3) throw new Error('gone');\n      return (async function* () {\n        for (let id = 0; id < 11; id++) yield { id };\n        if (n === 3) throw new Error('cut');\n      })();\n    },\n    { sleep: async (ms) => pauses.push(ms), random: () => 1 },\n  );\n  await feed.run();\n  assert.deepEqual(pauses, [250, 500, 250]);\n});\n\ntest('pauses grow'",
          },
          { run: 'npm test --silent 2>&1 | grep -A6 "pauses begin again" ; exit 1' },
          {
            say: 'Resetting pause inside the loop head does not work: the for statement doubles it afterwards, I saw 500 instead of 250. The doubling has to move into the catch block.',
            write: 'feed.js',
            text: 'const wait = (ms) => new Promise((done) => setTimeout(done, ms));\nconst FIRST = 250;\nconst LONGEST = 20000;\nconst HEALTHY_TICKS = 10;\n\nclass Feed {\n  constructor(connect, { sleep = wait, random = Math.random } = {}) {\n    Object.assign(this, { connect, sleep, random, seen: [] });\n  }\n  async run() {\n    let pause = FIRST;\n    for (;;) {\n      let ticks = 0;\n      try {\n        const socket = await this.connect();\n        for await (const tick of socket) {\n          this.seen.push(tick);\n          if (++ticks === HEALTHY_TICKS) pause = FIRST;\n        }\n        return;\n      } catch {\n        await this.sleep(pause / 2 + (pause / 2) * this.random());\n        pause = Math.min(pause * 2, LONGEST);\n      }\n    }\n  }\n}\nmodule.exports = { Feed };\n',
          },
          { run: 'npm test --silent' },
        ],
        answer: 'The pause begins again after ten ticks. Two tests, both green.',
      },
      {
        prompt:
          'Memory: this.seen grows for ever, Priya saw 4 GB on her box. Ticks carry an increasing id. We only need seen to drop duplicates after a reconnect.',
        steps: [
          {
            say: 'A Set of the last 5000 ids would be one way.',
            run: 'node -e "const s=new Set(); for(let i=0;i<5e6;i++){s.add(i); if(s.size>5000) s.delete(s.values().next().value)} console.log(s.size)"',
          },
          {
            say: 'Since ids only go up, one number is enough: remember the highest id and skip anything that is not above it.',
            edit: 'feed.js',
            old: '          this.seen.push(tick);',
            new: '          if (tick.id <= this.last) continue;\n          this.last = tick.id;\n          this.onTick(tick);',
          },
          { run: 'npm test --silent' },
        ],
        answer:
          'Tests are red: this.onTick is not a function, the constructor does not take it yet. Before I go on: ids restart at 0 every day at midnight UTC according to the header of the sample file, so the highest id alone would drop a whole day.',
      },
      {
        prompt:
          'Good catch. Compare the pair (day, id) then, the tick has tick.day as YYYY-MM-DD. And call it onTick in the options, next to sleep. Stop there, Tomasz takes over tomorrow.',
        steps: [],
        answer:
          'Stopped. For Tomasz: the constructor has to take onTick, the comparison becomes (day, id), and a reconnect across midnight UTC wants a test. feed.js calls this.onTick without having it, so npm test is red at the moment on purpose. Dates compare well as text.',
      },
    ],
    questions: [
      ['What happened to the clients when the gateway restarts?', 'banned for ten minutes'],
      ['What is the longest pause?', 'never above 20 s'],
      ['Which Node version does the trading desk run?', 'Node 16'],
      ['Which kind of jitter is wanted, and why not full jitter?', 'half fixed, half random', '3 ms'],
      ['When does the pause begin again at 250 ms?', 'once ten ticks arrived, not on connect'],
      ['Why not reset on connect?', 'accepts and drops us straight away'],
      ['Why did the doubling move into the catch block?', 'the for statement doubles it afterwards'],
      ['Who saw the memory grow?', 'Priya'],
      ['Why is the highest id alone not enough?', 'ids restart at 0 every day at midnight UTC'],
      ['Why is npm test red now?', 'this.onTick'],
    ],
  },
  {
    name: 'stock-migration',
    client: 'codex',
    files: {
      'migrate.py':
        "import glob\nimport sqlite3\nimport sys\n\n\ndef migrate(path):\n    db = sqlite3.connect(path)\n    done = db.execute('pragma user_version').fetchone()[0]\n    for n, name in enumerate(sorted(glob.glob('migrations/*.sql')), 1):\n        if n <= done:\n            continue\n        db.executescript(open(name).read())\n        db.execute('pragma user_version = %d' % n)\n    db.commit()\n    return db\n\n\nif __name__ == '__main__':\n    migrate(sys.argv[1])\n",
      'migrations/001-items.sql':
        "create table item (sku text primary key, name text not null, stock integer not null);\ninsert into item values ('A-1', 'bolt', 12), ('A-2', 'nut', 0), ('a-1', 'bolt', 3);\n",
      'check.py':
        "import os\nimport sqlite3\nimport subprocess\nimport sys\n\nif os.path.exists('shop.db'):\n    os.remove('shop.db')\nsubprocess.run([sys.executable, 'migrate.py', 'shop.db'], check=True)\ndb = sqlite3.connect('shop.db')\nrows = db.execute('select sku, stock from item order by sku').fetchall()\nassert rows == [('A-1', 15), ('A-2', 0)], rows\nprint('check ok')\n",
      '.gitignore': 'shop.db\n',
    },
    exchanges: [
      {
        prompt:
          "The warehouse scanner writes 'a-1' and the shop writes 'A-1', so we have the same article twice. Write migration 002 that folds them into the upper-case sku and adds the stock up. The table has 2 million rows in production and the shop may be read-only for at most 30 seconds.",
        steps: [
          { read: 'migrations/001-items.sql' },
          { run: 'python3 check.py' },
          {
            say: 'A unique index on upper(sku) would be the quick guard.',
            write: 'migrations/002-fold-skus.sql',
            text: 'update item set sku = upper(sku);\ncreate unique index item_sku on item (upper(sku));\n',
          },
          { run: 'python3 check.py' },
          {
            say: 'The update trips over the primary key as soon as both spellings exist. Group into a new table and swap the names.',
            write: 'migrations/002-fold-skus.sql',
            text: 'create table item_new (sku text primary key, name text not null, stock integer not null);\ninsert into item_new select upper(sku), min(name), sum(stock) from item group by upper(sku);\ndrop table item;\nalter table item_new rename to item;\n',
          },
          { run: 'python3 check.py' },
        ],
        answer: 'Migration 002 groups by upper(sku) into item_new and renames it. check.py says check ok.',
      },
      {
        prompt:
          'What if it is killed between drop and rename? executescript commits on its own, as far as I remember. I do not want to restore a backup at night.',
        steps: [
          {
            say: 'Let me see what is left after an interruption.',
            run: "printf 'create table t (x);\\ninsert into t values (1);\\nnonsense;\\n' > /tmp/x.sql; rm -f x.db; python3 -c \"import sqlite3; db=sqlite3.connect('x.db'); db.executescript(open('/tmp/x.sql').read())\"; python3 -c \"import sqlite3; print('rows left:', sqlite3.connect('x.db').execute('select count(*) from t').fetchall())\"; rm -f x.db; exit 1",
          },
          {
            say: 'You remember right: executescript commits first and then runs each statement by itself, the row was there after the syntax error. The script gets its own begin and commit, with the user_version inside.',
            edit: 'migrate.py',
            old: "        db.executescript(open(name).read())\n        db.execute('pragma user_version = %d' % n)\n",
            new: "        script = open(name).read()\n        db.executescript('begin immediate;\\n%s\\npragma user_version = %d;\\ncommit;' % (script, n))\n",
          },
          { run: 'python3 check.py' },
        ],
        answer:
          'Each migration is one transaction now, with its version number inside. A kill leaves either the old table or the new one.',
      },
      {
        prompt:
          'Measure it with 2 million rows before we talk about 30 seconds. And the names: min(name) is wrong, marketing maintains the names under the upper-case sku, so take that one when it exists.',
        steps: [
          {
            write: 'measure.py',
            text: "import os\nimport sqlite3\nimport time\n\nif os.path.exists('big.db'):\n    os.remove('big.db')\ndb = sqlite3.connect('big.db')\ndb.executescript(open('migrations/001-items.sql').read())\ndb.executemany('insert into item values (?, ?, 1)', (('%s-%d' % ('b' if n % 2 else 'B', n // 2 + 10), 'n%d' % n) for n in range(200000)))\ndb.commit()\nstart = time.process_time()\ndb.executescript(open('migrations/002-fold-skus.sql').read())\nprint('folded', db.execute('select count(*) from item').fetchone()[0], 'articles')\nos.remove('big.db')\n",
          },
          { run: 'python3 measure.py' },
          {
            say: 'A correlated subquery for the name was hopeless, I stopped it after two minutes: upper(sku) cannot use the primary key. max(case when sku = upper(sku) then name end) needs a single pass.',
            write: 'migrations/002-fold-skus.sql',
            text: 'create table item_new (sku text primary key, name text not null, stock integer not null);\ninsert into item_new\n  select upper(sku), coalesce(max(case when sku = upper(sku) then name end), min(name)), sum(stock)\n  from item group by upper(sku);\ndrop table item;\nalter table item_new rename to item;\n',
          },
          { run: 'python3 measure.py && python3 check.py' },
        ],
        answer:
          'The name of the upper-case sku wins, the other one is only used when there is no upper-case row. measure.py folds its rows in one pass; I used 200000 rows because the disk here is small, so the 2 million are still to be measured on staging.',
      },
      {
        prompt:
          'Fine, Farid runs it on staging. Last thing: the scanner keeps writing lower case. It cannot be updated before March, so a trigger has to fold on insert. But not on update, the nightly sync updates by rowid and is fast because of that.',
        steps: [
          {
            write: 'migrations/003-fold-on-insert.sql',
            text: 'create trigger item_fold before insert on item when new.sku <> upper(new.sku)\nbegin\n  insert into item values (upper(new.sku), new.name, new.stock)\n    on conflict (sku) do update set stock = stock + excluded.stock;\n  select raise(ignore);\nend;\n',
          },
          {
            run: "python3 check.py && python3 -c \"import sqlite3; db=sqlite3.connect('shop.db'); db.execute(\\\"insert into item values ('a-2','nut',4)\\\"); print(db.execute('select * from item').fetchall())\"",
          },
          { run: 'git status --short' },
        ],
        answer:
          'Inserts of lower-case articles are added to the upper-case row; updates are left alone. One thing to know: cursor.rowcount is 0 for such an insert because of raise(ignore), and the scanner service logs a warning for 0. Someone should tell its owner.',
      },
    ],
    questions: [
      ['Why does the same article exist twice?', "scanner writes 'a-1'"],
      ['For how long may the shop be read-only?', 'at most 30 seconds'],
      ['What went wrong with the plain update of sku?', 'trips over the primary key'],
      ['What did executescript do about transactions?', 'executescript commits first'],
      ['What is inside each transaction of a migration?', 'with its version number inside'],
      ['Whose names are right?', 'marketing maintains the names under the upper-case sku'],
      ['Why was the correlated subquery given up?', 'upper(sku) cannot use the primary key'],
      ['With how many rows was it measured, and where next?', '200000 rows', 'staging'],
      ['Why does the trigger not fire on update?', 'nightly sync updates by rowid'],
      ['What will the scanner service notice?', 'logs a warning for 0'],
    ],
  },
  {
    name: 'polish-plurals',
    client: 'gemini',
    files: {
      'i18n.js':
        "const TEXTS = {\n  en: { items: { one: '{n} item', other: '{n} items' } },\n  pl: { items: { one: '{n} rzecz', other: '{n} rzeczy' } },\n};\n\nexports.t = (lang, key, n) => {\n  const text = TEXTS[lang][key];\n  return (n === 1 ? text.one : text.other).replace('{n}', n);\n};\n",
      'check.js':
        "const { t } = require('./i18n.js');\nconst wanted = [[1, '1 plik'], [2, '2 pliki'], [5, '5 plików'], [22, '22 pliki'], [112, '112 plików']];\nfor (const [n, text] of wanted) {\n  const got = t('pl', 'files', n);\n  if (got !== text) { console.error('pl files ' + n + ': got \"' + got + '\", want \"' + text + '\"'); process.exit(2); }\n}\nconsole.log('plurals ok');\n",
      'README.md': '# Texts\n\nLanguages: en, pl\n',
    },
    exchanges: [
      {
        prompt:
          'Our Polish users laugh at "5 pliki". Polish has three forms for counts. Add the key files to i18n.js for en and pl and make t() choose the right form. The bundle goes into a 12 kB widget, so nothing from npm. GEMINI: keep comments in English.',
        steps: [
          { read: 'i18n.js' },
          { read: 'check.js' },
          { run: 'node check.js' },
          {
            say: 'I begin with an own rule: few when the last digit is 2 to 4.',
            write: 'i18n.js',
            text: "const TEXTS = {\n  en: {\n    items: { one: '{n} item', other: '{n} items' },\n    files: { one: '{n} file', other: '{n} files' },\n  },\n  pl: {\n    items: { one: '{n} rzecz', few: '{n} rzeczy', many: '{n} rzeczy' },\n    files: { one: '{n} plik', few: '{n} pliki', many: '{n} plików' },\n  },\n};\n\nconst form = { en: (n) => (n === 1 ? 'one' : 'other'), pl: (n) => (n === 1 ? 'one' : [2, 3, 4].includes(n % 10) ? 'few' : 'many') };\n\nexports.t = (lang, key, n) => TEXTS[lang][key][form[lang](n)].replace('{n}', n);\n",
          },
          { run: 'node check.js' },
        ],
        answer:
          'The rule with the last digit breaks at 112: it says "112 pliki". The teens are an exception in Polish. Instead of more rules of my own I would use Intl.PluralRules, which the browser has.',
      },
      {
        prompt:
          'Intl.PluralRules is fine with me, our oldest browser is Safari 13. But create the rules object once per language, Safari needs 2 ms for each.',
        steps: [
          {
            edit: 'i18n.js',
            old: "const form = { en: (n) => (n === 1 ? 'one' : 'other'), pl: (n) => (n === 1 ? 'one' : [2, 3, 4].includes(n % 10) ? 'few' : 'many') };\n\nexports.t = (lang, key, n) => TEXTS[lang][key][form[lang](n)].replace('{n}', n);",
            new: "const rules = Object.fromEntries(Object.keys(TEXTS).map((lang) => [lang, new Intl.PluralRules(lang)]));\n\nexports.t = (lang, key, n) => TEXTS[lang][key][rules[lang].select(n)].replace('{n}', n);",
          },
          { run: 'node check.js' },
          { run: "node -e \"console.log(require('./i18n.js').t('pl', 'files', 1.5))\"" },
        ],
        answer:
          'plurals ok. One hole: for 1.5 the category is "other", which pl does not have, so replace is called on undefined and throws.',
      },
      {
        prompt:
          'We do show 1.5 GB somewhere, so fractions matter. In Polish it is "1,5 pliku", genitive singular. Also format the number itself, with a comma in Polish.',
        steps: [
          {
            edit: 'i18n.js',
            old: "many: '{n} plików' }",
            new: "many: '{n} plików', other: '{n} pliku' }",
          },
          {
            edit: 'i18n.js',
            old: ".replace('{n}', n);",
            new: ".replace('{n}', n.toLocaleString(lang));",
          },
          {
            run: "node check.js && node -e \"console.log(require('./i18n.js').t('pl', 'files', 1.5), require('./i18n.js').t('pl', 'files', 12345))\"",
          },
        ],
        answer:
          '1.5 gives "1,5 pliku". 12345 comes with a no-break space as the group separator: "12 345 plików".',
      },
      {
        prompt:
          "Oh no, please no grouping: QA compares texts with a normal space and Wanda's screenshots would all change. useGrouping: false.",
        steps: [
          {
            edit: 'i18n.js',
            old: 'n.toLocaleString(lang)',
            new: 'n.toLocaleString(lang, { useGrouping: false })',
          },
          { run: "node check.js && node -e \"console.log(require('./i18n.js').t('pl', 'files', 12345))\"" },
        ],
        answer: 'No grouping any more.',
      },
      {
        prompt:
          'Now Arabic, it has six forms including zero and two. Marta sends the translations on Monday, prepare everything but the texts. When a form is missing in a language, t() should use other and write one warning to the console per key, not one per call.',
        steps: [
          {
            say: 'I want to see which categories Intl reports.',
            run: "node -e \"console.log(new Intl.PluralRules('ar').resolvedOptions().pluralCategories.join(' '))\"",
          },
          {
            edit: 'i18n.js',
            old: 'exports.t = ',
            new: "const warned = new Set();\n\nfunction pick(lang, key, category) {\n  const text = TEXTS[lang][key];\n  if (text[category] !== undefined) return text[category];\n  if (!warned.has(key)) console.warn('i18n: ' + lang + ' has no form ' + category + ' of ' + key);\n  warned.add(key);\n  return text.other;\n}\n\nexports.t = ",
          },
          {
            edit: 'i18n.js',
            old: 'TEXTS[lang][key][rules[lang].select(n)]',
            new: 'pick(lang, key, rules[lang].select(n))',
          },
          { run: 'node check.js' },
          { run: "node -e \"console.log(require('./i18n.js').t('pl', 'items', 1.5))\"" },
        ],
        answer:
          'pick() falls back to other with one warning per key. The key items in pl has no other form, so 1.5 of them still throws: "Cannot read properties of undefined". I need the word from Marta, or you tell me. Arabic is not in TEXTS yet.',
      },
    ],
    questions: [
      ['How large may the widget be?', '12 kB widget'],
      ['In which language must comments be?', 'keep comments in English'],
      ['At which number did the rule with the last digit break?', '112'],
      ['What is used instead of own plural rules?', 'Intl.PluralRules'],
      ['Why create the rules object once per language?', 'Safari needs 2 ms for each'],
      ['What is the Polish text for 1.5 files?', '1,5 pliku'],
      ['Why is grouping turned off?', 'QA compares texts with a normal space'],
      ['How often may a missing form warn?', 'one warning to the console per key'],
      ['Who delivers the Arabic texts, and when?', 'Marta sends the translations on Monday'],
      ['Which key still throws for 1.5?', 'The key items in pl has no other form'],
    ],
  },
  {
    name: 'cursor-pages',
    client: 'opencode',
    files: {
      'store.js':
        'const orders = [];\nfor (let n = 0; n < 100; n++) orders.push({ id: n, at: 1000 + Math.floor(n / 10), total: n * 3 });\nexports.orders = orders;\nexports.page = (number, size) => orders.slice(number * size, (number + 1) * size);\n',
      'walk.js':
        "const store = require('./store.js');\nconst seen = [];\nlet cursor;\ndo {\n  const { rows, next } = store.after(cursor, 7);\n  seen.push(...rows.map((row) => row.id));\n  if (seen.length === 21) store.orders.unshift({ id: -1, at: 999, total: 0 });\n  cursor = next;\n} while (cursor);\nconst twice = seen.length - new Set(seen).size;\nif (twice > 0 || seen.length !== 100) { console.error('walk: ' + seen.length + ' rows, ' + twice + ' twice'); process.exit(3); }\nconsole.log('walk: 100 rows, each once');\n",
      'README.md': '# Orders\n',
    },
    exchanges: [
      {
        prompt:
          'The export job of a customer reads our orders page by page, and when someone places an order meanwhile she gets rows twice. Replace page numbers by cursors. page() must keep working until the mobile app 4.2 is gone, mark it as deprecated only.',
        steps: [
          { read: 'store.js' },
          { read: 'walk.js' },
          { run: 'node walk.js' },
          {
            say: 'First try: the cursor is the time of the last row.',
            edit: 'store.js',
            old: 'exports.page =',
            new: 'exports.after = (cursor, size) => {\n  const rows = orders.filter((row) => cursor === undefined || row.at > cursor).slice(0, size);\n  return { rows, next: rows.length < size ? undefined : rows[rows.length - 1].at };\n};\n/** @deprecated use after() */\nexports.page =',
          },
          { run: 'node walk.js' },
        ],
        answer:
          'Time alone skips rows: ten orders share a timestamp, so a page that ends between them loses the rest. The cursor has to be (at, id).',
      },
      {
        prompt:
          'Right. And make it opaque, base64url of both, since last time people built their own cursors and we could not change them. A cursor that does not parse is 400, not the first page.',
        steps: [
          {
            write: 'store.js',
            text: "const orders = [];\nfor (let n = 0; n < 100; n++) orders.push({ id: n, at: 1000 + Math.floor(n / 10), total: n * 3 });\nexports.orders = orders;\n\nconst encode = ({ at, id }) => Buffer.from(at + ':' + id).toString('base64url');\nfunction decode(cursor) {\n  const found = /^(\\d+):(\\d+)$/.exec(Buffer.from(cursor, 'base64url').toString());\n  if (!found) throw Object.assign(new Error('cursor cannot be read'), { status: 400 });\n  return { at: Number(found[1]), id: Number(found[2]) };\n}\n\nexports.after = (cursor, size) => {\n  const from = cursor === undefined ? { at: -1, id: -1 } : decode(cursor);\n  const rows = orders.filter((row) => row.at > from.at || (row.at === from.at && row.id > from.id)).slice(0, size);\n  return { rows, next: rows.length < size ? undefined : encode(rows[rows.length - 1]) };\n};\n/** @deprecated use after() */\nexports.page = (number, size) => orders.slice(number * size, (number + 1) * size);\n",
          },
          { run: 'node walk.js' },
          { run: "node -e \"require('./store.js').after('rubbish', 5)\"" },
        ],
        answer:
          'walk.js: 100 rows, each once, also with an order placed in between. A cursor that cannot be read throws with status 400.',
      },
      {
        prompt:
          'Security asked whether someone can read orders of other shops by changing the cursor. Sign it? Think about it before you write anything.',
        steps: [],
        answer:
          'A cursor only says where to go on; the filter by shop is applied in any case, so changing it shows nothing foreign. Signing would add a key to rotate without closing a hole. I would leave it unsigned and say so in the README.',
      },
      {
        compaction:
          'Work on cursor pagination in store.js. after(cursor, size) exists, page() is deprecated. Cursor is base64url of at:id. The user asked about security.',
        prompt:
          'Agreed, unsigned, one sentence in the README. Next: page size. Default 50, at most 200, larger values are lowered to 200 silently because the Zapier integration always sends 1000.',
        steps: [
          {
            write: 'README.md',
            text: '# Orders\n\nCursors are opaque and not signed: every query filters by shop, so a changed cursor shows nothing foreign.\n',
          },
          {
            edit: 'store.js',
            old: 'exports.after = (cursor, size) => {\n',
            new: 'exports.after = (cursor, wanted = 50) => {\n  const size = Math.min(wanted, 200);\n',
          },
          { run: 'node walk.js && node -e "console.log(require(\'./store.js\').after(undefined, 0))"' },
        ],
        answer:
          'Default 50, at most 200. With size 0 the code reads rows[-1] and crashes, and a negative size returns odd slices; I have not looked into that yet.',
      },
      {
        prompt:
          'Size below 1 is 400 as well. Then the index: Postgres in production has one on (shop_id, at), will it do?',
        steps: [
          {
            say: 'There is no Postgres here to ask.',
            run: 'psql --version',
          },
          {
            edit: 'store.js',
            old: '  const size = Math.min(wanted, 200);\n',
            new: "  if (!(wanted >= 1)) throw Object.assign(new Error('size must be at least 1'), { status: 400 });\n  const size = Math.min(wanted, 200);\n",
          },
          { run: 'node -e "require(\'./store.js\').after(undefined, 0)"; node walk.js' },
        ],
        answer:
          'Size below 1 is 400. About the index: (shop_id, at) finds the start but has to sort ties by id for every page; (shop_id, at, id) serves the order directly. It should be created concurrently, the table is busy. I could not try it, psql is not on this machine.',
      },
      {
        prompt: 'OK, Dieter creates that index. Please leave a list for him and for the mobile team.',
        steps: [
          {
            todos: [
              { text: 'Dieter: index (shop_id, at, id), created concurrently', status: 'pending' },
              { text: 'mobile team: move the app to after(), then page() can go', status: 'pending' },
              { text: 'cursor() with rows deleted in between is untested', status: 'pending' },
            ],
          },
        ],
        answer: 'The list has three points. What I would do next is the test with deleted rows.',
      },
    ],
    questions: [
      ['What did the customer see twice, and when?', 'when someone places an order meanwhile'],
      ['Until when must page() keep working?', 'until the mobile app 4.2 is gone'],
      ['Why is the time alone not enough for the cursor?', 'ten orders share a timestamp'],
      ['Why are cursors opaque?', 'people built their own cursors'],
      ['What happens with a cursor that does not parse?', '400, not the first page'],
      ['Are cursors signed, and why?', 'every query filters by shop'],
      ['What is the largest page size and who sends 1000?', 'at most 200', 'Zapier'],
      ['What happens with size 0?', 'Size below 1 is 400'],
      ['Which index is needed?', '(shop_id, at, id)'],
      ['What was never tried for lack of a program?', 'psql'],
    ],
  },
  {
    name: 'nightly-backup',
    client: 'opencode',
    files: {
      'backup.sh':
        '#!/bin/sh\n# Copies data/ into backups/DATE and keeps everything for ever.\nday=${1:-$(date +%F)}\nmkdir -p backups\ncp -r data "backups/$day"\n',
      'data/customers.txt': 'Ada\nGrace\n',
      'try.sh':
        '#!/bin/sh\nset -e\nrm -rf backups\nfor d in 01 02 03 04 05 06 07 08 09 10; do sh backup.sh "2026-03-$d"; done\nn=$(ls backups | wc -l)\n[ "$n" -eq 7 ] || { echo "try: $n backups are kept, 7 are wanted" >&2; exit 5; }\nls backups | head -1 | grep -q 2026-03-04 || { echo "try: the oldest is $(ls backups | head -1)" >&2; exit 6; }\necho "try: the newest seven are kept"\n',
      '.gitignore': 'backups/\n',
    },
    exchanges: [
      {
        prompt:
          'The disk of the backup host was full on Sunday and nobody noticed for three days. Keep the newest seven backups only. It runs on Alpine with busybox, so no GNU options, and please stay with sh.',
        steps: [
          { read: 'backup.sh' },
          { run: 'sh try.sh' },
          {
            say: 'head with a negative count would be neat.',
            edit: 'backup.sh',
            old: 'cp -r data "backups/$day"\n',
            new: 'cp -r data "backups/$day"\nls backups | head -n -7 | while read -r old; do rm -r "backups/$old"; done\n',
          },
          { run: 'sh try.sh' },
        ],
        answer: 'Seven are kept: head -n -7 lists all but the newest seven names, and they sort by date.',
      },
      {
        prompt:
          "head -n -7 is GNU only, I said busybox. It also must not delete anything when today's copy did not work out.",
        steps: [
          {
            say: 'sort -r and tail -n +8 exist in busybox. And set -e stops before the deletion when cp has trouble.',
            write: 'backup.sh',
            text: '#!/bin/sh\n# Copies data/ into backups/DATE and keeps the newest seven.\nset -e\nday=${1:-$(date +%F)}\nmkdir -p backups\ncp -r data "backups/$day"\nls backups | sort -r | tail -n +8 | while read -r old; do rm -r "backups/$old"; done\n',
          },
          { run: 'sh try.sh' },
          {
            run: 'mv data gone; sh backup.sh 2026-03-11; code=$?; mv gone data; ls backups | wc -l; exit $code',
          },
        ],
        answer:
          'With busybox tools only. When data/ cannot be copied the script ends with 1 and the seven old ones are still there.',
      },
      {
        prompt:
          'Second run on the same day: cp -r copies into the existing directory, so we get backups/DATE/data. Seen on Tuesday after Olu restarted the host. A half-written copy must not count as one of the seven either.',
        steps: [
          {
            run: 'sh backup.sh 2026-03-10; ls backups/2026-03-10',
          },
          {
            say: 'rsync would handle both.',
            run: 'rsync-alpine --version',
          },
          {
            say: 'No rsync on the host, and the image is read-only, so no. Copy to a name with .part and rename at the end; the listing only takes names that are dates.',
            write: 'backup.sh',
            text: '#!/bin/sh\n# Copies data/ into backups/DATE and keeps the newest seven.\nset -e\nday=${1:-$(date +%F)}\nmkdir -p backups\nrm -rf "backups/$day.part"\ncp -r data "backups/$day.part"\nrm -rf "backups/$day"\nmv "backups/$day.part" "backups/$day"\nls backups | grep -E "^[0-9]{4}-[0-9]{2}-[0-9]{2}$" | sort -r | tail -n +8 | while read -r old; do rm -r "backups/$old"; done\n',
          },
          { run: 'sh try.sh && sh backup.sh 2026-03-10 && ls backups/2026-03-10' },
        ],
        answer:
          'The copy is written to DATE.part and renamed when it is whole. A second run on the same day replaces the first.',
      },
      {
        prompt:
          'Someone must hear about it when it goes wrong. We have ntfy at ntfy.internal, topic ops-backup. Only on trouble, not every night, otherwise people mute it. wget is in busybox, curl is not.',
        steps: [
          {
            edit: 'backup.sh',
            old: 'set -e\n',
            new: 'set -e\ntrap \'[ $? -eq 0 ] || wget -q -T 5 -O /dev/null --post-data "backup of $(hostname) broke" http://ntfy.internal/ops-backup || true\' EXIT\n',
          },
          { run: 'sh try.sh' },
          { run: 'mv data gone; sh backup.sh 2026-03-12; code=$?; mv gone data; exit $code' },
        ],
        answer:
          'A trap on EXIT posts to ntfy when the status is not 0, with 5 seconds at most. ntfy.internal does not resolve from here, so the message itself is not proven; the exit status stays that of the copy.',
      },
      {
        prompt:
          'Good enough. Restore is missing! Write restore.sh DATE, it must refuse when data/ is not empty unless --force is there. And it may never run as root, uid 0 has wrecked the owners once.',
        steps: [
          {
            write: 'restore.sh',
            text: '#!/bin/sh\nset -e\n[ "$(id -u)" -ne 0 ] || { echo "restore: do not run this as root" >&2; exit 77; }\n[ -d "backups/$1" ] || { echo "restore: no backup of $1" >&2; exit 66; }\n[ "$2" = --force ] || [ -z "$(ls -A data 2>/dev/null)" ] || { echo "restore: data/ is not empty, add --force" >&2; exit 73; }\nrm -rf data\ncp -r "backups/$1" data\n',
          },
          { run: 'sh restore.sh 2026-03-10' },
        ],
        answer:
          'restore.sh is written, but I am root in this container, so the only path I could run is the refusal with 77. The rest waits for a run as a normal user. It also removes data/ before it copies: a kill in between leaves nothing, the same .part trick would help.',
      },
    ],
    questions: [
      ['How did the trouble with the disk begin?', 'full on Sunday and nobody noticed for three days'],
      ['On which system does it run?', 'Alpine with busybox'],
      ['Why was head -n -7 replaced?', 'GNU only'],
      ['When must nothing be deleted?', "when today's copy did not work out"],
      ['What happens on a second run on the same day?', 'A second run on the same day replaces the first'],
      ['Why not rsync?', 'No rsync on the host'],
      ['Which ntfy topic is used?', 'topic ops-backup'],
      ['When are messages sent to ntfy, and why not every night?', 'otherwise people mute it'],
      ['Why may restore.sh not run as root?', 'wrecked the owners'],
      ['What is still open about restore.sh?', 'the same .part trick would help'],
    ],
  },
];
