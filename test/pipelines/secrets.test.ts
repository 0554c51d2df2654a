import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { relay, temporaryHome } from '../cli/program.ts';
import { startRelay } from '../http/relay-under-test.ts';

const CANARY = 'canary-7f3d "quoted"/x';
const YAML = `name: leaky
secrets: { TOKEN: THE_TOKEN, FROM_FILE: { file: token.txt }, FROM_COMMAND: { command: "echo command-canary-55" } }
agents: { sh: { shell: true } }
env: { AUTH: "Bearer \${TOKEN}", TOKEN: "\${TOKEN}", FILE: "\${FROM_FILE}", COMMAND: "\${FROM_COMMAND}" }
outputs: { said: "{{ steps.say.output }}" }
steps:
  - { id: say, agent: sh, prompt: 'echo "$AUTH $FILE $COMMAND"; echo "$TOKEN" >&2; printf %s "$TOKEN" | base64' }
  - { id: ask, needs: [say], approve: { question: "Post {{ steps.say.output }}?", default: approve, timeout: 1s } }
  - { id: break, agent: sh, needs: [ask], retry: { max: 1, backoff: 1ms }, prompt: 'echo "no $TOKEN" >&2; echo "$FILE"; exit 3' }
`;

test('secrets reach no output, event, artifact, question, log, page of the dashboard or file of the relay', async () => {
  using at = temporaryHome();
  const { home } = at;
  await using server = await startRelay();
  const folder = join(home, 'project');
  mkdirSync(folder);
  writeFileSync(join(folder, 'leaky.yaml'), YAML);
  writeFileSync(join(folder, 'token.txt'), 'file-canary-55\n');
  const o = { home, cwd: folder, env: { THE_TOKEN: CANARY, CONTEXTRELAY_URL: server.url } };
  const outputs: string[] = [];
  const command = async (...args: string[]) => {
    const { stdout, stderr } = await relay(args, o);
    outputs.push(stdout, stderr);
    return stdout;
  };
  await command('pipeline', 'run', 'leaky.yaml');
  const { runs } = JSON.parse(await command('pipeline', 'list', '--json'));
  const [{ run, status }] = runs;
  assert.equal(status, 'failed');
  for (const args of [
    ['show', run],
    ['show', run, '--json'],
    ['show', run, '--step', 'break', '--attempt', '1'],
    ['why', run],
  ])
    await command('pipeline', ...args);
  await command('tail', run, '--all', '--json');
  const get = async (path: string) => {
    const text = await (await fetch(server.url + path)).text();
    outputs.push(text);
    return text;
  };
  for (const path of ['', '/events', '/state', '/report', '/prompts']) await get(`/threads/${run}${path}`);
  const { artifacts } = JSON.parse(await get(`/threads/${run}/artifacts`));
  assert.ok(artifacts.length >= 3, JSON.stringify(artifacts));
  for (const { ref } of artifacts) await get(`/threads/${run}/artifacts/${ref}`);
  for (const path of ['/questions?status=answered', '/activity', '/runs', '/metrics']) await get(path);
  outputs.push(JSON.stringify(server.log));
  const everything = outputs.join('\n');
  assert.match(everything, /Bearer \[secret TOKEN\] \[secret FROM_FILE\] \[secret FROM_COMMAND\]/);
  for (const file of readdirSync(home, { recursive: true, withFileTypes: true })) {
    const path = join(file.parentPath, file.name);
    if (file.isFile() && !path.startsWith(folder)) outputs.push(readFileSync(path, 'latin1'));
  }
  for (const form of ['canary-7f3d', 'file-canary-55', 'command-canary-55', btoa(CANARY).slice(0, 16)])
    for (const text of outputs) assert.ok(!text.includes(form), `${form} is in ${text.slice(0, 300)}`);
});
