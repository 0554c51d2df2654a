import { concatBytes } from '../../base/byte-streams.ts';
import { RelayError } from '../../base/errors.ts';
import type { Json } from '../../base/json.ts';
import type { ThreadsAs } from '../prompts/types.ts';
import { withMethods } from './run-lease.ts';

/**
 * Minimum length of a secret. A shorter one would occur in outputs by chance and cannot be masked, so it is
 * rejected.
 */
const MIN_CHARS = 4;

/** Replaces the values of secrets by their names. It also recognizes values in JSON, URL or Base64 encoding. */
export class Mask {
  readonly #values: readonly (readonly [value: string, mark: string])[];
  readonly #bytes: readonly (readonly [value: Uint8Array, mark: Uint8Array])[];

  constructor(secrets: { readonly [name: string]: string }) {
    const encoder = new TextEncoder();
    this.#values = Object.entries(secrets)
      .flatMap(([name, value]) => {
        if (value.length < MIN_CHARS)
          throw new RelayError('failed', {
            what: `The secret ${name} has fewer than ${MIN_CHARS} characters, so it cannot be masked.`,
          });
        const base64 = btoa(String.fromCharCode(...encoder.encode(value))).replace(/=+$/, '');
        const lines = value.includes('\n') ? value.split('\n').filter((line) => line.trim().length >= 8) : [];
        const forms = [
          value,
          value.trim(),
          JSON.stringify(value).slice(1, -1),
          encodeURIComponent(value),
          base64,
        ];
        return [...new Set([...forms, ...lines])].map((form) => [form, `[secret ${name}]`] as const);
      })
      // Replace long values first. A long value may contain a short value. If the short value were replaced first,
      // the rest of the long value would stay readable.
      .sort(([a], [b]) => b.length - a.length);
    this.#bytes = this.#values.map(([value, mark]) => [encoder.encode(value), encoder.encode(mark)]);
  }

  get isEmpty(): boolean {
    return this.#values.length === 0;
  }

  text(text: string): string {
    return this.#values.reduce((masked, [value, mark]) => masked.replaceAll(value, mark), text);
  }

  json<T>(value: T): T {
    if (typeof value === 'string') return this.text(value) as T;
    if (Array.isArray(value)) return value.map((item) => this.json(item as Json)) as T;
    if (value === null || typeof value !== 'object' || value instanceof Uint8Array) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [this.text(key), this.json(item)]),
    ) as T;
  }

  bytes(body: Uint8Array): Uint8Array {
    return this.#bytes.reduce((masked, [value, mark]) => replaceBytes(masked, value, mark), body);
  }

  /** Returns the threads API with masked events, patches and artifacts. */
  guard(threads: ThreadsAs): ThreadsAs {
    if (this.isEmpty) return threads;
    return withMethods(threads, (api) => ({
      record: (id, type, payload = {}) => api.record(id, type, this.json(payload)),
      patch: (id, input) => api.patch(id, this.json(input)),
      putArtifact: (id, { body, ...rest }) =>
        api.putArtifact(id, {
          ...this.json(rest),
          body: body instanceof Uint8Array ? this.bytes(body) : body,
        }),
    }));
  }
}

function replaceBytes(body: Uint8Array, value: Uint8Array, mark: Uint8Array): Uint8Array {
  const parts: Uint8Array[] = [];
  let from = 0;
  for (let at = body.indexOf(value[0]!); at >= 0; at = body.indexOf(value[0]!, at + 1)) {
    if (at < from || !value.every((byte, i) => body[at + i] === byte)) continue;
    parts.push(body.subarray(from, at), mark);
    from = at + value.length;
  }
  if (parts.length === 0) return body;
  return concatBytes([...parts, body.subarray(from)]);
}

/** Fills `${NAME}` in environment variables with secrets, or with variables of the environment. */
export function fillVariables(
  env: { readonly [name: string]: string },
  secrets: { readonly [name: string]: string },
  outside: { readonly [name: string]: string | undefined },
): { [name: string]: string } {
  const filled = Object.entries(env).map(([name, text]) => [
    name,
    text.replace(/\$\{(\w+)\}/g, (_, key: string) =>
      Object.hasOwn(secrets, key) ? secrets[key]! : (outside[key] ?? ''),
    ),
  ]);
  return Object.fromEntries(filled);
}
