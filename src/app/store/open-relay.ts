import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ignore } from '../../base/errors.ts';
import { LOCAL_CALLER } from '../../contract/caller.ts';
import {
  isLoopback,
  parseHandle,
  parsePointer,
  parseReadable,
  pointerUrl,
  withKey,
} from '../../contract/pointer-url.ts';
import type { Relay } from '../../contract/relay.ts';
import { sha256 } from '../../engines/body-hashes.ts';
import type { OpenClient, RelayHost } from '../../interfaces/cli/host.ts';
import type { ContextRelay } from '../../sdk/context-relay.ts';
import type { ContextRelayOptions } from '../../sdk/options.ts';
import type { Config } from '../config.ts';
import { runningServer } from '../serve/pid-file.ts';
import { type CoreOptions, openCore } from './open-core.ts';
import { ownTextWork } from './own-text-work.ts';

type StoreOptions = Pick<CoreOptions, 'warn'> & { readonly agent?: string };

type ConnectionOptions = NonNullable<Parameters<RelayHost['open']>[0]>;

/** Opens the relay for a command: the configured server over HTTP, or the local store in this process. */
export async function openRelay(
  config: Config,
  o: ConnectionOptions = {},
  store: StoreOptions = {},
): Promise<OpenClient> {
  return config.remote === null ? onStore(config, { ...store, ...o }) : overHttp(config, config.remote, o);
}

/**
 * Opens the running relay, so that its dashboard shows what happens. If none runs, opens a relay on a
 * temporary store, which is deleted when the relay is closed.
 */
export async function openScratch(config: Config): Promise<OpenClient> {
  if (config.remote !== null || runningServer(config.home)) return openRelay(config);
  const home = mkdtempSync(join(tmpdir(), 'relay-scratch-'));
  const remove = () => rmSync(home, { recursive: true, force: true });
  // Temporary data need not survive a power failure.
  const scratch: Config = { ...config, home, remote: null, engine: null, durability: 'process' };
  const open = await openRelay(scratch).catch((error) => {
    remove();
    throw error;
  });
  const dispose = async () => {
    await open[Symbol.asyncDispose]();
    remove();
  };
  return { ...open, [Symbol.asyncDispose]: dispose };
}

async function overHttp(config: Config, remote: string, o: ConnectionOptions): Promise<OpenClient> {
  const connection = {
    baseUrl: remote,
    apiKey: config.apiKey ?? undefined,
    agent: config.agent ?? undefined,
    ...o,
  };
  const { httpRelay } = await import('../../sdk/http-relay.ts');
  const relay = httpRelay(connection);
  return {
    relay,
    client: clientOf({ ...connection, counter: ownTextWork, channelKeys: channelKeys(config) }),
    remote,
    ...handleKeys(config, relay, remote.replace(/\/+$/, ''), async (url) => url),
    [Symbol.asyncDispose]: async () => {},
  };
}

async function onStore(config: Config, { agent, ...o }: StoreOptions): Promise<OpenClient> {
  const server = runningServer(config.home);
  const served = server?.url;
  // Use the `auth` setting of the server on this home, so that pointers of commands are visible to the same
  // callers as pointers pushed through the server.
  const { core, ...open } = await openCore(config, 'cli', {
    auth: config.auth ?? server?.auth ?? 'open',
    ...o,
  });
  const base = config.public_url ?? served ?? config.publicUrl;
  const relay = core.relay(core.actingAs(LOCAL_CALLER, agent ?? config.agent), base);
  return {
    relay,
    client: clientOf({
      relay,
      ownBases: [STORE],
      counter: ownTextWork,
      channelKeys: channelKeys(config),
    }),
    remote: null,
    // The keyring names a cluster by the hash of its address, which may contain a password.
    ...handleKeys(config, relay, config.engine ? sha256(config.engine) : 'store', (url) =>
      resolve(url, relay, [config.publicUrl, ...(served ? [served] : [])]),
    ),
    [Symbol.asyncDispose]: open[Symbol.asyncDispose],
  };
}

/** Returns a function that creates the client at first use, because many commands need only the relay. */
function clientOf(o: ContextRelayOptions): () => Promise<ContextRelay> {
  let relay: Promise<ContextRelay> | undefined;
  return () => {
    relay ??= import('../../sdk/context-relay.ts').then(({ ContextRelay }) => new ContextRelay(o));
    return relay;
  };
}

/** Returns a function that looks up the encryption key of a channel. */
function channelKeys(config: Config): (channel: string) => Promise<string | undefined> {
  return async (channel) => (await import('./keyring.ts')).openKeyring(config.home).get(channel);
}

/**
 * Returns the functions that store and find the key of an encrypted payload by its handle. `place` names the
 * relay in the keyring.
 */
function handleKeys(
  config: Config,
  relay: Relay,
  place: string,
  resolve: OpenClient['resolve'],
): Pick<OpenClient, 'resolve' | 'keepKey'> {
  const keyring = async () => (await import('./keyring.ts')).openKeyring(config.home);
  const nameOf = async (handle: string) => `${place} ${(await relay.keys.self()).tenant} ${handle}`;
  return {
    async resolve(url) {
      const { id, base, key } = parseReadable(url);
      if (base !== null || key !== null || parseHandle(id) === null) return resolve(url);
      return withKey(id, await (await keyring()).pointerKey(() => nameOf(id)));
    },
    async keepKey({ url, handle, expires_at }) {
      const { key } = parsePointer(url);
      if (handle === undefined || key === null) return null;
      await (await keyring()).keepPointerKey(await nameOf(handle), key, expires_at);
      return handle;
    },
  };
}

/** Base URL that stands for the local store. Host names below `.invalid` never resolve. */
const STORE = 'http://store.invalid';

/**
 * Returns the URL at which to look for a pointer. If the URL names this machine, the local store is searched first.
 * The port does not matter, because the server may have changed its port. If the store lacks the pointer, another
 * relay at the address may have it.
 */
async function resolve(url: string, relay: Relay, own: readonly string[]): Promise<string> {
  const ref = parseReadable(url);
  if (ref.address !== undefined) return url;
  const here = pointerUrl(STORE, ref.id, ref.key);
  if (ref.base === null) return parseHandle(ref.id) === null ? here : url;
  const ours = own.some((base) => byNumber(base) === byNumber(ref.base!));
  if (!ours && !isLoopback(new URL(ref.base).hostname)) return url;
  if (await relay.pointers.peek(ref.id).catch(ignore('not_found'))) return here;
  const { fetchHealth } = await import('../serve/port-owner.ts');
  const elsewhere = (await fetchHealth(ref.base)) !== null;
  return elsewhere || !ours ? url : here;
}

/** Replaces `localhost` with its IP address. */
function byNumber(base: string): string {
  return base.replace(/(?<=^https?:\/\/)localhost(?=[:/]|$)/, '127.0.0.1');
}
