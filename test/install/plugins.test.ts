import assert from 'node:assert/strict';
import { readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { clientPlan } from '../../src/app/install/clients.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const json = (path: string) => JSON.parse(readFileSync(join(ROOT, path), 'utf8'));

/**
 * Returns the hooks and the MCP server that `relay install` writes for a client. They contain the command that
 * plugins use.
 */
function installed(client: 'claude' | 'gemini') {
  const places = { project: '/p', home: '/h', env: {}, platform: 'linux' as const };
  const { targets } = clientPlan(client, 'project', places, { command: 'relay', args: [], portable: true });
  const entries = targets.flatMap((target) => (target.kind === 'skill' ? [] : target.entries));
  const hooks = entries.find((entry) => entry.kind === 'hooks')!;
  const server = entries.find((entry) => entry.kind === 'mcp')!;
  assert.ok(hooks.kind === 'hooks' && server.kind === 'mcp');
  const groups = Object.groupBy(Object.values(hooks.hooks), ({ event }) => event);
  const lists = Object.entries(groups).map(([event, list = []]) => [
    event,
    list.map(({ matcher, handler }) => ({ ...(matcher && { matcher }), hooks: [handler] })),
  ]);
  return { hooks: Object.fromEntries(lists), server: server.value };
}

test('the plugins have the same content as relay install, and the version of the package', () => {
  const { version } = json('package.json');
  const claude = installed('claude');
  assert.deepEqual(json('plugins/context-relay/hooks/hooks.json').hooks, claude.hooks);
  assert.deepEqual(json('plugins/context-relay/.mcp.json').mcpServers, { relay: claude.server });
  const gemini = installed('gemini');
  assert.deepEqual(json('hooks/hooks.json').hooks, gemini.hooks);
  const extension = json('gemini-extension.json');
  assert.deepEqual(extension.mcpServers, { relay: gemini.server });
  const [plugin] = json('.claude-plugin/marketplace.json').plugins;
  assert.equal(plugin.source, './plugins/context-relay');
  const versions = [
    plugin.version,
    extension.version,
    json('plugins/context-relay/.claude-plugin/plugin.json').version,
  ];
  assert.deepEqual(versions, [version, version, version]);
  assert.match(
    readFileSync(join(ROOT, 'skill/context-relay/SKILL.md'), 'utf8'),
    new RegExp(`^ {2}version: "${version}"$`, 'm'),
  );
  const secret = extension.settings.find(
    ({ envVar }: { envVar: string }) => envVar === 'CONTEXTRELAY_API_KEY',
  );
  assert.equal(secret.sensitive, true);
});

test('the plugin contains a copy of the skill, and the extension links to the skill', () => {
  const source = join(ROOT, 'skill');
  const copy = join(ROOT, 'plugins/context-relay/skills');
  const files = (folder: string) =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
      .sort();
  assert.deepEqual(files(copy), files(source));
  for (const file of files(source)) {
    assert.equal(
      readFileSync(join(copy, file), 'utf8'),
      readFileSync(join(source, file), 'utf8'),
      `cp -r skill/. plugins/context-relay/skills (${file})`,
    );
  }
  assert.equal(realpathSync(join(ROOT, 'skills')), realpathSync(source));
});
