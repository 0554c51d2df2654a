import { badRequest } from '../base/errors.ts';
import type { Scope } from './caller.ts';

/**
 * Signature of a verb as an API method. Some input fields are positional arguments; the last argument is an object
 * with the other fields.
 */
// biome-ignore lint/suspicious/noExplicitAny: methods take arguments of any types
export type Method = (...args: any[]) => Promise<unknown> | AsyncIterable<unknown>;

/**
 * Says whether the input or the output of a verb differs between HTTP and the API method. In this case the schema
 * describes the HTTP form.
 */
export type Wire = 'input' | 'output';

/**
 * A verb of the relay, declared once. The method of `Relay`, the HTTP route, the HTTP client, the binding to the
 * domain and the authorisation are derived from it. This file imports no package, so clients stay small;
 * `src/schemas` adds the schemas.
 *
 * Over HTTP, the input consists of the path parameters, the query (GET, DELETE) or the JSON body (POST), and the
 * headers in `headers`.
 */
export interface Verb<
  F extends Method | null = Method | null,
  A extends readonly string[] = readonly string[],
  W extends Wire = Wire,
  H extends HandMade | null = HandMade | null,
  K extends string = string,
> extends GroupDefaults<A>,
    Fields<F, A, H, K> {
  /** Unique and stable name, such as `threads.patch`. It is the operationId in OpenAPI. */
  readonly name: string;
  /** Only for types: the signature, and whether the input or output differs over HTTP. */
  readonly types?: readonly [method: F, wire: W];
}

/** Defaults for the verbs of a group. */
interface GroupDefaults<A extends readonly string[]> {
  /** Scope that the API key needs. Null if any caller may call the verb. */
  readonly scope: Scope | null;
  /** Input fields that the method takes as positional arguments, in this order. */
  readonly args: A;
}

interface Fields<
  F extends Method | null,
  A extends readonly string[],
  H extends HandMade | null,
  K extends string,
> {
  readonly summary: string;
  /**
   * Set if the verb also works without an API key, for pointers that anyone with the link may read. The domain checks
   * this.
   */
  readonly byLink?: true;
  /**
   * Set if a caller with a share link may call the verb for the thread of the link. Such a verb only reads, and at
   * most one thread.
   */
  readonly shared?: true;
  /**
   * Route in Hono syntax, such as `GET /threads/:thread_id`, which is also served under `/v1`. Absent for verbs of
   * other protocols.
   */
  readonly route?: `${HttpMethod} ${string}`;
  /** Second HTTP method for the path, with the input in the query, for old clients. */
  readonly alsoBy?: HttpMethod;
  /**
   * Returns the channels that the verb touches. The caller's API key must have access to all of them. If a channel is
   * known only from a stored record, the domain adds it to the input and authorises again.
   */
  channels?(
    input: Omit<InputOf<F, A>, keyof FromRecord> & FromRecord,
  ): readonly (string | null | undefined)[];
  /** HTTP status of a successful answer; 200 by default. A 204 answer has no body. */
  readonly status?: 200 | 201 | 202 | 204;
  /** Name of the input field that is the whole JSON body, such as a JSON Patch array. */
  readonly body?: string;
  /** Maps input fields to the request headers that contain them. */
  readonly headers?: { readonly [field: string]: string };
  /** Input fields that are sent in the query, although the request has a body. */
  readonly query?: readonly string[];
  /**
   * Fields that are sent in the query if the body is the raw payload, which may have any content type except JSON.
   */
  readonly raw?: readonly string[];
  /** Name of a field of the answer. The method returns the value of this field instead of the whole answer. */
  readonly answer?: K;
  /**
   * Set if the verb is idempotent, so that clients may retry it. GET requests and requests with an Idempotency-Key
   * always are.
   */
  readonly repeatable?: true;
  /**
   * Parts of the HTTP code that are written by hand, because the verb sends bytes or keeps a connection open.
   * `both`: client and server. `server`: only the server. `variant`: the verb uses the route of another verb,
   * which documents it.
   */
  readonly byHand?: H;
  /** Set if the method returns an AsyncIterable instead of a promise. */
  readonly streams?: true;
  /** Protocol that the verb is limited to. It then has no API method. */
  readonly only?: 'http' | 'a2a';
}

