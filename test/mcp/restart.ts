import { loadConfig } from '../../src/app/config.ts';
import { type RunningServer, startServer } from '../../src/app/serve/serve.ts';
import { openCore } from '../../src/app/store/open-core.ts';

export interface Restartable extends AsyncDisposable {
  readonly url: string;
  /** Stops it and starts another on the same store and port. */
  restart(): Promise<void>;
}

/** A server on a store that stays, which can go away and come back. */
export async function openRestartable(home: string): Promise<Restartable> {
  const config = loadConfig({}, { home });
  let port = 0;
  const start = async () => {
    const { core, ...open } = await openCore(config, 'server');
    const o = { core, host: '127.0.0.1', version: 'test', publicUrl: null, allowedHosts: [], log: () => {} };
    const server: RunningServer = await startServer({ ...o, port });
    port = Number(new URL(server.url).port);
    return {
      url: server.url,
      stop: async () => {
        await server.stop();
        await open[Symbol.asyncDispose]();
      },
    };
  };
  let current = await start();
  return {
    url: current.url,
    restart: async () => {
      await current.stop();
      current = await start();
      await answers(current.url);
    },
    [Symbol.asyncDispose]: () => current.stop(),
  };
}

/** Connections that the old server closed are found out by using them, once. */
async function answers(url: string): Promise<void> {
  for (;;) {
    const response = await fetch(`${url}/health`).catch(() => null);
    if (response?.ok) return;
  }
}
