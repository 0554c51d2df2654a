import { RelayError, tooLarge as tooLargeError } from '../../base/errors.ts';
import { EXCERPT_TOKENS, MCP_ANSWER_BYTES } from '../../base/limits.ts';
import type { Inspected, PartRequest } from '../../contract/pointers.ts';
import type { ReadKind } from '../../contract/threads.ts';
import { PULL_A_PART } from '../../sdk/context-tools.ts';
import { frame } from '../../text/frame.ts';
import { binaryKind } from '../../text/preview/binary-kind.ts';
import { makePreview } from '../../text/preview/preview.ts';
import { type Answer, pointerLink, type RelayAccess, type ToolContext } from './tool.ts';

type PullCall = RelayAccess & { readonly context: ToolContext; readonly signal: AbortSignal };

/** Number of bytes at the start of a payload that are read for a preview. */
const PREVIEW_BYTES = 16 * 1024;

/**
 * Returns the payload if it fits into the token budget. Otherwise returns its beginning or an excerpt, its
 * token count, and how to pull a part.
 */
export async function pullWithinBudget(
  url: string,
  call: PullCall,
  show: 'beginning' | 'excerpt' = 'beginning',
): Promise<Answer> {
  const { client, context, signal } = call;
  const encrypted = url.includes('#key=');
  const info = await client.inspect(url, { signal });
  if (info.text === false && !encrypted) throw await notText(url, info, call);
  // A token has at least one byte, so a payload with no more bytes than the budget has tokens fits.
  const size = info.size ?? Number.POSITIVE_INFINITY;
  const plain = encrypted ? Math.floor((size * 3) / 4) : size;
  if (plain <= context.budget) return { text: await client.pull(url, undefined, { signal }) };
  if (!encrypted && info.size !== null) {
    const cost = await client.cost(url, undefined, { signal });
    const fits = cost.tokens <= context.budget && (context.local || info.size <= MCP_ANSWER_BYTES);
    if (fits) return { text: await client.pull(url, undefined, { signal }) };
    if (info.max_pulls !== null) return tooLarge(info, cost, null, call);
    if (show === 'beginning')
      return tooLarge(info, cost, beginningOf(await readStart(url, call), info), call);
    const body = await client.pullBytes(url, { signal });
    return tooLarge(info, cost, excerptOf(body, context), call);
  }
  // The payload is encrypted or of unknown size. If the pulls of the payload are limited, count its tokens with `cost`,
  // which uses up no pull.
  if (info.max_pulls !== null) {
    const cost = await client.cost(url, undefined, { signal });
    if (cost.tokens > context.budget) return tooLarge(info, cost, null, call);
    return { text: await client.pull(url, undefined, { signal }) };
  }
  const text = await client.pull(url, undefined, { signal });
  const cost = await context.texts.count(text);
  if (cost.tokens <= context.budget) return { text };
  const body = new TextEncoder().encode(show === 'beginning' ? text.slice(0, PREVIEW_BYTES) : text);
  const sized = { ...info, size: info.size ?? text.length };
  const excerpt = show === 'beginning' ? beginningOf(body, sized) : excerptOf(body, context);
  return tooLarge(sized, cost, excerpt, call);
}

/** Returns a part of a payload, cut to the token budget. */
export async function partWithinBudget(url: string, part: PartRequest, call: PullCall): Promise<Answer> {
  const pulled = await call.client.pullPart(url, part, { signal: call.signal });
  // A search without a match has no text. Return how much was searched.
  if (pulled.text === '') return { text: pulled.about };
  const text = await cutToBudget(pulled.text, call.context);
  return { text: pulled.truncated ? `${text}\n[${pulled.about}]` : text };
}

/** Cuts a text to the token budget, at a line end if possible, and appends a note. */
export async function cutToBudget(text: string, context: ToolContext): Promise<string> {
  if (text.length * 3 <= context.budget || new TextEncoder().encode(text).byteLength <= context.budget)
    return text;
  const { tokens } = await context.texts.count(text);
  if (tokens <= context.budget) return text;
  const chars = Math.floor((text.length * context.budget) / tokens);
  const line = text.lastIndexOf('\n', chars);
  const beginning = text.slice(0, line > chars / 2 ? line : chars);
  return `${beginning}\n[cut: this part has ${formatNumber(tokens)} tokens, the budget is ${formatNumber(context.budget)}; request a smaller part]`;
}

/** Throws `too_large` if an answer over HTTP would be too large. */
export function checkAnswerSize(bytes: number): void {
  if (bytes <= MCP_ANSWER_BYTES) return;
  throw tooLargeError('an answer over HTTP', MCP_ANSWER_BYTES, 'Request parts of it, or use relay pull.');
}

async function readStart(url: string, { client, signal }: PullCall): Promise<Uint8Array> {
  return client.pullBytes(url, { range: { start: 0, end: PREVIEW_BYTES }, signal });
}

/** A part of a payload that is returned instead of the whole payload. */
interface ShownPart {
  readonly what: string;
  readonly text: string;
}

async function beginningOf(start: Uint8Array, { size }: Inspected): Promise<ShownPart> {
  const body = { start, size: size ?? start.length, lineCount: 0, isText: true };
  return { what: 'the beginning of the payload', text: (await makePreview('text', body)).text };
}

async function excerptOf(body: Uint8Array, { texts }: ToolContext): Promise<ShownPart> {
  const { text } = await texts.excerpt(body, { budget: EXCERPT_TOKENS });
  return { what: 'an excerpt of the payload: original lines with their numbers', text };
}

async function tooLarge(
  info: Inspected,
  cost: { readonly tokens: number; readonly tokenizer: string; readonly estimated: boolean } | null,
  showing: Promise<ShownPart> | null,
  { context }: PullCall,
): Promise<Answer> {
  const price = cost
    ? `${cost.estimated ? 'about ' : ''}${formatNumber(cost.tokens)} tokens (${cost.tokenizer})`
    : 'not counted';
  const lines = [
    `Not pulled: ${formatNumber(info.size ?? 0)} bytes, ${price}; the budget is ${formatNumber(context.budget)} tokens.`,
  ];
  if (showing) {
    const { what, text } = await showing;
    const at = info.created_at === null ? context.env.now() : Date.parse(info.created_at);
    const source = { what, by: info.from ?? '', at };
    lines.push(await frame(text, source, context.env.now(), context.frameSecret));
  } else lines.push('Its number of pulls is limited, so no preview was read.');
  lines.push(PULL_A_PART);
  return { text: lines.join('\n'), links: [pointerLink(info.id)] };
}

async function notText(url: string, found: Inspected, call: PullCall): Promise<RelayError> {
  const kind = found.max_pulls === null ? binaryKind(await readStart(url, call)) : 'binary data';
  return new RelayError('not_text', {
    what: 'text to return',
    hint: `It is ${kind}, ${formatNumber(found.size ?? 0)} bytes. Save it: relay pull ${found.id} --out FILE`,
  });
}

/**
 * Records in the token ledger of the thread how many tokens a tool returned. Does nothing with an old
 * relay, which has no token ledger.
 */
export async function recordShown(
  { relay, context }: Pick<PullCall, 'relay' | 'context'>,
  thread: string,
  what: ReadKind,
  text: string,
): Promise<void> {
  const { tokens } = await context.texts.count(text);
  // Ignore errors: the answer matters more than its entry in the ledger.
  await relay.threads.shown(thread, { what, tokens }).catch(() => {});
}

/** Formats a number with thousands separators. */
export function formatNumber(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}
