import type { ChannelsApi } from './channels/types.ts';
import type { InboxApi } from './inbox/types.ts';
import type { KeysApi } from './keys/types.ts';
import type { PointersApi } from './pointers/types.ts';
import type { ReceiptsApi } from './receipts/types.ts';
import type { AgentsApi, TasksApi } from './tasks/types.ts';
import type { ThreadsApi } from './threads/api.ts';
import type { CapabilitiesApi } from './threads/capabilities/api.ts';
import type { UsageApi } from './usage/types.ts';

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
