import { activity } from './activity.ts';
import { agents } from './agents.ts';
import { channels, inbox } from './channels.ts';
import { files } from './files.ts';
import { keys, shares, usage } from './keys.ts';
import { pointers, receipts } from './pointers.ts';
import { projects } from './projects.ts';
import { questions } from './questions.ts';
import { tasks } from './tasks.ts';
import { capabilities, threads } from './threads.ts';
import type { Api } from './verb.ts';

/** All verbs of the relay, grouped by part of the API. */
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
  questions,
};

/** The whole API for one caller. The embedded relay implements it over a storage engine, the SDK over HTTP. */
export interface Relay extends AsyncDisposable, RelayParts {}

type RelayParts = { readonly [P in keyof typeof VERBS]: Api<(typeof VERBS)[P]> };
