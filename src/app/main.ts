import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { bun } from '../base/bun.ts';
import type { Host } from '../interfaces/cli/host.ts';
import { type Globals, runCli } from '../interfaces/cli/run.ts';
import { type Config, type Environment, initHome, loadConfig } from './config.ts';
import { bucketAddress, readValue } from './option-readers.ts';
import { outputHost } from './outputs/output-host.ts';
import { packageVersion, RUNTIME } from './own-package.ts';
import { homeEngine } from './serve/pid-file.ts';
import { findHome, makeHome } from './store/home.ts';
import type { Warn } from './store/open-core.ts';
import { withKnownLogin } from './store/remote-engines.ts';
import { processTerminal } from './terminal.ts';

/** Time in ms after which the process counts as long-running and gets a JIT policy that compiles more. */
const JIT_MS = 200;

/**
 * Runs the program. If all output is written, exits immediately. Otherwise Node first writes the rest of its
 * streams.
 */
export async function runMain(argv: readonly string[] = process.argv.slice(2)): Promise<void> {
  // The executable starts with a JIT policy that compiles little: most commands end before compiling pays
  // off.
  if (bun) setTimeout(() => bun?.unsafe.setJITPolicy(1), JIT_MS).unref();
  const terminal = processTerminal();
  const code = await runCli(argv, terminal, (globals, warn) => makeHost(globals, terminal.env, warn));
  process.exitCode = code || process.exitCode || 0;
  if (terminal.isWritten()) process.exit();
}

/**
 * Returns the services for commands. A service reads files and loads modules only when a command needs them. So short
 * commands stay fast, and `version` and `doctor` work with a broken configuration.
 */
