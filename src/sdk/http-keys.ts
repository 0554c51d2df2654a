import type { Json } from '../base/json.ts';
import type { CreatedKey, KeyInfo, KeysApi, NewKey } from '../domain/keys/types.ts';
import type { UsageApi, UsageQuery, UsageReport } from '../domain/usage/types.ts';
import type { HttpClient } from './http-client.ts';
import { JsonCalls } from './json-calls.ts';

/** The keys of a relay at the other end of HTTP, for its admins. Making one is never repeated: nobody would see the first. */
export class HttpKeys implements KeysApi {
  readonly #calls: JsonCalls;

  constructor(client: HttpClient) {
    this.#calls = new JsonCalls(client);
  }

  create(input: NewKey): Promise<CreatedKey> {
    const body = { ...input } as unknown as Json;
    return this.#calls.call({ method: 'POST', path: '/keys', body, doing: 'keys create' });
  }

  async list(o: { all?: boolean; tenant?: string } = {}): Promise<KeyInfo[]> {
    const query = { all: o.all ? '1' : undefined, tenant: o.tenant };
    const { keys } = await this.#calls.call<{ keys: KeyInfo[] }>({
      path: '/keys',
      query,
      doing: 'keys list',
    });
    return keys;
  }

  revoke(id: string, o: { tenant?: string } = {}): Promise<KeyInfo> {
    const path = `/keys/${encodeURIComponent(id)}`;
    return this.#calls.call({ method: 'DELETE', path, query: o, repeatable: true, doing: 'keys revoke' });
  }

  rotate(id: string, o: { grace?: number; tenant?: string } = {}): Promise<CreatedKey> {
    const path = `/keys/${encodeURIComponent(id)}/rotate`;
    return this.#calls.call({ method: 'POST', path, body: { ...o }, doing: 'keys rotate' });
  }
}

export class HttpUsage implements UsageApi {
  readonly #calls: JsonCalls;

  constructor(client: HttpClient) {
    this.#calls = new JsonCalls(client);
  }

  get(o: UsageQuery = {}): Promise<UsageReport> {
    return this.#calls.call({ path: '/usage', query: { ...o }, doing: 'usage' });
  }
}
