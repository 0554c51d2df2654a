import assert from 'node:assert/strict';
import { chmodSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openProject } from '../../src/app/projects/project-files.ts';
import { type ClientName, installedClient } from '../clients/installed-clients.ts';
import { ScratchFolder } from '../projects/scratch-folder.ts';
import { type LiveExchange, playSession, type Step } from './recorder.ts';

/**
 * Passes work through four real clients in one repository. Each client gets the brief of the previous session. Its
 * fake model knows only this brief. The model does the next step of the plan, and does not repeat a failure that the
 * brief names.
 */

const ORDER: readonly ClientName[] = ['claude', 'codex', 'gemini', 'opencode'];
const PLAN = ['alpha', 'beta', 'gamma', 'delta'];
const ASK = `Do these steps in order: ${PLAN.join(', ')}. A step is: append its name to done.txt. Do one step now. Publish with sh publish.sh if that works.`;

/** Returns a model that reads the plan and the completed steps from its prompt, or from the output of `first`. */
function model(prompt: string, first: Step | null): LiveExchange {
  return {
    prompt,
    act(answers) {
      const before: readonly Step[] = first === null ? [] : [first];
      if (answers.length < before.length) return before[answers.length]!;
      const promptText = first === null ? prompt : answers[0]!.replaceAll('\\n', '\n');
      const [, list = ''] = /steps in order: ([\w, ]+)\./.exec(promptText) ?? [];
      const done = new Set([...promptText.matchAll(/Step (\w+) is done/g)].map(([, name]) => name));
      const next = list.split(', ').find((name) => name !== '' && !done.has(name));
      if (next === undefined) return { answer: 'I see no step to do.' };
      const failed = /sh publish\.sh → exit 9/.test(promptText);
      const steps: readonly Step[] = [
        { run: `echo ${next} >> done.txt` },
        ...(failed ? [] : [{ run: 'sh publish.sh' }]),
      ];
      return steps[answers.length - before.length] ?? { answer: `Step ${next} is done.` };
    },
  };
}

test('four clients do all steps of a plan once, and none repeats a failure that the brief names', async (t) => {
  using folder = new ScratchFolder();
  folder.write('publish.sh', 'echo tried >> tries.txt\necho "publish: no network" >&2\nexit 9\n');
  folder.git('init', '-q', '-b', 'main');
  await openProject(folder.path).init();
  folder.git('add', '.');
  folder.git('commit', '-qm', 'begin');
  for (const [index, name] of ORDER.entries()) {
    const client = installedClient(name);
    if (!('program' in client)) return t.skip(client.missing);
    let exchange = model(ASK, null);
    if (index > 0) {
      // `--start` runs this fake client, which records the first prompt. The real client runs below, without a terminal.
      folder.write(
        `../home/bin/${name}`,
        `#!/bin/sh\nfor last; do :; done\nprintf %s "$last" > "${folder.home}/prompt"\n`,
      );
      chmodSync(join(folder.home, 'bin', name), 0o755);
      const env = { PATH: `${join(folder.home, 'bin')}:${process.env.PATH}` };
      const started = await folder.relay(['handoff', '--to', name, '--start'], { env });
      assert.equal(started.code, 0, started.stderr);
      const prompt = readFileSync(join(folder.home, 'prompt'), 'utf8');
      exchange = model(prompt, { run: 'cat .relay/handoff.md' });
    }
    await playSession(name, client.program, folder, [exchange]);
    assert.deepEqual(folder.read('done.txt').trim().split('\n'), PLAN.slice(0, index + 1), name);
  }
  assert.equal(folder.read('tries.txt'), 'tried\n');
  const last = await folder.relay(['handoff', '--to', 'claude']);
  for (const name of PLAN) assert.match(last.stdout, new RegExp(`Step ${name} is done`));
  const sessions = JSON.parse((await folder.relay(['session', 'list', '--json'])).stdout).sessions;
  assert.deepEqual(
    sessions.map(({ client }: { client: string }) => client),
    ORDER.toReversed(),
  );
});
