import { Message, type Part, Role, type SendMessageRequest } from '@a2a-js/sdk';
import { RequestMalformedError } from '@a2a-js/sdk/errors';
import { sha256Hex } from '../../base/hash.ts';
import { ownKey } from '../../base/ids.ts';
import type { JsonObject } from '../../base/json.ts';
import {
  A2A_HISTORY,
  A2A_HISTORY_BYTES,
  A2A_ID_CHARS,
  A2A_MESSAGE_BYTES,
  A2A_MESSAGE_JSON_BYTES,
  A2A_MESSAGE_RIDES_BYTES,
  A2A_PARTS,
  ENVELOPE_PAYLOAD_BYTES,
} from '../../base/limits.ts';
import { encodeUtf8 } from '../../base/utf8.ts';
import type { TaskMessage } from '../../contract/a2a.ts';
import { pointerUrl } from '../../contract/pointer-url.ts';
import type { PointersApi, Pushed } from '../../contract/pointers.ts';
import type { AgentEntry } from './card.ts';

/** Checks the ids of the message in a request and returns the message. */
export function validateMessage({ message }: SendMessageRequest): Message {
  if (!message?.messageId) throw new RequestMalformedError('message.messageId is required');
  checkId('message.messageId', message.messageId);
  checkId('message.contextId', message.contextId);
  return message;
}

/** Checks an id that the client chose: it becomes part of store keys and environment variables. */
function checkId(what: string, id: string): void {
  if (id.length > A2A_ID_CHARS || !id.isWellFormed() || /\p{Cc}/u.test(id))
    throw new RequestMalformedError(
      `${what} must have at most ${A2A_ID_CHARS} characters and no control characters.`,
    );
}

/**
 * Returns a hash of a message to this agent. Messages with the same id but different content have different
 * hashes.
 */
export function messageDigest({ name }: AgentEntry, message: Message): Promise<string> {
  return sha256Hex(JSON.stringify([name, Message.toJSON(message)]));
}

/** One message to the agent, with its conversation. */
export interface Turn {
  /** The message, with pointers in place of its large parts. */
  readonly message: Message;
  readonly context_id: string;
  readonly thread_id: string;
  /** The task that the message continues, with the earlier messages of the task. */
  readonly task?: { readonly id: string; readonly history: readonly Message[] };
}

/** Pushes a message to the agent's task channel. The metadata has the A2A fields that the bridge needs. */
export async function pushTurn(
  { task_channel, done_channel }: AgentEntry,
  turn: Turn,
  pointers: PointersApi,
  idempotency_key: string,
): Promise<Pushed> {
  const { message, context_id, thread_id, task } = turn;
  const whole = Message.toJSON({ ...message, contextId: context_id, taskId: task?.id ?? '' }) as JsonObject;
  const body = encodeUtf8(JSON.stringify(whole));
  const ids = { message_id: message.messageId, context_id, ...(task ? { task_id: task.id } : {}) };
  let a2a: TaskMessage = { ...ids, message: whole };
  if (body.byteLength > A2A_MESSAGE_RIDES_BYTES) {
    const key = `${idempotency_key} message`;
    const { id } = await pointers.push({ body, content_type: 'application/json', idempotency_key: key });
    a2a = { ...ids, message_pointer: id };
  }
  return pointers.push({
    body: encodeUtf8(turnText(turn)),
    content_type: 'text/markdown',
    channel: task_channel,
    metadata: { summary: summaryOf(message), done_channel, thread_id, a2a: a2a as unknown as JsonObject },
    idempotency_key,
  });
}

/** Renders the message after the earlier messages of the task, which this agent may not have seen. */
function turnText({ message, task }: Turn): string {
  const before: string[] = [];
  let chars = 0;
  for (const earlier of task?.history.toReversed() ?? []) {
    const text = taskText(earlier);
    chars += text.length;
    if (chars > ENVELOPE_PAYLOAD_BYTES) break;
    before.unshift(`${earlier.role === Role.ROLE_AGENT ? 'You' : 'The sender'}: ${text}`);
  }
  if (before.length === 0) return taskText(message);
  return `Earlier in this task:\n\n${before.join('\n\n')}\n\nNow the sender says:\n\n${taskText(message)}`;
}

