import { randomInt } from 'node:crypto';
import { pause } from '../../src/base/pause.ts';

/** Maximum time in ms for which a request is retried. */
const PATIENCE_MS = 180_000;
/** Maximum time in ms for which a request is retried after the disturbances have ended. */
const CALM_MS = 15_000;

/** State that all clients of a run share. */
export interface Shared {
  readonly url: () => string;
  /** Descriptions of lost or wrong data. */
  readonly losses: string[];
  /** Time at which the disturbances ended. After it, requests must succeed within `CALM_MS`. */
  calmSince: number;
}

/** Sends requests with one API key and counts the answers by status. A broken connection counts as `none`. */
export class Client {
  readonly statuses: Record<string, number> = {};
  readonly shared: Shared;
  readonly #authorization: { readonly Authorization: string };

  constructor(shared: Shared, key: string) {
    this.shared = shared;
    this.#authorization = { Authorization: `Bearer ${key}` };
  }

  /** Returns the first lines of a request that is written to a raw socket. */
  requestHead(path: string): string {
    const { host } = new URL(this.shared.url());
    return `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: ${this.#authorization.Authorization}\r\n`;
  }

  /**
   * Repeats a request until it succeeds. Throws if that takes too long or if the request is wrong. If the answer is
   * 404 and the request is not a POST, returns this answer.
   */
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

  /**
   * Repeats a request until the complete JSON answer has arrived, because the server may be killed while it
   * sends.
   */
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

  /** Sends one request; null if there is no answer. */
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

  /** Sends one request and ignores its answer. Returns the status, or null if there is no answer. */
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
