import type { StandardSchemaWithJSON } from '@modelcontextprotocol/server';
import * as z from 'zod';
import type { Verb } from '../../contract/verb.ts';
import type { Desk, OpenDesk } from './desk.ts';

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

export interface ToolCall extends OpenDesk {
  readonly desk: Desk;
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
