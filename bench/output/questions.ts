/** A question that an agent asks after it ran a command. */
export interface Question {
  readonly ask: string;
  /** The part of the answer that the model must see. It occurs only in `lines`. */
  readonly literal: string;
  readonly lines: readonly number[];
  /** True if the answer is the first failure of the output. */
  readonly first: boolean;
}

export interface Questions {
  readonly output: string;
  readonly questions: readonly Question[];
}

const ask = (question: string, literal: string, ...lines: number[]): Question => ({
  ask: question,
  literal,
  lines,
  first: false,
});
const first = (question: string, literal: string, ...lines: number[]): Question => ({
  ...ask(question, literal, ...lines),
  first: true,
});

/**
 * The author of these questions saw only the outputs, no excerpt and no code of the recognisers. Change a question only
 * if it is wrong.
 */
export const QUESTIONS: readonly Questions[] = [
  {
    output: 'node-spec-failing',
    questions: [
      first('Which test failed first?', 'gives ten percent above five hundred', 538, 1164),
      ask('How many tests failed?', 'ℹ fail 3', 1155),
      ask(
        'What did the discount test receive instead of the expected value?',
        '73.10000000000001',
        1168,
        1181,
      ),
      ask('How many cents were expected for the parcel to zone four?', 'cents: 1744', 1195, 1209),
      ask('In which source file and line was the TypeError about street thrown?', 'pricing.js:4:53', 1217),
      ask('Which test was skipped?', 'prints labels for drones', 540),
    ],
  },
  {
    output: 'node-tap-failing',
    questions: [
      first('Which test is the first not ok?', 'not ok 191 - gives ten percent above five hundred', 2945),
      ask('Where is the failing test of the guest order, file and line?', 'c-orders.test.js:296:3', 4811),
      ask(
        'What is the error message of the guest order test?',
        "Cannot read properties of undefined (reading 'street')",
        4813,
      ),
      ask('How many tests passed?', '# pass 1024', 6398),
    ],
  },
  {
    output: 'node-junit-failing',
    questions: [
      first('Which testcase has the first failure?', 'gives ten percent above five hundred', 486),
      ask('How many failures does the suite "orders 290" have?', 'tests="194" failures="2"', 295),
      ask(
        'What was the actual number of cents quoted for zone four?',
        'cents: 1734',
        521,
        522,
        528,
        540,
        554,
      ),
      ask('How many tests were run in total?', '<!-- tests 1029 -->', 1134),
    ],
  },
  {
    output: 'node-spec-own-passing',
    questions: [
      ask('Did everything pass, and how many tests were there?', 'ℹ pass 329', 372),
      ask('How many suites ran?', 'ℹ suites 20', 371),
      ask('How long did the whole run take?', 'duration_ms 157922.177434', 377),
      ask(
        'How long did the test take that drops items whole and never exceeds its bytes?',
        '1933.326769ms',
        200,
      ),
    ],
  },
  {
    output: 'node-coverage-own',
    questions: [
      ask('What is the line coverage of all files?', 'all files            |  95.94', 131),
      ask('Which lines of json.ts are uncovered?', '9-10 14-19 23-29 33-36', 115),
      ask('What is the function coverage of hash.ts?', '63.64 |   100.00 |   40.00', 112),
      ask('How many tests passed?', 'ℹ pass 92', 95),
    ],
  },
  {
    output: 'vitest-failing',
    questions: [
      first('Which test failed first?', 'routes a parcel over Lund', 127, 464, 482),
      ask('What was expected for the discount at five hundred?', 'expected +0 to be 50', 130, 491),
      ask('Why was the piano refused?', 'parcel P-9041 is too heavy: 212 kg', 132, 510),
      ask('In which line of orders.js was the RangeError thrown?', 'src/orders.js:4:34', 511),
      ask('How many tests failed and how many passed?', '3 failed | 300 passed', 524),
    ],
  },
  {
    output: 'vitest-passing',
    questions: [
      ask('How many tests passed?', '60 passed (60)', 96),
      ask('How many test files were run?', '1 passed (1)', 95),
    ],
  },
  {
    output: 'jest-failing',
    questions: [
      first('Which test failed first?', 'prints the bin on the label', 1356, 1359, 1368),
      ask('What label was received?', 'Received: "LAMP-3 @ C14"', 1364),
      ask('Why could test/c.test.js not run at all?', "Cannot find module '../ledger'", 1394),
      ask('How many test suites failed?', 'Test Suites: 2 failed', 1404),
      ask('What was the error on shelf N-22?', 'only 1 of 2 on shelf N-22', 1378),
      ask('In which line of b.test.js did the label test fail?', 'test/b.test.js:304:92', 1374),
    ],
  },
  {
    output: 'pytest-failing',
    questions: [
      first('Which test failed first?', 'test_tax_per_country[JP-990-98]', 537, 844, 895),
      ask('How many failed, passed and were skipped?', '3 failed, 822 passed, 1 skipped, 1 error', 899),
      ask('What does the tax function return for JP?', "where 99 = tax('JP', 990)", 852),
      ask(
        'Which connection error occurred in the setup of the depot?',
        'depot db-legacy-04 refused the connection on port 5499',
        839,
        840,
      ),
      ask('Which serial number did the scale print?', 'scale calibrated, serial TX-88213', 876, 893),
      ask('In which line of shop.py was the KeyError raised?', 'shop.py:18: KeyError', 891),
    ],
  },
  {
    output: 'pytest-locals-failing',
    questions: [
      first('Which test failed first?', 'test_tax_per_country[JP-990-98]', 37, 56, 126),
      ask('What was the local variable unit in the failing weight test?', "unit       = 'oz'", 120),
      ask('How many tests failed?', '3 failed, 32 passed', 147),
      ask('Which items differ after merging?', "{'sofa': 4} != {'sofa': 5}", 82, 133),
    ],
  },
  {
    output: 'pytest-junit',
    questions: [
      first('Which is the first failing testcase?', 'AssertionError: assert 99 == 98', 1136, 1141),
      ask(
        'How many errors, failures and tests are in the report?',
        'errors="1" failures="3" skipped="1" tests="1137"',
        3,
      ),
      ask('Why was the drone test skipped?', 'needs the drone simulator 2.1', 1189),
      ask('In which file and line did the weight test raise its KeyError?', 'shop.py:18: KeyError', 1178),
    ],
  },
  {
    output: 'go-test-failing',
    questions: [
      first('Which test failed first?', '--- FAIL: TestZoneTable (0.00s)', 1288),
      ask('What zone was got and wanted for BR?', 'zone of BR = 5, want 6', 1285),
      ask('What is the panic of the truck package?', 'index out of range [17] with length 0', 1479),
      ask('In which line of truck.go did it panic?', 'truck/truck.go:5', 1489),
      ask('Did the invoice package pass?', 'example.test/shop/invoice', 1476),
    ],
  },
  {
    output: 'go-test-passing',
    questions: [
      ask('Did the package pass?', 'ok  	example.test/shop/invoice', 182),
      ask('Which ledger row did the last test log?', 'ledger row 59: no error', 179),
    ],
  },
  {
    output: 'cargo-test-failing',
    questions: [
      first('Which test failed first?', 'tests::express_costs_double', 1307, 1312, 1314, 1327, 1329, 1364),
      ask('What were the left and right values of the express fee?', 'left: 1100', 1316),
      ask('How many tests passed and failed?', '1300 passed; 2 failed; 1 ignored', 1367),
      ask('Why was weighs_a_pallet ignored?', 'ignored, needs a scale', 1234),
      ask('At which line of lib.rs did zone_of_iceland panic?', 'src/lib.rs:2616:50', 1339, 1353),
    ],
  },
  {
    output: 'playwright-failing',
    questions: [
      first('Which test failed first?', 'the button adds one chair', 49, 54, 70, 131),
      ask('What text did the output element have?', 'Received: "0 items"', 60),
      ask('Which element was not found?', '[data-sku="G-31"]', 76, 85, 91, 92, 97),
      ask('How many tests passed?', '45 passed', 134),
      ask('Which title was expected?', 'Expected pattern: /Spring 2026/', 110),
    ],
  },
  {
    output: 'tsc-own-strict',
    questions: [
      first('What is the first type error?', 'bench/cases/hostile-imports.ts(27,44): error TS2769', 1),
      ask(
        "Which property does not exist on the view's type in state-view.ts line 240?",
        "Property 'key' does not exist on type",
        866,
      ),
      ask(
        'What is wrong in bridge.ts line 176?',
        'src/interfaces/cli/commands/bridge.ts(176,75): error TS2379',
        1201,
      ),
      ask('What is the last error, in which file?', 'test/ui/demo/thread.ts(83,41)', 2377),
    ],
  },
  {
    output: 'tsc-pretty',
    questions: [
      first('Which file has the first error?', 'shelf0.ts:3:3 - error TS2322', 1),
      ask('How many errors are there in how many files?', 'Found 49 errors in 12 files.', 343),
      ask('Which module cannot be found?', "Cannot find module './depot-lund.js'", 281),
      ask('Which file has five errors?', '5  shelf7.ts:3', 355),
    ],
  },
  {
    output: 'mypy-failing',
    questions: [
      first('What is the first error?', 'shop/shelf99.py:13: error: Item "None"', 1),
      ask('How many errors were found?', 'Found 302 errors in 100 files', 404),
      ask('Which module has no stub or implementation?', 'module named "depot_api"', 245),
      ask('Which class cannot be subclassed?', 'Class cannot subclass "Gateway"', 247),
    ],
  },
  {
    output: 'gcc-errors',
    questions: [
      first('What is the first error?', '‘struct shelf’ has no member named ‘available’', 654),
      ask('Which name is undeclared and what is suggested?', '‘cuont’ undeclared', 657),
      ask('Which object file failed to build?', '[Makefile:5: part130.o] Error 1', 668),
    ],
  },
  {
    output: 'gcc-template',
    questions: [
      first('What is the first error?', 'cannot convert ‘Price<int>’ to ‘int’ in return', 422),
      ask('Which operator is missing for Label?', 'no match for ‘operator+’', 429),
      ask('In which line and column is the error of the missing operator?', 'shop.cpp:3:105', 429),
    ],
  },
  {
    output: 'rustc-errors',
    questions: [
      first('What is the first error and its code?', 'error[E0308]: mismatched types', 2),
      ask('Which function cannot be found?', 'cannot find function `unload` in this scope', 10),
      ask('Which field cannot be borrowed as mutable?', 'cannot borrow `depot.shelves` as mutable', 2220),
      ask('At which line is the error E0596?', 'src/main.rs:668:5', 2221),
      ask(
        'How many errors and warnings were emitted?',
        'due to 3 previous errors; 330 warnings emitted',
        2234,
      ),
    ],
  },
  {
    output: 'go-build-errors',
    questions: [
      first('What is the first compile error?', 'row0/row.go:6:7: assignment mismatch', 2),
      ask('What is undefined in main.go?', 'undefined: cuont', 11),
      ask('Which call in main.go has too many arguments?', 'too many arguments in call to d.Relabel', 8),
      ask('Which import in main.go is not used?', '"os" imported and not used', 5),
    ],
  },
  {
    output: 'go-vet',
    questions: [
      first('What is the first finding?', 'p1/p.go:5:47: fmt.Sprintf format %s', 1),
      ask('Where is unreachable code?', 'p23/p.go:17:24: unreachable code', 91),
    ],
  },
  {
    output: 'javac-errors',
    questions: [
      first('What is the first error?', 'String cannot be converted to int', 576),
      ask('Which class is not found?', 'symbol:   class Parcel', 585, 590),
      ask('Which misspelled method is called?', 'symbol:   method lenght()', 595),
      ask('How many errors are there?', '5 errors', 598),
    ],
  },
  {
    output: 'biome-own',
    questions: [
      first(
        'What is the first diagnostic, in which file?',
        'src/base/base64.ts:14:42 lint/complexity/noDivRegex',
        1,
      ),
      ask('How many warnings were found?', 'Found 341 warnings.', 6175),
      ask('How many lines has the function that is too long?', 'too many lines (109)', 1447),
      ask(
        'Which function has too many parameters, in which file and line?',
        'src/text/preview/preview.ts:75:20',
        5911,
      ),
      ask('How many diagnostics were not shown?', 'Diagnostics not shown: 70.', 6173),
    ],
  },
  {
    output: 'eslint-own',
    questions: [
      first('What is the first error?', "'retry' is not defined", 3),
      ask('How many errors and warnings are there?', '1963 problems (121 errors, 1842 warnings)', 2187),
      ask('Which async function has 82 lines?', "Async function 'putArtifact' has too many lines (82)", 974),
      ask('How many lines has the constructor that is too long?', 'Constructor has too many lines (65)', 842),
    ],
  },
  {
    output: 'ruff-own',
    questions: [
      first('What is the first finding?', '"Creates a bridge.', 3, 8),
      ask('How many errors were found?', 'Found 432 errors.', 5140),
      ask('Where is a subprocess called with shell=True?', 'bridge_cli.py:70:16', 549),
      ask('Which special method has no return type annotation?', 'special method `__init__`', 2330),
    ],
  },
  {
    output: 'ruff-concise',
    questions: [
      first('What is the first finding?', '__init__.py:1:1: CPY001', 3, 533),
      ask('How many errors were found?', 'Found 1619 errors.', 1622),
      ask('How many are fixable?', '463 fixable', 1623),
      ask('Where is __all__ of an invalid format?', 'integrations/__init__.py:29:1: PLE0605', 539),
      ask('Where should datetime.UTC be used?', 'agent_bridge.py:288:25: UP017', 56),
    ],
  },
  {
    output: 'make-link-error',
    questions: [
      first('Why did the link fail?', "undefined reference to `weigh_pallet'", 1154),
      ask('Which target of the Makefile failed?', '[Makefile:3: shop] Error 1', 1156),
    ],
  },
  {
    output: 'cargo-workspace',
    questions: [
      first('Which error stopped the build?', 'error[E0308]: mismatched types', 990),
      ask('In which file and line is the error?', 'crate19/src/lib.rs:42:17', 991),
      ask('Which crate could not be compiled?', 'could not compile `crate19`', 1056),
    ],
  },
  {
    output: 'bundler-progress',
    questions: [
      ask('How many modules were transformed?', '420 modules transformed', 2),
      ask('Which files import each other in a circle?', 'circular import: src/depot/model-287.ts', 295),
      ask('Which chunk is too large?', 'admin-shell (412.7 kB)', 432),
      ask('How long did the build take?', 'built in 7.41s', 433),
      ask('How large is the chunk of view-418?', 'view-418-823e.js  79.18 kB', 429),
    ],
  },
  {
    output: 'esbuild-own-analysis',
    questions: [
      ask('How large is the bundle main.js?', '1.8mb ─ 100.0%', 2),
      ask(
        'Which module is the largest in the bundle?',
        'typescript.mjs ────────────────────────── 177.1kb',
        3,
      ),
      ask('How large is the CSS file?', 'main.css  32.7kb', 1732),
      ask('How long did it take?', 'Done in 1015ms', 1734),
    ],
  },
  {
    output: 'cmake-verbose',
    questions: [
      ask('Which C compiler was identified?', 'GNU 12.2.0', 1),
      ask('What was packed after the build?', 'packed shop-3.9.1.tar in 14 parts', 279),
      ask('Was the target shop built?', '[100%] Built target shop', 281),
    ],
  },
  {
    output: 'node-crash',
    questions: [
      first('Which error ended the program?', 'StockError: shelf N-22 has 0 of 3 chairs', 1805),
      ask('What is the error code?', "code: 'E_SHELF_EMPTY'", 1810),
      ask('What caused it?', 'RangeError: count 3 is above free 0', 1812),
      ask('In which line of checkout.js was it thrown?', 'checkout.js:3:50', 1806),
    ],
  },
  {
    output: 'node-rejections',
    questions: [
      first(
        'What is the first unhandled rejection?',
        'unhandled rejection: SyntaxError: Unexpected token',
        14,
        114,
        214,
        314,
      ),
      ask('Which error ended the program at last?', "Cannot read properties of null (reading 'total')", 417),
      ask('In which line of walk.js is parse?', 'walk.js:4:33', 16, 116, 216, 316),
    ],
  },
  {
    output: 'python-crash',
    questions: [
      first('What is the first exception?', "KeyError: 'count'", 1625),
      ask('Which exception ended the program?', 'RuntimeError: no price list for season 2031', 2927),
      ask('Which file was not found?', "No such file or directory: 'prices-2031-draft.csv'", 2918),
      ask('After which order did the first traceback come?', 'checked order 8611: ok', 1612),
    ],
  },
  {
    output: 'python-deep',
    questions: [
      first('Which exception was raised?', 'ValueError: shelf 901 is below the floor of depot Ystad', 2712),
      ask('In which line was the exception raised?', 'line 12, in odd', 2710),
      ask('Which function did the program call first?', 'line 5, in open_depot', 4),
    ],
  },
  {
    output: 'java-crash',
    questions: [
      first('What is the first exception?', 'For input string: "12,5149"', 151),
      ask('Which thread died with a DepotException?', 'Exception in thread "picker-3"', 1961),
      ask('What caused the DepotException?', 'port 5499 answered HTTP/0.9', 2006),
      ask('Which exception ended the main thread?', 'IndexOutOfBoundsException: Index: 4 Size: 1', 2009),
    ],
  },
  {
    output: 'go-panic',
    questions: [
      first('What is the panic?', 'index out of range [11] with length 2', 901),
      ask('In which line of main.go did it happen?', 'main.go:10', 905),
    ],
  },
  {
    output: 'rust-panic',
    questions: [
      first('What is the panic message?', '"no slot 64 on shelf K-9"', 703),
      ask('Where did it panic?', 'panicked at src/main.rs:1:163', 702),
      ask('From which line of main was it called?', './src/main.rs:5:20', 768),
    ],
  },
  {
    output: 'shop-log',
    questions: [
      first('What is the first real error?', 'payment declined by gateway', 6123),
      ask('What is the request id of the failed payment?', 'req=7f3a-9c21', 6123),
      ask('Which gateway host did not answer?', 'no answer from pay-eu-2 within 8000 ms', 6127),
      ask('Which shelf lost a stock write?', 'sku=LAMP-3 shelf=N-22', 9384),
      ask('What was fatal?', 'disk /var/lib/shop is full', 12062),
      ask('How many requests were served before the shutdown?', '14 002 requests served', 14008),
      ask('Which port does the shop listen on?', '0.0.0.0:8443', 2),
      ask('How many requests were drained at SIGTERM?', 'draining 17 requests', 14007),
    ],
  },
  {
    output: 'warnings-log',
    questions: [
      first('What is the one error?', 'error E7702', 3783),
      ask('In which file and line is the error?', 'src/ledger/close-year.ts(418,23)', 3783),
      ask('How many warnings and errors are there?', '5555 warnings, 1 error', 5557),
    ],
  },
  {
    output: 'chinese-log',
    questions: [
      first('哪个订单出库失败？', '订单 8841-K 出库失败', 2419),
      ask('回滚的操作员是谁？', '操作员 陈晓雨', 2420),
      ask('数据库切换到了哪个节点？', '切换到 depot-cn-5', 4023),
      ask('今日共处理多少订单？', '今日共处理订单 5198 笔', 5203),
      ask('Which compensation number was given for the failed order?', 'BC-60317', 2420),
    ],
  },
  {
    output: 'japanese-log',
    questions: [
      first('どの荷物のラベル印刷に失敗しましたか？', '荷物 JP-55120', 1735),
      ask('失敗したプリンターはどれですか？', '倉庫2階-B', 1735),
      ask('期限が切れた認証鍵の kid は何ですか？', 'kid=tokyo-07', 3914),
      ask('本日の配達は何件ですか？', '本日の配達 5197 件', 5203),
      ask('Who was informed after the retries failed?', '佐藤美咲', 1736),
    ],
  },
  {
    output: 'access-log',
    questions: [
      first('Which request was answered with 502?', '/api/labels/print?batch=B-7719', 5124),
      ask('Which upload was too large (413)?', '/api/import/pricelist-autumn.xlsx', 7801),
      ask('What is the last request in the log?', '200 39460 "-"', 9000),
    ],
  },
  {
    output: 'compose-log',
    questions: [
      first('Why did the queue panic?', 'lease table corrupt at offset 0x5f3e0', 2901),
      ask('With which code did queue-1 exit?', 'queue-1 exited with code 2', 2904),
      ask('Which address refused the connection?', '10.8.0.14:4222', 2965),
      ask('What was the uptime at the graceful stop?', 'uptime=9h41m', 6505),
      ask('What is the trace id of the failed publish?', 'trace=9e17c4d0', 2965),
    ],
  },
  {
    output: 'deploy-log',
    questions: [
      first('Which pod crashes?', 'pod/shop-web-6f9c4 CrashLoopBackOff', 495),
      ask('Which secret is missing?', 'secret "smtp-relay-2026" not found', 495),
      ask('To which revision was it rolled back?', 'rolled back to revision 218', 762),
    ],
  },
  {
    output: 'json-lines-log',
    questions: [
      first('What is the error message?', 'token signature mismatch', 4445),
      ask('Which key id is involved in the error?', 'rsa-2024-11', 4445),
      ask('Which user had the error?', 'u_73019', 4445),
      ask('Which queue is too deep?', 'emails-eu', 6002),
    ],
  },
  {
    output: 'backup-log',
    questions: [
      first('Which part had a checksum mismatch?', 'checksum mismatch in part-071.db', 73),
      ask('How many parts were fine?', '129 parts ok', 132),
      ask('When is the next run?', 'next run at 03:15', 132),
      ask('How large is part-100.db?', 'part-100.db (', 102),
    ],
  },
  {
    output: 'orders-json',
    questions: [
      ask('How many orders are there in total?', '"total": 48213', 36016),
      ask('What is the next cursor?', 'eyJwIjoyfQ-73af', 36017),
      ask('Why is an order on hold?', 'hold: customs asks for form CN-23/B', 19433),
      ask('Which order number is on hold?', '"SO-20260811"', 19419),
      ask('What is the id of the first order?', '"id": 50000,', 4),
    ],
  },
  {
    output: 'orders-minified',
    questions: [
      ask('What is the request id?', 'req_5c2e91b7', 1),
      ask('Which region answered?', 'eu-north-7', 1),
      ask('How many orders are there in total?', '"total":51907', 1),
      ask('What is the note of the order that is on_hold?', 'hold: customs asks for form CN-23/B', 1),
      ask('What is the next_cursor?', 'c-88fe01', 1),
    ],
  },
  {
    output: 'pods-json',
    questions: [
      first('Which pod status is Failed, and for what reason?', '"reason": "Evicted"', 2941),
      ask('How much ephemeral storage was available?', 'available 904112Ki', 2942),
      ask('What is the highest restartCount?', '"restartCount": 318', 4232),
      ask('What kind of object is this?', '"kind": "List"', 3),
    ],
  },
  {
    output: 'problem-json',
    questions: [
      first('What is the title of the problem?', '"title": "Validation failed"', 3),
      ask('What is the trace id?', '4bf92f35-77b3', 368),
      ask('Which value was not below 1000000?', '"1,2e9"', 238),
      ask('Which HTTP status is reported?', '"status": 422', 4),
    ],
  },
  {
    output: 'openapi-own',
    questions: [
      ask('Which version of OpenAPI is this?', '"openapi": "3.1.0"', 2),
      ask(
        'What is the summary of the operation pointers.push?',
        'Store a payload and get a pointer to it',
        12,
        209,
      ),
      ask('Which security scheme is used?', '"scheme": "bearer"', 23381),
      ask('What is the title of the API?', '"title": "ContextRelay"', 4),
    ],
  },
  {
    output: 'events-jsonl',
    questions: [
      ask('Why was a refund rejected?', 'older than 365 days', 8124),
      ask("Which user's refund was rejected?", 'u_90210', 8124),
      ask('What is the checkpoint at the end of the stream?', 'chk-0051d7', 12001),
      ask('What is the lag at the end?', '"lag_ms":27', 12001),
    ],
  },
  {
    output: 'sales-csv',
    questions: [
      ask('Which columns are there?', 'order_id,date,customer,city,sku', 1),
      ask('What is the last order?', '114999,2026-06-20,Dov Katz', 15001),
      ask('Which order was returned?', '107421,2026-06-02', 7423),
      ask('What is the comment about the gift?', 'gift for U. Eriksson', 11904),
      ask('What is the total of order 108998?', '108998,2026-05-11', 9000),
    ],
  },
  {
    output: 'stock-table',
    questions: [
      ask('Which shelf has a negative number free?', "'G-512'", 516),
      ask('What is in the last row?', "'E-899'", 903),
      ask('Which columns does the table have?', 'reserved │ checked', 2),
      ask('What is on shelf B-097?', "'CLOCK-43'", 101, 646),
    ],
  },
  {
    output: 'query-table',
    questions: [
      ask('How many rows were returned?', '(1400 rows)', 1403),
      ask('Which parcel weighs more than 400 kilos?', '412.75', 936),
      ask('Which parcel was lost at sea?', 'lost at sea', 1180),
      ask('How long did the query take?', 'Time: 38.114 ms', 1405),
    ],
  },
  {
    output: 'pods-table',
    questions: [
      first('Which pod is not running, and why?', 'ImagePullBackOff', 63),
      ask('On which node is the pod with ImagePullBackOff?', '7d      node-6', 63),
      ask('What is the last pod in the list?', 'shop-mail-776ab765e-81ea', 96),
    ],
  },
  {
    output: 'diff-large',
    questions: [
      ask('Which file is changed first?', 'diff --git a/src/app/cloudflare/channel-readers.ts', 1),
      ask('To which name was nearest.ts renamed?', 'rename to src/base/did-you-mean.ts', 1693),
      ask('To which name was fillers.ts renamed?', 'rename to src/base/stop-words.ts', 3771),
      ask('Which file is changed last?', 'diff --git a/src/text/token-table.ts', 42731),
      ask('Which comment on folderWord was added?', 'converts a folder name to a unique word', 20013),
    ],
  },
  {
    output: 'diff-small',
    questions: [
      ask('What is the subject of the commit?', 'doctor: reject --repair when it would check a server', 3),
      ask('Which function was added to doctor.ts?', '+function needLocal(', 54),
      ask('Which test was added?', 'doctor --repair does not repair the local store', 88),
    ],
  },
  {
    output: 'diff-medium',
    questions: [
      ask(
        'What is the subject of the commit?',
        'state header, thread_header: print the text view of a state',
        3,
      ),
      ask('Which constant was added to state-view.ts?', '+export const VIEW_LISTS', 39),
      ask('Which file is the last in the diff?', 'diff --git a/test/pins/mcp-tools.json', 321),
    ],
  },
  {
    output: 'diff-stat',
    questions: [
      ask('How many files changed?', '1986 files changed, 59925 insertions(+)', 1987),
      ask('How many lines of test/pins/help.txt changed?', '| 3067', 1685),
      ask('How many lines of src/schemas/threads.ts changed?', '|  940', 1320),
    ],
  },
  {
    output: 'git-log-stat',
    questions: [
      ask('What is the newest commit?', 'commit 0177b28b', 1),
      ask(
        'What is the subject of the newest commit?',
        'test that a question displaces no hard constraint',
        3,
      ),
      ask('Which commit changed 200 files?', '200 files changed, 3904 insertions(+)', 235),
      ask(
        'What is the subject of the oldest commit listed?',
        'expect the new words of schemas and of the launcher',
        2504,
      ),
    ],
  },
  {
    output: 'find-own',
    questions: [
      ask('Is there an SVG icon of the user interface?', './ui/icon.svg', 61),
      ask('Where is agent_bridge.py?', './python/src/contextrelay/agent_bridge.py', 1272),
      ask('What is the last file in the listing?', './bench/loop-watch.ts', 1657),
    ],
  },
  {
    output: 'ls-own',
    questions: [
      ask('How large is the largest file, store-v2.home.gz?', '206144', 1811),
      ask('How large is package-lock.json?', '71405', 17),
      ask('What is the last file listed?', 'view-kind.ts', 2399),
    ],
  },
  {
    output: 'du-own',
    questions: [
      ask('How large is everything together?', '11222791', 1849),
      ask('How large is ./src/domain?', '829189', 1845),
      ask('How large is the folder test?', '3829711', 1847),
    ],
  },
  {
    output: 'find-small',
    questions: [
      ask('How large is docs/api.md?', '75742', 39),
      ask('What is the last file listed?', 'examples/bridge/README.md', 123),
    ],
  },
  {
    output: 'docs-html',
    questions: [
      ask('What is the title of the page?', 'Threads and the token bill · ContextRelay', 7),
      ask('How many tokens has the header of a thread at most?', 'at most 500 tokens', 33),
      ask('What is the size limit of an artifact?', 'limit of 50 MiB', 64),
      ask('Which option prints the prompt without calling a model?', '--dry-run', 71),
    ],
  },
  {
    output: 'api-html',
    questions: [
      ask('What is the heading of the page?', 'The HTTP API', 7, 30),
      ask(
        'What does GET /inbox/{agent} do?',
        'Get the unread messages of a named agent in the channels it follows',
        862,
      ),
      ask('Which route lists the projects?', 'GET /projects<', 4049),
    ],
  },
  {
    output: 'error-page',
    questions: [
      first('Which exception is shown?', 'TemplateMissing at /orders/88341/label', 5, 130),
      ask('Which template is missing?', 'labels/customs-cn23.html', 131),
      ask('In which file and line did it happen?', '/srv/shop/render.py, line 97', 133),
      ask('What is the incident number?', 'INC-20417', 440),
      ask('What is the value of SHOP_SETTING_137?', 'SHOP_SETTING_137<', 316),
    ],
  },
];
