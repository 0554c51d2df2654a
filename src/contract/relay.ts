import { type AgentsApi, agents } from './agents.ts';
import { type CapabilitiesApi, capabilities } from './capabilities.ts';
import { type ChannelsApi, channels } from './channels.ts';
import { type InboxApi, inbox } from './inbox.ts';
import { type KeysApi, keys } from './keys.ts';
import { type PointersApi, pointers } from './pointers.ts';
import { type ReceiptsApi, receipts } from './receipts.ts';
import { type TasksApi, tasks } from './tasks.ts';
import { type ThreadsApi, threads } from './threads.ts';
import { type UsageApi, usage } from './usage.ts';

/** The table: every verb of the relay, by the part of the API it belongs to. */
export const VERBS = {
  pointers,
  channels,
  inbox,
  receipts,
  threads,
  capabilities,
  keys,
  usage,
  tasks,
  agents,
};

/**
 * The whole API as one interface, seen by one caller. The embedded relay implements it over an engine, the SDK over
 * HTTP, and nothing above can tell which it has.
 */
export interface Relay extends AsyncDisposable {
  readonly pointers: PointersApi;
  readonly channels: ChannelsApi;
  readonly inbox: InboxApi;
  readonly receipts: ReceiptsApi;
  readonly threads: ThreadsApi;
  readonly capabilities: CapabilitiesApi;
  readonly keys: KeysApi;
  readonly usage: UsageApi;
  readonly tasks: TasksApi;
  readonly agents: AgentsApi;
}
