import type { StandardSchemaWithJSON } from '@modelcontextprotocol/server';
import * as z from 'zod';
import type { Env } from '../../base/env.ts';
import { percentDecoded } from '../../base/utf8.ts';
import type { Project } from '../../client/projects/project.ts';
import type { Relay } from '../../contract/relay.ts';
import type { Verb } from '../../contract/verb.ts';
import type { TextWork } from '../../domain/text-work.ts';
import { checkInput } from '../../schemas/issue-words.ts';
import type { ContextRelay } from '../../sdk/context-relay.ts';
import type { FrameSecret } from '../../text/frame.ts';

/** A tool, declared once for every transport. Names, descriptions and schemas ride in every prompt: keep them short. */
export interface Tool<I extends z.ZodObject = z.ZodObject> {
  readonly name: string;
  readonly description: string;
  readonly input: I;
  readonly schema: StandardSchemaWithJSON;
  /** The row of the table that it mirrors: who may call it, and whether it changes anything. None is about the files of a project. */
  readonly verb: Verb | null;
  /** Offered only at this end of a pipe. */
  readonly local?: true;
  /** Writes project files: offered only where the client's folder has some. */
  readonly writesProject?: true;
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
  readonly texts: TextWork;
  readonly frameSecret: FrameSecret;
  /** The most tokens a pull may answer with. */
  readonly budget: number;
  /** Whether the program was replaced on the disk since it started. */
  replaced?(): boolean;
  /** Opens the relay with the first tool that needs it: a server that was only started costs nothing. */
  open(): Promise<RelayAccess>;
  /** Whether whoever asks may do this at all; on which channels is asked when it is done. */
  may(verb: Verb): boolean;
  /** Commands in hints, as they have to be typed where the client is. */
  typed?(text: string): string;
  /** The brief of the project the client works in; only where it is `local`. */
  brief?(about: string | undefined): Promise<string>;
  /** That project; only where it is `local`, and the folder had project files when the client came. */
  project?(): Promise<Project>;
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
  /** Says something beside the answer, which stays what programs expect: in the client's log and in that of this end. */
  warn(text: string): Promise<void>;
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

export function defineTool<I extends z.ZodObject>(tool: Omit<Tool<I>, 'schema'>): Tool {
  return { ...tool, schema: schemaOf(tool.input.strict()) } as unknown as Tool;
}

/**
 * The input as the server library takes it, with the shortest JSON Schema that says the same, made once. An argument that the
 * tool does not have is refused: whoever misspells one would not notice.
 */
function schemaOf(input: z.ZodObject): StandardSchemaWithJSON {
  let made: Record<string, unknown> | null = null;
  const json = () => {
    if (!made) {
      const { $schema, ...plain } = z.toJSONSchema(input, { io: 'input' });
      made = plain;
    }
    return made;
  };
  const validate = (args: unknown) => {
    const found = checkInput(input, args);
    return 'data' in found ? { value: found.data } : { issues: [{ message: found.wrong }] };
  };
  const jsonSchema = { input: json, output: json };
  return { '~standard': { version: 1, vendor: 'relay', validate, jsonSchema } };
}

/** How resources are named; what stands in a place of a template is percent-encoded. */
export const POINTER_URI = 'relay://pointer/{id}';
export const CHANNEL_URI = 'relay://channel/{name}';
export const STATE_URI = 'relay://thread/{id}/state';

export interface ResourceName {
  readonly kind: 'pointer' | 'channel' | 'thread';
  /** The name, of a channel. */
  readonly id: string;
}

export function pointerLink(id: string, name = 'the payload'): Link {
  return { uri: POINTER_URI.replace('{id}', id), name };
}

export function stateLink(id: string): Link {
  return { uri: STATE_URI.replace('{id}', id), name: 'the state of the thread' };
}

export function channelUri(name: string): string {
  return CHANNEL_URI.replace('{name}', encodeURIComponent(name));
}

/** Null for a URI that is none of ours. */
export function readUri(uri: string): ResourceName | null {
  const [, kind, encoded, state] =
    /^relay:\/\/(pointer|channel|thread)\/([^/?#]+)(\/state)?$/.exec(uri) ?? [];
  const id = encoded === undefined ? null : percentDecoded(encoded);
  if (id === null || (kind === 'thread') !== (state !== undefined)) return null;
  return { kind: kind as ResourceName['kind'], id };
}
