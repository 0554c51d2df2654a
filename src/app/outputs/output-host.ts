import type { OutputHost } from '../../interfaces/cli/host.ts';
import type { Config } from '../config.ts';
import type { Warn } from '../store/open-core.ts';

/**
 * Returns the service for outputs. Outputs leave this machine only with `--url`, never because of
 * CONTEXTRELAY_URL.
 */
export function outputHost(
  home: string,
  isRemote: boolean,
  readConfig: () => Config,
  warn?: Warn,
): OutputHost {
  const open = async () => {
    // Read the configuration only when the store is needed, so that a command with a short output runs
    // despite a broken configuration.
    const config = readConfig();
    const remote = isRemote ? config.remote : null;
    const { openRelay } = await import('../store/open-relay.ts');
    const { OutputStore } = await import('./output-store.ts');
    return new OutputStore(await openRelay({ ...config, remote }, {}, { warn }), config);
  };
  const openRecovered = async () => {
    const store = await open();
    if (!isRemote) await store.recover();
    return store;
  };
  return {
    tee: async (io, o) => (await import('./tee.ts')).tee(io, o, { home, isRemote, open }),
    excerpt: async (text, o) => (await import('./tee.ts')).excerptOf(text, o, { home, open }),
    async list() {
      await using store = await openRecovered();
      return await store.list();
    },
    async report() {
      await using store = await openRecovered();
      return await store.report();
    },
    async prune() {
      await using store = await openRecovered();
      return await store.keepWithin(0);
    },
    wrapMcp: async (o) => (await import('../mcp/mcp-wrap.ts')).wrapMcp(home, readConfig, o),
    async notePulled() {
      const { notePulled, pipeId } = await import('./spool.ts');
      notePulled(home, pipeId(1));
    },
  };
}
