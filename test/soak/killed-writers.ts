import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { backupSqlite } from '../../src/engines/sqlite/backup.ts';
import { openSqlite, type SqliteEngine } from '../../src/engines/sqlite/engine.ts';
import type { BlobBody } from '../../src/kernel/blobs.ts';
import { type Child, startChild } from '../sqlite/child.ts';

export interface Killed {
  readonly acknowledged: number;
  readonly kills: number;
  readonly reads: number;
  readonly backups: number;
  readonly losses: readonly string[];
}

const WRITERS = 4;

/** Sizes of the acknowledged pushes by key; 0 if the blob may have been deleted since. */
type AckedSizes = Map<string, number>;

/**
 * Runs four processes that push, delete and sweep, which moves bodies between segments. They are killed at random times
 * and restarted until this many pushes are acknowledged. Meanwhile this process reads and makes backups. In the end,
 * acknowledged data that was not deleted must be in the store and in the backups. No reader may see a wrong byte.
 */
export async function killedWriters(pushes: number): Promise<Killed> {
  const place = mkdtempSync(join(tmpdir(), 'relay-killed-'));
  const home = join(place, 'home');
  const ackedSizes: AckedSizes = new Map();
  const losses: string[] = [];
  const counts = { kills: 0, reads: 0, backups: 0, started: 0, acknowledged: 0 };
  const isOver = () => counts.acknowledged >= pushes || losses.length > 20;
  await (await openSqlite({ home }))[Symbol.asyncDispose]();

  const writer = async () => {
    while (!isOver()) {
      const child = startChild('push-some', { home, name: `w${counts.started++}` });
      const first = Promise.withResolvers<void>();
      const listening = listen(child, ackedSizes, () => {
        counts.acknowledged++;
        first.resolve();
      });
      // Usually wait for the first push. Sometimes kill the process earlier.
      if (Math.random() < 0.95) await Promise.race([first.promise, listening]);
      await Promise.race([wait(Math.random() * 4000), listening]);
      child.process.kill('SIGKILL');
      counts.kills++;
      const failure = await listening;
      if (failure) losses.push(failure);
    }
  };
  const reader = async () => {
    await using engine = await openSqlite({ home, role: 'server' });
    while (!isOver()) {
      const keys = [...ackedSizes.keys()];
      for (let i = 0; i < 50 && keys.length > 0; i++) {
        const key = keys[Math.floor(Math.random() * keys.length)]!;
        await check(engine, key, ackedSizes, losses);
        counts.reads++;
      }
      await wait(20);
    }
  };
  const backups = async () => {
    while (!isOver()) {
      const before = [...ackedSizes.keys()];
      const target = join(place, `backup-${counts.backups++}`);
      const { lost } = await backupSqlite(home, target);
      for (const key of lost) losses.push(`${key}: damaged, says the backup`);
      const copy = await openSqlite({ home: target });
      for (const key of before) await check(copy, key, ackedSizes, losses);
      await copy[Symbol.asyncDispose]();
      rmSync(target, { recursive: true });
      await wait(200);
    }
  };
  try {
    const writers = Array.from({ length: WRITERS }, writer);
    await Promise.all([...writers, reader(), backups()]);
    await using engine = await openSqlite({ home });
    for (const key of ackedSizes.keys()) await check(engine, key, ackedSizes, losses);
    await engine.sweep();
    for (const key of ackedSizes.keys()) await check(engine, key, ackedSizes, losses);
    for await (const { key, fault } of engine.checkBodies()) if (fault) losses.push(`${key}: ${fault}`);
    const problem = await engine.checkDatabase();
    if (problem) losses.push(`the database: ${problem}`);
    const { kills, reads, backups: backupCount, acknowledged } = { ...counts };
    return { acknowledged, kills, reads, backups: backupCount, losses };
  } finally {
    rmSync(place, { recursive: true });
  }
}

/**
 * Records the sizes that a writer prints, until its process ends. Calls `onPush` after each push. Returns the error of the
 * process, or null if it was killed.
 */
async function listen(child: Child, ackedSizes: AckedSizes, onPush: () => void): Promise<string | null> {
  try {
    for (;;) {
      const { key, size } = await child.next<{ key: string; size: number }>();
      ackedSizes.set(key, size);
      if (size > 0) onPush();
    }
  } catch (error) {
    const { message } = error as Error;
    return message.includes('SIGKILL') || error instanceof SyntaxError ? null : message;
  }
}

async function check(
  engine: SqliteEngine,
  key: string,
  ackedSizes: AckedSizes,
  losses: string[],
): Promise<void> {
  const size = ackedSizes.get(key)!;
  try {
    const blob = await engine.blobs.get(key);
    if (!blob) {
      // The blob is no loss if the process deleted it. The process prints a line before a deletion, so wait for this
      // line.
      for (let tries = 0; ackedSizes.get(key)! > 0 && tries < 100; tries++) await wait(100);
      if (ackedSizes.get(key)! > 0) losses.push(`${key}: lost`);
      return;
    }
    const bytes = await readAll(blob.body);
    const length = size || bytes.length;
    if (!bytes.equals(Buffer.alloc(length, `${key} `))) losses.push(`${key}: wrong bytes`);
  } catch (error) {
    losses.push(`${key}: ${(error as Error).message}`);
  }
}

async function readAll(body: BlobBody): Promise<Buffer> {
  return Buffer.from(body instanceof Uint8Array ? body : await new Response(body as BodyInit).bytes());
}
