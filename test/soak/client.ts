import { randomInt } from 'node:crypto';
import { pause } from '../../src/base/pause.ts';

/** How long a request is retried while the attacks run, and after they have ended. */
const PATIENCE_MS = 180_000;
const CALM_MS = 15_000;

/** What all clients of a run share. */
export interface Shared {
  readonly url: () => string;
  /** What was lost or wrong. */
  readonly losses: string[];
  /** When nothing disturbs the server any more: from then on every request gets its answer soon. */
  calmSince: number;
}

/** Sends requests with one key, and counts the answers by status; `none` where the connection broke. */
export class Client {
  readonly statuses: Record<string, number> = {};
  readonly shared: Shared;
  readonly #authorization: { readonly Authorization: string };

  constructor(shared: Shared, key: string) {
    this.shared = shared;
    this.#authorization = { Authorization: `Bearer ${key}` };
  }

  /** The lines at the top of a request that is written by hand. */
  requestHead(path: string): string {
    const { host } = new URL(this.shared.url());
    return `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: ${this.#authorization.Authorization}\r\n`;
  }

  /** Sends the very same request until it is answered with success; throws where that takes too long. */
  async insist(
    method: string,
    path: string,
    headers: Record<string, string> = {},
    body?: BodyInit,
  ): Promise<Response> {
    const { losses } = this.shared;
    const began = performance.now();
    for (;;) {
      const answer = await this.ask(method, path, { headers, body });
      if (answer?.ok) return answer;
      const isMistake = answer !== null && [400, 401, 403, 422].includes(answer.status);
      if (isMistake || this.hasWaitedLong(began)) {
        const last = answer ? `${answer.status} ${await answer.text()}` : 'nothing';
        throw new Error(`${method} ${path}: no good answer, in the end ${last}`);
      }
      if (answer?.status === 404 && method !== 'POST') return answer;
      if (answer && [404, 409, 413].includes(answer.status)) {
        losses.push(`${method} ${path} was answered with ${answer.status}: ${await answer.text()}`);
      }
      await answer?.body?.cancel().catch(() => {});
      await pause(randomInt(20, 150));
    }
  }

  /** Insists until the whole of an answer in JSON has come: the server may be killed while it sends. */
  async insistJson<T>(...request: Parameters<Client['insist']>): Promise<T> {
    for (;;) {
      const answer = await this.insist(...request);
      const text = await answer.text().catch(() => null);
      if (text !== null) return JSON.parse(text) as T;
    }
  }

  hasWaitedLong(since: number): boolean {
    const calm = Math.max(since, this.shared.calmSince) + CALM_MS;
    return performance.now() > Math.min(since + PATIENCE_MS, calm);
  }

  /** One request; null where nobody answers. */
  async ask(
    method: string,
    path: string,
    { headers, ...o }: RequestInit & { headers?: Record<string, string> } = {},
  ): Promise<Response | null> {
    try {
      const answer = await fetch(this.shared.url() + path, {
        signal: AbortSignal.timeout(30_000),
        ...o,
        headers: { ...headers, ...this.#authorization },
        method,
      });
      this.#count(String(answer.status));
      if (answer.status === 500) this.shared.losses.push(`${method} ${path}: ${await answer.clone().text()}`);
      return answer;
    } catch {
      this.#count('none');
      return null;
    }
  }

  /** One request whose answer nobody needs; gives its status, or null where nobody answers. */
  async send(
    method: string,
    path: string,
    o?: RequestInit & { headers?: Record<string, string> },
  ): Promise<number | null> {
    const answer = await this.ask(method, path, o);
    await answer?.arrayBuffer().catch(() => {});
    return answer?.status ?? null;
  }

  #count(status: string): void {
    this.statuses[status] = (this.statuses[status] ?? 0) + 1;
  }
}
