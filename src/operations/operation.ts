import type { z } from 'zod';
import type { Scope } from '../domain/caller.ts';
import type { Relay } from '../domain/relay.ts';

/**
 * A verb of the relay, declared once. Routes, the OpenAPI document and MCP tools are made from these.
 *
 * Over HTTP the input is put together from the path's parameters, then the query (GET, HEAD, DELETE) or the JSON body
 * (POST, PUT, PATCH), then the headers that `headers` names. Query and header values arrive as strings: use `z.coerce`.
 */
export interface Operation<I extends z.ZodType = z.ZodType, O extends z.ZodType = z.ZodType> {
  /** `threads.patch`: unique, stable, the operationId. */
  readonly name: string;
  readonly summary: string;
  /** What the key must be allowed to do; null where anyone may. */
  readonly scope: Scope | null;
  /** What it names may be visible by its link: then it works without a key as well, and the domain decides. */
  readonly byLink?: true;
  readonly input: I;
  readonly output: O;
  readonly http: HttpBinding;
  run(relay: Relay, input: z.output<I>): Promise<z.input<O>>;
}

export interface HttpBinding {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Hono's syntax: `/threads/:thread_id/state`. Served under `/v1` too. */
  readonly path: string;
  /** 200 unless told. With 204 nothing is answered but the status. */
  readonly status?: 200 | 201 | 202 | 204;
  /** The whole JSON body goes into this one input field (a JSON Patch is an array). */
  readonly body?: string;
  /** Input field → request header. */
  readonly headers?: { readonly [field: string]: string };
  /** Input fields that are in the query though there is a body. */
  readonly query?: readonly string[];
  /** Any other content type than JSON is the payload itself, and these fields are then in the query. */
  readonly raw?: readonly string[];
  /** Bytes travel, so the HTTP interface has a handler of its own; the row still names scope, input and output. */
  readonly custom?: true;
}

/** Keeps the types of input and output together while the table holds them all alike. */
export function defineOperation<I extends z.ZodType, O extends z.ZodType>(
  operation: Operation<I, O>,
): Operation {
  return operation as unknown as Operation;
}
