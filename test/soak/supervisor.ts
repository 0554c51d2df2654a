import { pause } from '../../src/base/pause.ts';
import { type Running, start } from '../channels/programs.ts';
import type { SoakHome } from './home.ts';

/**
 * Times in ms after which a server is restarted if it does not listen, or is not ready. A service manager does the
 * same.
 */
const START_MS = 20_000;
const READY_MS = 15_000;

/** Keeps a real server running on the home, always on the same port, even after kills. */
export class Supervisor {
  readonly pids: number[] = [];
  /** For each server that ended without being killed: its exit code or signal, and its output. */
  readonly ownEnds: string[] = [];
  kills = 0;
  /** Number of failed starts, for example on a full disk. */
  failedStarts = 0;
  url = '';
  readonly #place: SoakHome;
  #server: Running | null = null;
  #port = 0;
  /** True if an end of the server is expected: it was killed or stopped, or is not ready yet. */
  #mayEnd = true;

  constructor(place: SoakHome) {
    this.#place = place;
  }

  async start(): Promise<void> {
    for (;;) {
      const args = ['up', '--auth', '--port', String(this.#port)];
      const server = start(args, { home: this.#place.home });
      this.pids.push(server.child.pid!);
      this.#server = server;
      if (await this.#isReady(server)) {
        this.#mayEnd = false;
        void server.ended.then((code) => this.#afterEnd(server, code));
        return;
      }
      this.failedStarts++;
      await server[Symbol.asyncDispose]();
      await pause(200);
    }
  }

  async kill(): Promise<void> {
    this.kills++;
    this.#mayEnd = true;
    this.#server!.child.kill('SIGKILL');
    await this.#server!.ended;
  }

  /** Stops the server with SIGTERM and returns its exit code. */
  async stop(): Promise<number | null> {
    this.#mayEnd = true;
    this.#server!.child.kill('SIGTERM');
    return this.#server!.ended;
  }

  async end(): Promise<void> {
    this.#mayEnd = true;
    await this.#server?.[Symbol.asyncDispose]();
  }

  /** Records and restarts a server that ended on its own. */
  async #afterEnd(server: Running, code: number | null): Promise<void> {
    if (this.#mayEnd || server !== this.#server) return;
    this.#mayEnd = true;
    const { signalCode } = server.child;
    this.ownEnds.push(
      `the server ended by itself with ${code ?? signalCode}: ${server.output().slice(-2000)}`,
    );
    await this.start();
  }

  async #isReady(server: Running): Promise<boolean> {
    const listening = server.waitForOutput(/listening on (http:\S+)/).catch(() => null);
    const match = await Promise.race([listening, pause(START_MS)]);
    if (!match) return false;
    this.url = match[1]!;
    this.#port = Number(new URL(this.url).port);
    const deadline = performance.now() + READY_MS;
    while (performance.now() < deadline && server.child.exitCode === null) {
      const answer = await fetch(`${this.url}/ready`, { signal: AbortSignal.timeout(2000) }).catch(
        () => null,
      );
      if (answer?.ok) return true;
      await pause(50);
    }
    return false;
  }
}
