import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { ignore, isRelayError, RelayError } from '../../../base/errors.ts';
import { isUuid } from '../../../base/ids.ts';
import { orElse } from '../../../base/or-else.ts';
import type { CreatedKey, Meter, UsageReport } from '../../../contract/keys.ts';
import { parsePointer, pointerUrl } from '../../../contract/pointer-url.ts';
import { badUsage, defineCommand, type Invocation, refusal, rejectTogether } from '../command.ts';
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
  omitsUrl: true,
  details: `Commands on this machine use the local store directly and need no server. Start a server for other machines, other
programs or the dashboard. It serves the same store. By default it listens only on loopback (127.0.0.1). It requires API
keys if others can reach it: on another address, with a --public-url that is not loopback, or behind a trusted proxy.`,
  flags: {
    port: { value: 'N', help: 'port to listen on (7474); 0 for any free port' },
    engine: { value: 'URL', help: 'store data in a NATS cluster: nats://a:4222,b:4222,c:4222' },
    'engine-file': {
      value: 'FILE',
      help: 'read the --engine address from a file, so that ps does not show its password',
    },
    blobs: { value: 'URL', help: 'store payloads above 1 MiB in a bucket: s3://bucket?endpoint=https://…' },
    host: { value: 'ADDRESS', help: 'address to listen on (127.0.0.1)' },
    auth: { help: 'require API keys on loopback too; the first start creates one' },
    open: { help: 'require no keys, even if others can reach the server' },
    'public-url': { value: 'URL', help: 'address of the proxy in front of the server, used in pointers' },
    'tls-cert': { value: 'FILE', help: 'serve https with this certificate (PEM)' },
    'tls-key': { value: 'FILE', help: 'private key of the certificate (PEM)' },
    'trust-proxy': {
      value: 'NETWORK',
      multiple: true,
      help: 'trust X-Forwarded-* headers from this proxy: an address, 10.0.0.0/8 or loopback',
    },
    project: { value: 'DIR', multiple: true, help: 'show this project in the dashboard' },
    'loopback-webhooks': { help: 'allow A2A webhooks to this machine' },
    detach: { short: 'd', help: 'run in the background; stop it with relay down' },
  },
  examples: `
    relay up  # serve on http://127.0.0.1:7474 until Ctrl-C
    relay up --detach  # run in the background; does nothing if a server runs already
    relay up --port 0  # listen on any free port
    relay up --host 0.0.0.0  # serve other machines, with API keys
    relay up --engine nats://a:4222,b:4222,c:4222  # run one of several servers on a NATS cluster
    relay up --public-url https://relay.example --trust-proxy loopback  # run behind a proxy on this machine`,
  async run({ io, host, flags }) {
    const server = await host.server();
    if (host.remote !== null && io.interactive)
      io.warn(`CONTEXTRELAY_URL or --url is set: other commands use ${host.remote}, not this server.`);
    rejectTogether(flags, 'auth', 'open');
    rejectTogether(flags, 'engine', 'engine-file');
    if (flags.engine?.includes('@')) {
      io.warn('Every user of this machine can see the password in --engine, for example with ps.');
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
          'Stop it with: relay down. Or use another home with --home DIR.',
        );
      return io.result({ ...running, already_running: true }, `already running on ${url} (pid ${pid})`);
    }
    const left = server.leftBehind();
    if (left !== null) io.note(`The last server (pid ${left.pid}) ended unexpectedly. Starting a new one.`);
    const keys = server.asksForKeys(where);
    const exposed = server.exposedAs(where);
    if (!keys && exposed !== null)
      io.warn(`Everyone who can reach ${exposed} can read and write, because no keys are required.`);
    const cluster = server.cluster(where);
    const first = keys ? await server.firstKey(where) : null;
    if (first && exposed !== null) {
      io.note(`This relay requires API keys, because others can reach it at ${exposed}.`);
      io.note(
        '  → Create a key for each client: relay keys create NAME. To serve without keys: relay up --open',
      );
    }
    /**
     * Returns the addresses at which other machines reach the server. Warns if API keys are required but
     * would be sent without TLS.
     */
    const reach = async (url: string) => {
      const addresses = await server.reachableAt(where.host, url);
      const secure = [url, where.publicUrl ?? server.defaults.publicUrl].some((one) =>
        one?.startsWith('https:'),
      );
      if (keys && addresses.length > 0 && !secure) {
        io.warn('Without TLS, keys and payloads are sent unencrypted.');
        io.note('  → Use --tls-cert and --tls-key, or a proxy with TLS and --public-url https://…');
      }
      return addresses;
    };
    if (flags.detach) {
      const background = await startOnFreePort(io, server, where, ' --detach', async (o) => {
        const conflict = o.port === 0 ? null : await server.portTaken(o);
        if (conflict) throw new RelayError('port_taken', { ...o, by: '' });
        return server.detach(o);
      });
      await warnIfFull(io, server, background.url);
      greet(io, host.home, background.url, background, first, await reach(background.url), cluster);
      return;
    }
    const serving = await startOnFreePort(io, server, where, '', (o) => server.serve(o));
    // Handle signals before printing the address: a script that waits for the address may stop the server immediately.
    using _ = interruption(() => {
      io.note('Stopping. Open requests are still answered. Press Ctrl-C again to stop at once.');
      serving.stop();
    });
    try {
      await warnIfFull(io, server, serving.url, serving.isFull);
      greet(io, host.home, serving.url, null, first, await reach(serving.url), cluster);
    } catch (error) {
      // Printing failed, for example because stdout is a file on a full disk. Stop the server.
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
    'There is no space left for new data. The relay still serves reads and deletions, and answers writes with 507.',
  );
  io.note('  → Free some space, or run relay prune. GET /ready shows what is full.');
}

