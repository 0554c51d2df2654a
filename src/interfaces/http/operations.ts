import type { z } from 'zod';
import { VERBS } from '../../contract/relay.ts';
import type { InputOf, Method, Verb, Verbs } from '../../contract/verb.ts';
import { activitySchemas } from '../../schemas/activity.ts';
import { agentSchemas } from '../../schemas/agents.ts';
import { channelSchemas, inboxSchemas } from '../../schemas/channels.ts';
import { fileSchemas } from '../../schemas/files.ts';
import { keySchemas, shareSchemas, usageSchemas } from '../../schemas/keys.ts';
import { pointerSchemas, receiptSchemas } from '../../schemas/pointers.ts';
import { projectSchemas } from '../../schemas/projects.ts';
import { questionSchemas } from '../../schemas/questions.ts';
import type { Frozen, SchemaRows, Schemas } from '../../schemas/shapes.ts';
import { taskSchemas } from '../../schemas/tasks.ts';
import { capabilitySchemas, threadSchemas } from '../../schemas/threads.ts';

/** A verb with its place in the API (`relay[part][method]`) and its schemas. */
export interface Operation extends Schemas {
  readonly verb: Verb;
  readonly part: keyof typeof VERBS;
  readonly method: string;
}

const SCHEMAS: { readonly [part in keyof typeof VERBS]: SchemaRows } = schemasOf<typeof VERBS>()({
  pointers: pointerSchemas,
  channels: channelSchemas,
  inbox: inboxSchemas,
  receipts: receiptSchemas,
  threads: threadSchemas,
  capabilities: capabilitySchemas,
  files: fileSchemas,
  keys: keySchemas,
  usage: usageSchemas,
  tasks: taskSchemas,
  agents: agentSchemas,
  activity: activitySchemas,
  shares: shareSchemas,
  projects: projectSchemas,
  questions: questionSchemas,
});

/**
 * All operations with their schemas, for the server and the documentation. Verbs that are only a variant of
 * another verb are missing.
 */
export const OPERATIONS: readonly Operation[] = Object.entries(VERBS).flatMap(([part, verbs]) =>
  Object.entries(verbs as { readonly [method: string]: Verb }).flatMap(([method, verb]) => {
    const schemas = SCHEMAS[part as keyof typeof VERBS][method];
    return schemas ? [{ verb, part: part as keyof typeof VERBS, method, ...schemas }] : [];
  }),
);

/**
 * Checks at compile time that the schemas of each verb agree with its method: no field is missing, extra, of
 * another type, or optional in only one of them. Inputs and outputs with another form over HTTP are not
 * compared.
 */
export function schemasOf<V extends { readonly [part: string]: Verbs }>() {
  return <const S extends { readonly [P in keyof V]: { readonly [M in Described<V[P]>]: Schemas } }>(
    schemas: S & { readonly [P in keyof V]: Agrees<V[P], S[P]> },
  ): S => schemas;
}

/** Methods that need schemas: all except variants of another verb. */
type Described<V extends Verbs> = {
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

/**
 * Compares two types. Equal types give `unknown`, which allows any schema. Otherwise the result is a type
 * whose field name explains the difference in the compiler's error.
 */
type Same<Schema, Signature> = unknown extends Signature
  ? unknown
  : [Fields<Schema>] extends [Fields<Signature>]
    ? [Fields<Signature>] extends [Fields<Schema>]
      ? unknown
      : { readonly 'the schema lacks something of the signature': Signature }
    : { readonly 'the schema says what the signature does not': Schema };

/** Marks optional fields in a type. Otherwise a type with an optional field would equal one without it. */
type Fields<T> = T extends object
  ? { [K in keyof Frozen<T>]-?: undefined extends Frozen<T>[K] ? ['optional', Frozen<T>[K]] : Frozen<T>[K] }
  : T;
