import { RelayError } from '../../base/errors.ts';
import { GREP_CONTEXT_LINES } from '../../base/limits.ts';
import type { PartRequest } from '../../domain/pointers/types.ts';

/** `?lines=10-40`, `?grep=…`, `?json=/a/b` or `?outline=1`; undefined when the whole is asked for. */
export function partOf(query: URLSearchParams): PartRequest | undefined {
  const asked = ['lines', 'grep', 'json', 'outline'].filter((name) =>
    name === 'outline' ? isOn(query.get(name)) : query.has(name),
  );
  if (asked.length === 0) return undefined;
  if (asked.length > 1)
    throw new RelayError('bad_part', { what: `${asked.join(' and ')} do not go together` });
  switch (asked[0]) {
    case 'lines':
      return { lines: query.get('lines')! };
    case 'json':
      return { json: query.get('json')! };
    case 'outline':
      return { outline: true };
    default:
      return {
        grep: query.get('grep')!,
        context: contextLines(query.get('context')),
        ignore_case: isOn(query.get('ignore_case')),
      };
  }
}

export function isOn(value: string | null): boolean {
  return value !== null && value !== '0' && value !== 'false';
}

function contextLines(value: string | null): number {
  if (value === null || value === '') return 0;
  if (!/^\d{1,4}$/.test(value) || Number(value) > GREP_CONTEXT_LINES) {
    throw new RelayError('bad_part', { what: `context goes from 0 to ${GREP_CONTEXT_LINES}` });
  }
  return Number(value);
}
