/**
 * Finds versitygw, a real S3 server, and runs it on loopback. `node test/s3/server.ts` builds it if it is missing and
 * prints its path.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { AwsClient } from 'aws4fetch';
import { freePorts } from '../nats/cluster.ts';
import { until } from '../until.ts';

const run = promisify(execFile);

/** Version to build if the machine has none, and the cache folder. */
const VERSION = 'v1.8.0';
const CACHE = join(
  process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'),
  'contextrelay',
  `versitygw-${VERSION}`,
);

/**
 * Finds versitygw in PATH or in the cache. With `build`, a missing versitygw is built with Go, which takes minutes.
 * Returns the reason if there is none.
 */
export async function findS3Server(
  o: { build?: boolean } = {},
): Promise<{ path: string } | { missing: string }> {
  const folders = [...(process.env.PATH ?? '').split(delimiter), CACHE];
  const path = folders.map((folder) => join(folder, 'versitygw')).find((each) => existsSync(each));
  if (path !== undefined) return { path };
  if (!o.build) return { missing: 'there is no versitygw here; node test/s3/server.ts builds one' };
  mkdirSync(CACHE, { recursive: true });
  try {
    // Go verifies downloads against the public checksum database.
    await run('go', ['install', `github.com/versity/versitygw/cmd/versitygw@${VERSION}`], {
      env: { ...process.env, GOBIN: CACHE },
      timeout: 900_000,
    });
    return { path: join(CACHE, 'versitygw') };
  } catch (error) {
    return { missing: `versitygw cannot be built: ${(error as Error).message.split('\n')[0]}` };
  }
}

const KEYS = { accessKeyId: 'tester', secretAccessKey: 'testing-secret' };

export interface S3Server extends AsyncDisposable {
  /** URL of the server, without a slash at the end. */
  readonly endpoint: string;
  readonly bucket: string;
  /** Credentials in the standard AWS variables. */
  readonly env: { readonly AWS_ACCESS_KEY_ID: string; readonly AWS_SECRET_ACCESS_KEY: string };
  /** Changes one byte of an object. */
  flip(name: string, at: number): Promise<void>;
  /** Returns the XML of a listing request with this query. */
  list(query: string): Promise<string>;
}

export async function startS3Server(): Promise<S3Server> {
  const s3Server = await findS3Server();
  if ('missing' in s3Server) throw new Error(s3Server.missing);
  const folder = mkdtempSync(join(tmpdir(), 'relay-s3-'));
  const [port] = await freePorts(1);
  const access = ['--access', KEYS.accessKeyId, '--secret', KEYS.secretAccessKey];
  const args = [...access, '--port', `127.0.0.1:${port}`, '--quiet', 'posix', folder];
  const child = spawn(s3Server.path, args, { stdio: 'ignore' });
  const endpoint = `http://127.0.0.1:${port}`;
  const stop = () => void child.kill('SIGKILL');
  process.once('exit', stop);
  await until(
    async () => {
      if (child.exitCode !== null) throw new Error(`${s3Server.path} ended with ${child.exitCode}`);
      return await fetch(endpoint).then(
        () => true,
        () => false,
      );
    },
    { everyMs: 50 },
  );
  const bucket = 'bodies';
  const client = new AwsClient({ ...KEYS, service: 's3', region: 'us-east-1', retries: 0 });
  const ask = async (method: string, path: string, body?: Uint8Array<ArrayBuffer>) => {
    const answer = await client.fetch(`${endpoint}/${bucket}${path}`, { method, body });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return new Uint8Array(await answer.arrayBuffer());
  };
  await ask('PUT', '');
  return {
    endpoint,
    bucket,
    env: { AWS_ACCESS_KEY_ID: KEYS.accessKeyId, AWS_SECRET_ACCESS_KEY: KEYS.secretAccessKey },
    async flip(name, at) {
      const bytes = await ask('GET', `/${name}`);
      bytes[at]! ^= 1;
      await ask('PUT', `/${name}`, bytes);
    },
    list: async (query) => new TextDecoder().decode(await ask('GET', `?${query}`)),
    async [Symbol.asyncDispose]() {
      process.off('exit', stop);
      const exit = once(child, 'exit');
      stop();
      await exit;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

if (import.meta.main) {
  const s3Server = await findS3Server({ build: true });
  console.log('path' in s3Server ? s3Server.path : s3Server.missing);
  if ('missing' in s3Server) process.exitCode = 1;
}
