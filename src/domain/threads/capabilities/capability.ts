import type { Json, JsonObject } from '../../../base/json.ts';
import type { Caller } from '../../../contract/caller.ts';
import type { ArtifactFields, Found, SearchHit, Unsearched } from '../../../contract/threads.ts';

/** Something a thread can have done: a plugin is one file that exports such an object. */
export interface Capability {
  /** `retrieval.search`: words with dots between. */
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly args_schema: JsonObject;
  /** Whether the same arguments give the same result for a while. By default it does not. */
  readonly cacheable?: boolean;
  readonly cache_ttl_sec?: number;
  /** False for one that has to be allowed first: it is listed, and refuses to run. */
  readonly enabled?: false;
  /** Whether a search finds its results. By default it does. */
  readonly indexed?: boolean;
  /** What else the result depends on; part of the cache's key. */
  salt?(context: CapabilityContext): string | Promise<string>;
  run(args: JsonObject, context: CapabilityContext): Promise<CapabilityResult>;
  /** What an answer says of a result in addition to its preview. `content` is the result as JSON. */
  found?(content: Json): Found;
}

export interface CapabilityContext {
  readonly caller: Caller;
  readonly thread_id: string;
  /** Fires when the time is up. */
  readonly signal: AbortSignal;
  now(): number;
  /** How many artifacts the thread has, apart from what capabilities made. */
  artifactCount(): Promise<number>;
  /** Searches this thread, or with `everywhere` all of the caller's. */
  search(query: string, o?: { limit?: number; everywhere?: boolean }): Promise<SearchHit[]>;
  /** What such a search does not see; undefined where it sees everything. */
  unsearched(o?: { everywhere?: boolean }): Promise<Unsearched | undefined>;
}

/** It becomes an artifact, with these fields. */
export interface CapabilityResult extends ArtifactFields {
  /** A text, bytes, or JSON. */
  readonly content: string | Uint8Array | Json;
}
