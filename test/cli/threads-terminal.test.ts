import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { atTerminal, relay, temporaryHome } from './program.ts';

const place = temporaryHome();
const { home } = place;
after(() => place[Symbol.dispose]());
before(() => {
  writeFileSync(join(home, 'notes.md'), '# My Notes\n');
  writeFileSync(join(home, 'data.bin'), Buffer.from([0, 1, 2, 255]));
});

const see = async (line: string, stdin?: string) =>
  (await atTerminal(line, { home, stdin })).stdout.replaceAll('\r', '');

test('at a terminal a new thread and a new artifact are printed with their labels', async () => {
  const created = await see('$relay thread new --name first');
  assert.match(created, /^thread_id {2}[0-9a-f-]{36}\n$/);
  const id = created.trim().split(/\s+/)[1]!;
  assert.match(await see('$relay state header'), /^thread .*\nthe state is empty\n$/);
  const stored = await see(`$relay artifact put notes.md --thread ${id} --type markdown`);
  assert.match(
    stored,
    /^artifact_ref {2}[0-9a-f]{26}\nnotes\.md · markdown · 11 bytes · \d+ tokens.*\(o200k_base\)\n$/,
  );
  // If no thread is named, the command prints the default thread.
  assert.match(await see('$relay stats'), new RegExp(`^thread ${id}\n {2}artifacts +1\n`));
  assert.match(await see('$relay runs'), new RegExp(`^\\* ${id} {2}today at \\d\\d:\\d\\d {2}first\n$`));
  assert.match(
    await see('$relay state header'),
    /^thread .*\n\/artifacts:\n[0-9a-f]{26} notes\.md \(markdown\)\n$/,
  );
});

test('binary content is refused at a terminal before it counts as a pull', async () => {
  const refused = await see('$relay artifact put data.bin; $relay artifact get data.bin; echo exit $?');
  assert.match(refused, /not printed to a terminal.*exit 2/s);
  const { stdout } = await relay(['tail'], { home });
  assert.doesNotMatch(stdout, /artifact\.pulled/);
});

test('a thread is deleted at a terminal only after a yes', async () => {
  const id = (await relay(['thread', 'new', '--name', 'doomed'], { home })).stdout.trim();
  const output = await see(`$relay thread rm ${id}`, 'n\n');
  assert.match(output, new RegExp(`Delete thread ${id} "doomed" with 0 artifacts, state v1\\? \\[y/N\\]`));
  assert.doesNotMatch(output, /deleted/);
  assert.equal((await relay(['show', id], { home })).code, 0);
  assert.match(await see(`$relay thread rm ${id}`, 'y\n'), new RegExp(`deleted ${id}`));
  assert.equal((await relay(['show', id], { home })).code, 3);
});
