import { loadConfig } from '../../src/app/config.ts';
import { type RunningServer, startServer } from '../../src/app/serve/serve.ts';
import { openCore } from '../../src/app/store/open-core.ts';

export interface Restartable extends AsyncDisposable {
  readonly url: string;
  /** Stops the server and starts another on the same store and port. */
  restart(): Promise<void>;
}

/** A server that can be restarted on the same store. */
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

/** Waits until the server answers. Connections that the old server closed fail on first use. */
async function answers(url: string): Promise<void> {
  for (;;) {
    const response = await fetch(`${url}/health`).catch(() => null);
    if (response?.ok) return;
  }
}
