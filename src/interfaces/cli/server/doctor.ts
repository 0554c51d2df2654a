import { defineCommand } from '../command.ts';
import type { Check } from '../host.ts';
import { parseMilliseconds, plural } from '../human.ts';

/** So that it ends within ten seconds. */
const PATIENCE_MS = 9_000;

export default defineCommand({
  details: 'Every line is something that was really tried. Ends with 1 when anything is wrong.',
  flags: {
    repair: { help: 'write the files of threads anew from their logs, and what a search needs' },
    timeout: { value: 'TIME', help: 'the most it waits for what hangs (9s)' },
  },
  examples: [
    ['relay doctor', 'look at Node, the store, the disk and the server'],
    ['relay doctor --url https://relay.example', 'look at a server elsewhere'],
    ['relay doctor --repair', 'write state.json and events.log of every thread anew, then look'],
  ],
  async run({ io, host, flags }) {
    if (flags.repair) {
      const { threads, artifacts, missing } = await host.repair();
      io.note(`Made the files of ${threads} threads with ${artifacts} artifacts anew.`);
      for (const gone of missing) io.warn(`The content of ${gone} is gone from the store.`);
    }
    const checks: Check[] = [];
    const { style } = io;
    const mark = {
      ok: style.green('ok     '),
      warning: style.yellow('warning'),
      wrong: style.red('wrong  '),
    };
    for await (const found of host.diagnose(parseMilliseconds(flags.timeout, '--timeout') ?? PATIENCE_MS)) {
      const check = found.fix === undefined ? found : { ...found, fix: io.typed(found.fix) };
      checks.push(check);
      if (io.json) continue;
      io.print(`${mark[check.state]}  ${style.bold(check.name)}: ${check.found}`);
      if (check.fix) io.print(`         ${style.dim('→')} ${check.fix}`);
    }
    const wrong = checks.filter((check) => check.state === 'wrong').length;
    io.result({ ok: wrong === 0, checks }, () => `\n${inAll(checks, wrong)}`);
    return wrong === 0 ? 0 : 1;
  },
});

/** A hook that never runs is a warning, and no reason to say that everything works. */
function inAll(checks: readonly Check[], wrong: number): string {
  if (wrong > 0) return `${wrong} of ${checks.length} wrong.`;
  const warnings = checks.filter((check) => check.state === 'warning').length;
  if (warnings === 0) return 'Everything works.';
  return `Nothing is wrong, but ${plural(warnings, 'warning')} above ${warnings === 1 ? 'needs' : 'need'} you.`;
}
