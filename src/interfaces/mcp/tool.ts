import type { StandardSchemaWithJSON } from '@modelcontextprotocol/server';
import * as z from 'zod';
import type { Env } from '../../base/env.ts';
import { percentDecoded } from '../../base/utf8.ts';
import type { Project } from '../../client/projects/project.ts';
import type { Woken } from '../../contract/agents.ts';
import type { Relay } from '../../contract/relay.ts';
import type { Verb } from '../../contract/verb.ts';
import type { TextWork } from '../../domain/text-work.ts';
import { checkInput } from '../../schemas/check-input.ts';
import type { ContextRelay } from '../../sdk/context-relay.ts';
import type { FrameSecret } from '../../text/frame.ts';

/** An MCP tool. Keep name, description and schema short: they are part of every prompt. */
export interface Tool<I extends z.ZodObject = z.ZodObject> {
  readonly name: string;
  readonly description: string;
  readonly input: I;
  /** Input schema over HTTP. Set only if it has fewer fields than `input`, which is for stdio. */
  readonly httpInput?: z.ZodObject;
  readonly schema: StandardSchemaWithJSON;
  readonly httpSchema: StandardSchemaWithJSON;
  /**
   * The verb that the tool calls: it decides who may call the tool, and whether the tool only reads. Null for
   * tools on project files.
   */
  readonly verb: Verb | null;
  /** True if the tool must run on the client's machine, so that only the stdio server offers it. */
  readonly local?: true;
  /** True if the tool writes project files. It is offered only if the folder of the client is a project. */
  readonly writesProject?: true;
  /** What the tool does, for the error text `Error <doing>: <reason>`. */
  readonly doing: string;
  /** Hints that name tools, by error code, in place of hints that name shell commands. */
  readonly hints?: { readonly [code: string]: string };
  run(args: z.output<I>, call: ToolCall): Promise<Answer>;
}

/**
 * Environment of the tools. With `local` (stdio), tools may encrypt, decrypt and call other relays. Over HTTP
 * they may not: the server would see encryption keys, and fetch any URL that a client names.
 */
export interface ToolContext {
  readonly local: boolean;
  readonly env: Env;
  readonly texts: TextWork;
  readonly frameSecret: FrameSecret;
  /** Maximum number of tokens that one pull returns. */
  readonly budget: number;
  /** Returns whether the package on disk was replaced since the server started. */
  replaced?(): boolean;
  /**
   * Opens the relay when a tool first needs it, so that an idle server opens none. `client` is the name that
   * the MCP client sent.
   */
  open(client?: string): Promise<RelayAccess>;
  /**
   * Returns whether the API key of the caller has the scope of the verb. Access to channels is checked later,
   * in the call.
   */
  may(verb: Verb): boolean;
  /** Rewrites commands in a hint to the form that works on the client's machine. */
  typed?(text: string): string;
  /**
   * Reads a file in the client's folder or in one of `roots` (URLs). Only with `local`: over HTTP, it would
   * read the server's disk.
   */
  readFile?(path: string, roots: readonly string[]): Promise<Uint8Array>;
  /**
   * Wakes the sessions of these agents on this machine with their waiting messages. Only with `local`.
   * `relay` stores the messages.
   */
  wake?(relay: Relay, names: readonly string[]): Promise<readonly Woken[]>;
  /**
   * Reads sessions of coding agents in the client's repository. Only with `local`: transcripts are never
   * served over HTTP.
   */
  readonly recall?: {
    search(query: string, session: string | undefined): Promise<string>;
    /** Returns the text of a turn, such as `3f2a:41`: session and number of the turn. */
    show(turn: string): Promise<string>;
  };
  /** Returns the brief of the project in the client's folder. Only with `local`. */
  brief?(about: string | undefined): Promise<string>;
  /**
   * Opens the project in the client's folder. Only with `local`, if the folder had project files when the
   * client connected.
   */
  project?(): Promise<Project>;
}

export interface RelayAccess {
  readonly client: ContextRelay;
  readonly relay: Relay;
  /** Returns the pointer URL for `client`. Throws if this server must not access the pointer. */
  resolve(url: string): Promise<string>;
}

export interface ToolCall extends RelayAccess {
  readonly context: ToolContext;
  /** Aborted when the client cancels the call. */
  readonly signal: AbortSignal;
  /** Returns the folders (URLs) that the client works in, or none if the client does not send them. */
  roots(): Promise<readonly string[]>;
  /** Sends a progress message to clients that requested progress. */
  progress(message: string): Promise<void>;
  /** Writes a warning to the logs of client and server. The answer does not change. */
  warn(text: string): Promise<void>;
}

export interface Answer {
  readonly text: string;
  /** Resources that the answer refers to. */
  readonly links?: readonly Link[];
  readonly failed?: boolean;
}

export interface Link {
  readonly uri: string;
  readonly name: string;
}

export function defineTool<I extends z.ZodObject>(tool: Omit<Tool<I>, 'schema' | 'httpSchema'>): Tool {
  const schema = schemaOf(tool.input.strict());
  const httpSchema = tool.httpInput ? schemaOf(tool.httpInput.strict()) : schema;
  return { ...tool, schema, httpSchema } as unknown as Tool;
}

/**
 * Converts the input schema to the library's type, with a short JSON Schema that is generated once. Unknown
 * arguments are errors, so that a misspelled one is not ignored.
 */
function schemaOf(input: z.ZodObject): StandardSchemaWithJSON {
  let cached: Record<string, unknown> | null = null;
  const json = () => {
    if (!cached) {
      const { $schema, ...plain } = z.toJSONSchema(input, { io: 'input' });
      cached = plain;
    }
    return cached;
  };
  const validate = (args: unknown) => {
    const found = checkInput(input, args);
    return 'data' in found ? { value: found.data } : { issues: [{ message: found.wrong }] };
  };
  const jsonSchema = { input: json, output: json };
  return { '~standard': { version: 1, vendor: 'relay', validate, jsonSchema } };
}

/** URI template of pointers. Values are percent-encoded. */
export const POINTER_URI = 'relay://pointer/{id}';
/** URI template of channels. */
export const CHANNEL_URI = 'relay://channel/{name}';
/** URI template of the states of threads. */
export const STATE_URI = 'relay://thread/{id}/state';

interface ResourceName {
  readonly kind: 'pointer' | 'channel' | 'thread';
  /** Id of a pointer or thread, or name of a channel. */
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

/** Parses a resource URI. Returns null if it is not a URI of the relay's resources. */
export function parseUri(uri: string): ResourceName | null {
  const [, kind, encoded, state] =
    /^relay:\/\/(pointer|channel|thread)\/([^/?#]+)(\/state)?$/.exec(uri) ?? [];
  const id = encoded === undefined ? null : percentDecoded(encoded);
  if (id === null || (kind === 'thread') !== (state !== undefined)) return null;
  return { kind: kind as ResourceName['kind'], id };
}
