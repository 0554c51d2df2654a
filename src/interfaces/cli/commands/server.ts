import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { isRelayError, RelayError } from '../../../base/errors.ts';
import { isUuid } from '../../../base/ids.ts';
import { MCP_BUDGET_TOKENS } from '../../../base/limits.ts';
import type { CreatedKey, Meter, UsageReport } from '../../../contract/keys.ts';
import { parsePointer } from '../../../contract/pointer-url.ts';
import { badUsage, defineCommand, type Invocation, refusal } from '../command.ts';
import type {
  Cluster,
  Health,
  Host,
  LocalStore,
  RunningServer,
  ServeOptions,
  ServerControl,
} from '../host.ts';
import { bytes, count, moment, parseCount, plural, type Row, rows, span, unpainted } from '../human.ts';
import { type Io, interruption, type Style } from '../io.ts';
import { TENANT_FLAG } from './keys.ts';

const up = defineCommand({
  details: `The commands work on the local store without a server. Run one when other machines, programs or a
browser shall reach it. It serves the same store, so pointers made before work at once.
It listens on loopback unless --host says otherwise. It asks for API keys wherever others can reach it: on
any other address, with a --public-url that is not loopback, or behind a trusted proxy.`,
  flags: {
    port: { value: 'N', help: 'listen on this port (7474); 0 takes a free one' },
    engine: { value: 'URL', help: 'keep everything in a NATS cluster: nats://a:4222,b:4222,c:4222' },
    'engine-file': {
      value: 'FILE',
      help: 'read that address from a file, so that ps does not show its password',
    },
    blobs: { value: 'URL', help: 'keep bodies above 1 MiB in a bucket: s3://bucket?endpoint=https://…' },
    host: { value: 'ADDRESS', help: 'listen on this address (127.0.0.1)' },
    auth: { help: 'ask for API keys on loopback too; the first start makes one' },
    open: { help: 'ask for no keys, even where others can reach it' },
    'public-url': { value: 'URL', help: 'what pointers begin with, where a proxy is in front' },
    'tls-cert': { value: 'FILE', help: 'serve https with this certificate (PEM)' },
    'tls-key': { value: 'FILE', help: 'the private key of the certificate (PEM)' },
    'trust-proxy': {
      value: 'NETWORK',
      multiple: true,
      help: 'believe X-Forwarded-* of a proxy there: an address, 10.0.0.0/8, loopback',
    },
    project: { value: 'DIR', multiple: true, help: 'show the todos, decisions and brief of this project' },
    'loopback-webhooks': { help: 'let A2A webhooks be on this machine' },
    detach: { short: 'd', help: 'run in the background; stop it with relay down' },
  },
  examples: `
    relay up  # serve on http://127.0.0.1:7474 until Ctrl-C
    relay up --detach  # in the background; fine to call when it runs already
    relay up --port 0  # on a port that is free
    relay up --host 0.0.0.0  # for other machines, with API keys
    relay up --engine nats://a:4222,b:4222,c:4222  # one of several servers over one cluster
    relay up --public-url https://relay.example --trust-proxy loopback  # behind a proxy on this machine`,
  async run({ io, host, flags }) {
    const server = await host.server();
    if (host.remote !== null && io.interactive)
      io.warn(`CONTEXTRELAY_URL or --url is set: other commands talk to ${host.remote}, not to this server.`);
    if (flags.auth && flags.open) throw badUsage('--auth and --open exclude each other.', 'Give one.');
    if (flags.engine && flags['engine-file'])
      throw badUsage('--engine and --engine-file exclude each other.', 'Give one.');
    if (flags.engine?.includes('@')) {
      io.warn('Every user of this machine sees the password in --engine, for example with ps.');
      io.note('  → Use --engine-file FILE, or the variable RELAY_ENGINE.');
    }
    const where: ServeOptions = {
      open: flags.open,
      engine: flags.engine,
      engineFile: flags['engine-file'],
      blobs: flags.blobs,
      auth: flags.auth,
      publicUrl: flags['public-url'] && baseUrl(flags['public-url']),
      tlsCert: flags['tls-cert'],
      tlsKey: flags['tls-key'],
      trustProxy: flags['trust-proxy'],
      loopbackWebhooks: flags['loopback-webhooks'],
      projects: flags.project,
      host: flags.host ?? server.defaults.host,
      port: parseCount(flags.port, '--port', { max: 65_535 }) ?? server.defaults.port,
    };
    const running = server.running();
    if (running !== null) {
      const { url, pid } = running;
      if (!flags.detach)
        throw refusal(
          'failed',
          `A relay already serves this home: ${url} (pid ${pid}).`,
          'Stop it with: relay down. Or give this one a home of its own with --home DIR.',
        );
      return io.result({ ...running, already_running: true }, `already running on ${url} (pid ${pid})`);
    }
    const left = server.leftBehind();
    if (left !== null)
      io.note(`The server with pid ${left.pid} ended without stopping properly; starting anew.`);
    const keys = server.asksForKeys(where);
    const exposed = server.exposedAs(where);
    if (!keys && exposed !== null)
      io.warn(`Everyone who can reach ${exposed} can read and write: there are no keys.`);
    const cluster = server.cluster(where);
    const first = keys ? await server.firstKey(where) : null;
    if (first && exposed !== null) {
      io.note(`This relay asks for API keys, because others can reach it at ${exposed}.`);
      io.note('  → Make one for each client: relay keys create NAME. To serve without keys: relay up --open');
    }
    /** Where others reach it. What goes over the network without TLS is said, unless a proxy in front has it. */
    const reach = async (url: string) => {
      const addresses = await server.reachableAt(where.host, url);
      const secure = [url, where.publicUrl ?? server.defaults.publicUrl].some((one) =>
        one?.startsWith('https:'),
      );
      if (keys && addresses.length > 0 && !secure) {
        io.warn('Without TLS, keys and payloads travel in the clear.');
        io.note(
          '  → Give --tls-cert and --tls-key, or put a proxy with TLS in front: --public-url https://…',
        );
      }
      return addresses;
    };
    if (flags.detach) {
      const background = await orElsewhere(io, server, where, ' --detach', async (o) => {
        const taken = o.port === 0 ? null : await server.portTaken(o);
        if (taken) throw new RelayError('port_taken', { ...o, by: '' });
        return server.detach(o);
      });
      await warnIfFull(io, server, background.url);
      greet(io, host.home, background.url, background, first, await reach(background.url), cluster);
      return;
    }
    const serving = await orElsewhere(io, server, where, '', (o) => server.serve(o));
    // Ready to stop before it says that it listens: whoever waits for that line may stop it at once.
    using _ = interruption(() => {
      io.note('stopping; what was accepted is still answered (again to stop at once)');
      serving.stop();
    });
    try {
      await warnIfFull(io, server, serving.url, serving.isFull);
      greet(io, host.home, serving.url, null, first, await reach(serving.url), cluster);
    } catch (error) {
      // Standard output may be a file on a full disk. A start that fails, ends.
      serving.stop();
      await serving.stopped;
      throw error;
    }
    await serving.stopped;
  },
});

