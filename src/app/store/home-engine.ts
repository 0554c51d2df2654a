import { RelayError } from '../../base/errors.ts';
import type { Config } from '../config.ts';
import { withoutPassword } from '../option-readers.ts';
import { runningServer } from '../serve/pid-file.ts';

/**
 * The cluster that commands on a home use; null where the home itself is the store. A server that runs there decides, so that its
 * pointers and keys are those of the commands. Refuses where the command was told of another store, or lacks the login.
 */
export function homeEngine(config: Pick<Config, 'home' | 'engine'>): string | null {
  const server = runningServer(config.home);
  // A server of an earlier version does not say what it uses.
  if (server?.engine === undefined) return config.engine;
  if (config.engine !== null && server.engine !== null && isSameStore(config.engine, server.engine))
    return config.engine;
  if (config.engine === server.engine) return server.engine;
  if (config.engine === null && !server.engine!.includes('@')) return server.engine;
  const place = (engine: string | null) => (engine === null ? 'the home folder' : withoutPassword(engine));
  const told =
    config.engine === null ? 'has no address of that cluster' : `was told to use ${place(config.engine)}`;
  throw new RelayError('bad_config', {
    where: 'engine',
    what: `the relay that runs on this home (pid ${server.pid}) keeps everything in ${place(server.engine)}, and this command ${told}.`,
    hint:
      server.engine === null
        ? 'Unset RELAY_ENGINE and RELAY_ENGINE_FILE, or use another home: --home DIR.'
        : `Set RELAY_ENGINE to its address, or put that into a file: relay config set engine_file FILE. Or ask the server: --url ${server.url}`,
  });
}

/** Whether two addresses name the same store of a cluster, with whichever login. */
function isSameStore(one: string, other: string): boolean {
  const parts = (address: string) => {
    const [servers = '', name = 'relay'] = address.replace(/^\w+:\/\/(?:[^@/]*@)?/, '').split('/');
    return { servers: servers.split(','), name: name || 'relay' };
  };
  const [a, b] = [parts(one), parts(other)];
  return a.name === b.name && a.servers.some((server) => b.servers.includes(server));
}
