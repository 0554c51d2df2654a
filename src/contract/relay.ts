import { activity } from './activity.ts';
import { channels, inbox } from './channels.ts';
import { files } from './files.ts';
import { keys, shares, usage } from './keys.ts';
import { pointers, receipts } from './pointers.ts';
import { projects } from './projects.ts';
import { agents, tasks } from './tasks.ts';
import { capabilities, threads } from './threads.ts';
import type { Api } from './verb.ts';

/** The table: every verb of the relay, by the part of the API it belongs to. */
export const VERBS = {
  pointers,
  channels,
  inbox,
  receipts,
  threads,
  capabilities,
  files,
  keys,
  usage,
  tasks,
  agents,
  activity,
  shares,
  projects,
};

/**
 * The whole API as one interface, seen by one caller. The embedded relay implements it over an engine, the SDK over
 * HTTP, and both are called alike.
 */
export interface Relay extends AsyncDisposable, RelayParts {}

type RelayParts = { readonly [P in keyof typeof VERBS]: Api<(typeof VERBS)[P]> };