async function warnIfFull(io: Io, server: ServerControl, url: string, isFull = false): Promise<void> {
  if (!isFull && (await server.health(url))?.writable !== false) return;
  io.warn(
    'There is no room left for new data. The relay serves and deletes what is there, and answers writes with 507.',
  );
  io.note('  → Free some space, or run relay prune. GET /ready says what is full.');
}

/** A taken port is not the end: say by what, and offer the next. `detach` is how a command says that it shall. */
async function orElsewhere<T>(
  io: Io,
  server: ServerControl,
  where: ServeOptions,
  detach: string,
  start: (o: ServeOptions) => Promise<T>,
): Promise<T> {
  try {
    return await start(where);
  } catch (error) {
    if (!isRelayError(error, 'port_taken')) throw error;
    const taken = await server.portTaken(where);
    // Free again in the meantime.
    if (taken === null) return start(where);
    const by = taken.by ? ` ${taken.by}` : '';
    if (taken.free === null) throw new RelayError('port_taken', { ...where, by });
    const question = `Port ${where.port} is taken${by}. Listen on ${taken.free} instead? [Y/n] `;
    const answer = io.json ? null : await io.ask(question);
    if (answer !== null && /^(y(es)?)?$/i.test(answer))
      return orElsewhere(io, server, { ...where, port: taken.free }, detach, start);
    const command = `relay up --port ${taken.free}${where.open ? ' --open' : ''}${detach}`;
    throw new RelayError('port_taken', {
      ...where,
      by,
      hint: taken.relay
        ? `Use that relay: --url http://${where.host}:${where.port}. Or: ${command}`
        : `Use: ${command}`,
    });
  }
}