/** Returns the newest messages that fit into a task record. */
export function newestMessages(history: readonly Message[]): JsonObject[] {
  const newest: JsonObject[] = [];
  let chars = 0;
  for (const message of history.slice(-A2A_HISTORY).toReversed()) {
    const json = Message.toJSON(message) as JsonObject;
    chars += JSON.stringify(json).length;
    if (chars > A2A_HISTORY_BYTES) break;
    newest.unshift(json);
  }
  return newest;
}

/**
 * Creates a message part for a payload: a URL that returns the bytes for A2A clients, and the pointer in the
 * metadata for relay clients.
 */
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
 * Stores the large parts of a message and returns the message with pointers in their place. The idempotency
 * keys are made from `digest`, the hash of the message, so that a repeated message stores nothing twice.
 */
export async function storeLargeParts(
  message: Message,
  digest: string,
  pointers: PointersApi,
  base: string,
): Promise<Message> {
  if (message.parts.length === 0) throw new RequestMalformedError('The message has no parts.');
  if (message.parts.length > A2A_PARTS)
    throw new RequestMalformedError(`A message may have at most ${A2A_PARTS} parts.`);
  const store = largePartStore(pointers, (at) => ownKey(`a2a part ${at} ${digest}`));
  const parts: Part[] = [];
  for (const part of message.parts) {
    const mediaType = part.mediaType || undefined;
    const stored = await store(part, mediaType);
    parts.push(stored ? pointerPart({ base, ...stored, name: part.filename, mediaType }) : part);
  }
  const light = { ...message, parts };
  const bytes = encodeUtf8(JSON.stringify(Message.toJSON(light))).byteLength;
  if (bytes > A2A_MESSAGE_JSON_BYTES)
    throw new RequestMalformedError(
      `The message has ${bytes} bytes without its large parts; the limit is ${A2A_MESSAGE_JSON_BYTES}. Move large metadata into a part.`,
    );
  return light;
}

/**
 * Returns a function that stores a part of a message if it is binary or too large for a record. The function
 * returns the pointer, or null if the part stays in the record. `keyOf` returns the idempotency key of the
 * nth part.
 */
export function largePartStore(pointers: PointersApi, keyOf: (at: number) => string) {
  let room = A2A_MESSAGE_BYTES;
  let count = 0;
  return async (part: Part, content_type?: string): Promise<{ id: string; size: number } | null> => {
    const idempotency_key = keyOf(count++);
    const body = bytesOf(part);
    const size = body?.byteLength ?? 0;
    if (!body || (part.content?.$case !== 'raw' && size <= Math.min(room, ENVELOPE_PAYLOAD_BYTES))) {
      room -= size;
      return null;
    }
    const { id } = await pointers.push({ body, size, content_type, visibility: 'link', idempotency_key });
    return { id, size };
  };
}

/** Renders a message as task text for the agent: its texts, then the URLs of its attachments. */
export function taskText(message: Message): string {
  const texts: string[] = [];
  const attached: string[] = [];
  for (const { content, filename, mediaType, metadata } of message.parts) {
    if (content?.$case === 'text') texts.push(content.value);
    else if (content?.$case === 'data')
      texts.push(`\`\`\`json\n${JSON.stringify(content.value, null, 2)}\n\`\`\``);
    else if (content?.$case === 'url') {
      const where = typeof metadata?.pointer === 'string' ? metadata.pointer : content.value;
      const what = [filename, mediaType].filter(Boolean).join(', ');
      attached.push(`- ${where}${what ? ` (${what})` : ''}`);
    }
  }
  if (attached.length > 0) texts.push(`Attached (read with: relay pull <url>):\n${attached.join('\n')}`);
  return texts.join('\n\n');
}

export function summaryOf(message: Message): string {
  return (taskText(message).split('\n').find(Boolean) ?? '').slice(0, 80);
}

/** Returns the content of a part as bytes, or null if the part is a URL. */
export function bytesOf({ content }: Part): Uint8Array | null {
  if (content?.$case === 'text') return encodeUtf8(content.value);
  if (content?.$case === 'raw') return content.value;
  if (content?.$case === 'data') return encodeUtf8(JSON.stringify(content.value));
  return null;
}
