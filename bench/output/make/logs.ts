import type { Recipe } from './recipe.ts';

/** First lines of the Python programs, with a random generator that gives the same numbers in every run. */
const RANDOM_PY = `
import random, json, sys, datetime
r = random.Random(SEED)
start = datetime.datetime(2026, 5, 4, 6, 0, 0)
now = start
def tick(ms):
    global now
    now += datetime.timedelta(milliseconds=r.randint(1, ms))
    return now
def hexid(n): return "".join(r.choice("0123456789abcdef") for _ in range(n))
`;
const python = (seed: number, body: string) => ({
  'service.py': RANDOM_PY.replace('SEED', String(seed)) + body,
});

/** A log whose INFO lines often contain the word error. There are three real errors in the middle. */
const SHOP_LOG = python(
  11,
  `
paths = ["/cart", "/checkout", "/api/errors/summary", "/api/orders", "/static/error-page.css", "/api/stock"]
def line(level, text): print(f"{tick(900).isoformat(timespec='milliseconds')}Z {level:5} [{r.choice(['web', 'jobs', 'mail'])}-{r.randint(1, 4)}] {text}")
line("INFO", "shop 3.9.1 starting, config /etc/shop/shop.toml, error reporting enabled")
line("INFO", "listening on 0.0.0.0:8443, 6 workers")
for n in range(14000):
    kind = r.randint(0, 9)
    if n == 6120:
        line("ERROR", "payment declined by gateway: req=7f3a-9c21 order=88341 code=GW-4417 after 3 attempts")
        print("Traceback (most recent call last):")
        print('  File "/srv/shop/payments.py", line 212, in charge')
        print("    answer = gateway.post(card, cents)")
        print("shop.payments.GatewayTimeout: no answer from pay-eu-2 within 8000 ms")
    elif n == 9377: line("ERROR", "stock write lost: req=b802-11de sku=LAMP-3 shelf=N-22 expected version 41, found 43")
    elif n == 12055: line("FATAL", "disk /var/lib/shop is full (0 of 512 GB free), refusing orders")
    elif kind < 5: line("INFO", f"GET {r.choice(paths)} 200 {r.randint(2, 90)} ms req={hexid(4)}-{hexid(4)} errors=0")
    elif kind < 7: line("INFO", f"no error in batch {n}, {r.randint(10, 99)} rows, error rate 0.00 %")
    elif kind < 8: line("DEBUG", f"cache hit ratio 0.{r.randint(70, 99)} for errors_by_day")
    elif kind < 9: line("INFO", f"mail to customer {r.randint(1000, 9999)} sent, last_error=None")
    else: line("WARN", f"slow query {r.randint(200, 900)} ms: SELECT * FROM order_errors WHERE day = ?")
line("INFO", "SIGTERM received, draining 17 requests")
line("INFO", "shutdown complete after 41 h 12 m, 14 002 requests served, 3 dropped")
`,
);

/** A log with one error among thousands of warnings. */
const WARNINGS = python(
  12,
  `
for n in range(5555):
    file = f"src/{r.choice(['cart','depot','label','admin','ledger'])}/{r.choice(['view','model','route'])}{r.randint(1, 400)}.ts"
    print(f"{file}({r.randint(1, 900)},{r.randint(1, 80)}): warning W{r.choice([1101, 1204, 2307, 3099])}: {r.choice(['deprecated call', 'implicit any', 'unused import', 'shadowed name'])} '{hexid(6)}'")
    if n == 3781: print("src/ledger/close-year.ts(418,23): error E7702: posting 'VAT-2025-Q4' is not balanced: debit 10412.55, credit 10412.50")
print("5555 warnings, 1 error, 400 files in 38.2 s")
`,
);

