import { badRequest, isRelayError, type RelayError } from '../base/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts';
import { parsePointer } from '../contract/pointer-url.ts';
import type { ContextRelay } from '../sdk/context-relay.ts';
import { PEEK_TOOL, PULL_TOOL, PUSH_TOOL, peekText } from '../sdk/context-tools.ts';
import { parsePartText } from '../text/parts/part-request.ts';
import { cutNear } from '../text/preview/cut.ts';
import { describePointer } from './large-results.ts';

/** A tool that is independent of any framework. It returns text for a model, even for errors. */
export interface RelayTool {
  readonly name: string;
  readonly description: string;
  readonly schema: RelayToolSchema;
  run(input: unknown, o?: { readonly signal?: AbortSignal }): Promise<string>;
}

/** JSON Schema of a tool's input, which every framework accepts. */
export type RelayToolSchema = {
  type: 'object';
  properties: { [name: string]: { type: 'string' | 'boolean'; description: string } };
  required: string[];
  additionalProperties: false;
};

export interface RelayToolOptions {
  /**
   * Maximum size in bytes of a result of `pull_context`; 64 KiB by default. For a larger payload, the model gets its
   * size, token count and beginning.
   */
  readonly maxBytes?: number;
  /** Channel for pushes, if the model names none. */
  readonly channel?: string;
  /** Seconds until a push expires; a day by default. */
  readonly ttl?: number;
}

/**
 * Default of `maxBytes`, about 16 000 tokens. It is more than one question needs, and only a fraction of the
 * context of any model.
 */
const PULL_BYTES = 64 * 1024;

/** Returns `push_context`, `peek_context` and `pull_context`, in this order. */
export function relayTools(relay: ContextRelay, o: RelayToolOptions = {}): RelayTool[] {
  return [pushTool(relay, o), peekTool(relay), pullTool(relay, o)];
}

function pushTool(relay: ContextRelay, o: RelayToolOptions): RelayTool {
  const { data, channel, encrypted, summary } = PUSH_TOOL.input;
  return define(PUSH_TOOL, {
    properties: {
      data: text(data),
      channel: text(channel),
      encrypted: { type: 'boolean', description: encrypted },
      summary: text(summary),
    },
    required: ['data'],
    run: (input, { signal }) =>
      relay.push(input.data as string, {
        channel: (input.channel as string | undefined) || o.channel,
        encrypted: input.encrypted === true,
        metadata: input.summary ? { summary: input.summary } : undefined,
        ttl: o.ttl,
        signal,
      }),
  });
}

function peekTool(relay: ContextRelay): RelayTool {
  return define(PEEK_TOOL, {
    properties: { url: text('a relay URL') },
    required: ['url'],
    run: async (input, { signal }) => peekText(await relay.peek(pointer(input.url), { signal })),
  });
}

function pullTool(relay: ContextRelay, { maxBytes = PULL_BYTES }: RelayToolOptions): RelayTool {
  return define(PULL_TOOL, {
    properties: { url: text('a relay URL'), part: text(PULL_TOOL.input.part) },
    required: ['url'],
    async run(input, { signal }) {
      const url = pointer(input.url);
      const part = input.part ? parsePartText(input.part as string) : undefined;
      if (part) {
        const pulled = await relay.pullPart(url, part, { signal });
        return cutTo(pulled.truncated ? `${pulled.text}\n[${pulled.about}]` : pulled.text, maxBytes);
      }
      if (part === null) return relay.pull(url, undefined, { signal });
      const found = await relay.inspect(url, { signal });
      const size = found.size ?? Number.POSITIVE_INFINITY;
      // An encrypted payload is a Fernet token, which has four bytes for three bytes of plain text. Compare the size
      // of the plain text.
      if ((url.includes('#key=') ? (size * 3) / 4 : size) <= maxBytes)
        return relay.pull(url, undefined, { signal });
      return describePointer(relay, url, found, maxBytes, signal);
    },
  });
}

interface Definition extends Omit<RelayToolSchema, 'type' | 'additionalProperties'> {
  run(input: JsonObject, o: { readonly signal?: AbortSignal }): Promise<string>;
}

function define(
  { name, description, doing }: { name: string; description: string; doing: string },
  { run, properties, required }: Definition,
): RelayTool {
  const schema: RelayToolSchema = { type: 'object', properties, required, additionalProperties: false };
  return {
    name,
    description,
    schema,
    async run(input, o = {}) {
      try {
        return await run(checked(input, schema), o);
      } catch (error) {
        // Return errors of the relay to the model as text. Throw an unknown error, because it is a bug. If the
        // caller has aborted, throw any error, because the caller needs no answer.
        if (!isRelayError(error) || o.signal?.aborted) throw error;
        return `Error ${doing}: ${error.message} ${error.hintFor('mcp')}`;
      }
    },
  };
}

/** Validates the input, because not every framework does. Models omit or misspell arguments, or send null. */
function checked(input: unknown, { properties, required }: RelayToolSchema): JsonObject {
  if (!isJsonObject(input as Json)) throw wrong('The input is not an object.');
  const args = Object.entries(input as JsonObject).filter(
    ([, value]) => value !== null && value !== undefined,
  );
  for (const [name, value] of args) {
    const type = Object.hasOwn(properties, name) ? properties[name]!.type : undefined;
    if (type === undefined) throw wrong(`There is no argument "${name.slice(0, 80)}".`);
    if (typeof value !== type) throw wrong(`"${name}" is not a ${type}.`);
  }
  const absent = required.find((name) => !args.some(([each]) => each === name));
  if (absent) throw wrong(`"${absent}" is missing.`);
  return Object.fromEntries(args);
}

function wrong(what: string): RelayError {
  return badRequest(what, 'See the schema of the tool.');
}

/**
 * Returns the URL if it is a pointer. Throws for any other URL, because a model must not be able to read
 * arbitrary URLs.
 */
function pointer(url: Json | undefined): string {
  const trimmed = (url as string).trim();
  parsePointer(trimmed);
  return trimmed;
}

function text(description: string): { type: 'string'; description: string } {
  return { type: 'string', description };
}

function cutTo(whole: string, bytes: number): string {
  const { text: beginning, cut } = cutNear(whole, bytes);
  return cut ? `${beginning}\n[cut at ${bytes} bytes; request a smaller part]` : whole;
}