export function makeHost(globals: Globals, env: Environment, warn?: Warn): Host {
  let loaded: Config | null = null;
  const config = (): Config => {
    loaded ??= loadConfig(env, globals);
    return loaded;
  };
  /**
   * Returns the address or folder of a store, with the configured login if an address has none. Without
   * `place`, returns the cluster of this home, or null if the store is in the home.
   */
  const knownPlace = (place: string | undefined): string | null =>
    place === undefined ? homeEngine(config()) : withKnownLogin(place, config().engine);
  const sessionIndex = () => join(host.home, 'session-index', 'turns.sqlite');
  const host: Host = {
    get home() {
      return findHome(globals.home, env);
    },
    get remote() {
      return config().remote;
    },
    program: {
      get version() {
        return packageVersion();
      },
      runtime: RUNTIME,
      command: async () => {
        const { findLauncher, shellLine } = await import('./install/launcher.ts');
        const { home, remote } = config();
        const local = home === findHome(undefined, {}) ? [] : ['--home', home];
        return shellLine(findLauncher(env, 'anywhere'), remote === null ? local : ['--url', remote]);
      },
      guides: async () => (await import('./guides.ts')).ownGuides(),
      installer: async () => (await import('./install/installer.ts')).openInstaller(env, host.home),
      countTokens: async (text) => (await import('./store/token-counter.ts')).countTokens(text),
      async *diagnose(ms) {
        const deadline = new (await import('./deadline.ts')).Deadline(ms);
        const { installSettings } = await import('./install/installer.ts');
        const { installChecks } = await import('./install/checks.ts');
        const { diagnose } = await import('./doctor.ts');
        const installed = installChecks(await installSettings(env, host.home), deadline);
        // Start the checks of installed clients now, but report them last.
        const first = installed.next();
        // The loop below throws the error of the first check. Handle a rejection before then, otherwise the runtime
        // reports it as unhandled.
        first.catch(() => {});
        yield* diagnose(host, config, deadline, env);
        for (let next = await first; !next.done; next = await installed.next()) yield next.value;
        // Some checks may still hang. Exit without waiting for them.
        if (deadline.signal.aborted) setTimeout(() => process.exit(), 100).unref();
      },
    },
    relay: {
      open: async (o) => (await import('./store/open-relay.ts')).openRelay(config(), o, { warn }),
      scratch: async () => (await import('./store/open-relay.ts')).openScratch(config()),
      threadMemory: async () => {
        const { home, remote } = config();
        return (await import('./agents/thread-memory.ts')).openThreadMemory(home, remote);
      },
      keyring: async () => (await import('./store/keyring.ts')).openKeyring(config().home),
      frameSecret: async () => (await import('./store/home.ts')).homeSecret(config().home)(),
      peekInbox: async (agent, o) =>
        (await import('./store/peek-inbox.ts')).peekInbox(config(), agent, o, warn),
    },
    store: {
      get engine() {
        return homeEngine(config());
      },
      open: async () => (await import('./store/maintenance.ts')).openStore(config(), warn),
      init: () => initHome(config().home),
      backup: async (target, engine) => {
        const cluster = knownPlace(engine);
        const { home } = config();
        const { backupByCopy, hasBucket } = await import('./store/engine-copy.ts');
        if (cluster !== null) return backupByCopy(cluster, target);
        if (await hasBucket(home)) return backupByCopy(home, target);
        return (await import('../engines/sqlite/backup.ts')).backupSqlite(home, target, warn);
      },
      restore: async (source, { engine, blobs: named, ...o }) => {
        const { home, blobs: configured } = config();
        const cluster = knownPlace(engine);
        if (cluster !== null || named !== undefined) {
          const blobs = named === undefined ? configured : readValue('--blobs', bucketAddress, named);
          const { restoreByCopy } = await import('./store/engine-copy.ts');
          return restoreByCopy(source, cluster ?? home, { ...o, blobs, env, warn });
        }
        makeHome(home);
        const restored = await (await import('../engines/sqlite/backup.ts')).restoreSqlite(source, home, o);
        await (await import('./store/engine-copy.ts')).skipHandlesAt(home);
        return restored;
      },
      copy: async (from, to, report, named) => {
        const blobs = named && readValue('--blobs', bucketAddress, named);
        const o = { from: knownPlace(from)!, to: knownPlace(to)!, blobs, env, warn };
        return (await import('./store/engine-copy.ts')).copyEngine(o, report);
      },
      reopen: async (place) =>
        (await import('./store/engine-copy.ts')).reopenEngine(knownPlace(place)!, warn),
      repair: async () => (await import('./store/maintenance.ts')).repairStore(config(), warn),
      openLegacy: async (dir) => (await import('./legacy/import.ts')).openLegacy(dir),
    },
    projects: {
      open: async (folder, o) => (await import('./projects/project-files.ts')).openProject(folder, o),
      create: async (folder, o) => (await import('./projects/project-files.ts')).createProject(folder, o),
      find: async (from, o) => (await import('./projects/project-files.ts')).findProject(from, o),
    },
    agents: {
      openWork: async (cwd) =>
        (await import('./agents/agent-work.ts')).openAgentWork(config(), env, cwd, warn),
      openRunner: async (spec) => (await import('./agents/named-agents.ts')).openRunner(spec, host.home),
      openRemote: async (url, o) =>
        (await import('./agents/named-agents.ts')).openAgent(url, o, config(), env, host),
      wake: async (relay, names) => (await import('./agents/wake.ts')).wakeSessions(relay, names, host, env),
      prepare: async () => {
        await Promise.all([import('./agents/attend.ts'), import('./store/open-relay.ts')]);
      },
      attend: async (session) => (await import('./agents/attend.ts')).attend(session, host, env),
      async *wakeCalls(session) {
        yield* (await import('./agents/wake.ts')).wakeCalls(session, host, env);
      },
      chooseName: async (client, folder, name) =>
        (await import('./agents/attend.ts')).chooseName(host.home, client, folder, name),
      watch: async (relay, stop, onWoken) =>
        (await import('./agents/wake.ts')).watchSessions(relay, stop, onWoken, host, env),
      present: async (listed) => (await import('./agents/wake.ts')).correctPresence(listed, env),
      serveMcp: async (o) => (await import('./mcp/mcp-stdio.ts')).serveMcp(host, o),
    },
    get outputs() {
      return outputHost(host.home, globals.url !== undefined, config, warn);
    },
    sessions: async () =>
      (await import('./sessions/session-host.ts')).sessionHost(
        sessionIndex(),
        env,
        () => config().sessions === 'on',
      ),
    indexSessions: async (folder) => {
      if (config().sessions !== 'on' || !existsSync(sessionIndex())) return;
      const { spawn } = await import('node:child_process');
      const { findLauncher } = await import('./install/launcher.ts');
      const { command, args } = findLauncher(env, 'anywhere');
      const o = { cwd: folder, detached: true, stdio: 'ignore', windowsHide: true } as const;
      spawn(command, [...args, 'session', 'index', '--home', host.home], o)
        .on('error', () => {})
        .unref();
    },
    server: async () => (await import('./serve/server-control.ts')).serverControl(config(), env, warn),
    settings: async () => (await import('./settings.ts')).openSettings(host.home, env),
  };
  return host;
}
