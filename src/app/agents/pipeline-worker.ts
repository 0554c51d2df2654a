import { hostname, userInfo } from 'node:os';
import type { Worker } from '../../client/pipelines/run-lease.ts';
import type { Config } from '../config.ts';
import { isAlive } from '../serve/pid-file.ts';

/**
 * This process, as others are told of it. Of those at the same store on the same machine it can be seen whether they
 * live; a server is asked from many machines, of which two may have one name.
 */
export function pipelineWorker({ remote }: Pick<Config, 'remote'>): Worker {
  const host = hostname();
  return {
    name: `${user()} on ${host}, process ${process.pid}`.slice(-200),
    lives: (name) => {
      const [, elsewhere, pid] = / on (.+), process (\d+)$/.exec(name) ?? [];
      if (remote !== null || elsewhere !== host) return null;
      return isAlive({ pid: Number(pid), birth: null });
    },
  };
}

function user(): string {
  try {
    return userInfo().username;
  } catch {
    // A process may run under a number that has no name.
    return 'somebody';
  }
}
