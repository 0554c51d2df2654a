import type { Caller } from '../caller.ts';
import type { Agents } from './agents.ts';
import type { Tasks } from './tasks.ts';
import type { AgentsApi, TasksApi } from './types.ts';

/** Tasks with the caller and the base address already given. */
export function bindTasks(tasks: Tasks, caller: Caller, base: string): TasksApi {
  return {
    list: async (o = {}) => ({ tasks: await tasks.list(caller, o, base) }),
    get: (id) => tasks.get(caller, id, base),
    done: (id, o = {}) => tasks.settle(caller, id, 'done', o, base),
    fail: (id, o = {}) => tasks.settle(caller, id, 'failed', o, base),
  };
}

export function bindAgents(agents: Agents, caller: Caller): AgentsApi {
  return {
    list: async () => ({ agents: await agents.list(caller) }),
    beat: (name, bridge) => agents.beat(caller, name, bridge),
    leave: (name, instance) => agents.leave(caller, name, instance),
  };
}