const LOGIN =
  'Commands need the address of the cluster with its login too. Set RELAY_ENGINE, or engine_file in the configuration.';

/** Three commands to try, which work as they stand in another terminal. */
function greet(
  io: Io,
  home: string,
  url: string,
  background: RunningServer | null,
  first: CreatedKey | null,
  addresses: readonly string[],
  cluster: Cluster | null,
): void {
  const { style } = io;
  const pid = background?.pid ?? process.pid;
  const relay = io.program('here');
  const authorization = first ? `-H "Authorization: Bearer ${first.key}" ` : '';
  const reached = addresses.filter((address) => address !== url);
  const engine = cluster && { engine: cluster.shown };
  const json = { url, home, ...engine, pid, addresses, ...(background ? { log: background.log } : {}) };
  io.result({ ...json, ...(first ? { admin_key: first.key } : {}) }, () => {
    const facts: Row[] = [
      ...reached.map((address, i): Row => [i === 0 ? 'reached at' : '', address]),
      ['dashboard', `${url}/ui`],
      ['data in', cluster?.shown ?? home],
      ['pid', background && String(pid)],
      ['log', background && (background.log ?? '-')],
      ['admin key', first && `${style.bold(first.key)}  (shown this once; more: ${relay} keys create)`],
    ];
    return [
      `listening on ${style.bold(style.cyan(url))}`,
      rows(style.dim, facts),
      '',
      background ? 'Try:' : 'Try, in another terminal:',
      `  ${style.cyan(`echo "hello, agent" | ${relay} push`)}`,
      `  ${style.cyan(`curl ${authorization}-d "hello from curl" ${url}/push`)}`,
      `  ${style.cyan(`${relay} demo`)}`,
      ...(cluster?.isKnown === false ? [style.dim(LOGIN)] : []),
      '',
      style.dim(background ? `Stop it with: ${relay} down` : 'Stop it with Ctrl-C.'),
    ].join('\n');
  });
}

/** An address as pointers begin with it. */
function baseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url && /^https?:$/.test(url.protocol) && !url.search && !url.hash && !url.username)
    return url.origin + url.pathname.replace(/\/+$/, '');
  throw badUsage(
    '--public-url takes an address that begins with http:// or https://.',
    'For example: --public-url https://relay.example',
  );
}

const down = defineCommand({
  details: 'What it has accepted is still answered. That none runs is no error.',
  flags: { force: { help: 'end it at once if it does not stop by itself' } },
  examples: `
    relay down  # stop the server of this home
    relay down --force  # also when it hangs`,
  async run({ io, host, flags }) {
    const server = await host.server();
    const running = server.running();
    if (running === null)
      return io.result({ stopped: false, running: false }, `no relay runs on ${host.home}`);
    if (!(await server.stop(running, { force: flags.force === true })))
      throw refusal(
        'failed',
        `The relay with pid ${running.pid} has not stopped within 15 seconds.`,
        'End it with: relay down --force',
      );
    io.result(
      { stopped: true, pid: running.pid, url: running.url },
      `stopped ${running.url} (pid ${running.pid})`,
    );
  },
});

const status = defineCommand({
  examples: `
    relay status  # the local server and store
    relay status --json  # the same for a program
    relay status --url https://relay.example  # whether that server answers`,
  async run({ io, host }) {
    return host.remote === null ? local(io, host) : remote(io, host, host.remote);
  },
});

async function remote(io: Io, host: Host, url: string): Promise<number> {
  const health = await (await host.server()).health(url);
  if (health === null) throw new RelayError('unreachable', { what: url });
  io.result({ url, ...health }, () =>
    rows(unpainted, [
      ['server', `${url} answers: ${health.writable === false ? NO_ROOM : health.status}`],
      ['version', health.version ?? 'unknown'],
      ['', health.restart ?? null],
    ]),
  );
  return health.status === 'ok' ? 0 : 1;
}

