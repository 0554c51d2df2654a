import { PassThrough } from 'node:stream';
import { makeHost } from '../../src/app/main.ts';
import type { Output } from '../../src/interfaces/cli/io.ts';
import { runCli } from '../../src/interfaces/cli/run.ts';
import type { Ran, RunOptions } from './program.ts';

/** Runs one command line in this process on a real store, which is faster than starting the program. */
export async function runHere(args: readonly string[], o: RunOptions): Promise<Ran> {
  const stdin = new PassThrough();
  stdin.end(o.stdin ?? '');
  const chunks = stdin[Symbol.asyncIterator]();
  const take = async (): Promise<Uint8Array | null> => {
    const { done, value } = await chunks.next();
    return done ? null : value;
  };
  const [stdout, stderr] = [pipe(), pipe()];
  const env = { HOME: process.env.HOME, PATH: process.env.PATH, RELAY_HOME: o.home, ...o.env };
  const terminal = {
    stdin: { isTTY: false, stream: stdin, take },
    stdout,
    stderr,
    env,
    cwd: o.cwd ?? o.home,
  };
  const code = await runCli(args, terminal, (globals, warn) => makeHost(globals, env, warn));
  const bytes = stdout.bytes();
  return { code, stdout: bytes.toString(), stderr: stderr.bytes().toString(), bytes };
}

function pipe(): Output & { bytes(): Buffer } {
  const parts: Buffer[] = [];
  return {
    isTTY: false,
    columns: 80,
    write: (data) => void parts.push(Buffer.from(data as string)),
    send: async (data) => void parts.push(Buffer.from(data)),
    stream: new PassThrough(),
    bytes: () => Buffer.concat(parts),
  };
}
