import { request } from 'node:http';
import { LOCAL_CALLER } from '../../src/contract/caller.ts';
import type { CreatedKey, NewKey } from '../../src/contract/keys.ts';
import { type RelayOptions, type RelayUnderTest, startRelay, type Wire } from '../http/relay-under-test.ts';

export interface Asked {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: Wire;
}

export interface GuardedRelay extends RelayUnderTest {
  key(input?: Partial<NewKey>): Promise<CreatedKey>;
  ask(method: string, path: string, o?: AskOptions): Promise<Asked>;
}

export interface AskOptions {
  readonly key?: string | CreatedKey;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

/** Starts a relay that requires keys. */
export async function startGuarded(o: RelayOptions = {}): Promise<GuardedRelay> {
  const core = { auth: 'keys', ...o.core } as const;
  const relay = await startRelay({ ...o, core, server: { auth: 'keys', ...o.server } });
  return {
    ...relay,
    key: (input = {}) => relay.core.keys.create(LOCAL_CALLER, { name: 'test', tenant: 'acme', ...input }),
    ask: (method, path, options) => ask(relay.url, method, path, options),
  };
}

export async function ask(
  base: string,
  method: string,
  path: string,
  { key, body, headers = {} }: AskOptions = {},
): Promise<Asked> {
  const secret = typeof key === 'object' ? key.key : key;
  const raw = body instanceof Uint8Array || typeof body === 'string' || body === undefined;
  const response = await fetch(base + path, {
    method,
    headers: {
      ...(secret ? { Authorization: `Bearer ${secret}` } : {}),
      ...(raw ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: raw ? (body as BodyInit) : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: parsed(text) };
}

function parsed(text: string): Wire {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Returns the status of the response to a WebSocket upgrade. */
export function upgradeStatus(base: string, path: string, key: CreatedKey | null): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = {
      Connection: 'Upgrade',
      Upgrade: 'websocket',
      'Sec-WebSocket-Version': '13',
      'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
      ...(key ? { Authorization: `Bearer ${key.key}` } : {}),
    };
    const clientRequest = request(base + path, { headers }, (response) => {
      response.destroy();
      resolve(response.statusCode!);
    });
    clientRequest.on('upgrade', (_response, socket) => {
      socket.destroy();
      resolve(101);
    });
    clientRequest.on('error', reject).end();
  });
}
