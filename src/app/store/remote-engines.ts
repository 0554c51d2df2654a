import type { NatsOptions } from '../../engines/nats/engine.ts';
import type { Engine } from '../../kernel/engine.ts';
import type { Moving } from '../../kernel/moving.ts';

/** Options that an engine gets from the process that opens it. */
export type RemoteOptions = Omit<NatsOptions, 'url'>;

/** An engine that is opened by an address. */
export interface RemoteEngine {
  /** URL schemes of the engine's addresses. */
  readonly schemes: readonly string[];
  readonly what: string;
  readonly example: string;
  open(address: string, o?: RemoteOptions): Promise<Engine & { readonly moving: Moving }>;
  /** Returns the address without secrets. */
  displayAddress(address: string): Promise<string>;
}

/**
 * All engines that are opened by an address. Opening an engine loads its code. To add an engine, write its
 * folder in src/engines with a conformance test, and add a row here.
 */
const REMOTE_ENGINES: readonly RemoteEngine[] = [
  {
    schemes: ['nats', 'tls'],
    what: 'a NATS cluster',
    example: 'nats://a:4222,b:4222,c:4222',
    open: async (url, o) => (await import('../../engines/nats/engine.ts')).openNats({ url, ...o }),
    async displayAddress(address) {
      const { parseAddress, formatAddress } = await import('../../engines/nats/opening.ts');
      return formatAddress(parseAddress(address));
    },
  },
];

/** Returns the engine for an address, or null if no engine has the scheme of the address. */
export function remoteEngineAt(address: string): RemoteEngine | null {
  const [, scheme] = /^([a-z]+):\/\//.exec(address) ?? [];
  return REMOTE_ENGINES.find(({ schemes }) => schemes.includes(scheme ?? '')) ?? null;
}

/**
 * Returns the address with the configured login. The login is added only if the address has none and names the same
 * servers as the configured address. So `relay restore --engine nats://…/name` needs no password on the command
 * line.
 */
export function withKnownLogin(address: string, configured: string | null): string {
  const parts = /^([a-z]+:\/\/)([^@/]*@)?([^/@]+)/;
  const [, , login, servers] = parts.exec(configured ?? '') ?? [];
  const [, , ownLogin, named] = parts.exec(address) ?? [];
  const isSame = named !== undefined && servers?.split(',').sort().join() === named.split(',').sort().join();
  return login && !ownLogin && isSame ? address.replace('://', `://${login}`) : address;
}

/** Returns a description of valid addresses, for an error message. */
export function wantedAddress(): string {
  return REMOTE_ENGINES.map(({ what, example }) => `the address of ${what}, such as ${example}`).join(
    ', or ',
  );
}

/**
 * Checks an option that is the address of an engine, which the engine itself parses. Errors do not show the
 * address: it may contain a password.
 */
export function storeAddress(value: unknown): string {
  if (typeof value === 'string' && remoteEngineAt(value) && /^[a-z]+:\/\/[^/\s]+/.test(value)) return value;
  throw new Error(`it must be ${wantedAddress()}.`);
}