/**
 * Starts the server. If the port is taken, says which program uses it and offers a free port. `detach` is
 * appended to the suggested command.
 */
async function startOnFreePort<T>(
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
    const conflict = await server.portTaken(where);
    // The port is free again, so try once more.
    if (conflict === null) return start(where);
    const by = conflict.by ? ` ${conflict.by}` : '';
    if (conflict.free === null) throw new RelayError('port_taken', { ...where, by });
    const question = `Port ${where.port} is taken${by}. Listen on ${conflict.free} instead? [Y/n] `;
    const answer = io.json ? null : await io.ask(question);
    if (answer !== null && /^(y(es)?)?$/i.test(answer))
      return startOnFreePort(io, server, { ...where, port: conflict.free }, detach, start);
    const command = `relay up --port ${conflict.free}${where.open ? ' --open' : ''}${detach}`;
    throw new RelayError('port_taken', {
      ...where,
      by,
      hint: conflict.relay
        ? `Use that relay: --url http://${where.host}:${where.port}. Or: ${command}`
        : `Use: ${command}`,
    });
  }
}

const LOGIN =
  'Commands on this machine also need the address of the cluster with its login. Set RELAY_ENGINE, or engine_file in the configuration.';

/** Prints the address of the server, where its data is, and three commands to try. */
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
      [
        'admin key',
        first && `${style.bold(first.key)}  (shown only once; create more with: ${relay} keys create)`,
      ],
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

/** Normalizes the value of --public-url to an origin and a path without a trailing slash. */
function baseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url && /^https?:$/.test(url.protocol) && !url.search && !url.hash && !url.username)
    return url.origin + url.pathname.replace(/\/+$/, '');
  throw badUsage(
    '--public-url must start with http:// or https://.',
    'For example: --public-url https://relay.example',
  );
}

const down = defineCommand({
  localOnly: true,
  details: 'The server answers open requests first. It is not an error if no server runs.',
  flags: { force: { help: 'kill the server if it does not stop' } },
  examples: `
    relay down  # stop the server of this home
    relay down --force  # stop a server that hangs`,
  async run({ io, host, flags }) {
    const server = await host.server();
    const running = server.running();
    if (running === null)
      return io.result({ stopped: false, running: false }, `no relay server runs for ${host.home}`);
    if (!(await server.stop(running, { force: flags.force === true })))
      throw refusal(
        'failed',
        `The relay server with pid ${running.pid} has not stopped within 15 seconds.`,
        'Kill it with: relay down --force',
      );
    io.result(
      { stopped: true, pid: running.pid, url: running.url },
      `stopped ${running.url} (pid ${running.pid})`,
    );
  },
});