async function local(io: Io, host: Host): Promise<number> {
  const server = await host.server();
  const running = server.running();
  const left = running ? null : server.leftBehind();
  const health = running ? await server.health(running.url) : null;
  const { usage, store, refused } = await lookAtStore(host);
  const healthy = running === null || health?.status === 'ok';
  const json = { running: running !== null, healthy, server: running, health, home: host.home, usage, store };
  io.result(json, () => {
    const { style } = io;
    const ended = left ? ` (pid ${left.pid} ended without stopping properly)` : '';
    const held = usage
      ? `${plural(usage.blobs.count, 'payload')}, ${bytes(usage.blobs.bytes)}; ${bytes(usage.diskBytes)} on disk`
      : 'nothing yet';
    return rows(style.dim, [
      [
        'server',
        running
          ? `${running.url}, pid ${running.pid}, ${stateOf(running, health, style)}`
          : `none runs${ended}`,
      ],
      [
        '',
        running
          ? (health?.restart ?? null)
          : style.dim(io.typed('not needed on this machine; start one with: relay up')),
      ],
      ['log', running?.log || null],
      ['home', host.home],
      ...(store ? storeLines(store) : []),
      ['store', refused?.message ?? null],
      ['', refused?.hint ?? null],
      ['holds', refused ? null : held],
    ]);
  });
  return healthy ? 0 : 1;
}

const NO_ROOM = 'its store is full; it serves reads and deletions';

function stateOf({ started_at }: RunningServer, health: Health | null, { red, green }: Style): string {
  const full = health?.writable === false ? red(NO_ROOM) : green('healthy');
  const state = health?.status === 'ok' ? full : red(health?.status ?? 'does not answer');
  return `up for ${span(Date.now() - Date.parse(started_at))}, ${state}`;
}

/** Where there is a cluster: what it is, how many copies there are, who decides, and what is behind. */
function storeLines(state: Awaited<ReturnType<LocalStore['state']>>): Row[] {
  const { engine, replicas, leader, backlog, warnings, unseen = [] } = state;
  const lines = [...warnings, ...unseen].map((sentence): Row => ['', sentence]);
  if (leader === undefined) return lines;
  const behind = backlog ? `, ${plural(backlog, 'entry', 'entries')} behind` : '';
  const copies = `${plural(replicas ?? 1, 'copy', 'copies')}, ${leader === null ? 'no leader' : `leader ${leader}`}${behind}`;
  return [['engine', engine], ['', copies], ...lines];
}

async function lookAtStore(host: Host) {
  const nothing = { usage: null, store: null, refused: null };
  try {
    if (host.store.engine === null && !existsSync(host.home)) return nothing;
    await using store = await host.store.open();
    return { ...nothing, usage: await store.usage(), store: await store.state() };
  } catch (error) {
    // The server's store is not that of the configuration; how the server is can be told all the same.
    if (!isRelayError(error, 'bad_config')) throw error;
    return { ...nothing, refused: error };
  }
}

const open = defineCommand({
  usage: '[THREAD | POINTER | CHANNEL]',
  details: `Opens the dashboard of the server in a browser, at the page of a thread, a pointer or a channel where one is named. Where there
is no browser, the address is printed.`,
  flags: { print: { help: 'print the address and open nothing' } },
  examples: `
    relay open  # the overview
    relay open 550e8400-e29b-41d4-a716-446655440000  # a thread, a run of a pipeline, or a pointer
    relay open agent-tasks  # a channel
    relay open --print  # only the address`,
  async run(invocation) {
    const { io, host, flags, args } = invocation;
    const base = (host.remote ?? (await host.server()).running()?.url)?.replace(/\/$/, '');
    if (base === undefined)
      throw refusal('failed', 'No server runs, so there is no page to open.', 'Start one: relay up --detach');
    const url = base + (args[0] === undefined ? '/ui/' : await pageOf(invocation, args[0]));
    const opened = !flags.print && io.interactive && !io.json && (await openBrowser(url, io.env));
    io.result({ url, opened }, opened ? `opened ${url}` : url);
  },
});

/** Has the system show a page; false where there is no screen, or nothing to show it with. The address is no part of a command line that a shell reads. */
export function openBrowser(url: string, env: Io['env'], platform = process.platform): Promise<boolean> {
  const screen = platform === 'darwin' || platform === 'win32' || env.DISPLAY || env.WAYLAND_DISPLAY;
  if (!screen) return Promise.resolve(false);
  const [command, ...args] =
    platform === 'darwin'
      ? ['open', url]
      : platform === 'win32'
        ? ['rundll32', 'url.dll,FileProtocolHandler', url]
        : ['xdg-open', url];
  return new Promise((resolve) => {
    const child = spawn(command!, args, { detached: true, stdio: 'ignore' });
    child.once('error', () => resolve(false));
    child.once('spawn', () => {
      child.unref();
      resolve(true);
    });
  });
}

