import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { compileExecutable } from '../../scripts/build/executable.ts';
import { outsideEnv, ROOT, run } from '../package/processes.ts';
import { inRoot, layMinimalRoot, noRoots } from './root.ts';

const skip = noRoots();

/** The steps of this pipeline are programs, because no model is available here. */
const PIPELINE = `name: two
agents: { sh: { shell: true }, cat: { shell: cat } }
steps:
  - { id: gather, agent: sh, prompt: echo gathered }
  - { id: tell, agent: cat, prompt: "{{ steps.gather.output }} and told" }
`;

describe('the executable, in a root without Node, npm and Python, offline', { skip }, () => {
  const parent = mkdtempSync(join(tmpdir(), 'relay-executable-'));
  const root = join(parent, 'root');
  let program: string;
  before(async () => {
    process.chdir(ROOT);
    program = join(parent, 'relay');
    compileExecutable(program);
    layMinimalRoot(root, {
      '/usr/bin/relay': program,
      '/bin/sh': '/bin/sh',
      '/bin/cat': '/bin/cat',
      '/bin/ls': '/bin/ls',
    });
  });
  after(() => rmSync(parent, { recursive: true, force: true }));

  const shell = (line: string) => {
    const [command, ...args] = inRoot(root, `cd /srv && ${line}`);
    const env = {
      ...outsideEnv(),
      PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
      HOME: '/srv',
      RELAY_HOME: '/srv/relay',
    };
    return run(command!, args, { env });
  };
  const ok = async (line: string) => {
    const { code, stdout, stderr } = await shell(line);
    assert.equal(code, 0, `${line}\n${stdout}\n${stderr}`);
    return stdout;
  };

  test('nothing else is in the root', async () => {
    assert.equal(await ok('ls /usr/bin /bin'), '/bin:\ncat\nls\nsh\n\n/usr/bin:\nrelay\n');
  });

  test('push, pull, a part and the cost work on the local store', async () => {
    const out = await ok(`
      url=$(echo 'one
two' | relay push) && relay pull "$url" && relay pull "$url" --lines 2-2 && relay pull "$url" --cost --json`);
    assert.match(out, /^one\ntwo\ntwo\n\{/);
    assert.match(out, /o200k_base/);
  });

  test('up serves clients and the dashboard, also in the background', async () => {
    const out = await ok(`
      relay up --detach --port 7999 >/dev/null &&
      export CONTEXTRELAY_URL=http://127.0.0.1:7999 &&
      url=$(echo 'over the wire' | relay push) && relay pull "$url" && relay pull "$url" --grep wire &&
      relay status && unset CONTEXTRELAY_URL && relay down`);
    assert.match(out, /over the wire\n/);
    assert.match(out, /answers: ok/);
    assert.match(out, /stopped/);
  });

  test("the MCP server, a hook with the project's brief, and the included skill work", async () => {
    const list = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
    assert.deepEqual(JSON.parse(await ok(`echo '${list}' | relay mcp`)), {
      jsonrpc: '2.0',
      id: 1,
      result: {},
    });
    const brief = await ok('relay project init >/dev/null && echo "{}" | relay hook claude session-start');
    assert.match(brief, /Project brief/);
    await ok('relay install claude >/dev/null && cat .claude/skills/context-relay/SKILL.md');
    assert.match(await ok('cat .claude/settings.json'), /relay hook claude session-start/);
  });

  test('in a hostile folder it reads no .env, bunfig.toml, package.json or tsconfig.json', async () => {
    const folder = join(root, 'srv', 'hostile');
    mkdirSync(folder);
    const evil = 'require("node:fs").writeFileSync("/srv/ran", "");';
    const files = {
      '.env': 'RELAY_HOME=/srv/elsewhere\nRELAY_PORT=1\n',
      '.env.local': 'RELAY_HOME=/srv/elsewhere\n',
      'bunfig.toml': 'preload = ["./evil.js"]\n[run]\npreload = ["./evil.js"]\n',
      'package.json': '{"name":"contextrelay","version":"6.6.6","imports":{"#x":"./evil.js"}}',
      'tsconfig.json': '{"compilerOptions":{"paths":{"*":["./evil.js"]}}}',
      'evil.js': evil,
      'node_modules/ws/index.js': evil,
    };
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(join(folder, path, '..'), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    const out = await ok('cd hostile && relay version && relay config show --json && echo x | relay push');
    assert.doesNotMatch(out, /6\.6\.6|\/srv\/elsewhere/);
    assert.ok(!existsSync(join(root, 'srv', 'ran')));
    assert.ok(!existsSync(join(root, 'srv', 'elsewhere')));
  });

  test('the guides are included', async () => {
    assert.match(await ok('relay help guides'), /getting-started[\s\S]*security/);
    assert.match(await ok('relay help guide server'), /^# Operating a server/);
    assert.match(await ok('relay help security'), /^# Security/);
  });

  test('a pipeline runs its steps', async () => {
    mkdirSync(join(root, 'srv'), { recursive: true });
    writeFileSync(join(root, 'srv', 'two.yaml'), PIPELINE);
    assert.match(await ok('relay pipeline run two.yaml'), /gathered\s+and told/);
  });
});
