import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { cleanEnv, ENTRY, NODE, relay, temporaryHome } from '../cli/program.ts';
import { until } from '../until.ts';

const YAML = `name: hook
secrets: { HOOK: { command: 'echo x >> reads; echo $HOOK_SECRET' } }
inputs: { branch: main }
agents: { sh: { shell: true } }
triggers: [{ webhook: deploy, secret: HOOK, inputs: { branch: "{{ trigger.payload.branch }}" } }]
steps: [{ id: say, agent: sh, prompt: 'echo "{{ inputs.branch }}"' }]
`;

test('a signed webhook starts one run with its data as variables; others are refused', async () => {
  using at = temporaryHome();
  const env = { HOOK_SECRET: 'long-secret-of-the-hook' };
  writeFileSync(join(at.home, 'hook.yaml'), YAML);
  const child = spawn(NODE, [ENTRY, 'pipeline', 'serve', 'hook.yaml', '--port', '0'], {
    env: cleanEnv({ home: at.home, env }),
    cwd: at.home,
    stdio: 'pipe',
  });
  let out = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (out += chunk));
  try {
    await until(() => /POST (http\S+)/.test(out));
    const url = /POST (http\S+)/.exec(out)![1]!;
    const body = JSON.stringify({ branch: '$(touch broken)' });
    const send = (o: { id?: string; age?: number; secret?: string; to?: string }) => {
      const id = o.id ?? 'msg_1';
      const at = Math.floor(Date.now() / 1000) - (o.age ?? 0);
      const signed = createHmac('sha256', o.secret ?? env.HOOK_SECRET).update(`${id}.${at}.${body}`);
      const headers = {
        'webhook-id': id,
        'webhook-timestamp': String(at),
        'webhook-signature': `v1,${signed.digest('base64')}`,
      };
      return fetch(o.to ?? url, { method: 'POST', headers, body });
    };
    assert.equal((await send({ secret: 'another' })).status, 401);
    assert.equal((await send({ secret: 'a third' })).status, 401);
    const reads = readFileSync(join(at.home, 'reads'), 'utf8');
    assert.equal(reads, 'x\n', 'requests without a signature do not run the command of the secret each time');
    assert.equal((await send({ age: 3600 })).status, 401);
    assert.equal((await send({ to: `${url}x` })).status, 404);
    assert.equal((await send({})).status, 202);
    assert.equal((await send({})).status, 202);
    const list = async () =>
      JSON.parse((await relay(['pipeline', 'list', '--json'], { home: at.home, env })).stdout).runs;
    await until(async () => (await list())[0]?.status === 'done');
    const runs = await list();
    assert.equal(runs.length, 1);
    assert.equal(runs[0].inputs.branch, '$(touch broken)');
    assert.doesNotMatch(out, /long-secret/);
  } finally {
    child.kill('SIGKILL');
  }
});