/** Channels that come from a stored record and not from the request. */
export interface FromRecord {
  readonly channel?: string | null;
  readonly done_channel?: string | null;
}

type HandMade = 'both' | 'server' | 'variant';

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Returns a function that declares the verbs of a group. `defaults` applies unless a verb overrides it. */
export function verbs<const D extends readonly string[]>(defaults: GroupDefaults<D>) {
  return <F extends Method | null, W extends Wire = never>(name: string) =>
    <
      const A extends readonly string[] = D,
      const H extends HandMade | null = null,
      const K extends string = never,
    >(
      fields: Fields<F, A, H, K> & Partial<GroupDefaults<A>>,
    ) =>
      ({ name, ...defaults, ...fields }) as unknown as Verb<F, A, W, H, K>;
}

export type Verbs = { readonly [method: string]: Verb };

/** The API of a group of verbs: one method for each verb with a signature. */
export type Api<V extends Verbs> = {
  readonly [M in keyof V as MethodOf<V[M]> extends Method ? M : never]: Extract<MethodOf<V[M]>, Method>;
};

/** Names of the methods of a group that have a hand-written HTTP client. */
export type ByHand<V extends Verbs> = {
  [M in keyof V]: V[M] extends Verb<Method, readonly string[], Wire, 'both' | 'variant'> ? M : never;
}[keyof V];

type MethodOf<V> = V extends { readonly types?: readonly [infer F, unknown] } ? F : never;

/** The arguments of a method as one object. */
export type InputOf<F, A extends readonly string[]> = F extends (...args: infer P) => unknown
  ? Zip<P, A>
  : object;

type Zip<P extends readonly unknown[], A extends readonly string[]> = A extends readonly [
  infer K extends string,
  ...infer KS extends readonly string[],
]
  ? P extends readonly [first?: infer V, ...rest: infer VS]
    ? (P extends readonly [unknown, ...unknown[]] ? { readonly [N in K]: V } : { readonly [N in K]?: V }) &
        Zip<VS, KS>
    : never
  : P extends readonly []
    ? unknown
    : P extends readonly [first?: infer O]
      ? NonNullable<O>
      : never;

/** Combines the arguments of a call into one object, for `channels` and for the request. */
export function inputOf({ args: names }: Verb, args: readonly unknown[]): { [field: string]: unknown } {
  const input: { [field: string]: unknown } = { ...(args[names.length] as object | undefined) };
  for (let at = 0; at < names.length; at++) input[names[at]!] = args[at];
  return input;
}

/** Returns the HTTP method and the path of a verb. */
export function routeOf({ name, route }: Verb): { readonly method: HttpMethod; readonly path: string } {
  const [method, path] = (route ?? '').split(' ');
  if (!path) throw new Error(`${name} has no route.`);
  return { method: method as HttpMethod, path };
}

/** Returns the path of a call with its parameters filled in. */
export function pathOf(verb: Verb, fields: { readonly [field: string]: unknown }): string {
  return routeOf(verb).path.replace(/:(\w+)(\{[^}]*\})?/g, (_, field, rest) => {
    const names = rest ? String(fields[field]).split('/') : [String(fields[field])];
    // URL parsers resolve these segments to another path, even if they are escaped.
    const odd = names.find((name) => ['', '.', '..'].includes(name) || !name.isWellFormed());
    if (odd !== undefined)
      throw badRequest(`"${field}" must not contain the segment ${JSON.stringify(odd)}.`);
    return names.map(encodeURIComponent).join('/');
  });
}

export function hasBody(method: HttpMethod): boolean {
  return method !== 'GET' && method !== 'DELETE';
}
