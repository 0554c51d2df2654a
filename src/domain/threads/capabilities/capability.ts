import type { Json, JsonObject } from '../../../base/json.ts';
import type { Caller } from '../../../contract/caller.ts';
import type { ArtifactFields, Found, SearchHit, Unsearched } from '../../../contract/threads.ts';

/** A tool that can run in a thread. A plugin is a file that exports a capability. */
export interface Capability {
  /** Words joined by dots, such as `retrieval.search`. */
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly args_schema: JsonObject;
  /** True if the same arguments give the same result for a while. Default: false. */
  readonly cacheable?: boolean;
  readonly cache_ttl_sec?: number;
  /**
   * False if the operator must allow the capability first. Until then it is listed, but cannot be invoked.
   */
  readonly enabled?: false;
  /** True if searches find the results of the capability. Default: true. */
  readonly indexed?: boolean;
  /** Returns a text that describes everything else that the result depends on. It is part of the cache key. */
  salt?(context: CapabilityContext): string | Promise<string>;
  run(args: JsonObject, context: CapabilityContext): Promise<CapabilityResult>;
  /** Returns additional fields for the preview in the answer. `content` is the result as JSON. */
  found?(content: Json): Found;
}

/** What a running capability may use. */
export interface CapabilityContext {
  readonly caller: Caller;
  readonly thread_id: string;
  /** Aborts when the time limit is reached. */
  readonly signal: AbortSignal;
  now(): number;
  /** Returns the number of artifacts in the thread, without results of capabilities. */
  artifactCount(): Promise<number>;
  /** Searches this thread, or with `everywhere` all threads of the caller. */
  search(query: string, o?: { limit?: number; everywhere?: boolean }): Promise<SearchHit[]>;
  /** Returns which artifacts a search does not cover completely, or undefined if it covers all. */
  unsearched(o?: { everywhere?: boolean }): Promise<Unsearched | undefined>;
}

/** Result of a capability. It is stored as an artifact with these fields. */
export interface CapabilityResult extends ArtifactFields {
  /** Text, bytes or JSON. */
  readonly content: string | Uint8Array | Json;
}
