import { Message, type Part } from '@a2a-js/sdk';
import { RequestMalformedError } from '@a2a-js/sdk/errors';
import { ownKey } from '../../base/ids.ts';
import {
  A2A_MESSAGE_BYTES,
  A2A_MESSAGE_JSON_BYTES,
  A2A_PARTS,
  ENVELOPE_PAYLOAD_BYTES,
} from '../../base/limits.ts';
import { pointerUrl } from '../../contract/pointer-url.ts';
import type { PointersApi } from '../../contract/pointers.ts';

const encoder = new TextEncoder();

/** A payload as a part of a message: a URL that anyone can get the bytes from, and the pointer for those who know it. */
export function pointerPart(o: {
  readonly base: string;
  readonly id: string;
  readonly size: number;
  readonly name?: string;
  readonly mediaType?: string;
}): Part {
  const url = pointerUrl(o.base, o.id);
  return {
    content: { $case: 'url', value: `${url}?raw=1` },
    metadata: { pointer: url, size: o.size },
    filename: o.name ?? '',
    mediaType: o.mediaType ?? '',
  };
}

export function textPart(text: string, mediaType = 'text/plain'): Part {
  return { content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType };
}

/**
 * The message with everything large taken out and stored, so that what is kept and passed on stays small. `digest` is the
 * message's: the same one again is stored once.
 */
export async function storeLargeParts(
  message: Message,
  digest: string,
  pointers: PointersApi,
  base: string,
): Promise<Message> {
  if (message.parts.length === 0) throw new RequestMalformedError('The message has no parts.');
  if (message.parts.length > A2A_PARTS)
    throw new RequestMalformedError(`A message has at most ${A2A_PARTS} parts.`);
  const parts: Part[] = [];
  let kept = 0;
  for (const [at, part] of message.parts.entries()) {
    const body = bytesOf(part);
    const size = body?.byteLength ?? 0;
    // Bytes say nothing in a text: they are always stored.
    const isRaw = part.content?.$case === 'raw';
    if (!body || !(isRaw || size > ENVELOPE_PAYLOAD_BYTES || kept + size > A2A_MESSAGE_BYTES)) {
      parts.push(part);
      kept += size;
      continue;
    }
    const mediaType = part.mediaType || undefined;
    const { id } = await pointers.push({
      body,
      size,
      content_type: mediaType,
      visibility: 'link',
      idempotency_key: ownKey(`a2a part ${at} ${digest}`),
    });
    parts.push(pointerPart({ base, id, size, name: part.filename, mediaType }));
  }
  const light = { ...message, parts };
  const bytes = encoder.encode(JSON.stringify(Message.toJSON(light))).byteLength;
  if (bytes > A2A_MESSAGE_JSON_BYTES)
    throw new RequestMalformedError(
      `The message has ${bytes} bytes beside its large parts; at most ${A2A_MESSAGE_JSON_BYTES} are taken. Send what is in its metadata as a part.`,
    );
  return light;
}

/** What the agent that does the task is given to read: the words, and where everything else is. */
export function taskText(message: Message): string {
  const words: string[] = [];
  const attached: string[] = [];
  for (const { content, filename, mediaType, metadata } of message.parts) {
    if (content?.$case === 'text') words.push(content.value);
    else if (content?.$case === 'data')
      words.push(`\`\`\`json\n${JSON.stringify(content.value, null, 2)}\n\`\`\``);
    else if (content?.$case === 'url') {
      const where = typeof metadata?.pointer === 'string' ? metadata.pointer : content.value;
      const what = [filename, mediaType].filter(Boolean).join(', ');
      attached.push(`- ${where}${what ? ` (${what})` : ''}`);
    }
  }
  if (attached.length > 0) words.push(`Attached (read with: relay pull <url>):\n${attached.join('\n')}`);
  return words.join('\n\n');
}

export function summaryOf(message: Message): string {
  return (taskText(message).split('\n').find(Boolean) ?? '').slice(0, 80);
}

/** Null where it is a URL. */
export function bytesOf({ content }: Part): Uint8Array | null {
  if (content?.$case === 'text') return encoder.encode(content.value);
  if (content?.$case === 'raw') return content.value;
  if (content?.$case === 'data') return encoder.encode(JSON.stringify(content.value));
  return null;
}
