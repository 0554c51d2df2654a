import { type MatcherFactory, takeGrep } from './grep.ts';
import { takeJson } from './json-pointer.ts';
import { takeLines } from './lines.ts';
import { takeOutline } from './outline.ts';
import { checkPartRequest, type Part, type PartRequest } from './part-request.ts';
import type { PartBody } from './text-lines.ts';

/** The asked part of a text body. `not_text` where the bytes are not UTF-8, `bad_part` where there is no such part. */
export async function takePart(
  body: PartBody,
  request: PartRequest,
  matcherFor: MatcherFactory,
): Promise<Part> {
  const part = await checked(request, body);
  if ('lines' in part) return takeLines(body, part.lines);
  if ('grep' in part) return takeGrep(body, part, matcherFor);
  if ('json' in part) return takeJson(body, part.json);
  return takeOutline(body);
}

async function checked(request: PartRequest, body: PartBody): Promise<PartRequest> {
  try {
    return checkPartRequest(request);
  } catch (error) {
    // Whoever opened the body has handed it over: it is not left open.
    if (!(body instanceof Uint8Array)) await body.cancel().catch(() => {});
    throw error;
  }
}
