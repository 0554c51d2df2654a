import { AgentBridge } from '../../src/client/bridge/agent-bridge.ts';
import type { AgentBridgeOptions, BridgeEvent } from '../../src/client/bridge/options.ts';
import type { Job, Ran, Runner } from '../../src/client/bridge/runner.ts';
import type { BridgeWorker } from '../../src/client/bridge/worker.ts';
import { ContextRelay } from '../../src/sdk/context-relay.ts';
import type { ServerUnderTest } from '../channels/server.ts';

export const client = (server: ServerUnderTest) => new ContextRelay({ baseUrl: server.url });

/** Returns a runner whose agent is a function in this process. */
export function agent(run: (job: Job) => Promise<Ran> | Ran, o: Partial<Runner> = {}): Runner {
  return { kind: 'test', target: 'here', run: async (job) => run(job), close: async () => {}, ...o };
}

export const block = (completed: string) =>
  `=== CC_OUTCOME_START ===\nCOMPLETED: ${completed}\nNOT_DONE: nothing\nNOTES: none\n=== CC_OUTCOME_END ===`;

export interface WorkerUnderTest extends AsyncDisposable {
  readonly worker: BridgeWorker;
  readonly events: BridgeEvent[];
}

export async function startWorker(
  server: ServerUnderTest,
  runner: Runner,
  o: AgentBridgeOptions = {},
): Promise<WorkerUnderTest> {
  const events: BridgeEvent[] = [];
  const bridge = new AgentBridge(client(server), {
    ...o,
    runner,
    onEvent: (event) => void events.push(event),
  });
  const worker = await bridge.start();
  return { worker, events, [Symbol.asyncDispose]: () => worker.stop() };
}
