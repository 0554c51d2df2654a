import { ERRORS, type ErrorCode, RelayError } from '../base/errors.ts';
import { hasBody, routeOf } from '../contract/verb.ts';
import type { Operation } from './operations.ts';

type Schema = { readonly [key: string]: unknown };

/** What an operation may be refused with, by status; each with the codes that tell the cases apart and an example. */
export function failuresOf(operation: Operation): { [status: string]: Schema } {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codesOf(operation)) {
    const { status } = ERRORS[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const sorted = [...byStatus].sort(([one], [other]) => one - other);
  return Object.fromEntries(sorted.map(([status, codes]) => [String(status), failure(codes)]));
}

function codesOf({ verb, input }: Operation): ErrorCode[] {
  const { scope, byLink } = verb;
  const { method, path } = routeOf(verb);
  const takesPart = Object.hasOwn(input.shape, 'outline');
  const writes = hasBody(method);
  const headers = Object.values(verb.headers ?? {});
  return [
    'bad_request',
    ...(writes ? (['bad_json', 'too_large'] as const) : []),
    ...(verb.raw ? (['empty_payload'] as const) : []),
    ...(takesPart ? (['bad_part', 'not_json'] as const) : []),
    ...(scope === null ? [] : (['unauthorized', 'forbidden'] as const)),
    ...(method === 'POST' && scope === 'push' ? (['over_quota'] as const) : []),
    ...(path.includes(':') || byLink ? (['not_found'] as const) : []),
    ...(headers.includes('Idempotency-Key') ? (['idempotency_conflict'] as const) : []),
    ...(headers.includes('If-Match') ? (['version_conflict'] as const) : []),
    'rate_limited',
  ];
}

function failure(codes: readonly ErrorCode[]): Schema {
  const [first] = codes as [ErrorCode];
  const example = new RelayError(first, DETAILS[first] ?? {}).toJSON();
  return {
    description: codes.map((code) => `\`${code}\``).join(', '),
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' }, example } },
  };
}

/** What stands in the messages of examples. */
const DETAILS: { readonly [code in ErrorCode]?: { readonly [name: string]: unknown } } = {
  bad_request: { what: '"limit": expected a number.' },
  bad_json: { what: 'Unexpected end of JSON input' },
  too_large: { what: 'a payload', limit: 26_214_400 },
  bad_part: { what: 'the first line is 1' },
  not_json: { what: 'it breaks at line 3, column 7' },
  forbidden: { what: 'The key "ci" does not have the scope "push".' },
  over_quota: { what: 'pushes', limit: 1000, used: 1000, reset: '2026-12-01T00:00:00Z' },
  not_found: { what: 'the pointer' },
  version_conflict: { current: 'v8', expected: 'v7' },
  rate_limited: { seconds: 3 },
};
