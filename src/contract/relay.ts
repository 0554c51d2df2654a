import { activity } from './activity.ts';
import { agents } from './agents.ts';
import { capabilities } from './capabilities.ts';
import { channels } from './channels.ts';
import { files } from './files.ts';
import { inbox } from './inbox.ts';
import { keys } from './keys.ts';
import { pointers } from './pointers.ts';
import { projects } from './projects.ts';
import { receipts } from './receipts.ts';
import { shares } from './shares.ts';
import { tasks } from './tasks.ts';
import { threads } from './threads.ts';
import { usage } from './usage.ts';
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
