import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SESSION_HANDOFF_TOKENS } from '../../src/base/limits.ts';
import { countTokens } from '../token-count.ts';
import { restoreSession } from './recordings.ts';
import type { SessionScript } from './script.ts';
import { OWN_SCRIPTS } from './scripts-own.ts';
import { PLAIN_SCRIPTS } from './scripts-plain.ts';

/**
 * Measures how many questions of the next agent a hand-off answers. Real clients recorded twelve sessions, and each
 * session has ten questions. A text answers a question if it contains the words of the answer.
 */

interface Score {
  asked: number;
  /** Number of questions answered by a hand-off from git and project files alone. */
  without: number;
  /** Number of questions answered by the hand-off with quotes from the session. */
  brief: number;
  /** Number of questions answered by the hand-off with quotes, or by one search in the session. */
  searched: number;
}

async function evaluate(script: SessionScript, missing: string[]): Promise<Score> {
  using folder = await restoreSession(script);
  const without = await folder.relay([
    'handoff',
    '--to',
    'claude',
    '--no-session',
    '--max-tokens',
    `${SESSION_HANDOFF_TOKENS}`,
  ]);
  const brief = await folder.relay(['handoff', '--to', 'claude']);
  assert.equal(brief.code, 0, brief.stderr);
  assert.ok(countTokens(brief.stdout).tokens <= SESSION_HANDOFF_TOKENS);
  if (process.env.SHOW_BRIEFS) console.log(brief.stdout);
  const score = { asked: 0, without: 0, brief: 0, searched: 0 };
  for (const [question, ...answer] of script.questions) {
    const answers = (text: string) => answer.every((phrase) => text.replace(/\s+/g, ' ').includes(phrase));
    score.asked++;
    if (answers(without.stdout)) score.without++;
    if (answers(brief.stdout)) score.brief++;
    else missing.push(`${script.name}, hand-off: ${question} ${answer}`);
    const isFound =
      answers(brief.stdout) || answers((await folder.relay(['session', 'search', question])).stdout);
    if (isFound) score.searched++;
    else missing.push(`${script.name}, search: ${question} ${answer}`);
  }
  return score;
}

for (const [half, scripts] of [
  ['own', OWN_SCRIPTS],
  ['plain', PLAIN_SCRIPTS],
] as const) {
  test(`a hand-off answers at least 85 % of the questions about the ${half} sessions, and one search the rest`, async (t) => {
    const missing: string[] = [];
    const total: Score = { asked: 0, without: 0, brief: 0, searched: 0 };
    for (const script of scripts) {
      const score = await evaluate(script, missing);
      for (const key of Object.keys(total) as (keyof Score)[]) total[key] += score[key];
      t.diagnostic(`${script.name} (${script.client}): ${JSON.stringify(score)}`);
    }
    t.diagnostic(`${half}: ${JSON.stringify(total)}`);
    for (const line of missing) t.diagnostic(line);
    assert.ok(total.brief >= total.asked * 0.85, missing.join('\n'));
    assert.equal(total.searched, total.asked, missing.join('\n'));
  });
}
