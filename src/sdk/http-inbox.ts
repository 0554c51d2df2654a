import type { Since } from '../domain/channels/types.ts';
import type { Followed, Inbox, InboxApi } from '../domain/inbox/types.ts';
import type { ReceiptLadder, ReceiptsApi } from '../domain/receipts/types.ts';
import type { HttpClient } from './http-client.ts';
import { JsonCalls } from './json-calls.ts';

/** Inboxes kept by a relay at the other end of HTTP. Every call may be repeated: the second time changes nothing. */
export class HttpInbox implements InboxApi {
  readonly #calls: JsonCalls;

  constructor(client: HttpClient) {
    this.#calls = new JsonCalls(client);
  }

  follow(agent: string, channel: string, o: { since?: Since } = {}): Promise<Followed> {
    const body = { channel, ...(o.since === undefined ? {} : { since: String(o.since) }) };
    const path = `${inboxPath(agent)}/channels`;
    return this.#calls.call({ method: 'POST', path, body, repeatable: true, doing: 'follow' });
  }

  unfollow(agent: string, channel: string): Promise<void> {
    const path = `${inboxPath(agent)}/channels/${encodeURIComponent(channel)}`;
    return this.#calls.send({ method: 'DELETE', path, doing: 'unfollow' });
  }

  read(agent: string, o: { limit?: number } = {}): Promise<Inbox> {
    return this.#calls.call({ path: inboxPath(agent), query: o, doing: 'inbox' });
  }

  markRead(agent: string, cursors: { readonly [channel: string]: number }): Promise<void> {
    const path = `${inboxPath(agent)}/read`;
    const body = { cursors: { ...cursors } };
    return this.#calls.send({ method: 'POST', path, body, repeatable: true, doing: 'inbox' });
  }
}

export class HttpReceipts implements ReceiptsApi {
  readonly #calls: JsonCalls;

  constructor(client: HttpClient) {
    this.#calls = new JsonCalls(client);
  }

  get(id: string): Promise<ReceiptLadder> {
    return this.#calls.call({ path: `/pull/${encodeURIComponent(id)}/receipts`, doing: 'receipts' });
  }
}

function inboxPath(agent: string): string {
  return `/inbox/${encodeURIComponent(agent)}`;
}
