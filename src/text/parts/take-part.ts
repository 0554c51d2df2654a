import { type MatcherFactory, takeGrep } from './grep.ts';
import { takeJson } from './json-pointer.ts';
import { takeLines } from './lines.ts';
import { takeOutline } from './outline.ts';
import { checkPartRequest, type Part, type PartRequest } from './part-request.ts';
import type { PartBody } from './text-lines.ts';

/** The asked part of a text body. `not_text` where the bytes are not UTF-8, `bad_part` where there is no such part. */
export async function takePart(body: PartBody, part: PartRequest, matcherFor: MatcherFactory): Promise<Part> {
  try {
    checkPartRequest(part);
  } catch (error) {
    // Whoever opened the body has handed it over: it is not left open.
    if (!(body instanceof Uint8Array)) await body.cancel().catch(() => {});
    throw error;
  }
  if ('lines' in part) return takeLines(body, part.lines);
  if ('grep' in part) return takeGrep(body, part, matcherFor);
  if ('json' in part) return takeJson(body, part.json);
  return takeOutline(body);
}