const CHINESE = python(
  13,
  `
def line(level, text): print(f"{tick(1500):%Y-%m-%d %H:%M:%S} [{level}] {text}")
cities = ["上海", "北京", "成都", "广州", "西安", "杭州"]
line("信息", "仓库服务 2.7.0 启动，错误上报已开启")
for n in range(5200):
    k = r.randint(0, 5)
    if n == 2417:
        line("错误", "订单 8841-K 出库失败：货架 丙-17 库存不足，需要 12 件，仅剩 3 件")
        line("错误", "已回滚订单 8841-K，操作员 陈晓雨，补偿编号 BC-60317")
    elif n == 4020: line("严重", "数据库主节点 depot-cn-3 失去连接，切换到 depot-cn-5 用时 4.7 秒")
    elif k < 2: line("信息", f"订单 {r.randint(1000, 9999)} 已发往{r.choice(cities)}，没有错误")
    elif k < 4: line("调试", f"盘点批次 {n} 完成，错误数 0，耗时 {r.randint(3, 90)} 毫秒")
    else: line("警告", f"{r.choice(cities)}路线拥堵，预计延误 {r.randint(5, 55)} 分钟")
line("信息", "今日共处理订单 5198 笔，失败 1 笔，服务正常关闭")
`,
);

const JAPANESE = python(
  14,
  `
def line(level, text): print(f"{tick(1500):%Y/%m/%d %H:%M:%S} {level} {text}")
line("情報", "配送サービス 1.4 を開始しました（エラー通知: 有効）")
for n in range(5200):
    k = r.randint(0, 5)
    if n == 1733:
        line("エラー", "荷物 JP-55120 のラベル印刷に失敗しました: プリンター「倉庫2階-B」は用紙切れです")
        line("エラー", "再試行は 3 回とも失敗、担当 佐藤美咲 に連絡しました（受付番号 U-9027）")
    elif n == 3911: line("致命的", "認証鍵の有効期限が 2026/05/03 に切れています: kid=tokyo-07")
    elif k < 2: line("情報", f"荷物 JP-{r.randint(10000, 54999)} を配達しました。エラーはありません")
    elif k < 4: line("デバッグ", f"ルート計算 {n}: エラー 0 件、{r.randint(3, 90)} ms")
    else: line("警告", f"配達員 {r.randint(1, 40)} 番の到着が {r.randint(5, 55)} 分遅れています")
line("情報", "本日の配達 5197 件、失敗 1 件、終了します")
`,
);

const ACCESS = python(
  15,
  `
agents = ["Mozilla/5.0 (X11; Linux x86_64) Firefox/151.0", "curl/8.9.1", "ShopBot/2.0 (+errors@shop.example)"]
for n in range(9000):
    status, path, size = 200, r.choice(["/", "/cart", "/api/orders", "/img/error.svg", "/search?q=error"]), r.randint(200, 40000)
    if r.randint(0, 40) == 0: status, path = 404, f"/old/{r.randint(1, 999)}"
    if n == 5123: status, path, size = 502, "/api/labels/print?batch=B-7719", 157
    if n == 7800: status, path, size = 413, "/api/import/pricelist-autumn.xlsx", 0
    print(f'192.0.2.{r.randint(1, 254)} - - [{tick(2000):%d/%b/%Y:%H:%M:%S} +0000] "{"POST" if status in (502, 413) else "GET"} {path} HTTP/1.1" {status} {size} "-" "{r.choice(agents)}" rt={r.randint(1, 900) / 1000:.3f}')
`,
);

/** A log of several services in one stream, as compose prints it. */
const COMPOSE = python(
  16,
  `
def line(service, text): print(f"{service:<12} | {text}")
for n in range(6500):
    s = r.choice(["db-1", "web-1", "web-2", "queue-1"])
    if n == 2900:
        line("queue-1", "panic: lease table corrupt at offset 0x5f3e0, run queue-repair --from 389088")
        line("queue-1", "goroutine 88 [running]:")
        line("queue-1", "main.(*Lease).load(0xc0001a2000)")
        line("queue-1", "queue-1 exited with code 2")
    elif s == "db-1": line(s, f"{tick(800):%Y-%m-%d %H:%M:%S}.{r.randint(0, 999):03} UTC [{r.randint(30, 99)}] LOG:  checkpoint complete: wrote {r.randint(1, 900)} buffers; error count 0")
    elif s == "queue-1": line(s, f"lease renewed for job {hexid(8)}, {r.randint(0, 9)} waiting")
    else: line(s, f'level=info msg="request done" path=/api/v2/items/{r.randint(1, 9999)} status=200 err=nil dur={r.randint(1, 80)}ms')
    if n == 2960: line("web-2", 'level=error msg="publish failed" topic=order.paid err="dial tcp 10.8.0.14:4222: connection refused" trace=9e17c4d0')
line("web-1", 'level=info msg="graceful stop" inflight=0 uptime=9h41m')
`,
);

