import type { z } from 'zod';
import type { ErrorCode } from '../base/errors.ts';
import type { InputOf, Method, Verb, Verbs } from '../contract/verb.ts';

/** The half of a row that only servers need: the schemas of what comes in and what goes out. */
export interface Schemas {
  readonly input: z.ZodObject;
  readonly output: z.ZodType;
  /** Content types that the answer may have beside JSON. */
  readonly content?: readonly string[];
  /** Statuses of an answer beside the one of success, and what they mean. */
  readonly also?: { readonly [status: number]: string };
  /** What it may be refused with beside all that follows from its row. */
  readonly codes?: readonly ErrorCode[];
}

/** Bytes that come whole or as the range that was asked for. */
export const BYTES = {
  content: ['text/plain', 'application/octet-stream'],
  also: { 206: 'The range that was asked for.' },
  codes: ['range_not_satisfiable'],
} as const satisfies Partial<Schemas>;

/**
 * Adds the schemas to a group of verbs. The compiler holds each against the TypeScript shape of the verb, in both
 * directions: a field that is missing, too many, optional on one side only or of another type is an error at the verb.
 * What travels in another form than the method takes or gives it has no shape but its schema.
 */
export function schemasFor<V extends Verbs>(_verbs: V) {
  return <const S extends { readonly [M in Described<V>]: Schemas }>(schemas: S & Agrees<V, S>): S => schemas;
}

/** A variant of another verb is described there. */
export type Described<V extends Verbs> = {
  [M in keyof V]: V[M] extends { readonly byHand?: infer H } ? ('variant' extends H ? never : M) : never;
}[keyof V];

type Agrees<V extends Verbs, S> = {
  readonly [M in Described<V>]: M extends keyof S
    ? S[M] extends Schemas
      ? {
          readonly input: Same<z.output<S[M]['input']>, WireOf<V[M]>['input']>;
          readonly output: Same<z.input<S[M]['output']>, WireOf<V[M]>['output']>;
        }
      : never
    : never;
};

type WireOf<V> =
  V extends Verb<infer F, infer A, infer W, infer _H, infer K>
    ? {
        input: 'input' extends W ? unknown : InputOf<F, A>;
        output: 'output' extends W ? unknown : AnswerOf<F, K>;
      }
    : never;

type AnswerOf<F, K extends string> = F extends Method
  ? ReturnType<F> extends AsyncIterable<infer Item>
    ? Item
    : [K] extends [never]
      ? Awaited<ReturnType<F>> extends infer T
        ? [undefined] extends [T]
          ? null
          : T
        : never
      : { [N in K]: Awaited<ReturnType<F>> }
  : never;

/** `unknown` where both are the same, so that it asks for nothing more; else what differs. */
type Same<Schema, Shape> = unknown extends Shape
  ? unknown
  : [Plain<Schema>] extends [Plain<Shape>]
    ? [Plain<Shape>] extends [Plain<Schema>]
      ? unknown
      : { readonly 'the schema lacks something of the shape': Plain<Shape> }
    : { readonly 'the schema says what the shape does not': Plain<Schema> };

/**
 * Without `readonly`, and with optional fields made visible: to the compiler a field that is optional and one that is
 * not there are much the same. Anything that JSON can say is left as it is.
 */
type Plain<T> = unknown extends T
  ? 'anything'
  : T extends string | number | boolean | null | undefined
    ? T
    : T extends readonly (infer E)[]
      ? Plain<E>[]
      : string extends keyof T
        ? Known<T> extends never
          ? { [key: string]: Plain<T[keyof T & string]> }
          : PlainFields<T>
        : PlainFields<T>;

type PlainFields<T> = {
  [K in Known<T>]-?: undefined extends T[K] ? ['optional', Plain<Exclude<T[K], undefined>>] : Plain<T[K]>;
};

type Known<T> = keyof { [K in keyof T as string extends K ? never : number extends K ? never : K]: T[K] };
