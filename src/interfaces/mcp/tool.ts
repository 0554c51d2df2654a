import type { StandardSchemaWithJSON } from '@modelcontextprotocol/server';
import * as z from 'zod';
import type { Env } from '../../base/env.ts';
import type { TokenCounter } from '../../base/tokens.ts';
import type { Relay } from '../../contract/relay.ts';
import type { Verb } from '../../contract/verb.ts';
import type { ContextRelay } from '../../sdk/context-relay.ts';

/** A tool, declared once for every transport. Names, descriptions and schemas ride in every prompt: keep them short. */
export interface Tool<I extends z.ZodObject = z.ZodObject> {
  readonly name: string;
  readonly description: string;
  readonly input: I;
  /** The row of the table that it mirrors: who may call it, and whether it changes anything. None reads files alone. */
  readonly verb: Verb | null;
  /** Offered only at this end of a pipe. */
  readonly local?: true;
  /** What stands in `Error …: why`. */
  readonly doing: string;
  run(args: z.output<I>, call: ToolCall): Promise<Answer>;
}

/**
 * What tools work with. At this end of a pipe (`local`) they may encrypt, decrypt and ask other relays; behind HTTP they do
 * none of that: a key would have travelled to the server, and a URL would make the server fetch what it is told.
 */
export interface ToolContext {
  readonly local: boolean;
  readonly env: Env;
  readonly counter: TokenCounter;
  /** The most tokens a pull may answer with. */
  readonly budget: number;
  /** Opens the relay with the first tool that needs it: a server that was only started costs nothing. */
  open(): Promise<RelayAccess>;
  /** Whether whoever asks may do this at all; on which channels is asked when it is done. */
  may(verb: Verb): boolean;
  /** The brief of the project the client works in; only where it is `local`. */
  brief?(about: string | undefined): Promise<string>;
}

export interface RelayAccess {
  readonly client: ContextRelay;
  readonly relay: Relay;
  /** The same pointer as the client takes it; throws for one that must not be asked for from here. */
  resolve(url: string): Promise<string>;
}

export interface ToolCall extends RelayAccess {
  readonly context: ToolContext;
  /** Fires when the client no longer wants the answer. */
  readonly signal: AbortSignal;
  /** Told to clients that asked for it. */
  progress(message: string): Promise<void>;
}

export interface Answer {
  readonly text: string;
  /** What the answer is about, for clients that follow links. */
  readonly links?: readonly Link[];
  readonly failed?: boolean;
}

export interface Link {
  readonly uri: string;
  readonly name: string;
}

export function defineTool<I extends z.ZodObject>(tool: Tool<I>): Tool {
  return tool as unknown as Tool;
}

const schemas = new WeakMap<z.ZodObject, StandardSchemaWithJSON>();

/** The input as the server library takes it, with the shortest JSON Schema that says the same. */
export function inputSchema({ input }: Tool): StandardSchemaWithJSON {
  let schema = schemas.get(input);
  if (!schema) {
    let json: Record<string, unknown> | null = null;
    const asJson = () => {
      json ??= plainJsonSchema(input);
      return json;
    };
    const jsonSchema = { input: asJson, output: asJson };
    schema = {
      '~standard': { version: 1, vendor: 'relay', validate: (value) => check(input, value), jsonSchema },
    };
    schemas.set(input, schema);
  }
  return schema;
}

export function plainJsonSchema(input: z.ZodObject): Record<string, unknown> {
  const { $schema, ...json } = z.toJSONSchema(input, { io: 'input' });
  return json;
}

function check(input: z.ZodObject, value: unknown) {
  const result = input.safeParse(value);
  if (result.success) return { value: result.data };
  return { issues: result.error.issues.map(({ message, path }) => ({ message, path })) };
}
