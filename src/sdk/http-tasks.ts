import type { Json } from '../base/json.ts';
import type {
  Agent,
  AgentsApi,
  Bridge,
  Settlement,
  Task,
  TaskInfo,
  TaskQuery,
  TaskResult,
  TasksApi,
} from '../domain/tasks/types.ts';
import type { HttpClient } from './http-client.ts';
import { JsonCalls } from './json-calls.ts';

/** Tasks on a relay at the other end of HTTP. A result may be brought twice: the second time gives the first one. */
export class HttpTasks implements TasksApi {
  readonly #calls: JsonCalls;

  constructor(client: HttpClient) {
    this.#calls = new JsonCalls(client);
  }

  list(o: TaskQuery = {}): Promise<{ tasks: TaskInfo[] }> {
    return this.#calls.call({ path: '/tasks', query: { ...o }, doing: 'tasks' });
  }

  get(id: string): Promise<Task> {
    return this.#calls.call({ path: taskPath(id), doing: 'task' });
  }

  done(id: string, o: Settlement = {}): Promise<TaskResult> {
    return this.#settle(id, 'done', o);
  }

  fail(id: string, o: Settlement = {}): Promise<TaskResult> {
    return this.#settle(id, 'fail', o);
  }

  #settle(id: string, how: 'done' | 'fail', { data, summary }: Settlement): Promise<TaskResult> {
    const body = {
      ...(data === undefined ? {} : { data }),
      ...(summary === undefined ? {} : { summary }),
    };
    const path = `${taskPath(id)}/${how}`;
    return this.#calls.call({ method: 'POST', path, body, repeatable: true, doing: 'task' });
  }
}

export class HttpAgents implements AgentsApi {
  readonly #calls: JsonCalls;

  constructor(client: HttpClient) {
    this.#calls = new JsonCalls(client);
  }

  list(): Promise<{ agents: Agent[] }> {
    return this.#calls.call({ path: '/agents', doing: 'agents' });
  }

  beat(name: string, bridge: Bridge): Promise<void> {
    const body = { ...bridge } as unknown as Json;
    return this.#calls.send({
      method: 'POST',
      path: agentPath(name),
      body,
      repeatable: true,
      doing: 'agents',
    });
  }

  leave(name: string, instance: string): Promise<void> {
    const path = `${agentPath(name)}/${encodeURIComponent(instance)}`;
    return this.#calls.send({ method: 'DELETE', path, repeatable: true, doing: 'agents' });
  }
}

function taskPath(id: string): string {
  return `/tasks/${encodeURIComponent(id)}`;
}

function agentPath(name: string): string {
  return `/agents/${encodeURIComponent(name)}`;
}
