import { type PartRequest, parsePartRequest } from '../../base/parts/part-request.ts';

/** `?lines=10-40`, `?grep=…`, `?json=/a/b` or `?outline=1`; undefined when the whole is asked for. */
export function partOf(query: URLSearchParams): PartRequest | undefined {
  const [lines, grep, context, ignore_case, json, outline] = PART_NAMES.map((name) => query.get(name));
  return parsePartRequest({ lines, grep, context, ignore_case, json, outline }) ?? undefined;
}

const PART_NAMES = ['lines', 'grep', 'context', 'ignore_case', 'json', 'outline'] as const;

export function isOn(value: string | null): boolean {
  return value !== null && value !== '0' && value !== 'false';
}

/** The query of a URL, without parsing the rest of it. */
export function queryOf(url: string): URLSearchParams {
  const at = url.indexOf('?');
  return new URLSearchParams(at < 0 ? '' : url.slice(at + 1));
}
