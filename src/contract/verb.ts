import { badRequest } from '../base/errors.ts';
import type { Scope } from './caller.ts';

/** The signature of a verb as a method of the API: fields of the input one by one, then an object with the rest. */
// biome-ignore lint/suspicious/noExplicitAny: every signature is one of these, whatever it takes
export type Method = (...args: any[]) => Promise<unknown> | AsyncIterable<unknown>;

/** What travels over HTTP in another form than the method takes or gives it; its schema alone says how. */
export type Wire = 'input' | 'output';

/**
 * A verb of the relay, declared once and without any package, so that clients stay light. The method of `Relay`, the HTTP
 * route, the HTTP client, the binding to the domain and the authorisation are made from it; `src/schemas` adds the
 * schemas of its input and output.
 *
 * Over HTTP the input is put together from the path's parameters, then the query (GET, DELETE) or the JSON body (POST),
 * then the headers that `headers` names.
 */
export interface Verb<
  F extends Method | null = Method | null,
  A extends readonly string[] = readonly string[],
  W extends Wire = Wire,
  H extends HandMade | null = HandMade | null,
  K extends string = string,
> extends Shared<A>,
    Fields<F, A, H, K> {
  /** `threads.patch`: unique and stable, the operationId. */
  readonly name: string;
  /** Only for the compiler: the signature, and what travels in another form. */
  readonly types?: readonly [method: F, wire: W];
}

/** What the verbs of a group have in common for the most part. */
interface Shared<A extends readonly string[]> {
  /** What the key must be allowed to do; null where anyone may. */
  readonly scope: Scope | null;
  /** The fields of the input that the method takes one by one, in this order. */
  readonly args: A;
}

interface Fields<
  F extends Method | null,
  A extends readonly string[],
  H extends HandMade | null,
  K extends string,
> {
  readonly summary: string;
  /** What it names may be visible by its link: then it works without a key as well, and the domain decides. */
  readonly byLink?: true;
  /** Only reads, and of one thread at most: whoever has a share link of that thread may call it. */
  readonly shared?: true;
  /** `GET /threads/:thread_id`, in Hono's syntax; served under `/v1` too. Absent where another protocol carries it. */
  readonly route?: `${HttpMethod} ${string}`;
  /** Another method that does the same at the same path, its input in the query: how an older client asks. */
  readonly alsoBy?: HttpMethod;
  /**
   * The channels it touches, which the caller's key must not be kept from. A channel that only a record knows is added
   * to the input by the domain, which then authorises again.
   */
  channels?(
    input: Omit<InputOf<F, A>, keyof FromRecord> & FromRecord,
  ): readonly (string | null | undefined)[];
  /** The status of success; 200 by default. With 204 nothing else is answered. */
  readonly status?: 200 | 201 | 202 | 204;
  /** The whole JSON body is this one field of the input: a JSON Patch is an array. */
  readonly body?: string;
  /** Field of the input → request header. */
  readonly headers?: { readonly [field: string]: string };
  /** Fields that are in the query though there is a body. */
  readonly query?: readonly string[];
  /** Any other content type than JSON is the payload itself, and these fields are then in the query. */
  readonly raw?: readonly string[];
  /** The method gives this one field of the answer. */
  readonly answer?: K;
  /** Sent twice, it does no more than sent once. GET always is so, and so is what has an Idempotency-Key. */
  readonly repeatable?: true;
  /**
   * Bytes travel or a connection stays open, so that HTTP has code of its own for it: on both sides, or in the server
   * alone. A variant is another way to call the route of another verb, which is described there.
   */
  readonly byHand?: H;
  /** It gives an AsyncIterable instead of a promise. */
  readonly streams?: true;
  /** No method of the API: only this protocol has it. */
  readonly only?: 'http' | 'a2a';
}

/** Channels that are known from a record and not from the request. */
export interface FromRecord {
  readonly channel?: string | null;
  readonly done_channel?: string | null;
}

type HandMade = 'both' | 'server' | 'variant';

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/**
 * Gives what declares the verbs of a group: each with its signature, and what travels in another form. `shared` holds
 * for every row that does not say otherwise.
 */
export function verbs<const D extends readonly string[]>(shared: Shared<D>) {
  return <F extends Method | null, W extends Wire = never>(name: string) =>
    <
      const A extends readonly string[] = D,
      const H extends HandMade | null = null,
      const K extends string = never,
    >(
      fields: Fields<F, A, H, K> & Partial<Shared<A>>,
    ) =>
      ({ name, ...shared, ...fields }) as unknown as Verb<F, A, W, H, K>;
}

export type Verbs = { readonly [method: string]: Verb };

/** The part of the API that a group of verbs makes: a method for each that has a signature. */
export type Api<V extends Verbs> = {
  readonly [M in keyof V as MethodOf<V[M]> extends Method ? M : never]: Extract<MethodOf<V[M]>, Method>;
};

/** The verbs of a group whose HTTP client is written by hand. */
export type ByHand<V extends Verbs> = {
  [M in keyof V]: V[M] extends Verb<Method, readonly string[], Wire, 'both' | 'variant'> ? M : never;
}[keyof V];

type MethodOf<V> = V extends { readonly types?: readonly [infer F, unknown] } ? F : never;

/** What a method takes, as one object by the names of its fields. */
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

/** The arguments of a call as one object: what `channels` takes and what travels. */
export function inputOf({ args: names }: Verb, args: readonly unknown[]): { [field: string]: unknown } {
  const input: { [field: string]: unknown } = { ...(args[names.length] as object | undefined) };
  for (let at = 0; at < names.length; at++) input[names[at]!] = args[at];
  return input;
}

/** Method and path of a verb's route. */
export function routeOf({ name, route }: Verb): { readonly method: HttpMethod; readonly path: string } {
  const [method, path] = (route ?? '').split(' ');
  if (!path) throw new Error(`${name} has no route.`);
  return { method: method as HttpMethod, path };
}

/** The path of a call, with the fields that stand in it filled in. */
export function pathOf(verb: Verb, fields: { readonly [field: string]: unknown }): string {
  return routeOf(verb).path.replace(/:(\w+)(\{[^}]*\})?/g, (_, field, rest) => {
    const names = rest ? String(fields[field]).split('/') : [String(fields[field])];
    // However they are escaped, a URL takes these for another place.
    const odd = names.find((name) => ['', '.', '..'].includes(name) || !name.isWellFormed());
    if (odd !== undefined) throw badRequest(`"${field}" cannot be, or hold, ${JSON.stringify(odd)}.`);
    return names.map(encodeURIComponent).join('/');
  });
}

export function hasBody(method: HttpMethod): boolean {
  return method !== 'GET' && method !== 'DELETE';
}