const status = defineCommand({
  examples: `
    relay status  # show the local server and store
    relay status --json  # print JSON
    relay status --url https://relay.example  # check whether a server answers`,
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
  const { usage, store, refused: storeError } = await lookAtStore(host);
  const healthy = running === null || health?.status === 'ok';
  const json = { running: running !== null, healthy, server: running, health, home: host.home, usage, store };
  io.result(json, () => {
    const { style } = io;
    const ended = left ? ` (pid ${left.pid} ended unexpectedly)` : '';
    const stored = usage
      ? `${plural(usage.blobs.count, 'payload')}, ${bytes(usage.blobs.bytes)}; ${bytes(usage.diskBytes)} on disk`
      : 'nothing yet';
    return rows(style.dim, [
      [
        'server',
        running
          ? `${running.url}, pid ${running.pid}, ${stateOf(running, health, style)}`
          : `not running${ended}`,
      ],
      [
        '',
        running
          ? (health?.restart ?? null)
          : style.dim(io.typed('not needed for commands on this machine; start one with: relay up')),
      ],
      ['log', running?.log || null],
      ['home', host.home],
      ...(store ? storeLines(store) : []),
      ['store', storeError?.message ?? null],
      ['', storeError?.hint ?? null],
      ['stored', storeError ? null : stored],
    ]);
  });
  return healthy ? 0 : 1;
}

const NO_ROOM = 'its store is full; it only serves reads and deletions';

function stateOf({ started_at }: RunningServer, health: Health | null, { red, green }: Style): string {
  const full = health?.writable === false ? red(NO_ROOM) : green('healthy');
  const state = health?.status === 'ok' ? full : red(health?.status ?? 'does not answer');
  return `up for ${span(Date.now() - Date.parse(started_at))}, ${state}`;
}

/**
 * Returns rows about the store. For a cluster: engine, replicas, leader, backlog and warnings. For other
 * stores: only the warnings.
 */
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
    // The configuration is invalid. Report it, and still show the state of the server.
    if (!isRelayError(error, 'bad_config')) throw error;
    return { ...nothing, refused: error };
  }
}

const open = defineCommand({
  usage: '[THREAD | POINTER | CHANNEL]',
  details: `Opens the overview, or the page of a thread, a pointer or a channel. If there is no browser, it prints the address.`,
  flags: { print: { help: 'only print the address' } },
  examples: `
    relay open  # open the overview
    relay open 550e8400-e29b-41d4-a716-446655440000  # open a thread, a pipeline run or a pointer
    relay open agent-tasks  # open a channel
    relay open --print  # print the address`,
  async run(invocation) {
    const { io, host, flags, args } = invocation;
    const base = (host.remote ?? (await host.server()).running()?.url)?.replace(/\/$/, '');
    if (base === undefined)
      throw refusal(
        'failed',
        'No server runs, so there is no dashboard to open.',
        'Start one with: relay up --detach',
      );
    const url = base + (args[0] === undefined ? '/ui/' : await pageOf(invocation, args[0]));
    const opened = !flags.print && io.interactive && !io.json && (await openBrowser(url, io.env));
    io.result({ url, opened }, opened ? `opened ${url}` : url);
  },
});

/**
 * Opens a page in the default browser. Returns false if there is no display or no browser. No shell is used,
 * so the URL needs no quoting.
 */
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

/**
 * Returns the dashboard path for the argument of `relay open`: the page of a thread or pointer for an id or a
 * pointer, otherwise the page of a channel.
 */
async function pageOf({ open }: Invocation, word: string): Promise<string> {
  const pointer = pointerIn(word);
  if (pointer === null) return `/ui/channels/${encodeURIComponent(word)}`;
  if (!isUuid(word)) return pointer;
  const { threads } = (await open()).relay;
  const thread = await threads.get(word).catch(ignore('not_found', 'forbidden'));
  return thread ? `/ui/threads/${word.toLowerCase()}` : pointer;
}

/**
 * Returns the dashboard path of a pointer, or null if the text is not a pointer. The encryption key stays in
 * the fragment of the URL, which browsers never send.
 */
function pointerIn(word: string): string | null {
  const pointer = orElse(() => parsePointer(word), null);
  return pointer && pointerUrl('', pointer.id, pointer.key);
}

const usage = defineCommand({
  flags: {
    month: { value: 'YYYY-MM', help: 'show this month (UTC)' },
    csv: { help: 'print CSV by day, key and operation' },
    ...TENANT_FLAG,
  },
  examples: `
    relay usage  # show this month
    relay usage --month 2026-10 --csv  # print another month as CSV`,
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
    ['transferred', bytes(moved)],
  ]);
}

function meter({ used, limit }: Meter, format = count): string {
  return limit === null ? format(used) : `${format(used)} of ${format(limit)}`;
}

export const commands = { up, open, down, status, usage };
