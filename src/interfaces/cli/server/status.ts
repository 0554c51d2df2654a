import { existsSync } from 'node:fs';
import { isRelayError, RelayError } from '../../../base/errors.ts';
import { defineCommand } from '../command.ts';
import type { Health, Host } from '../host.ts';
import type { LocalStore } from '../host-store.ts';
import { bytes, plural, rows, span, unpainted } from '../human.ts';
import type { Io } from '../io.ts';

export default defineCommand({
  examples: [
    ['relay status', 'the local server and store'],
    ['relay status --json', 'the same for a program'],
    ['relay status --url https://relay.example', 'whether that server answers'],
  ],
  async run({ io, host }) {
    return host.remote === null ? local(io, host) : remote(io, host, host.remote);
  },
});

async function remote(io: Io, host: Host, url: string): Promise<number> {
  const health = await host.server.health(url);
  if (health === null) throw new RelayError('unreachable', { what: url });
  io.result({ url, ...health }, () =>
    rows(unpainted, [
      ['server', `${url} answers: ${health.writable === false ? NO_ROOM : health.status}`],
      ['version', health.version ?? 'unknown'],
      ...restartLine(health),
    ]),
  );
  return health.status === 'ok' ? 0 : 1;
}

async function local(io: Io, host: Host): Promise<number> {
  const { server } = host;
  const running = server.running();
  const left = running ? null : server.leftBehind();
  const health = running ? await server.health(running.url) : null;
  const { usage, store, refused } = await lookAtStore(host);
  const healthy = running === null || health?.status === 'ok';
  const json = { running: running !== null, healthy, server: running, health, home: host.home, usage, store };
  io.result(json, () => {
    const lines: [string, string][] = [];
    if (running) {
      const since = span(Date.now() - Date.parse(running.started_at));
      const state = healthy ? healthWord(io, health!) : io.style.red(health?.status ?? 'does not answer');
      lines.push(['server', `${running.url}, pid ${running.pid}, up for ${since}, ${state}`]);
      lines.push(...restartLine(health));
      if (running.log) lines.push(['log', running.log]);
    } else {
      lines.push(['server', `none runs${left ? ` (pid ${left.pid} ended without stopping properly)` : ''}`]);
      lines.push(['', io.style.dim(io.typed('not needed on this machine; start one with: relay up'))]);
    }
    const held = usage
      ? `${plural(usage.blobs.count, 'payload')}, ${bytes(usage.blobs.bytes)}; ${bytes(usage.diskBytes)} on disk`
      : 'nothing yet';
    lines.push(['home', host.home], ...(store ? storeLines(store) : []));
    lines.push(...(refused ? refusalLines(refused) : ([['holds', held]] as [string, string][])));
    return rows(io.style.dim, lines);
  });
  return healthy ? 0 : 1;
}

const NO_ROOM = 'its store is full; it serves reads and deletions';

function healthWord({ style }: Io, { writable }: Health): string {
  return writable === false ? style.red(NO_ROOM) : style.green('healthy');
}

function restartLine(health: Health | null): [string, string][] {
  return health?.restart === undefined ? [] : [['', health.restart]];
}

/** Where there is a cluster: what it is, how many copies there are, who decides, and what is behind. */
function storeLines(state: StoreState): [string, string][] {
  const { engine, replicas, leader, backlog, warnings, unseen = [] } = state;
  const lines = [...warnings, ...unseen].map((sentence): [string, string] => ['', sentence]);
  if (leader === undefined) return lines;
  const behind = backlog ? `, ${plural(backlog, 'entry', 'entries')} behind` : '';
  const copies = `${plural(replicas ?? 1, 'copy', 'copies')}, ${leader === null ? 'no leader' : `leader ${leader}`}${behind}`;
  return [['engine', engine], ['', copies], ...lines];
}

type StoreState = Awaited<ReturnType<LocalStore['state']>>;

async function lookAtStore(host: Host) {
  const nothing = { usage: null, store: null, refused: null };
  try {
    if (host.engine === null && !existsSync(host.home)) return nothing;
    await using store = await host.openStore();
    return { ...nothing, usage: await store.usage(), store: await store.state() };
  } catch (error) {
    // The server's store is not that of the configuration; how the server is can be told all the same.
    if (!isRelayError(error, 'bad_config')) throw error;
    return { ...nothing, refused: error };
  }
}

function refusalLines(error: RelayError): [string, string][] {
  return [
    ['store', error.message],
    ['', error.hint],
  ];
}
