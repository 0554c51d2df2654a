import { isRelayError, RelayError } from '../../../base/errors.ts';
import type { CreatedKey } from '../../../contract/keys.ts';
import { badUsage, defineCommand } from '../command.ts';
import type { Cluster, RunningServer, ServeOptions, ServerControl } from '../host.ts';
import { parseCount, rows } from '../human.ts';
import { type Io, interruption } from '../io.ts';

export default defineCommand({
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
  examples: [
    ['relay up', 'serve on http://127.0.0.1:7474 until Ctrl-C'],
    ['relay up --detach', 'in the background; fine to call when it runs already'],
    ['relay up --port 0', 'on a port that is free'],
    ['relay up --host 0.0.0.0', 'for other machines, with API keys'],
    ['relay up --engine nats://a:4222,b:4222,c:4222', 'one of several servers over one cluster'],
    ['relay up --public-url https://relay.example --trust-proxy loopback', 'behind a proxy on this machine'],
  ],
  async run({ io, host, flags }) {
    const { server } = host;
    if (host.remote !== null && io.interactive) {
      io.warn(`CONTEXTRELAY_URL or --url is set: other commands talk to ${host.remote}, not to this server.`);
    }
    if (flags.auth && flags.open) {
      throw badUsage('--auth and --open exclude each other.', 'Give one.');
    }
    if (flags.engine && flags['engine-file']) {
      throw badUsage('--engine and --engine-file exclude each other.', 'Give one.');
    }
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
      if (!flags.detach) {
        throw new RelayError('failed', {
          what: `A relay already serves this home: ${url} (pid ${pid}).`,
          hint: 'Stop it with: relay down. Or give this one a home of its own with --home DIR.',
        });
      }
      io.result({ ...running, already_running: true }, `already running on ${url} (pid ${pid})`);
      return;
    }
    const left = server.leftBehind();
    if (left !== null)
      io.note(`The server with pid ${left.pid} ended without stopping properly; starting anew.`);
    const keys = server.asksForKeys(where);
    const exposed = server.exposedAs(where);
    if (!keys && exposed !== null) {
      io.warn(`Everyone who can reach ${exposed} can read and write: there are no keys.`);
    }
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
    if (answer !== null && /^(y(es)?)?$/i.test(answer)) {
      return orElsewhere(io, server, { ...where, port: taken.free }, detach, start);
    }
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
  const relay = io.program?.('here') ?? 'relay';
  const authorization = first ? `-H "Authorization: Bearer ${first.key}" ` : '';
  const reached = addresses.filter((address) => address !== url);
  const engine = cluster && { engine: cluster.shown };
  const json = { url, home, ...engine, pid, addresses, ...(background ? { log: background.log } : {}) };
  io.result({ ...json, ...(first ? { admin_key: first.key } : {}) }, () => {
    const facts: [string, string][] = reached.map((address, i) => [i === 0 ? 'reached at' : '', address]);
    facts.push(['dashboard', `${url}/ui`], ['data in', cluster?.shown ?? home]);
    if (background) facts.push(['pid', String(pid)], ['log', background.log ?? '-']);
    if (first)
      facts.push(['admin key', `${style.bold(first.key)}  (shown this once; more: ${relay} keys create)`]);
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
  if (url && /^https?:$/.test(url.protocol) && !url.search && !url.hash && !url.username) {
    return url.origin + url.pathname.replace(/\/+$/, '');
  }
  throw badUsage(
    '--public-url takes an address that begins with http:// or https://.',
    'For example: --public-url https://relay.example',
  );
}
