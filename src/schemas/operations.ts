import { VERBS } from '../contract/relay.ts';
import type { Verb } from '../contract/verb.ts';
import { activitySchemas } from './activity.ts';
import { capabilitySchemas } from './capabilities.ts';
import { channelSchemas } from './channels.ts';
import { fileSchemas } from './files.ts';
import { inboxSchemas } from './inbox.ts';
import { keySchemas } from './keys.ts';
import { pointerSchemas } from './pointers.ts';
import { projectSchemas } from './projects.ts';
import { receiptSchemas } from './receipts.ts';
import type { Schemas } from './schema.ts';
import { shareSchemas } from './shares.ts';
import { agentSchemas, taskSchemas } from './tasks.ts';
import { threadSchemas } from './threads.ts';
import { usageSchemas } from './usage.ts';

/** A whole row of the table: the verb, where it stands in the API, and its schemas. */
export interface Operation extends Schemas {
  readonly verb: Verb;
  readonly part: keyof typeof VERBS;
  readonly method: string;
}

const SCHEMAS: { readonly [part in keyof typeof VERBS]: { readonly [method: string]: Schemas } } = {
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
};

/** The table with its schemas, for servers and documents. A variant has no row: it is described by another one. */
export const OPERATIONS: readonly Operation[] = Object.entries(VERBS).flatMap(([part, verbs]) =>
  Object.entries(verbs as { readonly [method: string]: Verb }).flatMap(([method, verb]) => {
    const schemas = SCHEMAS[part as keyof typeof VERBS][method];
    return schemas ? [{ verb, part: part as keyof typeof VERBS, method, ...schemas }] : [];
  }),
);
