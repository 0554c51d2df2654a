import { readThrough } from '../../base/byte-streams.ts';
import { RelayError } from '../../base/errors.ts';
import { MODEL_SILENCE_MS, PROVIDER_RETRIES } from '../../base/limits.ts';
import { pause } from '../../base/pause.ts';
import { redact } from '../../base/redact.ts';
import type { AnswerListener } from '../../client/prompts/types.ts';

/** Address and headers of a provider, and its names for errors and hints. */
export interface Connection {
  /** Name as in --provider: `anthropic`. */
  readonly provider: string;
  readonly url: string;
  readonly headers: { readonly [name: string]: string };
  readonly model: string;
  /** Name of the environment variable with the API key. Hints mention it. */
  readonly keyName: string;
  /** Sentence that says how to list the models of the provider, for hints. */
  readonly models: string;
  /** Time in ms without data after which a request to the provider fails. 0 means no limit. */
  readonly timeoutMs?: number;
  /** Waits between attempts. Tests replace it. */
  pause?(ms: number, signal?: AbortSignal): Promise<void>;
}

/**
 * Sends a request and returns the body as soon as the answer begins. Retries if the provider is busy or
 * temporarily fails. An answer that has begun is not requested again, because its text is already displayed.
 */
export async function callProvider(
  connection: Connection,
  body: object,
  { signal, onSilence }: { readonly signal?: AbortSignal } & Pick<AnswerListener, 'onSilence'> = {},
): Promise<ReadableStream<Uint8Array>> {
  const late = new AbortController();
  const either = signal ? AbortSignal.any([signal, late.signal]) : late.signal;
  const guarded = silenceGuard(connection, late, onSilence, signal);
  for (let attempt = 0; ; attempt++) {
    const last = attempt >= PROVIDER_RETRIES;
    const response = await guarded(() => send(connection, body, either, last));
    if (response?.ok && response.body) return readThrough(response.body, guarded);
    if (response) {
      const failure = await failureOf(response, connection, 'tools' in body && body.tools !== undefined);
      if (last || !isPassing(response.status) || failure.code === 'tools_refused') throw failure;
    }
    await (connection.pause ?? pause)(wait(attempt, response?.headers.get('retry-after')), signal);
    if (signal?.aborted) throw new RelayError('aborted', { what: 'the prompt was canceled' });
  }
}

/**
 * Returns a function that calls `wait` to get the next data of the provider, and limits the time. After a
 * tenth of the timeout without data it calls `onSilence`, and after the whole timeout it aborts `late`.
 */
function silenceGuard(
  { provider, url, timeoutMs: ms = MODEL_SILENCE_MS }: Connection,
  late: AbortController,
  onSilence: AnswerListener['onSilence'],
  signal: AbortSignal | undefined,
): <T>(wait: () => Promise<T>) => Promise<T> {
  return async (wait) => {
    if (ms === 0) return wait();
    const timers = [
      setTimeout(() => onSilence?.(ms / NOTICE_FRACTION, ms), ms / NOTICE_FRACTION),
      setTimeout(() => late.abort(), ms),
    ];
    try {
      return await wait();
    } catch (error) {
      if (signal?.aborted || !late.signal.aborted) throw error;
      throw new RelayError('provider_silent', { provider, url, seconds: ms / 1000 }, error);
    } finally {
      timers.forEach(clearTimeout);
    }
  };
}

/** `onSilence` is called after the timeout divided by this number. */
const NOTICE_FRACTION = 10;

/** Sends a request. Returns null if the connection was reset and the caller should try again. */
async function send(
  { provider, url, headers }: Connection,
  body: object,
  signal: AbortSignal | undefined,
  last: boolean,
): Promise<Response | null> {
  try {
    return await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
      // Do not follow redirects, so that the key never reaches another host.
      redirect: 'error',
      signal: signal ?? null,
    });
  } catch (error) {
    if (signal?.aborted) throw new RelayError('aborted', { what: 'the prompt was canceled' }, error);
    const cause = (error as { cause?: { code?: string; message?: string } }).cause;
    if (!last && cause?.code === 'ECONNRESET') return null;
    const what = cause?.code ?? cause?.message ?? (error as Error).message;
    throw new RelayError('provider_unreachable', { provider, url, what }, error);
  }
}

function isPassing(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
}

function wait(attempt: number, retryAfter?: string | null): number {
  const seconds = Number(retryAfter);
  if (retryAfter && Number.isFinite(seconds)) return Math.min(seconds, 30) * 1000;
  return 1000 * 2 ** attempt;
}

/**
 * Returns the error of a provider, with the message from its JSON. The API key that was sent is removed from
 * it.
 */
async function failureOf(response: Response, connection: Connection, withTools: boolean) {
  const { provider, url, headers, model, keyName, models } = connection;
  const { status } = response;
  const text = (await response.text().catch(() => '')).slice(0, 20_000);
  let message = text;
  let code: unknown;
  try {
    const parsed = JSON.parse(text);
    message = parsed.error?.message ?? parsed.error ?? parsed.message ?? text;
    code = parsed.error?.code;
  } catch {
    // The body is not JSON. Use its text.
  }
  let plain = redact(String(message)).replace(/\s+/g, ' ').trim().slice(0, 300);
  for (const value of Object.values(headers)) {
    const secret = value.replace(/^Bearer /, '');
    if (secret.length > 7) plain = plain.replaceAll(secret, '…');
  }
  const what = `${status}${plain ? `, ${plain.replace(/\.$/, '')}` : ''}`;
  // There is no common error code for unsupported tools. So look for words about tools in the message.
  const aboutTools = /\btools?\b|\btool_|function.call/i.test(String(message));
  if (withTools && aboutTools && ![401, 403, 429].includes(status))
    return new RelayError('tools_refused', { provider, model, what });
  // Recognize an unknown model. OpenAI answers `model_not_found` also for a model that exists but that this
  // account may not use. Other providers answer 404 and name the model.
  if (code === 'model_not_found' || (status === 404 && String(message).includes(model)))
    return new RelayError('model_unknown', { provider, model, what, list: models });
  if (status === 401 || status === 403)
    return new RelayError('provider_refused', { provider, what, key: keyName, model });
  const hint =
    status === 404
      ? `Check that ${url} is correct and that the model ${model} exists.`
      : isPassing(status)
        ? undefined
        : 'The provider does not accept this request. Shorten the prompt (--dry-run shows it), or choose another model with --provider and --model.';
  return new RelayError('provider_failed', { provider, what, status, hint });
}
