import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { dashboardProjects } from '../../src/app/projects/dashboard-projects.ts';
import { openProject } from '../../src/app/projects/project-files.ts';
import { httpRelay } from '../../src/sdk/http-relay.ts';
import { startRelay } from '../http/relay-under-test.ts';
import { startGuarded } from '../keys/guarded-relay.ts';

test('a project is shown read-only and without the path of its folder', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'relay-shown-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const project = openProject(folder);
  await project.init();
  await project.decide({
    title: 'Use SQLite',
    decision: 'One file.',
    context: 'Small.',
    consequences: 'None.',
  });
  const files = () =>
    ['PROJECT.md', 'state.json', 'todos.json', 'decisions.md'].map((name) =>
      readFileSync(join(folder, name), 'utf8'),
    );
  const before = files();
  await using relay = await startRelay({ core: { projects: dashboardProjects([folder]) } });
  const api = httpRelay({ baseUrl: relay.url });
  const { projects } = await api.projects.list();
  assert.equal(projects.length, 1);
  assert.equal(projects[0]!.decisions, 1);
  assert.equal(projects[0]!.folder, basename(folder));
  const detail = await api.projects.get(projects[0]!.id);
  assert.equal(detail.decisions[0]!.title, 'Use SQLite');
  assert.match(detail.brief, /SQLite/);
  assert.ok(!JSON.stringify([projects, detail]).includes(folder));
  assert.deepEqual(files(), before);
  await assert.rejects(api.projects.get('000000000000'), /Not found/);
  writeFileSync(join(folder, 'todos.json'), '{ not json');
  assert.ok((await api.projects.list()).projects[0]!.broken.length > 0);
});

test('only the tenant of the relay’s operator sees projects', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'relay-shown-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'x'));
  await using relay = await startGuarded({ core: { projects: dashboardProjects([folder]) } });
  const [ownKey, other] = [await relay.key({ tenant: 'local' }), await relay.key({})];
  assert.equal((await relay.ask('GET', '/projects', { key: ownKey })).json.projects.length, 1);
  assert.deepEqual((await relay.ask('GET', '/projects', { key: other })).json.projects, []);
  assert.throws(() => dashboardProjects([join(folder, 'none')]), /does not exist/);
});
