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

/** A case that an engine cannot pass, and the reason. */
export interface Skip {
  readonly name: string;
  readonly reason: string;
}

/** Timeout of a case, so that a hanging case does not block the run. It is far above the slowest case. */
const HANG_MS = 120_000;

/**
 * Runs every case with a new engine and a clock that the case moves. Skipped cases run too: if one passes,
 * its skip is stale and fails the run. A skip of an unknown case also fails.
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