/** A log of a deployment: coloured steps with progress lines that overwrite themselves. */
const DEPLOY = python(
  17,
  `
import time
G, Y, R, X = "\\x1b[32m", "\\x1b[33m", "\\x1b[31m", "\\x1b[0m"
for step in range(1, 60):
    for p in range(0, 101, 10): sys.stdout.write(f"\\r{Y}uploading layer {step}/59 {p:3}% {'#' * (p // 5)}{X}")
    print(f"\\r\\x1b[K{G}pushed{X} layer sha256:{hexid(12)} ({r.randint(1, 80)}.{r.randint(0, 9)} MB)")
print("deployment shop-web: 0 of 6 pods ready")
for n in range(700):
    print(f"pod/shop-web-{hexid(5)} {r.choice(['Pending', 'ContainerCreating', 'Running'])} restarts={r.randint(0, 2)} node=node-{r.randint(1, 9)} age={n}s")
    if n == 433:
        print(f"{R}pod/shop-web-6f9c4 CrashLoopBackOff restarts=7 node=node-4: secret \\"smtp-relay-2026\\" not found{X}")
print(f"{R}rollout timed out after 600 s: 5 of 6 pods ready, rolled back to revision 218{X}")
`,
);

const JSON_LOG = python(
  18,
  `
for n in range(7000):
    e = {"ts": tick(700).isoformat(timespec="milliseconds") + "Z", "level": "info", "svc": r.choice(["cart", "search", "auth"]), "msg": r.choice(["request completed", "no error found in ledger", "retry not needed"]), "ms": r.randint(1, 300), "trace": hexid(16)}
    if n == 4444: e |= {"level": "error", "svc": "auth", "msg": "token signature mismatch", "key_id": "rsa-2024-11", "user": "u_73019", "trace": "c0ffee0112358d1e"}
    if n == 6001: e |= {"level": "warn", "msg": "queue depth 4096 above limit 4000", "queue": "emails-eu"}
    print(json.dumps(e))
`,
);

/** A small log in which one warning is important. */
const CRON = python(
  19,
  `
for n in range(130):
    print(f"{tick(60000):%b %d %H:%M:%S} build-7 backup[{2200 + n % 3}]: copied /srv/shop/data/part-{n:03}.db ({r.randint(2, 400)} MB), 0 errors")
    if n == 71: print(f"{tick(100):%b %d %H:%M:%S} build-7 backup[2202]: checksum mismatch in part-071.db: want 5be1a0, have 5be1a8, kept old copy")
print(f"{tick(100):%b %d %H:%M:%S} build-7 backup[2200]: finished: 129 parts ok, 1 part kept, 21.4 GB, next run at 03:15")
`,
);

const run = 'python3 service.py';
export const LOGS: readonly Recipe[] = [
  { name: 'shop-log', kind: 'logs', displayCommand: 'journalctl -u shop', command: run, files: SHOP_LOG },
  { name: 'warnings-log', kind: 'logs', displayCommand: 'npm run check', command: run, files: WARNINGS },
  { name: 'chinese-log', kind: 'logs', displayCommand: 'cat depot.log', command: run, files: CHINESE },
  { name: 'japanese-log', kind: 'logs', displayCommand: 'cat delivery.log', command: run, files: JAPANESE },
  { name: 'access-log', kind: 'logs', displayCommand: 'cat access.log', command: run, files: ACCESS },
  { name: 'compose-log', kind: 'logs', displayCommand: 'docker compose logs', command: run, files: COMPOSE },
  { name: 'deploy-log', kind: 'logs', displayCommand: 'make deploy', command: run, files: DEPLOY },
  {
    name: 'json-lines-log',
    kind: 'logs',
    displayCommand: 'cat service.jsonl',
    command: run,
    files: JSON_LOG,
  },
  { name: 'backup-log', kind: 'logs', displayCommand: 'journalctl -t backup', command: run, files: CRON },
];
