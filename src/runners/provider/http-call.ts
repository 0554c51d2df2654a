import { readThrough } from '../../base/byte-streams.ts';
import { RelayError } from '../../base/errors.ts';
import { MODEL_SILENCE_MS, PROVIDER_RETRIES } from '../../base/limits.ts';
import { pause } from '../../base/pause.ts';
import { redact } from '../../base/redact.ts';
import type { AnswerListener } from '../../client/prompts/types.ts';

/** How to reach a provider, and how to speak of it. */
export interface Connection {
  /** `anthropic`: as in --provider. */
  readonly provider: string;
  readonly url: string;
  readonly headers: { readonly [name: string]: string };
  readonly model: string;
  /** The variable that holds the key, for the hint of a refusal. */
  readonly keyName: string;
  /** How to see which models there are. */
  readonly models: string;
  /** How long it may send nothing; 0 for ever. */
  readonly timeoutMs?: number;
  /** Waits between attempts; passed in so that a test need not. */
  pause?(ms: number, signal?: AbortSignal): Promise<void>;
}

/**
 * Sends one request and gives the body of the answer once it has begun to come. A provider that is busy or broken for the
 * moment is asked again; one that has begun to answer is not, since what it said has been shown already.
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
      const failure = await failureOf(response, connection, Object.hasOwn(body, 'tools'));
      if (last || !isPassing(response.status) || failure.code === 'tools_refused') throw failure;
    }
    await (connection.pause ?? pause)(wait(attempt, response?.headers.get('retry-after')), signal);
    if (signal?.aborted) throw new RelayError('aborted', { what: 'the prompt' });
  }
}

/** Aborts `late` when a wait for the provider takes too long, and calls `onSilence` when a part of that time is over. */
function silenceGuard(
  { provider, url, timeoutMs: ms = MODEL_SILENCE_MS }: Connection,
  late: AbortController,
  onSilence: AnswerListener['onSilence'],
  signal: AbortSignal | undefined,
): <T>(wait: () => Promise<T>) => Promise<T> {
  return async (wait) => {
    if (ms === 0) return wait();
    const timers = [
      setTimeout(() => onSilence?.(ms / TOLD_AFTER, ms), ms / TOLD_AFTER),
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

/** The part of its patience after which a silence is told. */
const TOLD_AFTER = 10;

/** Null where it could not be reached and another attempt is due. */
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
      // A key is for the host it was meant for.
      redirect: 'error',
      signal: signal ?? null,
    });
  } catch (error) {
    if (signal?.aborted) throw new RelayError('aborted', { what: 'the prompt' }, error);
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

/** What a provider says about a failure: the message inside its JSON, and never the key that was sent. */
async function failureOf(
  response: Response,
  connection: Connection,
  withTools: boolean,
): Promise<RelayError> {
  const { provider, url, headers, model, keyName, models } = connection;
  const { status } = response;
  const text = (await response.text().catch(() => '')).slice(0, 20_000);
  let said = text;
  let code: unknown;
  try {
    const parsed = JSON.parse(text);
    said = parsed.error?.message ?? parsed.error ?? parsed.message ?? text;
    code = parsed.error?.code;
  } catch {
    // Not JSON: as it is.
  }
  let plain = redact(String(said)).replace(/\s+/g, ' ').trim().slice(0, 300);
  for (const value of Object.values(headers)) {
    const secret = value.replace(/^Bearer /, '');
    if (secret.length > 7) plain = plain.replaceAll(secret, '…');
  }
  const what = `${status}${plain ? `, ${plain.replace(/\.$/, '')}` : ''}`;
  // There is no word for it that they share.
  const aboutTools = /\btools?\b|\btool_|function.call/i.test(String(said));
  if (withTools && aboutTools && ![401, 403, 429].includes(status))
    return new RelayError('tools_refused', { provider, model, what });
  // OpenAI has a word for it, also where the model exists for others; the rest say that they did not find it by name.
  if (code === 'model_not_found' || (status === 404 && String(said).includes(model)))
    return new RelayError('model_unknown', { provider, model, what, list: models });
  if (status === 401 || status === 403)
    return new RelayError('provider_refused', { provider, what, key: keyName, model });
  const hint =
    status === 404
      ? `See that ${url} is right and that there is a model ${model}.`
      : isPassing(status)
        ? undefined
        : 'It does not take the request as it is: shorten it (--dry-run shows it), or choose another model with --provider and --model.';
  return new RelayError('provider_failed', { provider, what, status, ...(hint ? { hint } : {}) });
}
