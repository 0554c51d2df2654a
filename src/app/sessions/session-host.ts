import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { RelayError } from '../../base/errors.ts';
import type { SessionHost } from '../../interfaces/cli/host.ts';
import { findProgram } from '../../runners/find-program.ts';
import type { Environment } from '../config.ts';
import { SessionIndex } from './search-index.ts';
import { findSession, listSessions, readTurns, sessionFolder } from './transcripts.ts';

/**
 * Returns the service for transcripts of this user. `file` is the path of the search index. If the option
 * `sessions` is off, all calls that read transcripts throw.
 */
export function sessionHost(file: string, env: Environment, isOn: () => boolean): SessionHost {
  const places = { home: env.HOME || homedir(), env };
  const openIndex = () => new SessionIndex(file);
  /**
   * Returns the names of hidden sessions. Throws if the option `sessions` is off. Does not create the index,
   * which only a search needs.
   */
  const forgotten = () => {
    if (!isOn()) throw new RelayError('sessions_off');
    if (!existsSync(file)) return new Set<string>();
    using index = openIndex();
    return index.forgotten();
  };
  const update = async (index: SessionIndex, folder: string | null) => {
    const sessions = await listSessions(places, { folder }, index.forgotten());
    return { sessions, behind: await index.update(sessions, readTurns) };
  };
  return {
    get isOn() {
      return isOn();
    },
    folderOf: sessionFolder,
    list: async (filter) => listSessions(places, filter, forgotten()),
    find: async (name, cwd) => findSession(places, name, sessionFolder(cwd), forgotten()),
    turns: (session, tally) => {
      forgotten();
      return readTurns(session, tally);
    },
    async search(query, { folder, session, limit = 10 }) {
      forgotten();
      using index = openIndex();
      const { sessions, behind } = await update(index, session?.folder ?? folder);
      const scope = session === undefined ? sessions : sessions.filter(({ name }) => name === session.name);
      return { hits: index.search(query, scope, limit), behind };
    },
    async index(folder) {
      forgotten();
      using index = openIndex();
      const { sessions, behind } = await update(index, folder);
      return sessions.length - behind;
    },
    async forget(session) {
      if (session === null && !existsSync(file)) return;
      using index = openIndex();
      index.forget(session === null ? null : [session.name], session !== null);
    },
    startClient(program, args, folder) {
      const found = findProgram(program, env);
      if (found === null)
        throw new RelayError('missing', {
          what: `program ${program} on the PATH`,
          hint: 'Install it. Or print the brief with relay handoff --to NAME, and paste it into another agent.',
        });
      return new Promise((done, failed) => {
        const child = spawn(found, args, { cwd: folder, env, stdio: 'inherit' });
        child.once('error', failed);
        child.once('close', (code) => done(code ?? 1));
      });
    },
  };
}
