import type { NatsOptions } from '../../engines/nats/engine.ts';
import type { Engine } from '../../kernel/engine.ts';
import type { Moving } from '../../kernel/moving.ts';

/** Options that an engine gets from the process that opens it. */
export type RemoteOptions = Omit<NatsOptions, 'url'>;

/** An engine that is reached by an address. */
export interface RemoteEngine {
  /** URL schemes of its addresses. */
  readonly schemes: readonly string[];
  readonly what: string;
  readonly example: string;
  open(address: string, o?: RemoteOptions): Promise<Engine & { readonly moving: Moving }>;
  /** Returns the address without secrets. */
  displayAddress(address: string): Promise<string>;
}

/**
 * All engines with an address; each is loaded when it is opened. To add one, write its folder in src/engines with a
 * conformance test, and a row here.
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

/** Returns the engine of an address; null if no engine has its scheme. */
export function remoteEngineAt(address: string): RemoteEngine | null {
  const [, scheme] = /^([a-z]+):\/\//.exec(address) ?? [];
  return REMOTE_ENGINES.find(({ schemes }) => schemes.includes(scheme ?? '')) ?? null;
}

/** Describes valid addresses, for an error message. */
export function wantedAddress(): string {
  return REMOTE_ENGINES.map(({ what, example }) => `the address of ${what}, such as ${example}`).join(
    ', or ',
  );
}

/**
 * Reads an option with such an address. The engine itself parses it. It may contain a password, so it is never
 * displayed.
 */
export function storeAddress(value: unknown): string {
  if (typeof value === 'string' && remoteEngineAt(value) && /^[a-z]+:\/\/[^/\s]+/.test(value)) return value;
  throw new Error(`it must be ${wantedAddress()}.`);
}