/** A channel may have any name; what looks like an id or the address of a pointer is none. */
async function pageOf({ open }: Invocation, word: string): Promise<string> {
  const pointer = pointerIn(word);
  if (pointer === null) return `/ui/channels/${encodeURIComponent(word)}`;
  if (!isUuid(word)) return pointer;
  const client = await (await open()).client();
  try {
    await client.threads.get(word);
    return `/ui/threads/${word.toLowerCase()}`;
  } catch (error) {
    if (!isRelayError(error, 'not_found') && !isRelayError(error, 'forbidden')) throw error;
    return pointer;
  }
}

/** With its fragment: what decrypts it stays in the address, and no server gets to see it. */
function pointerIn(word: string): string | null {
  try {
    const { id, key } = parsePointer(word);
    return `/pull/${id}${key === null ? '' : `#key=${key}`}`;
  } catch {
    return null;
  }
}

const usage = defineCommand({
  flags: {
    month: { value: 'YYYY-MM', help: 'another month, in UTC' },
    csv: { help: 'a table by day, key and operation, for a spreadsheet' },
    ...TENANT_FLAG,
  },
  examples: `
    relay usage  # this month
    relay usage --month 2026-10 --csv  # another one, as a table`,
  async run({ io, flags, open }) {
    const { relay } = await open();
    const report = await relay.usage.get({ month: flags.month, tenant: flags.tenant });
    if (flags.csv) io.stdout.write(table(report));
    else io.result(report, () => summary(report, io));
  },
});

function table({ tenant, rows: all }: UsageReport): string {
  const lines = all.map((row) => [row.day, tenant, row.key, row.operation, row.count, row.bytes].join(','));
  return `${['day,tenant,key,operation,count,bytes', ...lines].join('\n')}\n`;
}

function summary(report: UsageReport, io: Io): string {
  const moved = report.rows.reduce((sum, row) => sum + row.bytes, 0);
  return rows(io.style.dim, [
    ['tenant', `${report.tenant}, plan ${report.plan}`],
    ['month', `${report.month} (UTC), until ${moment(report.reset)}`],
    ['pushes', meter(report.pushes)],
    ['pulls', meter(report.pulls)],
    ['storage', meter(report.storage, bytes)],
    ['moved', bytes(moved)],
  ]);
}

function meter({ used, limit }: Meter, told = count): string {
  return limit === null ? told(used) : `${told(used)} of ${told(limit)}`;
}

const mcp = defineCommand({
  details: `For the configuration of a coding agent or a desktop client: it starts this command and talks to it. It works on
the local store, or on the server that CONTEXTRELAY_URL names, with CONTEXTRELAY_API_KEY. It ends when the
client closes its end. A running relay serves the same tools over HTTP at /mcp.`,
  flags: {
    tools: { value: 'A,B', help: 'offer only these tools' },
    budget: {
      value: 'TOKENS',
      help: `the most a pull answers with before it asks to take a part (${count(MCP_BUDGET_TOKENS)})`,
    },
  },
  examples: `
    relay mcp  # what to put into the client, as its command
    relay mcp --tools push_context,peek_context,pull_context  # three tools and no more`,
  async run({ io, host, flags }) {
    const budget = parseCount(flags.budget, '--budget', { min: 100, max: 10_000_000 }) ?? MCP_BUDGET_TOKENS;
    if (io.stdin.isTTY) io.note('This talks to programs, not to people. End it with Ctrl-D.');
    await host.agents.serveMcp({
      tools: flags.tools ?? null,
      budget,
      folder: io.cwd,
      typed: io.typed,
      stdin: io.stdin.stream,
      stdout: io.stdout.stream,
      onError: (error) => io.warn(inOneLine(error)),
      onWarning: (text) => io.warn(inOneLine(text)),
    });
  },
});

/** The log of a client is no place for a page about one message that could not be read. */
function inOneLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > MOST_CHARS ? `${line.slice(0, MOST_CHARS)}…` : line;
}

const MOST_CHARS = 200;

export const commands = { up, open, down, status, usage, mcp };
