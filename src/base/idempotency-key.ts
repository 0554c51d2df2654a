import { RelayError } from './errors.ts';
import { IDEMPOTENCY_KEY_CHARS } from './limits.ts';

/** An Idempotency-Key as a relay takes it; undefined where there is none. */
export function checkIdempotencyKey(key: string | undefined): string | undefined {
  if (key === undefined || key === '') return undefined;
  if (key.length <= IDEMPOTENCY_KEY_CHARS) return key;
  const what = `The Idempotency-Key is longer than ${IDEMPOTENCY_KEY_CHARS} characters.`;
  throw new RelayError('bad_request', { what });
}
