import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Env } from '../../src/base/env.ts';
import type { Engine } from '../../src/kernel/engine.ts';
import { type Below, type Case, manualClock } from './case.ts';
import { suite } from './suite.ts';

export interface Opened extends Below {
  readonly engine: Engine;
  close(): PromiseLike<void>;
}

/** A case an engine cannot pass, and why. */
export interface Skip {
  readonly name: string;
  readonly reason: string;
}

/** A hung case fails rather than holds up the run; far more than the slowest takes. */
const HANG_MS = 120_000;

/**
 * Runs every case against an engine of its own, opened with a clock that the case moves. A skipped case is run
 * all the same: once it passes, the skip is stale and fails; so does a skip that names no case.
 */
export function runConformance(
  name: string,
  open: (env: Env) => Promise<Opened>,
  skip: readonly Skip[] = [],
  cases: readonly Case[] = suite,
): void {
  describe(`conformance of ${name}`, { timeout: HANG_MS * 10 }, () => {
    test('every skip names a case and gives a reason', () => checkSkips(skip, cases));
    test('no two cases share a name', () => {
      const names = cases.map((c) => c.name);
      assert.deepEqual(
        names.filter((n, i) => names.indexOf(n) !== i),
        [],
      );
    });
    for (const each of cases) {
      const skipped = skip.find((s) => s.name === each.name);
      test(each.name, { timeout: HANG_MS }, async (t) => {
        if (!skipped) return runCase(each, open);
        await checkStale(each, skipped, open);
        t.skip(skipped.reason);
      });
    }
  });
}

export function checkSkips(skip: readonly Skip[], cases: readonly Case[]): void {
  for (const { name, reason } of skip) {
    assert.ok(
      cases.some((c) => c.name === name),
      `no case is called "${name}"`,
    );
    assert.ok(reason.trim() !== '', `"${name}" is skipped without a reason`);
  }
}

export async function checkStale(
  each: Case,
  skipped: Skip,
  open: (env: Env) => Promise<Opened>,
): Promise<void> {
  const passed = await runCase(each, open).then(
    () => true,
    () => false,
  );
  assert.ok(!passed, `"${each.name}" passes, so its skip is stale: ${skipped.reason}`);
}

export async function runCase(each: Case, open: (env: Env) => Promise<Opened>): Promise<void> {
  const clock = manualClock();
  const opened = await open(clock.env);
  try {
    await each.run(opened.engine, clock, opened);
  } finally {
    await opened.close();
  }
}
